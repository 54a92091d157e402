"""Learning to rerank: a conditional log-linear model of candidates by L-BFGS (Charniak and Johnson 2005; Riezler et al. 2002).

What is maximised is the logarithm of the probability of the best candidates, those whose F1 is highest, less an L2 penalty. Candidates
are those of models that have not seen the sentences; see :mod:`gramian.training.folds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from gramian.base import Estimator, Report, estimator
from gramian.errors import InputError
from gramian.experts import reranker_kernels as kernels
from gramian.experts.rerank_candidates import DENSE, Scored
from gramian.experts.rerank_features import GROUPS, TreeFeatures
from gramian.experts.rerank_model import RerankModel, expected_brackets
from gramian.loglinear.word_views import frequent_words
from gramian.trees import HeadRules
from gramian.value_types import Each, InstanceOf, Number, OneOf, PowerOfTwo, Whole, option, or_none

Floats = npt.NDArray[np.float64]


class ExampleArrays(NamedTuple):
    """Candidates of sentences by what sets them apart from their sentence's first."""

    sentence_start: npt.NDArray[np.int64]  # (n_sentences + 1,): where each sentence's candidates begin
    tree_first: npt.NDArray[np.int64]  # (n_candidates + 1,): where each candidate's features begin
    feature: npt.NDArray[np.int32]
    value: npt.NDArray[np.int8]  # how much more often the candidate has the feature than the first
    dense: Floats  # (n_candidates, n_dense): differences of what the base model says


@dataclass(frozen=True)
class Examples:
    """Candidates of sentences, and how good they are."""

    arrays: ExampleArrays
    counts: npt.NDArray[np.int32]  # (n_candidates, 3): brackets that are right, all brackets, and gold's

    @property
    def sentence_start(self) -> npt.NDArray[np.int64]:
        """Where each sentence's candidates begin."""
        return self.arrays.sentence_start

    def __len__(self) -> int:
        return len(self.sentence_start) - 1

    def part(self, first: int, last: int) -> Examples:
        """Return some of the sentences."""
        start = self.sentence_start[first : last + 1]
        _, tree_first, feature, value, dense = self.arrays
        trees = tree_first[start[0] : start[-1] + 1]
        features, chosen = slice(trees[0], trees[-1]), slice(start[0], start[-1])
        arrays = ExampleArrays(
            start - start[0], trees - trees[0], feature[features], value[features], dense[chosen]
        )
        return Examples(arrays, self.counts[chosen])

    @cached_property
    def best(self) -> npt.NDArray[np.bool_]:
        """Which candidates have the highest F1 of their sentence."""
        f1 = 2 * self.counts[:, 0] / np.maximum(self.counts[:, 1] + self.counts[:, 2], 1)
        highest = np.maximum.reduceat(f1, self.sentence_start[:-1])
        return f1 >= np.repeat(highest, np.diff(self.sentence_start)) - 1e-9

    def scores(self, weights: Floats) -> Floats:
        """Return the score of each candidate, less that of its sentence's first."""
        return kernels.example_scores(weights, self.arrays)

    def f1(self, scores: npt.NDArray[Any]) -> float:
        """Return the F1, in per cent, of the candidates with the highest scores; of equal ones the first counts."""
        bounds = pairwise(self.sentence_start.tolist())
        chosen = [first + int(np.argmax(scores[first:last])) for first, last in bounds]
        matched, predicted, gold = self.counts[chosen].sum(axis=0).tolist()
        return 200 * matched / max(predicted + gold, 1)


def log_likelihood(weights: Floats, examples: Examples, l2: Floats) -> tuple[float, Floats]:
    """Return the log-probability of the sentences' best candidates, less the penalty of the weights, and its gradient.

    `weights` are those of the features, then of the columns of `dense`; `l2` is what half of each weight's square costs.
    """
    gradient = -l2 * weights
    value = kernels.add_gradient(weights, examples.arrays, examples.best.astype(np.float64), gradient)
    return value - 0.5 * float(l2 @ weights**2), gradient


