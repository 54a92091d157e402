"""A grammar as tensors on a device: rules without states as one matrix, and rules with states as rows of products.

``T[h1, h2, h3] = sum over q of U[q, h1] V[q, h2] W[q, h3]``, q through the products of a rule; those of all rules lie one after the other
in three tables, rows filled up to the most states of a symbol. A rule whose tensor is kept whole has one product for each pair of states
of two of its symbols, and a phrase over a tag counts as a rule whose right child is nothing, a vector of one state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from gramian.grammar import LPCFG
from gramian.grammar.lpcfg import CoarseRules

_LEAST = 1e-30  # a rule's coarse weight, where it divides
Floats = npt.NDArray[np.float32]


class CoarseTensors(NamedTuple):
    """Rules without states, by the pairs of symbols that may stand side by side."""

    n_symbols: int
    n_phrases: int
    lefts: torch.Tensor  # (n_lefts,) symbols that are left children
    rights: torch.Tensor
    weight: torch.Tensor  # (n_lefts * n_rights, n_phrases) of rules
    unary: torch.Tensor  # (n_tags, n_phrases)
    root: torch.Tensor  # (n_symbols,)
    pair_left: torch.Tensor  # (n_pairs,) the symbols of pairs that have rules
    pair_right: torch.Tensor
    pair_weight: torch.Tensor  # (n_pairs, n_phrases) of rules
    pair_is_left: torch.Tensor  # (n_pairs, n_symbols): one where a symbol is a pair's left, or its right one
    pair_is_right: torch.Tensor
    pair_first: torch.Tensor  # (n_symbols * n_symbols + 1,): a pair's rules
    rule_parent: torch.Tensor  # of rules ordered by pair
    rule_weight: torch.Tensor
    rule: torch.Tensor  # their numbers in the grammar
    unary_first: torch.Tensor  # (n_tags + 1,): a tag's rules
    unary_parent: torch.Tensor
    unary_weight: torch.Tensor
    unary_rule: torch.Tensor


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
    g, n = grammar, grammar.n_symbols
    coarse = g.coarse
    parent, left, right = g.binary_rules.T.astype(np.int64)
    lefts, rights = np.unique(left), np.unique(right)
    if not len(left):
        lefts = rights = np.zeros(1, np.int64)  # a pair without rules
    row = np.searchsorted(lefts, left) * len(rights) + np.searchsorted(rights, right)
    weight = np.zeros((len(lefts) * len(rights), g.n_phrases), np.float32)
    np.add.at(weight, (row, parent), coarse.binary)
    pairs, number = np.unique(left * n + right, return_inverse=True)
    pair_weight = np.zeros((len(pairs), g.n_phrases), np.float32)
    np.add.at(pair_weight, (number, parent), coarse.binary)
    one_hot = np.eye(n, dtype=np.float32)
    unary = np.zeros((n - g.n_phrases, g.n_phrases), np.float32)
    over, tag = g.unary_rules.T.astype(np.int64)
    np.add.at(unary, (tag - g.n_phrases, over), coarse.unary)
    order = np.lexsort((parent, right, left))
    pair = (left * n + right)[order]
    unary_order = np.lexsort((over, tag))
    arrays = (
        lefts, rights, weight, unary, coarse.root.astype(np.float32),
        pairs // n, pairs % n, pair_weight, one_hot[pairs // n], one_hot[pairs % n],
        np.searchsorted(pair, np.arange(n * n + 1)), parent[order], coarse.binary[order].astype(np.float32), order,
        np.searchsorted(tag[unary_order], np.arange(g.n_phrases, n + 1)), over[unary_order],
        coarse.unary[unary_order].astype(np.float32), unary_order + len(parent),
    )  # fmt: skip
    return CoarseTensors(
        n, g.n_phrases, *(torch.from_numpy(np.ascontiguousarray(one)).to(device) for one in arrays)
    )


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
