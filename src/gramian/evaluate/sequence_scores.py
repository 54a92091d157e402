"""Scores of sequence models: word error rate, perplexity, the PAutomaC score and SPiCe's NDCG.

A model is anything with an ``alphabet``, ``log_score`` and ``next_scores`` (see
:mod:`gramian.automata.sequence_model`), and strings are :class:`~gramian.automata.sequences.Sequences`. A string of
length t makes t + 1 events: each symbol given what stands before it, and STOP at the end (Balle et al. 2014,
section 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.errors import ScoreError

Array = npt.NDArray[np.float64]

_BLOCK = 1000  # strings whose predictions are held at once


@dataclass(frozen=True)
class NextSymbolScores:
    """How well a model predicts what comes next."""

    events: int  # symbols and STOPs predicted
    errors: int  # where another symbol scored higher
    log_likelihood: float  # of all strings, natural; -inf if one is impossible

    @property
    def word_error_rate(self) -> float:
        """Share of wrong predictions, in percent."""
        return 100.0 * self.errors / self.events if self.events else 0.0

    @property
    def perplexity(self) -> float:
        """Inverse geometric mean of the events' probabilities."""
        return float(np.exp(-self.log_likelihood / self.events)) if self.events else 1.0

    def signature(self, metric: str = "wer") -> str:
        """Return how the score was computed, to be quoted beside its value."""
        return f"{metric}|events:symbols+stop|prefix:gold|version:{__version__}"


def next_symbol_scores(model: Any, strings: Any) -> NextSymbolScores:
    """Predict every symbol of `strings`, and the end of each, from the gold prefix."""
    sample = strings.recode(model.alphabet)
    events = errors = 0
    for first in range(0, len(sample), _BLOCK):
        part = sample.take(np.arange(first, min(first + _BLOCK, len(sample))))
        predicted = model.next_scores(part).argmax(axis=1)
        gold = part.events()
        events += len(gold)
        errors += int(np.count_nonzero(predicted != gold))
    return NextSymbolScores(events, errors, float(model.log_score(sample).sum()))


@dataclass(frozen=True)
class PautomacScore:
    """The score of the PAutomaC competition (Verwer, Eyraud and de la Higuera 2012)."""

    perplexity: float  # 2 ** -sum(p log2 q) with the model's scores q normalised over the test strings
    target: float  # with the true probabilities p in the place of q: the lowest there is
    not_positive: int  # test strings without a positive score; a negative one counts by its absolute value

    @property
    def gap(self) -> float:
        """How far the perplexity is above the target."""
        return self.perplexity - self.target

    def signature(self) -> str:
        """Return how the score was computed, to be quoted beside its value."""
        return f"pautomac|normalised:test|negative:absolute|version:{__version__}"


def pautomac_score(model: Any, strings: Any, solution: npt.ArrayLike) -> PautomacScore:
    """Compare a model's scores of `strings` with their true probabilities."""
    truth = np.asarray(solution, np.float64)
    if len(truth) != len(strings):
        raise ScoreError(
            f"{len(strings)} test strings but {len(truth)} true probabilities; "
            "try: the solution file of the same problem"
        )
    truth = truth / truth.sum()
    if hasattr(model, "signed_log_score"):
        logs, sign = model.signed_log_score(strings)
        not_positive = int(np.count_nonzero(sign <= 0))
    else:
        logs = model.log_score(strings)
        not_positive = int(np.count_nonzero(np.isneginf(logs)))
    seen = truth > 0
    target = -float(truth[seen] @ np.log(truth[seen]))
    largest = logs.max()
    if not np.isfinite(largest):
        return PautomacScore(float("inf"), float(np.exp(target)), not_positive)
    normaliser = largest + np.log(np.exp(logs - largest).sum())
    cross = -float(truth[seen] @ (logs[seen] - normaliser))
    return PautomacScore(float(np.exp(cross)), float(np.exp(target)), not_positive)


def ndcg(
    model: Any, prefixes: Any, targets: Sequence[tuple[float, dict[int, float]]], *, at: int = 5
) -> float:
    """Return the mean normalised discounted cumulative gain of the `at` best next symbols, SPiCe's score.

    Of each prefix, `targets` are the gain of the best ranking, and the probability of each next symbol; -1 is STOP.
    """
    if len(targets) != len(prefixes):
        raise ScoreError(
            f"{len(prefixes)} prefixes but {len(targets)} targets; try: the target file of the same problem"
        )
    sample = prefixes.recode(model.alphabet)
    names = np.array([*model.alphabet, -1])
    discounts = 1.0 / np.log2(np.arange(2, at + 2))
    total = 0.0
    for first in range(0, len(sample), _BLOCK):
        part = sample.take(np.arange(first, min(first + _BLOCK, len(sample))))
        scores = model.next_scores(part)[part.last_cuts]
        ranked = names[np.argsort(-scores, axis=1, kind="stable")[:, :at]]
        for row, (best, gains) in zip(ranked.tolist(), targets[first : first + _BLOCK], strict=True):
            gain = sum(gains.get(symbol, 0.0) * share for symbol, share in zip(row, discounts, strict=False))
            total += gain / best if best > 0 else 1.0
    return float(total / len(sample)) if len(sample) else 0.0
