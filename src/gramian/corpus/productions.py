"""The distinct productions of a treebank and which one stands at each node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.corpus.arrays import Treebank

Ints = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Productions:
    """Rules seen in a treebank, each table sorted, with their counts.

    Attributes
    ----------
    binary : ndarray of int32, shape (R, 3)
        Parent, left and right symbol.
    unary : ndarray of int32, shape (U, 2)
        Phrase and the tag below it.
    lexical : ndarray of int32, shape (L, 2)
        Tag and word.
    binary_count, unary_count, lexical_count : ndarray of int64, or of float64 if trees have weights
    node_production : ndarray of int32, shape (n_nodes,)
        Row of the table that fits the node: `binary`, `unary` or `lexical`.
    """

    binary: Ints
    unary: Ints
    lexical: Ints
    binary_count: Counts
    unary_count: Counts
    lexical_count: Counts
    node_production: Ints

    @classmethod
    def of(cls, bank: Treebank) -> Productions:
        """Collect the productions of `bank`."""
        production = np.empty(len(bank.label), np.int32)
        is_leaf, is_binary = bank.word >= 0, bank.right >= 0
        n_symbols, n_words = bank.n_symbols, len(bank.words)

        def table(nodes: npt.NDArray[np.bool_], columns: list[Ints], sizes: list[int]) -> tuple[Ints, Counts]:
            key = np.ravel_multi_index(tuple(columns), sizes)
            distinct, inverse = np.unique(key, return_inverse=True)
            production[nodes] = inverse
            weight = None if bank.node_weight is None else bank.node_weight[nodes]
            count = np.bincount(inverse, weight, len(distinct))
            return np.stack(np.unravel_index(distinct, sizes), axis=1).astype(np.int32), count

        is_unary = ~is_leaf & ~is_binary
        label = bank.label
        binary, binary_count = table(
            is_binary,
            [label[is_binary], label[bank.left[is_binary]], label[bank.right[is_binary]]],
            [n_symbols] * 3,
        )
        unary, unary_count = table(is_unary, [label[is_unary], label[bank.left[is_unary]]], [n_symbols] * 2)
        lexical, lexical_count = table(is_leaf, [label[is_leaf], bank.word[is_leaf]], [n_symbols, n_words])
        return cls(binary, unary, lexical, binary_count, unary_count, lexical_count, production)
