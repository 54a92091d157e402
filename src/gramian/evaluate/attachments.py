"""Attachment scores of dependency trees: words with the right head (UAS), with the right relation too (LAS).

Each is counted over all words and without punctuation. Heads are numbers of words from 1, or 0 for the root.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from gramian import __version__
from gramian.errors import OptionError, ScoreError
from gramian.trees.conllu import Sentence, Token
from gramian.trees.normalise import PENN_PUNCTUATION

Heads: TypeAlias = "Sentence | Sequence[int]"

_UNIVERSAL_TAG = re.compile(
    "ADJ|ADP|ADV|AUX|CCONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X"
).fullmatch
_METRICS = {
    "uas": ("heads", "words"),
    "las": ("relations", "words"),
    "uas_no_punctuation": ("heads_no_punctuation", "words_no_punctuation"),
    "las_no_punctuation": ("relations_no_punctuation", "words_no_punctuation"),
}


@dataclass(frozen=True, slots=True)
class AttachmentCounts:
    """Counts of one sentence: words, those with the right head, those with the right relation too."""

    words: int
    heads: int
    relations: int
    words_no_punctuation: int
    heads_no_punctuation: int
    relations_no_punctuation: int


@dataclass(frozen=True)
class AttachmentScores:
    """Attachment scores over sentences, in percent.

    Examples
    --------
    >>> scores = attachment_scores([[2, 0, 2]], [[2, 0, 1]])
    >>> round(scores.uas, 2)
    66.67
    >>> scores.signature("uas")  # doctest: +ELLIPSIS
    'uas|punct:kept|relations:none|version:...'
    """

    rows: tuple[AttachmentCounts, ...]
    labelled: bool  #: whether relations were compared; without them `las` is `uas`
    subtypes: bool = True  #: whether ``nsubj`` and ``nsubj:pass`` count as different

    def value(self, metric: str) -> float:
        """Return ``uas``, ``las``, ``uas_no_punctuation`` or ``las_no_punctuation`` in percent."""
        right, words = (sum(column) for column in zip(*self.statistics(metric), strict=True))
        return 100.0 * right / words if words else 0.0

    def statistics(self, metric: str) -> list[tuple[float, float]]:
        """Return right and counted words of every sentence, as the tests of differences want them."""
        if metric not in _METRICS:
            raise OptionError(f"unknown metric {metric!r}; use one of {', '.join(_METRICS)}")
        right, words = _METRICS[metric]
        return [(getattr(row, right), getattr(row, words)) for row in self.rows]

    def signature(self, metric: str) -> str:
        """Return how `metric` was computed, to be quoted beside its value."""
        punctuation = "deleted" if metric.endswith("_no_punctuation") else "kept"
        relations = (
            "none" if not self.labelled or metric.startswith("uas") else "full" if self.subtypes else "cut"
        )
        return f"{metric}|punct:{punctuation}|relations:{relations}|version:{__version__}"

    def as_dict(self) -> dict[str, int | float]:
        """Return the counts and all figures by name, ready for JSON."""
        counts = {"sentences": len(self.rows), "words": sum(row.words for row in self.rows)}
        return {**counts, **{name: self.value(name) for name in _METRICS}}

    @property
    def uas(self) -> float:
        """Share of words with the right head, in percent."""
        return self.value("uas")

    @property
    def las(self) -> float:
        """Share of words with the right head and relation, in percent."""
        return self.value("las")


def attachment_scores(
    gold: Sequence[Heads], predicted: Sequence[Heads], *, subtypes: bool = True
) -> AttachmentScores:
    """Score predicted dependency trees of the same sentences in the same order; ScoreError if their number or their words differ.

    Bare heads have no relations and no punctuation. With `subtypes` relations are compared whole (``nsubj:pass``), else up to the colon.

    Examples
    --------
    >>> attachment_scores([[2, 0]], [[2, 0]]).uas
    100.0
    """
    if len(gold) != len(predicted):
        raise ScoreError(f"gold has {len(gold)} sentences, the prediction {len(predicted)}")
    if not gold:
        raise ScoreError("there is no sentence to score")
    labelled = all(_is_sentence(sentence) for sentence in (*gold, *predicted))
    rows = tuple(
        _count(number, ours, theirs, labelled, subtypes)
        for number, (ours, theirs) in enumerate(zip(gold, predicted, strict=True), start=1)
    )
    return AttachmentScores(rows, labelled, subtypes)


def is_punctuation(token: Token) -> bool:
    """Whether a word is punctuation: by a universal or Penn tag, else by all its characters."""
    if _UNIVERSAL_TAG(token.upos):
        return token.upos == "PUNCT"
    if {token.upos, token.xpos} & PENN_PUNCTUATION:
        return True
    return all(unicodedata.category(character).startswith("P") for character in token.form)


def _is_sentence(sentence: Heads) -> bool:
    return hasattr(sentence, "tokens")


def _count(number: int, gold: Heads, predicted: Heads, labelled: bool, subtypes: bool) -> AttachmentCounts:
    if len(gold) != len(predicted):
        raise ScoreError(
            f"sentence {number} has {len(gold)} words in gold, {len(predicted)} in the prediction"
        )
    keep = [True] * len(gold)
    if _is_sentence(gold):
        keep = [not is_punctuation(token) for token in cast("Sentence", gold).tokens]
    right = [ours == theirs for ours, theirs in zip(_heads(gold), _heads(predicted), strict=True)]
    named = right
    if labelled:
        tokens = cast("Sentence", gold).tokens, cast("Sentence", predicted).tokens
        for ours, theirs in zip(*tokens, strict=True):
            if ours.form != theirs.form:
                words = f"{ours.form!r} in gold, {theirs.form!r} in the prediction"
                raise ScoreError(f"sentence {number}: word {ours.id} is {words}")
        same = [_relation(a, subtypes) == _relation(b, subtypes) for a, b in zip(*tokens, strict=True)]
        named = [head and relation for head, relation in zip(right, same, strict=True)]
    return AttachmentCounts(
        len(keep),
        sum(right),
        sum(named),
        sum(keep),
        sum(head for head, kept in zip(right, keep, strict=True) if kept),
        sum(both for both, kept in zip(named, keep, strict=True) if kept),
    )


def _heads(sentence: Heads) -> Sequence[int]:
    return cast("Sentence", sentence).heads if _is_sentence(sentence) else cast("Sequence[int]", sentence)


def _relation(token: Token, subtypes: bool) -> str:
    return token.deprel if subtypes else token.deprel.partition(":")[0]
