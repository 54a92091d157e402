"""Learning to rerank: a conditional log-linear model of candidates by L-BFGS (Charniak and Johnson 2005; Riezler et al. 2002).

What is maximised is the logarithm of the probability of the best candidates, those whose F1 is highest, less an L2 penalty. Candidates
are those of models that have not seen the sentences; see :mod:`gramian.training.folds`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gramian.base import Report
from gramian.errors import InputError, MissingExtraError, OptionError
from gramian.loglinear import reranker_kernels as learn_kernels
from gramian.loglinear.rerank_candidates import DENSE
from gramian.loglinear.rerank_features import GROUPS, TreeFeatures
from gramian.loglinear.rerank_model import RerankModel, expected_brackets
from gramian.loglinear.rerank_scored import Scored
from gramian.trees import HeadRules

try:
    from scipy.optimize import minimize
    from sklearn.base import BaseEstimator
except ModuleNotFoundError:  # pragma: no cover - only without the extra
    raise MissingExtraError("scikit-learn", "train", "learning to rerank") from None

__all__ = ["Examples", "MaxEntReranker", "log_likelihood"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Examples:
    """Candidates of sentences by what sets them apart from their sentence's first.

    Attributes
    ----------
    sentence_start : ndarray of int64, shape (n_sentences + 1,)
        Where each sentence's candidates begin.
    tree_first : ndarray of int64, shape (n_candidates + 1,)
        Where each candidate's features begin.
    feature : ndarray of int32
    value : ndarray of int8
        How much more often the candidate has the feature than the first.
    dense : ndarray of float64, shape (n_candidates, n_dense)
        Differences of what the base model says.
    counts : ndarray of int32, shape (n_candidates, 3)
        Brackets of each candidate that are right, its brackets, and gold's.
    """

    sentence_start: npt.NDArray[np.int64]
    tree_first: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int32]
    value: npt.NDArray[np.int8]
    dense: Floats
    counts: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sentence_start) - 1

    def part(self, first: int, last: int) -> Examples:
        """Return some of the sentences."""
        start = self.sentence_start[first : last + 1]
        trees = self.tree_first[start[0] : start[-1] + 1]
        features, chosen = slice(trees[0], trees[-1]), slice(start[0], start[-1])
        return Examples(
            start - start[0], trees - trees[0], self.feature[features], self.value[features], self.dense[chosen],
            self.counts[chosen],
        )  # fmt: skip

    @cached_property
    def best(self) -> npt.NDArray[np.bool_]:
        """Which candidates have the highest F1 of their sentence."""
        f1 = 2 * self.counts[:, 0] / np.maximum(self.counts[:, 1] + self.counts[:, 2], 1)
        highest = np.maximum.reduceat(f1, self.sentence_start[:-1])
        return f1 >= np.repeat(highest, np.diff(self.sentence_start)) - 1e-9

    def scores(self, weights: Floats) -> Floats:
        """Return the score of each candidate, less that of its sentence's first."""
        result: Floats = learn_kernels.example_scores(
            weights, self.tree_first, self.feature, self.value, self.dense
        )
        return result

    def f1(self, scores: npt.NDArray[Any]) -> float:
        """Return the F1, in per cent, of the candidates with the highest scores; of equal ones the first counts."""
        chosen = [
            first + int(np.argmax(scores[first:last]))
            for first, last in zip(self.sentence_start[:-1].tolist(), self.sentence_start[1:].tolist(), strict=True)
        ]  # fmt: skip
        matched, predicted, gold = self.counts[chosen].sum(axis=0).tolist()
        return 200 * matched / max(predicted + gold, 1)


def log_likelihood(weights: Floats, examples: Examples, l2: Floats) -> tuple[float, Floats]:
    """Return the log-probability of the sentences' best candidates, less the penalty of the weights, and its slope.

    Parameters
    ----------
    weights : ndarray
        Of the features, then of the columns of ``examples.dense``.
    examples : Examples
    l2 : ndarray
        For each weight, what half of its square costs.
    """
    slope = -l2 * weights
    value = learn_kernels.slopes(
        weights, examples.sentence_start, examples.tree_first, examples.feature, examples.value, examples.dense,
        examples.best.astype(np.float64), slope,
    )  # fmt: skip
    return value - 0.5 * float(l2 @ weights**2), slope


