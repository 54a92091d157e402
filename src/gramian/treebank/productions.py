"""The distinct productions of a treebank and which one stands at each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from gramian.treebank.arrays import Treebank

Ints = npt.NDArray[np.int32]
_BITS = {2: 31, 3: 20}  # of a column, by the number of columns
Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Productions:
    """Rules seen in a treebank, each table sorted, with their counts.

    Examples
    --------
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> rules = Productions.of(Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")]))
    >>> len(rules.binary), len(rules.unary), len(rules.lexical)
    (2, 1, 3)
    """

    binary: Ints  #: shape (R, 3); parent, left and right symbol
    unary: Ints  #: shape (U, 2); phrase and the tag below it
    lexical: Ints  #: shape (L, 2); tag and word
    binary_count: Counts
    unary_count: Counts
    lexical_count: Counts
    #: shape (n_nodes,); row of the table that fits the node: `binary`, `unary` or `lexical`
    node_production: Ints

    @classmethod
    def of(cls, bank: Treebank) -> Productions:
        """Collect the productions of `bank`."""
        tables, counts, production = [], [], np.empty(len(bank.label), np.int32)
        for nodes, columns in _by_kind(bank):
            distinct, production[nodes] = np.unique(_key(columns), return_inverse=True)
            weight = None if bank.node_weight is None else bank.node_weight[nodes]
            counts.append(np.bincount(production[nodes], weight, len(distinct)))
            tables.append(_rows(distinct, len(columns)))
        return cls(tables[0], tables[1], tables[2], counts[0], counts[1], counts[2], production)

    @property
    def tables(self) -> tuple[tuple[Ints, Counts], ...]:
        """The tables, each with its counts."""
        rows = self.binary, self.unary, self.lexical
        return tuple(zip(rows, (self.binary_count, self.unary_count, self.lexical_count), strict=True))

    @classmethod
    def joined(cls, parts: Sequence[Productions], bank: Treebank) -> Productions:
        """Add up those of several treebanks with the same symbols and words, and say which stands at each node of `bank`."""
        tables, counts, production = [], [], np.empty(len(bank.label), np.int32)
        sides = zip(*(part.tables for part in parts), strict=True)
        for side, (nodes, columns) in zip(sides, _by_kind(bank), strict=True):
            keys = np.concatenate([_key(rows.T) for rows, _ in side])
            distinct, row = np.unique(keys, return_inverse=True)
            counts.append(np.bincount(row, np.concatenate([count for _, count in side]), len(distinct)))
            tables.append(_rows(distinct, len(columns)))
            production[nodes] = np.searchsorted(distinct, _key(columns))
        return cls(tables[0], tables[1], tables[2], counts[0], counts[1], counts[2], production)

    def nodes_by_row(self, nodes: npt.NDArray[np.bool_], n_rows: int) -> list[npt.NDArray[np.int64]]:
        """Return the chosen nodes, which are of one kind, by the row of their table."""
        chosen = np.flatnonzero(nodes)
        chosen = chosen[np.argsort(self.node_production[chosen], kind="stable")]
        ends = np.searchsorted(self.node_production[chosen], np.arange(1, n_rows))
        return np.split(chosen, ends) if n_rows else []

    def at_nodes(self, bank: Treebank) -> Productions:
        """Return the same tables, and which row stands at each node of another treebank; it has no other productions."""
        production = np.empty(len(bank.label), np.int32)
        for (rows, _), (nodes, columns) in zip(self.tables, _by_kind(bank), strict=True):
            production[nodes] = np.searchsorted(_key(rows.T), _key(columns))
        return replace(self, node_production=production)


def _by_kind(bank: Treebank) -> Iterator[tuple[npt.NDArray[np.bool_], list[Ints]]]:
    """Yield which nodes have two children, one or a word, and the columns of their productions."""
    is_leaf, is_binary, label = bank.word >= 0, bank.right >= 0, bank.label
    is_unary = ~is_leaf & ~is_binary
    left, right = label[bank.left[is_binary]], label[bank.right[is_binary]]
    yield is_binary, [label[is_binary], left, right]
    yield is_unary, [label[is_unary], label[bank.left[is_unary]]]
    yield is_leaf, [label[is_leaf], bank.word[is_leaf]]


def _key(columns: Iterable[Ints]) -> npt.NDArray[np.int64]:
    """Return one number for each row, in the order of the rows; a symbol of three has 20 bits, a symbol or word of two 31."""
    wide = [np.asarray(column, np.int64) for column in columns]
    return reduce(lambda key, column: key << _BITS[len(wide)] | column, wide)


def _rows(keys: npt.NDArray[np.int64], width: int) -> Ints:
    shifts = _BITS[width] * np.arange(width - 1, -1, -1)
    return (keys[:, None] >> shifts & (1 << _BITS[width]) - 1).astype(np.int32)
