"""Trees that a parser proposes: for a new sentence, and again after every edit, under all decisions made so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gramian.annotate.annotation import Annotation, build_tree
from gramian.annotate.edits import Edit
from gramian.annotate.revision import Beliefs, Reviser
from gramian.chart.constraints import Span
from gramian.chart.label_table import label_table
from gramian.parsing.parser import Parser
from gramian.parsing.result import ParseResult
from gramian.trees import Tree


@dataclass(frozen=True)
class LabelSet:
    """The labels that annotators choose from; the first of each is the one where nothing is known."""

    #: phrases, tags: the first phrase is that of whole sentences
    phrases: tuple[str, ...] = ("S",)
    tags: tuple[str, ...] = ("X",)

    @classmethod
    def default(cls, parser: Parser | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return phrases and tags: those of a parser, the frequent ones first, or else common phrases and the universal tags."""
        if parser is None:
            return _PHRASES, _TAGS
        grammar = parser.model.grammar
        table = label_table(grammar.symbols, grammar.n_phrases)
        use = grammar.before.sum(axis=1)
        order = sorted(range(len(grammar.symbols)), key=lambda symbol: -float(use[symbol]))
        phrases = dict.fromkeys(
            part for symbol in order if symbol < grammar.n_phrases for part in table.bottom_up[symbol][::-1]
        )
        tags = dict.fromkeys(table.bottom_up[symbol][0] for symbol in order if symbol >= grammar.n_phrases)
        symbol = int(np.searchsorted(grammar.state_start, int(grammar.root.argmax()), side="right")) - 1
        root = table.bottom_up[symbol][-1]
        return tuple(dict.fromkeys((root, *phrases))), tuple(tags)

    @classmethod
    def of(cls, trees: Iterable[Tree]) -> LabelSet:
        """Return the labels of some trees, the frequent ones first.

        Examples
        --------
        >>> LabelSet.of([Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")])
        LabelSet(phrases=('S', 'NP', 'VP'), tags=('NN', 'VBZ'))
        """
        roots, phrases, tags = Counter[str](), Counter[str](), Counter[str]()
        for tree in trees:
            roots[tree.label] += 1
            for node in tree.subtrees():
                (phrases if node.word is None else tags)[node.label] += 1
        first = [label for label, _ in roots.most_common(1)]
        ordered = dict.fromkeys([*first, *(label for label, _ in phrases.most_common())])
        return cls(tuple(ordered) or cls.phrases, tuple(tag for tag, _ in tags.most_common()) or cls.tags)


_PHRASES = ("S", "NP", "VP", "PP", "ADJP", "ADVP", "SBAR")
_TAGS = (
    "NOUN", "VERB", "ADJ", "ADV", "PRON", "PROPN", "DET", "ADP", "AUX", "CCONJ", "SCONJ", "NUM", "PART", "INTJ", "PUNCT", "SYM", "X",
)  # fmt: skip


class Proposal(NamedTuple):
    """A tree, the confidence of each of its nodes, and edits that are likely to be right; None and none where no parser says."""

    tree: Tree
    confidences: tuple[float, ...] | None = None
    suggestions: tuple[Edit, ...] = ()


class Proposer:
    """Proposes trees, with a parser or without.

    Without one, or where its grammar has no tree, a sentence is flat: its words have the tags that they mostly had so far, below the
    first phrase label; and an edited tree stays as it was edited.

    Examples
    --------
    >>> proposer = Proposer(None, LabelSet(("S", "NP"), ("NN", "VBZ")), {"falls": "VBZ"})
    >>> print(proposer.propose([["rain", "falls"]])[0].tree)
    (S (NN rain) (VBZ falls))
    """

    def __init__(
        self, parser: Parser | None, labels: LabelSet, known_tags: Mapping[str, str] | None = None
    ) -> None:
        self.parser, self.labels, self._known_tags = parser, labels, dict(known_tags or {})
        self._reviser = None if parser is None else Reviser(parser)

    def propose(self, sentences: Sequence[Sequence[str]]) -> list[Proposal]:
        """Return a tree for each of some sentences, without suggestions."""
        if self.parser is None:
            return [Proposal(self._flat(words)) for words in sentences]
        results = self.parser.parse_batch([list(words) for words in sentences])
        return [self._proposal(words, result) for words, result in zip(sentences, results, strict=True)]

    def assess(self, annotation: Annotation) -> Proposal:
        """Return the tree of an annotation with the confidences of its nodes, and suggestions, given its decisions."""
        return self._assessed(
            annotation, None if self._reviser is None else self._reviser.beliefs(annotation)
        )

    def revise(self, annotation: Annotation) -> tuple[Annotation, Proposal]:
        """Parse a sentence again under the decisions of its annotation, which every tree meets, and assess it."""
        beliefs = None if self._reviser is None else self._reviser.beliefs(annotation)
        if beliefs is not None and self._reviser is not None:
            annotation = replace(annotation, tree=self._reviser.nearest_tree(annotation, beliefs))
        return annotation, self._assessed(annotation, beliefs)

    def _assessed(self, annotation: Annotation, beliefs: Beliefs | None) -> Proposal:
        if beliefs is None or self._reviser is None:
            return Proposal(annotation.tree)
        confidences = self._reviser.confidences(annotation, beliefs)
        return Proposal(annotation.tree, confidences, self._reviser.suggestions(annotation, beliefs))

    def _proposal(self, words: Sequence[str], result: ParseResult) -> Proposal:
        if result.tree.is_empty or len(result.tree.words) != len(words) or result.tree.word is not None:
            return Proposal(self._flat(words))
        spans = [Span(start, end, label) for label, start, end in result.tree.spans(preterminals=False)]
        return Proposal(build_tree(words, result.tree.tags, spans), tuple(result.confidences))

    def _flat(self, words: Sequence[str]) -> Tree:
        tags = [self._known_tags.get(word, self.labels.tags[0]) for word in words]
        return build_tree(words, tags, [Span(0, len(words), self.labels.phrases[0])])


def usual_tags(trees: Iterable[Tree]) -> dict[str, str]:
    """Return the tag that each word has most often.

    Examples
    --------
    >>> usual_tags([Tree.parse("(S (NN rain) (VBZ falls))")])
    {'rain': 'NN', 'falls': 'VBZ'}
    """
    counts: dict[str, Counter[str]] = {}
    for tree in trees:
        for word, tag in zip(tree.words, tree.tags, strict=True):
            counts.setdefault(word, Counter())[tag] += 1
    return {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
