"""Parsing again under decisions: posteriors given what an annotator decided, the tree nearest to the edited one, and suggestions.

A grammar of few trees often has no tree that meets all decisions. Then the posteriors given the tags, or the words alone, take their
place, and decoding does without the grammar: any phrases that meet the decisions and cross no other make a tree. What the annotator has
seen and left alone is probably right, so that a phrase goes only where it is very unlikely, and one comes only where it is likely.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gramian.annotate.annotation import Annotation, build_tree
from gramian.annotate.edits import Edit
from gramian.chart.constraints import Constraints, Span
from gramian.chart.forest import cell_number, cell_spans
from gramian.chart.label_table import label_table
from gramian.parsing.parser import Parser
from gramian.parsing.sentences import ParseRequest, Plain
from gramian.trees import Tree

Floats = npt.NDArray[np.float64]

_GOES, _COMES = 0.02, 0.8  # posteriors below which a phrase of the tree goes, and above which another comes
_TAG_MARGIN = 0.9  # by which the posterior of another tag exceeds that of the present one
_DECIDED = 1000.0  # what a required phrase is worth, more than all others together
_LONGEST = 100  # words; longer sentences are not parsed again
_UNLIKELY = 1e-4  # phrases below this posterior are not suggested
_PHRASES, _TAGS = 20, 3  # suggested phrases of a sentence, and tags of a word


@dataclass(frozen=True)
class Beliefs:
    """What a parser thinks of a sentence, given decisions."""

    phrases: Floats  #: (n_cells, n_phrase_labels): posteriors, spans as :func:`gramian.chart.forest.cell_number` has them
    tags: Floats  #: (n_words, n_tags): the same of tags


class Reviser:
    """Parses sentences again with a parser, under the decisions of annotators."""

    def __init__(self, parser: Parser) -> None:
        self._parser, grammar = parser, parser.model.grammar
        table = label_table(grammar.symbols, grammar.n_phrases)
        self.phrase_labels = table.names[: table.n_phrase_labels]
        self.tag_labels = table.names[table.n_phrase_labels :]
        self._above: Counter[tuple[str, str]] = (
            Counter()
        )  # how often one label is above another over the same words
        self._tag_share = np.zeros(len(self.tag_labels))
        for labels, use in zip(table.bottom_up, grammar.before.sum(axis=1).tolist(), strict=True):
            for index, label in enumerate(labels):
                self._above.update({(upper, label): use for upper in labels[index + 1 :]})
        for symbol in range(grammar.n_phrases, grammar.n_symbols):
            tag = self.tag_labels.index(table.bottom_up[symbol][0])
            self._tag_share[tag] += float(grammar.before[symbol].sum())
        self._tag_share /= self._tag_share.sum()

    # -- posteriors --------------------------------------------------------------------------------------------------

    def beliefs(self, annotation: Annotation) -> Beliefs | None:
        """Return posteriors given the decisions, or as many of them as the grammar has a tree for; None where it has none at all."""
        if not 0 < len(annotation.tree.words) <= _LONGEST:
            return None
        for tags, constraints in (
            (annotation.tags, self._constraints(annotation)),
            (annotation.tags, Constraints()),
            ((), Constraints()),
        ):
            found = self._posteriors(annotation.tree.words, tags, constraints)
            if found is not None:
                return found
        return None

    def _posteriors(
        self, words: Sequence[str], tags: Sequence[tuple[int, str]], constraints: Constraints
    ) -> Beliefs | None:
        fixed = dict(tags)
        sentence: Plain = [
            (word, {fixed[index]: 1.0}) if index in fixed else word for index, word in enumerate(words)
        ]
        forest = self._parser.forest(ParseRequest(sentence, constraints))
        if forest is None:
            return None
        posterior = np.clip(forest.label_posterior.astype(np.float64), 0.0, 1.0)
        n_phrases = len(self.phrase_labels)
        return Beliefs(posterior[:, :n_phrases], posterior[: len(words), n_phrases:])

    def _constraints(self, annotation: Annotation) -> Constraints:
        """Return the decisions as constraints; a phrase with a label that the grammar does not have is a span that nothing crosses."""
        known = [span for span in annotation.required if span.label in self.phrase_labels]
        others = [replace(span, label=None) for span in annotation.required if span not in known]
        forbidden = [span for span in annotation.forbidden if span.label in self.phrase_labels]
        return Constraints(uncrossed=tuple(others), required=tuple(known), forbidden=tuple(forbidden))

    # -- decoding ----------------------------------------------------------------------------------------------------

    def nearest_tree(self, annotation: Annotation, beliefs: Beliefs) -> Tree:
        """Return a tree that meets the decisions: phrases come and go where the posteriors say so, as few as possible."""
        words, phrases = annotation.tree.words, annotation.phrases
        labels = self._labels_over(annotation, beliefs)
        n_words = len(words)
        labels.setdefault((0, n_words), {phrases[0].label or "": 0.0})
        best, split = np.zeros((n_words + 1, n_words + 1)), np.zeros((n_words + 1, n_words + 1), np.int64)
        for width in range(1, n_words + 1):
            for start in range(n_words - width + 1):
                end = start + width
                if width > 1:
                    sums = best[start, start + 1 : end] + best[start + 1 : end, end]
                    split[start, end] = start + 1 + int(sums.argmax())
                    best[start, end] = sums.max()
                best[start, end] += sum(labels.get((start, end), {}).values())
        chosen: list[Span] = []
        waiting = [(0, n_words)]
        while waiting:
            start, end = waiting.pop()
            present = [str(span.label) for span in phrases if (span.start, span.end) == (start, end)]
            chosen += [
                Span(start, end, label) for label in self._chain(present, labels.get((start, end), {}))
            ]
            if end - start > 1:
                middle = int(split[start, end])
                waiting += [(middle, end), (start, middle)]
        return build_tree(words, self._nearest_tags(annotation, beliefs), chosen)

    def _labels_over(
        self, annotation: Annotation, beliefs: Beliefs
    ) -> dict[tuple[int, int], dict[str, float]]:
        """Return what each phrase that may be in the tree adds, by its span and label."""
        phrases = set(annotation.phrases)
        values = dict.fromkeys(phrases, -_GOES)
        likely = np.nonzero(beliefs.phrases > _GOES)
        for span, posterior in self._spans(annotation, beliefs, *likely):
            values[span] = posterior - (_GOES if span in phrases else _COMES)
        values |= dict.fromkeys(annotation.required, _DECIDED)
        labels: dict[tuple[int, int], dict[str, float]] = {}
        for span, value in values.items():
            is_open = value == _DECIDED or not any(map(span.crosses, annotation.required))
            if value > 0 and is_open and span not in annotation.forbidden:
                labels.setdefault((span.start, span.end), {})[str(span.label)] = value
        return labels

    def _spans(
        self, annotation: Annotation, beliefs: Beliefs, cells: npt.NDArray[np.intp], labels: npt.NDArray[np.intp]
    ) -> Iterator[tuple[Span, float]]:  # fmt: skip
        """Yield phrases by the numbers of their cells and labels, with their posteriors."""
        start, end = cell_spans(len(annotation.tree.words))
        for cell, label in zip(cells.tolist(), labels.tolist(), strict=True):
            span = Span(int(start[cell]), int(end[cell]), self.phrase_labels[label])
            yield span, float(beliefs.phrases[cell, label])

    def _chain(self, present: Sequence[str], labels: dict[str, float]) -> list[str]:
        """Return labels over the same words from the top: in the order of the tree, new ones above what they usually are above."""
        chain = [label for label in present if label in labels]
        for new in [label for label in labels if label not in chain]:
            above = [self._above[new, label] > self._above[label, new] for label in chain]
            chain.insert(above.index(True) if True in above else len(chain), new)
        return chain

    def _nearest_tags(self, annotation: Annotation, beliefs: Beliefs) -> list[str]:
        fixed, number = dict(annotation.tags), {tag: index for index, tag in enumerate(self.tag_labels)}
        tags = list(annotation.tree.tags)
        for index, (tag, posteriors) in enumerate(zip(tags, beliefs.tags, strict=True)):
            best = int(posteriors.argmax())
            present = posteriors[number[tag]] if tag in number else 0.0
            if index not in fixed and posteriors[best] - present > _TAG_MARGIN:
                tags[index] = self.tag_labels[best]
        return tags

    # -- what the annotator sees -------------------------------------------------------------------------------------

    def confidences(self, annotation: Annotation, beliefs: Beliefs) -> tuple[float, ...]:
        """Return the confidence of each node; what was decided is certain, what the grammar does not know has none."""
        n_words, fixed = len(annotation.tree.words), dict(annotation.tags)
        posteriors, is_decided = [], []
        spans = zip(annotation.tree.spans(), annotation.tree.subtrees(), strict=True)
        for (label, start, end), node in spans:
            row, names = beliefs.phrases[cell_number(start, end, n_words)], self.phrase_labels
            if node.word is not None:
                row, names = beliefs.tags[start], self.tag_labels
            posteriors.append(float(row[names.index(label)]) if label in names else 0.0)
            is_decided.append(
                start in fixed if node.word is not None else Span(start, end, label) in annotation.required
            )
        values = self._parser.calibration.confidences(annotation.tree, posteriors)
        return tuple(1.0 if decided else value for value, decided in zip(values, is_decided, strict=True))

    def suggestions(self, annotation: Annotation, beliefs: Beliefs) -> tuple[Edit, ...]:
        """Return the edits that are most likely to be right: phrases, the likeliest first, then other tags of each word in turn."""
        phrases = set(annotation.phrases)
        cells, labels = np.nonzero(beliefs.phrases > _UNLIKELY)
        order = np.argsort(-beliefs.phrases[cells, labels], kind="stable")
        edits: list[Edit] = []
        for span, _ in self._spans(annotation, beliefs, cells[order], labels[order]):
            is_open = span not in annotation.forbidden and not any(map(span.crosses, annotation.required))
            edit = self._suggested(annotation, span) if is_open and span not in phrases else None
            if edit is not None:
                edits.append(edit)
            if len(edits) == _PHRASES:
                break
        fixed = dict(annotation.tags)
        for index, (tag, posteriors) in enumerate(zip(annotation.tree.tags, beliefs.tags, strict=True)):
            ranked = np.argsort(-(posteriors + _UNLIKELY * self._tag_share), kind="stable").tolist()
            others = [self.tag_labels[n] for n in ranked if self.tag_labels[n] != tag]
            if index not in fixed:
                word = Span(index, index + 1, tag)
                edits += [Edit("retag", word, other) for other in others[:_TAGS]]
        return tuple(edits)

    def _suggested(self, annotation: Annotation, span: Span) -> Edit | None:
        """Return the edit that makes a phrase: a new one, also beside labels that it is known with, or else another label of one."""
        same = [
            phrase for phrase in annotation.phrases if (phrase.start, phrase.end) == (span.start, span.end)
        ]
        new, labels = str(span.label), [str(phrase.label) for phrase in same]
        if all(self._above[new, label] or self._above[label, new] for label in labels):
            chain = self._chain(labels, dict.fromkeys((*labels, new), 0.0))
            below = chain[chain.index(new) + 1 :]
            return Edit("add", span, new, replace(span, label=below[0]) if below else None)
        predicted = [phrase for phrase in same if phrase not in annotation.required]
        return Edit("relabel", predicted[0], new) if predicted else None
