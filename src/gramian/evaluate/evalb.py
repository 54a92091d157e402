"""Bracket scores equal to those of EVALB, the program of Sekine and Collins (1997, with its later repairs).

Words with deleted tags fall out of both trees, phrases become spans over the words that stay, and two
sentences are compared span by span. Beside EVALB's counts each sentence is also counted with gold's tags in
the prediction, so that no sentence is lost to a wrong tag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gramian.errors import OptionError, ScoreError
from gramian.evaluate.parameters import COLLINS, Parameters
from gramian.evaluate.scored_trees import (
    LabelMapping,
    Outline,
    Remains,
    SentenceBrackets,
    pairs,
    restore_quotes,
)
from gramian.evaluate.scores import BracketScores, LabelScore, SentenceScore, Status
from gramian.io.reading import Source
from gramian.trees.brackets import trees_of
from gramian.trees.normalise import EMPTY_TAG, unescape_penn
from gramian.trees.tree import Tree, escape_word


def score(
    gold: Sequence[Tree] | GoldBrackets,
    predicted: Sequence[Tree | None],
    parameters: Parameters | None = None,
) -> BracketScores:
    """Score predicted trees against gold trees.

    Parameters
    ----------
    gold : sequence of Tree, or GoldBrackets
        Traces, function tags and an outer ROOT or TOP may stand in them.
    predicted : sequence of Tree or None
        As many, in the same order, over the same words; None or an empty tree is a failed parse.
    parameters : Parameters, optional
        What to count; by default `COLLINS`, or those of a prepared `gold`.

    Raises
    ------
    ScoreError
        If the number of trees or the words of a sentence differ.

    Examples
    --------
    >>> gold = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))")
    >>> wrong = Tree.parse("(S (NP (DT the)) (VP (NN dog) (VBZ barks)) (. .))")
    >>> scores = score([gold, gold], [wrong, None])
    >>> round(scores.f1, 2), round(scores.f1_failures, 2)
    (33.33, 22.22)
    """
    if not isinstance(gold, GoldBrackets):
        gold = GoldBrackets(gold, parameters or COLLINS)
    elif parameters is not None and parameters != gold.parameters:
        raise OptionError("gold was prepared with other parameters; prepare it again, or omit the parameters")
    return gold.score(predicted)


def evaluate(
    gold: Source | Iterable[Tree], predicted: Source | Iterable[Tree], parameters: Parameters | None = None
) -> BracketScores:
    """Score predicted trees against gold trees as :func:`score` does, each given as trees or as a file of them.

    An empty tree, ``()``, is a failed parse.

    Examples
    --------
    >>> import gramian
    >>> gold = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> gramian.evaluate([gold], [gold]).f1
    100.0
    """
    return score(list(trees_of(gold)), list(trees_of(predicted)), parameters)


class GoldBrackets:
    """Gold trees prepared for scoring many predictions of them, as a training loop does.

    Examples
    --------
    >>> gold = GoldBrackets([Tree.parse("(S (NP (NN Time)) (VP (VBZ flies)))")])
    >>> round(gold.score([Tree.parse("(S (NP (NN Time) (VBZ flies)))")]).recall, 2)
    33.33
    """

    def __init__(self, trees: Iterable[Tree], parameters: Parameters = COLLINS) -> None:
        self.parameters = parameters
        self._labels = LabelMapping(parameters)
        self._sentences = [_GoldSentence(Outline.of(tree), parameters, self._labels) for tree in trees]

    def __len__(self) -> int:
        return len(self._sentences)

    def score(self, predicted: Sequence[Tree | None]) -> BracketScores:
        """Score predictions in the order of the gold trees; see :func:`score`."""
        rows = tuple(comparison.row for comparison in self._compare(predicted))
        return BracketScores(rows, self.parameters)

    def by_label(self, predicted: Sequence[Tree | None]) -> dict[str, LabelScore]:
        """Return the counts of each label over the valid sentences, the most frequent in gold first."""
        counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("gold", "predicted", "found", "right")
        }
        for comparison in self._compare(predicted):
            if comparison.gold is None or comparison.predicted is None:
                continue
            theirs = comparison.predicted.spans
            for span, labels in comparison.gold.spans.items():
                counts["gold"].update(labels)
                others = theirs.get(span, ())
                for label, index in pairs(labels, others, self.parameters):
                    counts["found"][label] += 1
                    counts["right"][others[index]] += 1
            for labels in theirs.values():
                counts["predicted"].update(labels)
        gold, test = counts["gold"], counts["predicted"]
        return {
            label: LabelScore(label, gold[label], test[label], counts["found"][label], counts["right"][label])
            for label in sorted(gold | test, key=lambda label: (-gold[label], -test[label], label))
        }

    def outcomes(self, predicted: Sequence[Tree | None]) -> list[list[bool | None]]:
        """Tell of every node of the predictions, in the order of their subtrees, whether gold has it.

        Phrases count as for `f1_gold_tags`, tags as for `tagging`; None stands for what is not counted: punctuation, phrases over
        nothing else, and what only wraps the sentence. A failed parse has no nodes.

        Examples
        --------
        >>> gold = GoldBrackets([Tree.parse("(S (NP (NN Time)) (VP (VBZ flies)) (. !))")])
        >>> gold.outcomes([Tree.parse("(S (NP (NN Time) (NNS flies)) (. !))")])
        [[True, False, True, False, None]]
        """
        return [
            gold.outcomes(tree, outline, self._labels) if tree is not None and outline.words else []
            for _, gold, tree, outline in self._matched(predicted)
        ]

    def _compare(self, predicted: Sequence[Tree | None]) -> Iterator[_Comparison]:
        for number, gold, _, outline in self._matched(predicted):
            yield gold.compare(number, outline, self._labels)

    def _matched(
        self, predicted: Sequence[Tree | None]
    ) -> Iterator[tuple[int, _GoldSentence, Tree | None, Outline]]:
        """Yield number, gold sentence, prediction and its outline, as long as they agree in their words."""
        if len(predicted) != len(self):
            raise ScoreError(self._count_mismatch(predicted))
        for number, (gold, tree) in enumerate(zip(self._sentences, predicted, strict=True), start=1):
            outline = Outline.of(tree)
            if not gold.covers(outline):
                raise ScoreError(self._word_mismatch(number, tree))
            yield number, gold, tree, outline

    def _count_mismatch(self, predicted: Sequence[Tree | None]) -> str:
        text = f"gold has {len(self)} trees, the prediction {len(predicted)}"
        for number, (gold, tree) in enumerate(zip(self._sentences, predicted, strict=False), start=1):
            if not gold.covers(Outline.of(tree)):
                return f"{text}; {self._word_mismatch(number, tree)}"
        least = min(len(self), len(predicted))
        return f"{text}; the first {least} agree in their words. Write () for a sentence that has no parse"

    def _word_mismatch(self, number: int, tree: Tree | None) -> str:
        outline = Outline.of(tree)
        position = f"sentence {number}"
        if tree is not None and tree.line is not None:
            position += f" (line {tree.line} of the prediction)"
        for other, sentence in enumerate(self._sentences, start=1):
            if sentence.tokens == outline.tokens:
                return (
                    f"{position} has the words of sentence {other} in gold: is a sentence missing, or the order "
                    "changed? Write () for a sentence that has no parse"
                )
        gold = self._sentences[number - 1]
        return f"{position}: {gold.first_difference(outline)}"


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The counts of a sentence and, unless EVALB drops it, the brackets that were compared."""

    row: SentenceScore
    gold: SentenceBrackets | None = None
    predicted: SentenceBrackets | None = None


