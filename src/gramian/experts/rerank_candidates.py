"""The best trees of a sentence under a model, as arrays: what a reranker chooses from.

They come from the forest that the model's grammars and expert made together. Half are those with the highest log-odds of brackets, half
those with the highest product of rules: trees that differ in more than their least certain bracket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.chart.decode import DEFAULT_DECODER, decode, scores
from gramian.chart.forest import Forest
from gramian.chart.k_best import distinct_trees, trees_in_order
from gramian.chart.tree_arrays import Decoded, confidences
from gramian.experts import rerank_kernels as kernels

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

DENSE = ("expected brackets", "log-odds of brackets", "log-posterior of rules", "phrases", "first")
"""What the model itself says about a tree: see :func:`candidates`."""

CANDIDATES = 50
"""How many trees of a sentence a reranker chooses from, if nothing else is said."""

_LEAST = 1e-4  # log-odds are not taken of posteriors nearer to 0 or 1
_LEAST_RULE = 1e-6


@dataclass(frozen=True)
class Candidates:
    """Trees of one sentence."""

    names: tuple[str, ...]  # labels of phrases, then tags
    n_phrase_labels: int
    tree_start: Ints  # (n + 1,): where each tree's nodes begin
    label: Ints  # of every node, parents before children, left before right
    arity: Ints  # how many children it has; 0 for a tag
    dense: Floats  # (n, len(DENSE)): what the model says about each tree

    def __len__(self) -> int:
        return len(self.tree_start) - 1


def candidates(forest: Forest, k: int) -> tuple[Candidates, list[Decoded]]:
    """Return up to `k` of the best trees of a forest, as arrays and as the chart has them; the default decoder's tree comes first."""
    table = forest.labels
    rules, recall = (scores(forest.posteriors, one) for one in ("max-rule-product", DEFAULT_DECODER))
    odds = kernels.odds_scores(
        forest.item_symbol, forest.item_cell, table.first, table.number, forest.label_posterior, _LEAST
    )
    ranked: list[Decoded] = []
    seen: set[Any] = set()
    for by, most in ((recall, 1), (recall._replace(item=odds), 1 + k // 2), (rules, k)):
        trees = distinct_trees(forest, trees_in_order(forest, by), seen)
        ranked += islice(trees, max(0, min(most, k) - len(ranked)))
    return described(forest, ranked), ranked


def own_trees(forest: Forest, decoder: str = DEFAULT_DECODER) -> tuple[Candidates, list[Decoded]]:
    """Return the different best trees of the single grammars that a forest was combined of, those of the same rules as its first."""
    members = [one for one in forest.members or (forest,) if one.edge_left is forest.edge_left]
    found = [tree for member in members if (tree := decode(member, decoder)) is not None]
    ranked = list(distinct_trees(forest, found))
    return described(forest, ranked), ranked


def described(forest: Forest, ranked: Sequence[Decoded]) -> Candidates:
    """Return trees of a forest as arrays.

    Of each tree the model tells the expected number of right brackets, less one half for each bracket; the sum of the log-odds of its
    brackets; the sum of the log-posteriors of its rules and tags; how many phrases it has; and whether it comes first.
    """
    table, rules = forest.labels, scores(forest.posteriors, "max-rule-product")
    item, edge, root = (
        np.maximum(part, np.log(_LEAST_RULE)) for part in (rules.item, rules.edge, rules.root)
    )
    parts, dense = [], np.zeros((len(ranked), len(DENSE)), np.float32)
    for place, tree in enumerate(ranked):
        label, arity = kernels.unfolded(
            tree.items, tree.edges, forest.item_symbol, forest.edge_right, table.first, table.number
        )
        parts.append((label, arity))
        is_phrase = arity > 0
        posterior = confidences(forest, tree)[is_phrase]
        sure = np.clip(posterior, _LEAST, 1 - _LEAST)
        log_rules = item[tree.items].sum() + edge[tree.edges[tree.edges >= 0]].sum() + root[tree.items[0]]
        log_odds = np.sum(np.log(sure / (1 - sure)))
        dense[place] = np.sum(posterior - 0.5), log_odds, log_rules, is_phrase.sum(), place == 0
    start = np.cumsum([0, *(len(label) for label, _ in parts)], dtype=np.int32)
    empty = np.empty(0, np.int32)
    label, arity = (np.concatenate([empty, *(part[k] for part in parts)]) for k in range(2))
    return Candidates(table.names, table.n_phrase_labels, start, label, arity, dense)