@estimator
class MaxEntReranker(Estimator):
    """Learns to choose among candidates.

    Attributes
    ----------
    model_ : RerankModel
    report_ : dict
        With the F1 on the sentences held out: of the first candidates, of the chosen ones for each `l2` and `base`, and of the best.

    Examples
    --------
    >>> MaxEntReranker(slots=1 << 16).fit(read_candidates(written)).model_  # doctest: +SKIP
    """

    _: KW_ONLY
    l2: Sequence[float] = option(Each(Number(above=0)), default=(30.0, 100.0, 300.0))
    """How strongly weights are drawn to zero. Of several values that one is taken with which the first sentences teach to choose best among
    the candidates of the last."""
    base: Sequence[float] = option(Each(Number(0)), default=(1.0, 2.0))
    """What the base model's posteriors count beside the reranker's when a tree is chosen; likewise."""
    held_out: float = option(Number(above=0, below=1), default=0.2)
    """Share of the last sentences, for that."""
    heads: HeadRules | None = option(or_none(InstanceOf(HeadRules)), default=None)
    """Without them there are no features of heads."""
    least: int = option(Whole(0), default=5)
    """Features that tell candidates apart in fewer sentences are left out."""
    min_count: int = option(Whole(0), default=5)
    """Words seen less often are known by their form alone."""
    slots: int = option(PowerOfTwo(1 << 12), default=1 << 22)
    """Size of the table of features; a power of two."""
    groups: Sequence[str] = option(Each(OneOf(*GROUPS)), default=GROUPS)
    """Groups of features, of :data:`gramian.experts.rerank_features.GROUPS`."""
    max_iter: int = option(Whole(1), default=40)
    """The most steps of L-BFGS."""
    verbose: bool = False
    """Whether progress is shown."""

    def fit(self, sentences: Iterable[Scored], y: object = None) -> Self:
        """Learn from candidates of held-out sentences, gone through several times; `y` is ignored.

        What can be gone through once only is kept in memory; together candidates take more of it than what is learnt from them.
        """
        with self._fitting() as report:
            several_times = [*sentences] if iter(sentences) is sentences else sentences

            def chosen() -> Iterator[Scored]:
                return (sentence for sentence in several_times if len(sentence.trees) > 1)

            if len([*islice(chosen(), 2)]) < 2:
                raise InputError(
                    "fewer than two sentences have candidates to choose from", "candidates", hint="more trees"
                )
            self._learn(chosen, report)
            self.report_: dict[str, Any] = report.as_dict()
        return self

    def _learn(self, chosen: Callable[[], Iterator[Scored]], report: Report) -> None:
        with report.stage("features"):
            counted = ((word, 1) for sentence in chosen() for word in sentence.words)
            features = TreeFeatures(frequent_words(counted, self.min_count), self.heads, self.groups)
            examples, slots = self._examples(chosen, features)
        dense = examples.arrays.dense
        scale = np.maximum(dense.std(axis=0), 1e-6)
        dense[:] /= scale
        with report.stage("weights"):
            l2, base = self._tuned(chosen, examples, len(slots), report)
            weights = self._climb(examples, len(slots), l2)
        table = np.zeros(self.slots, np.float32)
        table[slots] = weights[: len(slots)]
        report.facts |= {"sentences": len(examples), "features": len(slots), "l2": l2, "base": base}
        most, frequent = int(np.diff(examples.sentence_start).max()), features.forms.frequent
        self.model_ = RerankModel(most, frequent, self.heads, weights[len(slots) :] / scale, table, base)

    def _examples(
        self, sentences: Callable[[], Iterator[Scored]], features: TreeFeatures
    ) -> tuple[Examples, npt.NDArray[np.int64]]:
        """Return the sentences as numbers, and the slots of the features that are kept."""
        table, count = np.zeros(self.slots, np.int16), np.zeros(self.slots, np.int32)
        entries = np.zeros(self.slots, np.int64)
        for one in sentences():
            found, times = np.unique(features.differences(one.words, one.trees, table)[1], return_counts=True)
            count[found] += 1
            entries[found] += times
        slots = np.flatnonzero(count >= self.least)
        number = np.full(self.slots, -1, np.int32)
        number[slots] = np.arange(len(slots))
        # The most that learning keeps in memory: features are read off a second time rather than kept until it is known which count.
        total = int(entries[slots].sum())
        feature, value = np.empty(total, np.int32), np.empty(total, np.int8)
        del count, entries
        trees, rows, dense, starts, place = [np.zeros(1, np.int64)], [], [], [0], 0
        for one in sentences():
            where, slot, more = features.differences(one.words, one.trees, table)
            kept = number[slot] >= 0
            ends = place + np.concatenate([[0], np.cumsum(kept)])
            feature[place : ends[-1]] = number[slot[kept]]
            value[place : ends[-1]] = more[kept]
            trees.append(ends[where[1:]])
            place = int(ends[-1])
            rows.append(np.stack([one.matched, one.predicted, np.full_like(one.matched, one.gold)], axis=1))
            dense.append((one.trees.dense - one.trees.dense[:1]).astype(float))
            starts.append(starts[-1] + len(one.trees))
        arrays = ExampleArrays(np.array(starts), np.concatenate(trees), feature, value, np.concatenate(dense))
        return Examples(arrays, np.concatenate(rows)), slots

    def _tuned(
        self, sentences: Callable[[], Iterator[Scored]], examples: Examples, n_features: int, report: Report
    ) -> tuple[float, float]:
        """Return the penalty and the share of the base model that do best on the last sentences when learning from the others."""
        cut = min(max(round((1 - self.held_out) * len(examples)), 1), len(examples) - 1)
        lesson, test = examples.part(0, cut), examples.part(cut, len(examples))
        judges = [*islice(sentences(), cut, None)]
        share = cut / len(examples)
        scores_of_base = {}
        for l2 in self.l2:
            scores = np.split(
                test.scores(self._climb(lesson, n_features, share * l2)), test.sentence_start[1:-1]
            )
            for base in self.base:
                rows = zip(judges, scores, strict=True)
                scores_of_base[l2, base] = test.f1(
                    np.concatenate([expected_brackets(sentence.trees, row, base) for sentence, row in rows])
                )
                report.say(
                    f"l2 {l2:g}, base {base:g}: F1 {scores_of_base[l2, base]:.2f} on held-out candidates"
                )
        report.facts["held out"] = {
            "first": round(test.f1(np.zeros(len(test.best))), 3),
            "chosen": {
                f"l2 {l2:g}, base {base:g}": round(value, 3) for (l2, base), value in scores_of_base.items()
            },
            "best": round(test.f1(test.best), 3),
        }
        return max(scores_of_base, key=scores_of_base.__getitem__)

    def _climb(self, examples: Examples, n_features: int, l2: float) -> Floats:
        penalty = np.full(n_features + len(DENSE), l2)
        penalty[n_features:] = 1e-3  # few numbers, learnt from all sentences

        def fall(weights: Floats) -> tuple[float, Floats]:
            value, gradient = log_likelihood(weights, examples, penalty)
            return -value, -gradient

        options = {"maxiter": self.max_iter}
        return minimize(fall, np.zeros(len(penalty)), jac=True, method="L-BFGS-B", options=options).x
