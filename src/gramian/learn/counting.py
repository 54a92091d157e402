"""Counts of productions with states, when every node's states are known or guessed."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from gramian.learn.observations import Observations
from gramian.learn.smoothing import state_shares
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Treebank


def count_states(bank: Treebank, layout: Layout, state: npt.NDArray[np.int32]) -> LatentTables:
    """Count productions when every node's state is known."""
    counts = layout.zeros(np.float32)
    production, label, states = layout.productions.node_production, bank.label, state.astype(np.int64)
    is_leaf, is_binary = bank.word >= 0, bank.right >= 0
    for table, start, chosen, children in (
        (counts.binary, layout.binary_start, is_binary, (bank.left, bank.right)),
        (counts.unary, layout.unary_start, ~is_binary & ~is_leaf, (bank.left,)),
        (counts.lexical, layout.lexical_start, is_leaf, ()),
    ):
        nodes = np.flatnonzero(chosen)
        cell = states[nodes]
        for child in children:
            cell = cell * layout.n_states[label[child[nodes]]] + states[child[nodes]]
        weight = None if bank.node_weight is None else bank.node_weight[nodes]
        seen, index = np.unique(start[production[nodes]] + cell, return_inverse=True)
        table[seen] = np.bincount(index, weight)
    roots = bank.tree_start[1:] - 1
    counts.root[:] = np.bincount(
        layout.root_start[label[roots]] + states[roots], bank.weight, len(counts.root)
    )
    return counts


def count_productions(seen: Observations) -> LatentTables:
    """Count productions when every symbol has one state."""
    layout = Layout.of(seen.productions, np.ones(seen.bank.n_symbols, np.int32))
    binary, unary, lexical = (count.astype(np.float32) for _, count in seen.productions.tables)
    return LatentTables(layout, binary, unary, lexical, seen.root_count.astype(np.float32))


def spread_unseen(seen: Observations, counts: LatentTables) -> None:
    """Give rules that only further trees have their counts, by the shares of states; the states of a word are guessed by its form."""
    layout = counts.layout
    shares = np.split(state_shares(counts), layout.root_start[1:-1])
    for rows, total, table, start, block in (
        (
            layout.productions.binary,
            layout.productions.binary_count,
            counts.binary,
            layout.binary_start,
            counts.binary_block,
        ),
        (
            layout.productions.unary,
            layout.productions.unary_count,
            counts.unary,
            layout.unary_start,
            counts.unary_block,
        ),
    ):
        if not len(rows):
            continue
        counted = np.add.reduceat(table, start[:-1])
        for rule in np.flatnonzero((counted == 0) & (total > 0)).tolist():
            block(rule)[:] = total[rule] * reduce(
                np.multiply.outer, [shares[symbol] for symbol in rows[rule]]
            )


def node_offsets(seen: Observations, sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return where each node's vector begins, when those of a symbol's nodes lie one after the other, symbol after symbol."""
    offset = np.empty(len(seen.bank.label), np.int64)
    first = 0
    for symbol, size in enumerate(sizes):
        nodes = seen.nodes(symbol)
        offset[nodes] = first + np.arange(len(nodes)) * size
        first += len(nodes) * size
    return offset


def random_counts(seen: Observations, layout: Layout, random_state: int) -> LatentTables:
    """Spread the counts of productions over the states, each cell times exp(u), u uniform on [-log 3, log 3]."""
    rng = np.random.default_rng(random_state)
    counts = layout.zeros(np.float32)
    productions = layout.productions
    for table, start, total in (
        (counts.binary, layout.binary_start, productions.binary_count),
        (counts.unary, layout.unary_start, productions.unary_count),
        (counts.lexical, layout.lexical_start, productions.lexical_count),
    ):
        size = np.diff(start)
        noise = np.exp(rng.uniform(-np.log(3), np.log(3), len(table)))
        table[:] = np.repeat(total / np.maximum(size, 1), size) * noise
    counts.root[:] = np.repeat(seen.root_count / layout.n_states, layout.n_states)
    return counts
