"""A learnt reranker: weights of hashed features and of what the base model says, applied to a sentence's best trees.

Weights make a distribution over the candidates. As for charts, what is wanted is not its most probable tree but the one that is
expected to have most brackets right (Goodman 1996), under this distribution and under the base model together.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.chart.forest import Forest
from gramian.chart.tree_arrays import Decoded
from gramian.experts import rerank_kernels as kernels
from gramian.experts.rerank_candidates import DENSE, Candidates, candidates
from gramian.experts.rerank_features import TreeFeatures
from gramian.io import model_files
from gramian.io.array_table import validate
from gramian.io.schema import as_document, parse_json
from gramian.io.tensors import Tensors, pack_strings, pack_weights, unpack_strings, unpack_weights
from gramian.trees import HeadRules

_Heads: TypeAlias = tuple[dict[str, list[tuple[str, tuple[str, ...]]]], str, list[str], list[str]]
"""Head rules as JSON holds them: searches by label, the default, labels that are never heads, labels of coordination."""


def expected_brackets(
    trees: Candidates, scores: npt.NDArray[Any], base: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return for each tree how many of its brackets are expected to be right, less one half for each.

    `scores` are logarithms of the trees' probabilities, up to a constant; the base model's own posteriors count `base`.
    """
    chance = np.exp(scores - scores.max())
    chance /= chance.sum()
    _, _, start, end = kernels.frames(trees.tree_start, trees.arity)
    is_phrase = trees.arity > 0
    owner = np.repeat(np.arange(len(trees)), np.diff(trees.tree_start))[is_phrase]
    bracket = (trees.label.astype(np.int64) << 40 | start.astype(np.int64) << 20 | end)[is_phrase]
    number = np.unique(bracket, return_inverse=True)[1]
    posterior = np.bincount(number, chance[owner])
    return np.bincount(owner, posterior[number] - 0.5, len(trees)) + base * trees.dense[:, 0]


@dataclass(frozen=True)
class RerankModel:
    """What a reranker has learnt; safe to share between threads.

    Examples
    --------
    >>> gramian.load("my.grammar").model.reranker.k  # doctest: +SKIP
    50
    """

    k: int  #: how many trees it chooses from
    frequent: tuple[str, ...]  #: lower-cased words that stand for themselves; others are known by their form
    heads: HeadRules | None
    #: weight of each column of :attr:`gramian.experts.rerank_candidates.Candidates.dense`
    dense: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float32]  #: of the features; a power of two
    #: what the base model's posteriors of brackets count beside the reranker's; see :func:`expected_brackets`
    base: float = 0.0

    @cached_property
    def _features(self) -> TreeFeatures:
        return TreeFeatures(self.frequent, self.heads)

    def ranked(self, forest: Forest, words: Sequence[str], k: int) -> list[Decoded]:
        """Return the best `k` trees of a forest, the best first."""
        trees, derivations = candidates(forest, max(k, self.k))
        order = np.argsort(-expected_brackets(trees, self.scores(words, trees), self.base), kind="stable")
        return [derivations[index] for index in order[:k].tolist()]

    def scores(self, words: Sequence[str], trees: Candidates) -> npt.NDArray[np.float64]:
        """Return the logarithm of each tree's probability, up to a constant."""
        return self._features.scores(words, trees, self.weights) + trees.dense @ self.dense


def _pack(model: RerankModel) -> tuple[dict[str, Any], Tensors]:
    heads = None
    if model.heads is not None:
        rules = model.heads
        heads = [rules.searches, rules.default, sorted(rules.never), sorted(rules.coordination)]
    tensors: Tensors = {
        "k": np.array([model.k], np.int32),
        "frequent": pack_strings(model.frequent),
        "heads": np.frombuffer(json.dumps(heads, sort_keys=True).encode(), np.uint8),
        "dense": model.dense.astype(np.float32),
        "base": np.array([model.base], np.float32),
    }
    return {"gramian": __version__}, tensors | pack_weights("weights", model.weights)


def _unpack(_: dict[str, Any], tensors: Tensors) -> RerankModel:
    k, base = tensors["k"].item(), float(tensors["base"].item())
    stored = as_document(_Heads | None, parse_json(bytes(tensors["heads"])), "heads")
    heads = None
    if stored is not None:
        searches, default, never, coordination = stored
        heads = HeadRules(
            {label: tuple(rows) for label, rows in searches.items()},
            default,
            frozenset(never),
            frozenset(coordination),
        )
        heads.check()
    dense, weights = tensors["dense"].astype(np.float64), unpack_weights(tensors, "weights")
    if type(k) is not int or not 1 <= k <= 1000 or not np.isfinite(base):
        raise ValueError(f"{k} trees, {base} for the base model")
    validate("reranker", {"dense": dense, "weights": weights}, **{"dense features": len(DENSE)})
    return RerankModel(k, unpack_strings(tensors["frequent"]), heads, dense, weights, base)


model_files.register("reranker", model_files.GRAMMAR, _pack, _unpack)
