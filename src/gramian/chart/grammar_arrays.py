"""A grammar as the kernels of the chart want it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart.coarse_arrays import BLOCK
from gramian.grammar import LPCFG
from gramian.grammar.lpcfg import CoarseRules, Factors

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

_LEAST = 1e-30  # a rule's coarse weight, where it divides


class GrammarArrays(NamedTuple):
    """Rules by their children, and what turns their tensors into ratios to coarse values."""

    n_symbols: int
    n_states: Ints
    left_start: Ints
    rule_right: Ints
    rule_parent: Ints
    rule_weight: Doubles
    pair_block: (
        Ints  # (n_symbols ** 2,): a left and a right child's first block of rules, 0 where there is none
    )
    block_count: Ints  # of a pair's first block, how many the pair has
    slot_parent: Ints  # of each rule in the blocks; behind all phrases where there is none
    slot_weight: Doubles
    slot_rule: Ints
    binary: Floats
    binary_start: Longs
    binary_ratio: Floats
    rank: Ints
    factors: Floats
    factor_start: Longs
    unary_first: Ints
    unary_parent: Ints
    unary_weight: Doubles
    unary: Floats
    unary_start: Longs
    unary_ratio: Floats
    can_be_right: npt.NDArray[np.bool_]
    root: Doubles
    root_ratio: Floats
    root_start: Longs
    before: Floats
    after: Floats


def grammar_arrays(grammar: LPCFG, coarse: CoarseRules) -> GrammarArrays:
    """Return the arrays of a grammar whose coarse chart is filled with the rules of `coarse`."""
    g, n = grammar, grammar.n_symbols
    order = g.by_children
    parent, left, right = g.binary_rules[order].T
    unary_order = np.lexsort((g.unary_rules[:, 0], g.unary_rules[:, 1]))
    factors = g.factors or Factors.none(len(g.binary_rules))
    can_be_right = np.zeros(n, np.bool_)
    can_be_right[right] = True
    can_be_right[g.n_phrases :] = True
    owner = np.repeat(np.arange(n), g.n_states)
    keys = left.astype(np.int64) * n + right  # in rising order
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    pairs, counts = keys[first], np.diff(first, append=len(keys))
    blocks = -(-counts // BLOCK)
    block = 1 + blocks.cumsum() - blocks
    pair_block, block_count = np.zeros(n * n, np.int32), np.zeros(1 + blocks.sum(), np.int32)
    pair_block[pairs], block_count[block] = block, blocks
    slot = np.arange(len(left)) + np.repeat(BLOCK * block - first, counts)
    slot_parent = g.n_phrases + np.arange(BLOCK * len(block_count), dtype=np.int32) % BLOCK
    slot_weight, slot_rule = np.zeros(len(slot_parent)), np.zeros_like(slot_parent)
    slot_parent[slot], slot_weight[slot], slot_rule[slot] = parent, coarse.binary[order], np.arange(len(left))
    arrays: dict[str, npt.NDArray[Any]] = {
        "n_states": g.n_states,
        "left_start": np.searchsorted(left, np.arange(n + 1)).astype(np.int32),
        "rule_right": right,
        "rule_parent": parent,
        "rule_weight": coarse.binary[order],
        "pair_block": pair_block,
        "block_count": block_count,
        "slot_parent": slot_parent,
        "slot_weight": slot_weight,
        "slot_rule": slot_rule,
        "binary": g.binary,
        "binary_start": g.binary_start[order],
        "binary_ratio": (factors.weight[order] / np.maximum(coarse.binary[order], _LEAST)).astype(np.float32),
        "rank": factors.rank[order],
        "factors": factors.values,
        "factor_start": factors.start[order],
        "unary_first": np.searchsorted(g.unary_rules[unary_order, 1], np.arange(n + 1)).astype(np.int32),
        "unary_parent": g.unary_rules[unary_order, 0],
        "unary_weight": coarse.unary[unary_order],
        "unary": g.unary,
        "unary_start": g.unary_start[unary_order],
        "unary_ratio": (1 / np.maximum(coarse.unary[unary_order], _LEAST)).astype(np.float32),
        "can_be_right": can_be_right,
        "root": coarse.root,
        "root_ratio": (g.root / np.maximum(coarse.root[owner], _LEAST)).astype(np.float32),
        "root_start": g.state_start,
        "before": g.before.T,
        "after": g.after.T,
    }
    # Read-only and contiguous whatever they came from, so that kernels are compiled once.
    return GrammarArrays(n, **{name: _frozen(array) for name, array in arrays.items()})


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
