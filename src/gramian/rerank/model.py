"""A learnt reranker: weights of hashed features and of what the base model says, applied to a sentence's best trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.chart.inference import ChartParser, Forest
from gramian.chart.readout import Decoded
from gramian.rerank.candidates import Candidates, candidates
from gramian.rerank.features import TreeFeatures
from gramian.trees import HeadRules

__all__ = ["RerankModel"]


@dataclass(frozen=True)
class RerankModel:
    """What a reranker has learnt; safe to share between threads.

    Attributes
    ----------
    k : int
        How many trees it chooses from.
    frequent : tuple of str
        Lower-cased words that stand for themselves; others are known by their form.
    heads : HeadRules or None
    dense : ndarray of float64
        Weight of each column of :attr:`gramian.rerank.candidates.Candidates.dense`.
    weights : ndarray of float32
        Of the features; a power of two.
    """

    k: int
    frequent: tuple[str, ...]
    heads: HeadRules | None
    dense: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float32]

    @cached_property
    def _features(self) -> TreeFeatures:
        return TreeFeatures(self.frequent, self.heads)

    def ranked(self, chart: ChartParser, forest: Forest, words: Sequence[str], k: int) -> list[Decoded]:
        """Return the best `k` trees of a forest, the best first."""
        trees, found = candidates(chart, forest, max(k, self.k))
        order = np.argsort(-self.scores(words, trees), kind="stable")
        return [found[place] for place in order[:k].tolist()]

    def scores(self, words: Sequence[str], trees: Candidates) -> npt.NDArray[np.float64]:
        """Return a score for each tree: what is highest is best, and differences are logarithms of ratios of probabilities."""
        return self._features.scores(words, trees, self.weights) + trees.dense @ self.dense