class _GoldSentence:
    """One gold sentence, prepared."""

    def __init__(self, outline: Outline, parameters: Parameters, labels: LabelMapping) -> None:
        tags, deleted = outline.tags, parameters.deleted
        self.parameters = parameters
        self.tokens = outline.tokens
        self.length = sum(tag not in parameters.deleted_for_length for tag in tags)
        self.keep = [tag not in deleted for tag in tags]  # leaves that stay by their own tags
        self.keep_tokens = [tag not in deleted for tag in tags if tag != EMPTY_TAG]
        self.remains = Remains(outline, self.keep)
        self.brackets = self.token_brackets = self.remains.brackets(labels)
        if EMPTY_TAG in tags and EMPTY_TAG not in deleted:  # traces fall out whatever the parameters say
            without = [stays and tag != EMPTY_TAG for stays, tag in zip(self.keep, tags, strict=True)]
            self.token_brackets = Remains(outline, without).brackets(labels)

    def covers(self, outline: Outline) -> bool:
        """Whether a prediction has the words of this sentence, traces apart, or is a failed parse."""
        tokens = outline.tokens
        return (
            tokens == self.tokens
            or not outline.words
            or (len(tokens) == len(self.tokens) and all(map(self._same_word, self.tokens, tokens)))
        )

    def first_difference(self, outline: Outline) -> str:
        """Say where a prediction that does not cover this sentence leaves it."""
        ours, theirs = self.tokens, outline.tokens
        least = min(len(ours), len(theirs))
        index = next((i for i in range(least) if not self._same_word(ours[i], theirs[i])), least)
        if index == len(theirs):
            return f"the prediction ends after {index} of {len(ours)} words, before {ours[index]!r}"
        if index == len(ours):
            return f"the prediction continues after gold's {index} words with {theirs[index]!r}"
        return f"word {index + 1} is {ours[index]!r} in gold, {theirs[index]!r} in the prediction"

    def compare(self, number: int, outline: Outline, labels: LabelMapping) -> _Comparison:
        """Count a prediction that covers this sentence."""
        parameters = self.parameters
        if not outline.words:
            tagged_gold = self.token_brackets.count
            return _Comparison(SentenceScore(number, self.length, Status.SKIPPED, tagged_gold=tagged_gold))
        keep = [tag not in parameters.deleted for tag in outline.tags]
        remains = Remains(outline, keep)
        predicted = remains.brackets(labels)

        # With gold's tags, the words that stay are those that stay in gold.
        keep_tokens = self._kept(outline)
        tagged = predicted if keep == keep_tokens else Remains(outline, keep_tokens).brackets(labels)
        matched, unlabelled = self.token_brackets.matched(tagged, parameters)
        row = SentenceScore(
            number,
            self.length,
            Status.SKIPPED,
            tagged_matched=matched,
            tagged_gold=self.token_brackets.count,
            tagged_predicted=tagged.count,
        )

        # As EVALB has it, each tree loses words by its own tags, and then the words must agree.
        if not remains.leaves:
            return _Comparison(row)
        gold_remains, gold = self.remains, self.brackets
        if len(remains.leaves) != len(gold_remains.leaves) and parameters.quotes:
            gold_remains = Remains(gold_remains.outline, self.keep)
            restore_quotes(gold_remains, remains, parameters)
            gold, predicted = gold_remains.brackets(labels), remains.brackets(labels)
        if message := self._unmatch(gold_remains.words, remains.words):
            return _Comparison(replace(row, status=Status.ERROR, message=message))
        if predicted is not tagged or gold is not self.token_brackets:
            matched, unlabelled = gold.matched(predicted, parameters)
        row = replace(
            row,
            status=Status.VALID,
            matched=matched,
            gold=gold.count,
            predicted=predicted.count,
            crossing=gold.crossing(predicted),
            words=len(remains.leaves),
            correct_tags=sum(map(parameters.labels_equal, gold_remains.tags, remains.tags)),
            unlabelled_matched=unlabelled,
        )
        return _Comparison(row, gold, predicted)

    def outcomes(self, tree: Tree, outline: Outline, labels: LabelMapping) -> list[bool | None]:
        """Tell of every node of a prediction that covers this sentence whether it is right, None if it does not count."""
        keep = self._kept(outline)
        remains = Remains(outline, keep)
        phrases: list[bool | None] = [None] * len(outline.labels)
        over: dict[tuple[int, int], list[int]] = {}
        for number, span in enumerate(zip(remains.starts, remains.ends, strict=True)):
            if span[0] != span[1] and labels[outline.labels[number]] is not None:
                over.setdefault(span, []).append(number)
                phrases[number] = False
        for span, numbers in over.items():
            names = [labels[outline.labels[number]] or "" for number in numbers]
            for _, index in pairs(self.token_brackets.spans.get(span, ()), names, self.parameters):
                phrases[numbers[index]] = True
        gold = iter([tag for tag in self.remains.outline.tags if tag != EMPTY_TAG])
        ours = [EMPTY_TAG if tag == EMPTY_TAG else next(gold) for tag in outline.tags]
        tags = [
            self.parameters.labels_equal(gold_tag, other) if stays else None
            for gold_tag, other, stays in zip(ours, outline.tags, keep, strict=True)
        ]
        is_phrase = [node.word is None for node in tree.subtrees()]
        wrappers: list[bool | None] = [None] * (sum(is_phrase) - len(phrases))
        of_phrases, of_tags = iter(wrappers + phrases), iter(tags)
        return [next(of_phrases if phrase else of_tags) for phrase in is_phrase]

    def _kept(self, outline: Outline) -> Sequence[bool]:
        """Tell which leaves of a prediction that covers this sentence stay if its tags are gold's."""
        if len(outline.tags) == len(self.keep_tokens):
            return self.keep_tokens
        tokens = iter(self.keep_tokens)
        return [tag != EMPTY_TAG and next(tokens) for tag in outline.tags]

    def _unmatch(self, gold: list[str], predicted: list[str]) -> str:
        """Say in EVALB's words why the words that stay do not agree; nothing if they do."""
        if len(gold) != len(predicted):
            return f"Length unmatch ({len(gold)}|{len(predicted)})"
        if gold != predicted:
            for ours, theirs in zip(gold, predicted, strict=True):
                if not self._same_word(ours, theirs):
                    return f"Words unmatch ({escape_word(ours)}|{escape_word(theirs)})"
        return ""

    def _same_word(self, ours: str, theirs: str) -> bool:
        # Some parsers undo the escapes of Penn files in their output.
        return self.parameters.words_equal(ours, theirs) or unescape_penn(ours) == unescape_penn(theirs)
