"""Results of bracket scoring: one row a sentence, and the figures over many of them.

Every figure is a ratio of two sums over sentences (F1 is ``2 matched / (gold + predicted)``), so the rows are
all that significance tests need. Recall, precision, F1, exact match, tagging and crossing follow EVALB to the
digit; `METRICS` says what the others count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from gramian import __version__
from gramian.errors import OptionError, counted
from gramian.evaluate.parameters import Parameters


class Status(IntEnum):
    """What EVALB makes of a sentence.

    Examples
    --------
    >>> [status.name for status in Status]
    ['VALID', 'ERROR', 'SKIPPED']
    """

    VALID = 0
    """Scored."""
    ERROR = 1
    """Dropped: a wrong tag turned a word into punctuation, or punctuation into a word."""
    SKIPPED = 2
    """Dropped: the prediction has no words, as for a failed parse."""


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """Counts of one sentence; those of EVALB are 0 if it drops the sentence.

    Examples
    --------
    >>> SentenceScore(1, 5, Status.VALID, matched=3, gold=4, predicted=3).recall
    75.0
    """

    number: int  #: position in the file, from 1
    length: int  #: words of gold; punctuation counts, traces do not
    status: Status
    #: matched, gold, predicted: brackets in both trees, in gold, in the prediction
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    crossing: int = 0  #: predicted brackets that cross a gold bracket
    #: words, correct_tags: words that are not deleted, and those of them with gold's tag
    words: int = 0
    correct_tags: int = 0
    unlabelled_matched: int = 0  #: brackets in both trees whatever their labels
    #: tagged_matched, tagged_gold, tagged_predicted: brackets when the prediction gets gold's tags, so that both trees lose the same
    #: words. A failed parse has gold brackets only.
    tagged_matched: int = 0
    tagged_gold: int = 0
    tagged_predicted: int = 0
    message: str = ""  #: why EVALB dropped the sentence, in its own words

    @property
    def recall(self) -> float:
        """Matched share of gold's brackets, in percent."""
        return _percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Matched share of the predicted brackets, in percent."""
        return _percent(self.matched, self.predicted)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent; 100 if neither tree has brackets."""
        return _f1(self.matched, self.gold + self.predicted)

    @property
    def tagging(self) -> float:
        """Share of words with gold's tag, in percent."""
        return _percent(self.correct_tags, self.words)

    @property
    def is_exact(self) -> bool:
        """Whether all brackets match."""
        return self.status is Status.VALID and self.matched == self.gold == self.predicted


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


def _f1(matched: int, brackets: int) -> float:
    return 200.0 * matched / brackets if brackets else 100.0


@dataclass(frozen=True)
class Metric:
    """A figure as 100 times the ratio of two sums over sentences."""

    parts: Callable[[SentenceScore], tuple[float, float]]  # numerator and denominator of a sentence
    settings: str  # what sets this figure apart, for its signature
    dropped: bool = False  # whether the sentences that EVALB drops take part


_EVALB = "tags:predicted|failures:dropped"

METRICS: dict[str, Metric] = {
    "recall": Metric(lambda row: (row.matched, row.gold), _EVALB),
    "precision": Metric(lambda row: (row.matched, row.predicted), _EVALB),
    "f1": Metric(lambda row: (2 * row.matched, row.gold + row.predicted), _EVALB),
    "exact": Metric(lambda row: (row.is_exact, 1), _EVALB),
    "tagging": Metric(lambda row: (row.correct_tags, row.words), _EVALB),
    "f1_gold_tags": Metric(
        lambda row: (2 * row.tagged_matched, row.tagged_gold + row.tagged_predicted),
        "tags:gold|failures:empty",
        dropped=True,
    ),
    "f1_failures": Metric(
        lambda row: (
            2 * row.matched,
            row.gold + row.predicted if row.status is Status.VALID else row.tagged_gold,
        ),
        "tags:predicted|failures:empty",
        dropped=True,
    ),
    "mean_f1": Metric(lambda row: (row.f1 / 100, 1), f"{_EVALB}|mean:sentences"),
    "unlabelled_f1": Metric(
        lambda row: (2 * row.unlabelled_matched, row.gold + row.predicted), f"{_EVALB}|labels:none"
    ),
    "mean_unlabelled_f1": Metric(
        lambda row: (_f1(row.unlabelled_matched, row.gold + row.predicted) / 100, 1),
        f"{_EVALB}|labels:none|mean:sentences",
    ),
}
"""Figures in percent by name; `BracketScores.value` computes them."""


class _Figure:
    """A figure of `METRICS` as an attribute of scores, by the same name."""

    def __init__(self, about: str) -> None:
        self.__doc__ = about

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, scores: Any, owner: type | None = None) -> float:
        return self if scores is None else scores.value(self._name)  # type: ignore[return-value]