class MaxEntReranker(BaseEstimator):  # type: ignore[misc]
    """Learns to choose among candidates.

    Parameters
    ----------
    l2 : sequence of float
        How strongly weights are drawn to zero. Of several values that one is taken with which the first sentences teach to choose
        best among the candidates of the last.
    base : sequence of float
        What the base model's posteriors count beside the reranker's when a tree is chosen; likewise.
    held_out : float
        Share of the last sentences, for that.
    heads : HeadRules, optional
        Without them there are no features of heads.
    least : int
        Features that tell candidates apart in fewer sentences are left out.
    min_count : int
        Words seen less often are known by their form alone.
    slots : int
        Size of the table of features; a power of two.
    groups : sequence of str
        Groups of features, of :data:`gramian.loglinear.rerank_features.GROUPS`.
    iterations : int
        The most steps of L-BFGS.
    say : callable, optional
        Called with a line of text when something is worth telling.

    Attributes
    ----------
    model_ : RerankModel
    report_ : dict
        With the F1 on the sentences held out: of the first candidates, of the chosen ones for each `l2` and `base`, and of the best.
    """

    def __init__(
        self, *, l2: Sequence[float] = (30.0, 100.0, 300.0), base: Sequence[float] = (1.0, 2.0), held_out: float = 0.2,
        heads: HeadRules | None = None, least: int = 5,
        min_count: int = 5, slots: int = 1 << 22, groups: Sequence[str] = GROUPS, iterations: int = 40,
        say: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.l2, self.base, self.held_out, self.heads, self.least = l2, base, held_out, heads, least
        self.min_count = min_count
        self.slots, self.groups, self.iterations, self.say = slots, groups, iterations, say

    def fit(self, sentences: Iterable[Scored], y: object = None) -> Self:
        """Learn from candidates of held-out sentences.

        Parameters
        ----------
        sentences : iterable of Scored
            Gone through once.
        y : ignored

        Returns
        -------
        self
        """
        if self.slots < 1 << 12 or self.slots & (self.slots - 1):
            raise OptionError(f"slots is a power of two, 4096 or more, not {self.slots!r}")
        if not self.l2 or min(self.l2) <= 0:
            raise OptionError(f"l2 is one or more numbers above 0, not {self.l2!r}")
        report = Report(__name__)
        chosen = [one for one in sentences if len(one.trees) > 1]
        if len(chosen) < 2:
            raise InputError(
                "fewer than two sentences have candidates to choose from", "candidates", hint="more trees"
            )
        with report.stage("features"):
            features = TreeFeatures(self._frequent(chosen), self.heads, self.groups)
            examples, slots = self._examples(chosen, features)
        scale = np.maximum(examples.dense.std(axis=0), 1e-6)
        examples.dense[:] /= scale
        with report.stage("weights"):
            l2, base = self._tuned(chosen, examples, len(slots), report)
            weights = self._climb(examples, len(slots), l2)
        table = np.zeros(self.slots, np.float32)
        table[slots] = weights[: len(slots)]
        report.facts |= {"sentences": len(examples), "features": len(slots), "l2": l2, "base": base}
        self.model_ = RerankModel(
            max(len(one.trees) for one in chosen), features.forms.frequent, self.heads, weights[len(slots) :] / scale, table, base
        )  # fmt: skip
        self.report_: dict[str, Any] = report.as_dict()
        return self

    def _frequent(self, sentences: Sequence[Scored]) -> list[str]:
        count = Counter(word.lower() for one in sentences for word in one.words)
        return [word for word, times in count.items() if times >= self.min_count]

    def _examples(
        self, sentences: Sequence[Scored], features: TreeFeatures
    ) -> tuple[Examples, npt.NDArray[np.int64]]:
        """Return the sentences as numbers, and the slots of the features that are kept."""
        table, count = np.zeros(self.slots, np.int16), np.zeros(self.slots, np.int32)
        found = deque[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int8]]]()
        for one in sentences:
            found.append(features.differences(one.words, one.trees, table))
            count[np.unique(found[-1][1])] += 1
        slots = np.flatnonzero(count >= self.least)
        number = np.full(self.slots, -1, np.int32)
        number[slots] = np.arange(len(slots))
        trees, parts, values, total = [np.zeros(1, np.int64)], [], [], 0
        while (
            found
        ):  # each goes when it is done with: together they are the most that learning keeps in memory
            where, slot, value = found.popleft()
            kept = number[slot] >= 0
            parts.append(number[slot[kept]])
            values.append(value[kept])
            trees.append(total + np.concatenate([[0], np.cumsum(kept)])[where[1:]])
            total += len(parts[-1])
        rows = [
            np.stack([one.matched, one.predicted, np.full_like(one.matched, one.gold)], axis=1)
            for one in sentences
        ]
        return Examples(
            np.cumsum([0, *(len(one.trees) for one in sentences)]), np.concatenate(trees), np.concatenate(parts),
            np.concatenate(values), np.concatenate([one.trees.dense - one.trees.dense[:1] for one in sentences]).astype(float),
            np.concatenate(rows),
        ), slots  # fmt: skip

    def _tuned(
        self, sentences: Sequence[Scored], examples: Examples, n_features: int, report: Report
    ) -> tuple[float, float]:
        """Return the penalty and the share of the base model that do best on the last sentences when learning from the others."""
        cut = min(max(round((1 - self.held_out) * len(examples)), 1), len(examples) - 1)
        lesson, test = examples.part(0, cut), examples.part(cut, len(examples))
        share = cut / len(examples)
        found = {}
        for l2 in self.l2:
            scores = np.split(
                test.scores(self._climb(lesson, n_features, share * l2)), test.sentence_start[1:-1]
            )
            for base in self.base:
                rows = zip(sentences[cut:], scores, strict=True)
                found[l2, base] = test.f1(
                    np.concatenate([expected_brackets(one.trees, row, base) for one, row in rows])
                )
                report.say(f"l2 {l2:g}, base {base:g}: F1 {found[l2, base]:.2f} on held-out candidates")
        report.facts["held out"] = {
            "first": round(test.f1(np.zeros(len(test.best))), 3),
            "chosen": {f"l2 {l2:g}, base {base:g}": round(value, 3) for (l2, base), value in found.items()},
            "best": round(test.f1(test.best), 3),
        }
        return max(found, key=found.__getitem__)

    def _climb(self, examples: Examples, n_features: int, l2: float) -> Floats:
        penalty = np.full(n_features + len(DENSE), l2)
        penalty[n_features:] = 1e-3  # few numbers, learnt from all sentences

        def fall(weights: Floats) -> tuple[float, Floats]:
            value, slope = log_likelihood(weights, examples, penalty)
            return -value, -slope

        weights: Floats = minimize(
            fall, np.zeros(len(penalty)), jac=True, method="L-BFGS-B", options={"maxiter": self.iterations}
        ).x
        return weights
