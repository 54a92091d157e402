"""Leaves whose vector a rule's tensor is multiplied by once, for all nodes where the rule stands over that word and tag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.learn import tree_inference_kernels as kernels
from gramian.learn.tables import LatentTables
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions

_OFTEN = 4  # nodes, from which a product pays that serves all of them

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class AbsorbedLeaves:
    """Which nodes absorb a leaf, and which kinds of leaves there are: a pair of tag and word at one side below one rule, in its order."""

    node: Integers  # that absorbs
    leaf: Integers  # that it absorbs
    other: Integers  # its other child
    number: Integers  # of its kind of leaf
    rule: Integers  # of each kind
    pair: Integers
    is_left: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, bank: Treebank, productions: Productions) -> AbsorbedLeaves:
        """Find binary nodes over a leaf that their rule has there often: of two such, the one that it has more often."""
        nodes = np.flatnonzero(bank.right >= 0)
        rule, n_pairs = productions.node_production[nodes].astype(np.int64), max(1, len(productions.lexical))
        times, key = (np.zeros((2, len(nodes)), np.int64) for _ in range(2))
        for side, child in enumerate((bank.right[nodes], bank.left[nodes])):
            over = np.flatnonzero(bank.word[child] >= 0)
            pair = productions.node_production[child[over]]
            key[side, over] = (2 * rule[over] + side) * n_pairs + pair
            _, kind, count = np.unique(key[side, over], return_inverse=True, return_counts=True)
            times[side, over] = count[kind]
        is_left = times[1] > times[0]
        used = np.flatnonzero(times.max(axis=0) >= _OFTEN)
        chosen = is_left[used].astype(np.int64)
        kinds, number = np.unique(key[chosen, used], return_inverse=True)
        children = np.stack([bank.right[nodes[used]], bank.left[nodes[used]]]).astype(np.int64)
        columns = np.arange(len(used))
        return cls(
            node=nodes[used],
            leaf=children[chosen, columns],
            other=children[1 - chosen, columns],
            number=number.astype(np.int64),
            rule=kinds // n_pairs // 2,
            pair=kinds % n_pairs,
            is_left=kinds // n_pairs % 2 == 1,
        )

    @classmethod
    def none(cls) -> AbsorbedLeaves:
        """Return that no leaf is absorbed."""
        nothing = np.empty(0, np.int64)
        return cls(*(nothing,) * 6, nothing > 0)

    def symbols(self, productions: Productions) -> npt.NDArray[np.int32]:
        """Return parent and other child of each kind, shape (n_kinds, 2)."""
        parent, left, right = productions.binary[self.rule].T
        return np.stack([parent, np.where(self.is_left, right, left)], axis=1)

    def laid_out(self, tables: LatentTables) -> LaidOutLeaves:
        """Return their vectors under `tables`, and room for what follows from them."""
        layout, dtype = tables.layout, tables.binary.dtype
        sizes = layout.n_states[layout.productions.lexical[self.pair, 0]].astype(np.int64)
        start = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.repeat(layout.lexical_start[self.pair] - start[:-1], sizes) + np.arange(start[-1])
        vectors = tables.lexical[cells]
        scale = np.add.reduceat(vectors, start[:-1]) if len(sizes) else np.empty(0, dtype)
        vectors = vectors / np.repeat(np.where(scale > 0, scale, 1), sizes)
        first = np.searchsorted(self.rule, np.arange(len(layout.productions.binary) + 1))
        matrix = layout.n_states[self.symbols(layout.productions)].astype(np.int64).prod(axis=1)
        ends = np.concatenate([[0], np.cumsum(matrix)])
        leaves = kernels.Leaves(first, self.is_left, start, vectors, np.zeros_like(vectors))
        return LaidOutLeaves(leaves, scale, np.zeros(int(ends[-1]), dtype), ends, cells)


@dataclass(frozen=True)
class LaidOutLeaves:
    """Vectors of absorbed leaves, with their sums before they were scaled to one, and the matrices of the rules that absorbed them."""

    leaves: kernels.Leaves
    scale: Floats
    matrices: Floats
    start: Integers  # of each matrix
    cells: Integers  # of the vectors' numbers among those of all pairs

    def count_words(self, counts: LatentTables) -> None:
        """Add how often these leaves had each state."""
        np.add.at(counts.lexical, self.cells, self.leaves.inside * self.leaves.outside)
