"""A grammar as tensors on a device: rules without states as one matrix, and rules with states as rows of products.

``T[h1, h2, h3] = sum over q of U[q, h1] V[q, h2] W[q, h3]``, q through the products of a rule; those of all rules lie one after the other
in three tables, rows filled up to the most states of a symbol. A rule whose tensor is kept whole has one product for each pair of states
of two of its symbols, and a phrase over a tag counts as a rule whose right child is nothing, a vector of one state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from gramian.grammar import LPCFG
from gramian.grammar.lpcfg import CoarseRules

_LEAST = 1e-30  # a rule's coarse weight, where it divides
SUMS_TOGETHER = 256  # there is a whole number of so many
_ALIGNED = 8  # symbols: with whole numbers of these, products of matrices are fast

Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]


class Sums(NamedTuple):
    """Pairs of symbols whose values are multiplied, and what their products give; some at the end count for nothing."""

    one: torch.Tensor  # (n_pairs,)
    other: torch.Tensor
    weight: torch.Tensor  # (n_pairs, n_given)


class RuleRows(NamedTuple):
    """Rules ordered by parents, binary ones, then unary ones, whose right child is -1."""

    first: torch.Tensor  # (n_phrases + 1,): a parent's binary rules
    unary_first: torch.Tensor  # (n_phrases + 1,)
    left: torch.Tensor
    right: torch.Tensor
    weight: torch.Tensor
    rule: torch.Tensor  # their numbers in the grammar


class CoarseTensors(NamedTuple):
    """Rules without states: for sums of products, and one by one."""

    n_symbols: int
    n_phrases: int
    n_left_sums: int  # of `down`: those that are for left children
    unary: torch.Tensor  # (n_tags, n_phrases)
    root: torch.Tensor  # (n_columns,): symbols, filled up
    up: Sums  # left and right children, for their parents
    down: Sums  # parents and right children, for left ones; then parents and left children, for right ones
    pair_first: torch.Tensor  # (n_columns * n_columns + 1,): the rules of a left and a right child
    rule_parent: torch.Tensor  # of rules ordered by their children
    rule_weight: torch.Tensor
    rule: torch.Tensor  # their numbers in the grammar
    unary_first: torch.Tensor  # (n_tags + 1,): a tag's rules
    unary_parent: torch.Tensor
    unary_weight: torch.Tensor
    unary_rule: torch.Tensor
    by_parent: RuleRows


class ProductTensors(NamedTuple):
    """Rules with states, binary ones first, then unary ones."""

    n_states: int  # length of a vector
    first: torch.Tensor  # (n_rules + 1,): a rule's products
    tables: tuple[
        torch.Tensor, torch.Tensor, torch.Tensor
    ]  # (n_products, n_states) for parent, left and right
    ratio: torch.Tensor  # (n_rules,): one over the weight without states
    root_ratio: torch.Tensor  # (n_symbols, n_states)


def coarse_tensors(grammar: LPCFG, device: torch.device) -> CoarseTensors:
    """Return the rules of a grammar without states."""
    g, n = grammar, -(-grammar.n_symbols // _ALIGNED) * _ALIGNED
    coarse = g.coarse
    parent, left, right = g.binary_rules.T.astype(np.int64)
    n_parents = -(-g.n_phrases // _ALIGNED) * _ALIGNED
    up = _sums(left, right, parent, coarse.binary, n_parents)
    from_right, from_left = (
        _sums(parent, sister, child, coarse.binary, n) for sister, child in ((right, left), (left, right))
    )
    down = [np.concatenate([from_right[place], from_left[place]]) for place in (0, 1, 2)]
    unary = np.zeros((g.n_symbols - g.n_phrases, g.n_phrases), np.float32)
    over, tag = g.unary_rules.T.astype(np.int64)
    np.add.at(unary, (tag - g.n_phrases, over), coarse.unary)
    order, unary_order = np.lexsort((parent, right, left)), np.lexsort((over, tag))
    rows, unary_rows = np.lexsort((right, left, parent)), np.lexsort((tag, over))
    phrases = np.arange(g.n_phrases + 1)

    def sent(array: npt.NDArray[Any]) -> torch.Tensor:
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    by_parent = RuleRows(
        sent(np.searchsorted(parent[rows], phrases)), sent(len(rows) + np.searchsorted(over[unary_rows], phrases)),
        sent(np.concatenate([left[rows], tag[unary_rows]])), sent(np.concatenate([right[rows], np.full(len(tag), -1)])),
        sent(np.concatenate([coarse.binary[rows], coarse.unary[unary_rows]])),
        sent(np.concatenate([rows, unary_rows + len(rows)])),
    )  # fmt: skip
    return CoarseTensors(
        g.n_symbols, g.n_phrases, len(from_right[0]), sent(unary), sent(np.pad(coarse.root, (0, n - g.n_symbols))),
        Sums(*(sent(one) for one in up)), Sums(*(sent(one) for one in down)),
        sent(np.searchsorted((left * n + right)[order], np.arange(n * n + 1))), sent(parent[order]), sent(coarse.binary[order]),
        sent(order), sent(np.searchsorted(tag[unary_order], np.arange(g.n_phrases, g.n_symbols + 1))), sent(over[unary_order]),
        sent(coarse.unary[unary_order]), sent(unary_order + len(parent)), by_parent,
    )  # fmt: skip


def _sums(
    one: Longs, other: Longs, given: Longs, weight: npt.NDArray[np.floating], n_given: int
) -> tuple[Longs, Longs, Floats]:
    """Return the pairs of symbols of rules, and the weights of what they give."""
    pairs, number = np.unique(np.stack([one, other]), axis=1, return_inverse=True)
    missing = -pairs.shape[1] % SUMS_TOGETHER or (SUMS_TOGETHER if not pairs.shape[1] else 0)
    pairs = np.pad(pairs, ((0, 0), (0, missing)))
    table = np.zeros((pairs.shape[1], n_given), np.float32)
    np.add.at(table, (number.ravel(), given), weight)
    return pairs[0], pairs[1], table


def product_tensors(grammar: LPCFG, coarse: CoarseRules, device: torch.device) -> ProductTensors:
    """Return the rules of a grammar with states, whose chart without states is filled with the rules of `coarse`."""
    width = int(grammar.n_states.max())
    blocks = [_products(grammar, rule) for rule in range(len(grammar.binary_rules))]
    right = np.ones((width, 1), np.float32)
    for rule in range(len(grammar.unary_rules)):
        block = grammar.unary_block(rule)
        blocks.append((block.T, np.eye(block.shape[1], dtype=np.float32), right[: block.shape[1]]))
    first = np.cumsum([0, *(len(u) for u, _, _ in blocks)])
    tables = np.zeros((3, int(first[-1]), width), np.float32)
    for number, parts in enumerate(blocks):
        for table, rows in zip(tables, parts, strict=True):
            table[first[number] : first[number + 1], : rows.shape[1]] = rows
    ratio = 1 / np.maximum(np.concatenate([coarse.binary, coarse.unary]), _LEAST)
    root = np.zeros((grammar.n_symbols, width), np.float32)
    owner = np.repeat(np.arange(grammar.n_symbols), grammar.n_states)
    state = np.arange(len(owner)) - grammar.state_start[owner]
    root[owner, state] = grammar.root / np.maximum(coarse.root[owner], _LEAST)
    u, v, w, first_, ratio_, root_ = (
        torch.from_numpy(np.ascontiguousarray(one)).to(device)
        for one in (*tables, first, ratio.astype(np.float32), root)
    )
    return ProductTensors(width, first_, (u, v, w), ratio_, root_)


def _products(grammar: LPCFG, rule: int) -> tuple[Floats, Floats, Floats]:
    """Return the rows of U, V and W of a binary rule."""
    states = grammar.n_states[grammar.binary_rules[rule]].tolist()
    factors = grammar.factors
    if factors is not None and factors.rank[rule] > 0:
        u, v, w = factors.matrices(rule, states)
        return factors.weight[rule] * u, v, w
    block = grammar.binary_block(rule)
    longest = int(np.argmax(states))  # one product for each pair of states of the two other symbols
    others = [place for place in range(3) if place != longest]
    rows: list[Floats] = [np.empty(0, np.float32)] * 3
    sizes = [states[place] for place in others]
    rows[longest] = np.moveaxis(block, longest, 2).reshape(-1, states[longest])
    rows[others[0]] = np.repeat(np.eye(sizes[0], dtype=np.float32), sizes[1], axis=0)
    rows[others[1]] = np.tile(np.eye(sizes[1], dtype=np.float32), (sizes[0], 1))
    return rows[0], rows[1], rows[2]