@dataclass(frozen=True, repr=False)
class BracketScores:
    """Scores over sentences.

    Examples
    --------
    >>> from gramian.evaluate import score
    >>> from gramian.trees import Tree
    >>> gold = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> flat = Tree.parse("(S (DT the) (NN dog) (VP (VBZ barks)))")
    >>> scores = score([gold], [flat])
    >>> scores
    <BracketScores: F1 80.00, recall 66.67, precision 100.00, tagging 100.00, 1 sentence>
    >>> scores.f1, scores.recall, scores.precision
    (80.0, 66.66666666666667, 100.0)
    >>> scores.up_to(40).signature("unlabelled_f1")  # doctest: +ELLIPSIS
    'unlabelled_f1|prm:collins|punct:deleted|tags:predicted|failures:dropped|labels:none|len:<=40|version:...'
    """

    rows: tuple[SentenceScore, ...]
    parameters: Parameters  #: the settings under which the rows were counted
    #: shortest and greatest length of the sentences taken; None for all
    limits: tuple[int, int] | None = None

    def __repr__(self) -> str:
        """Tell the figures that are asked for most."""
        figures = {"F1": self.f1, "recall": self.recall, "precision": self.precision, "tagging": self.tagging}
        shown = ", ".join(f"{name} {value:.2f}" for name, value in figures.items())
        return f"<BracketScores: {shown}, {counted(self.sentences, 'sentence')}>"

    def value(self, metric: str) -> float:
        """Return the figure named `metric` (one of `METRICS`) in percent; 0 where nothing can be counted."""
        chosen = _metric(metric)
        if metric == "f1":
            # As EVALB rounds it; the ratio of sums can differ in the last bit.
            recall, precision = self.recall, self.precision
            return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        parts = [chosen.parts(row) for row in self.rows if chosen.dropped or row.status is Status.VALID]
        return _percent(sum(part[0] for part in parts), sum(part[1] for part in parts))

    def statistics(self, metric: str) -> list[tuple[float, float]]:
        """Return numerator and denominator of `metric` for every sentence, (0, 0) where it takes no part."""
        chosen = _metric(metric)
        return [
            chosen.parts(row) if chosen.dropped or row.status is Status.VALID else (0.0, 0.0)
            for row in self.rows
        ]

    def signature(self, metric: str = "f1") -> str:
        """Return how `metric` was computed, to be quoted beside its value."""
        settings = _metric(metric).settings
        general = self.parameters.signature
        if "labels:" in settings:
            general = "|".join(part for part in general.split("|") if not part.startswith("labels:"))
        shortest, longest = self.limits or (0, 0)
        length = "all" if not longest else f"{shortest}-{longest}" if shortest else f"<={longest}"
        return f"{metric}|{general}|{settings}|len:{length}|version:{__version__}"

    def between(self, shortest: int, longest: int) -> BracketScores:
        """Return the scores of the sentences whose length lies in this range, both ends included."""
        rows = tuple(row for row in self.rows if shortest <= row.length <= longest)
        return BracketScores(rows, self.parameters, (shortest, longest))

    def up_to(self, length: int) -> BracketScores:
        """Return the scores of the sentences of at most `length` words."""
        return self.between(0, length)

    def by_length(self, width: int = 10) -> dict[str, BracketScores]:
        """Return scores by length, in steps of `width` words; only steps that have sentences."""
        steps = sorted({max(row.length - 1, 0) // width for row in self.rows})
        return {
            f"{step * width + 1}-{(step + 1) * width}": self.between(
                step * width + (step > 0), (step + 1) * width
            )
            for step in steps
        }

    def as_dict(self) -> dict[str, int | float]:
        """Return counts and all figures by name, ready for JSON."""
        counts = {name: getattr(self, name) for name in ("sentences", "errors", "skipped", "valid")}
        crossing = {
            "crossing": self.crossing,
            "no_crossing": self.share_crossing(0),
            "two_or_less_crossing": self.share_crossing(2),
        }
        return {**counts, **{name: self.value(name) for name in METRICS}, **crossing}

    def share_crossing(self, most: int) -> float:
        """Return the share of valid sentences with at most `most` crossing brackets, in percent."""
        few = sum(row.crossing <= most for row in self.rows if row.status is Status.VALID)
        return _percent(few, self.valid)

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return len(self.rows)

    @property
    def errors(self) -> int:
        """Number of sentences that EVALB drops because of a wrong tag."""
        return sum(row.status is Status.ERROR for row in self.rows)

    @property
    def skipped(self) -> int:
        """Number of sentences that EVALB drops because the prediction has no words."""
        return sum(row.status is Status.SKIPPED for row in self.rows)

    @property
    def valid(self) -> int:
        """Number of sentences that EVALB scores."""
        return sum(row.status is Status.VALID for row in self.rows)

    recall = _Figure("Matched share of gold's brackets over the valid sentences, in percent.")
    precision = _Figure("Matched share of the predicted brackets over the valid sentences, in percent.")
    f1 = _Figure("EVALB's F-measure over the valid sentences, in percent.")
    exact = _Figure("Share of valid sentences whose brackets all match, in percent.")
    tagging = _Figure("Share of words with gold's tag over the valid sentences, in percent.")
    f1_gold_tags = _Figure(
        "F1 over all sentences with gold's tags put into the predictions; a failed parse matches nothing."
    )
    f1_failures = _Figure(
        "F1 over all sentences, those that EVALB drops counted as predictions without brackets."
    )
    mean_f1 = _Figure("Mean over the valid sentences of their F1.")
    unlabelled_f1 = _Figure("F1 over the valid sentences with labels ignored.")

    @property
    def crossing(self) -> float:
        """Mean number of crossing brackets over the valid sentences."""
        total = sum(row.crossing for row in self.rows)
        return total / self.valid if self.valid else 0.0


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Counts of the brackets of one label over the valid sentences.

    Examples
    --------
    >>> LabelScore("NP", gold=4, predicted=5, gold_matched=3, predicted_matched=3).recall
    75.0
    """

    label: str
    #: gold, predicted: brackets with this label
    gold: int
    predicted: int
    #: gold_matched, predicted_matched: those that found a partner; they differ only where two labels count as equal
    gold_matched: int
    predicted_matched: int

    @property
    def recall(self) -> float:
        """Matched share of gold's brackets, in percent."""
        return _percent(self.gold_matched, self.gold)

    @property
    def precision(self) -> float:
        """Matched share of the predicted brackets, in percent."""
        return _percent(self.predicted_matched, self.predicted)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def _metric(name: str) -> Metric:
    if name not in METRICS:
        raise OptionError(f"unknown metric {name!r}; use one of {', '.join(METRICS)}")
    return METRICS[name]
