"""Fewer states: a grammar whose states are merged into groups, for a pass between the coarse and the fine one.

Parameters are projected by expected counts (Petrov & Klein 2007, section 3.2): those of merged parents are averaged by the states'
shares, those of merged children summed, so that the grammar without states stays the same. Which states go together is found by
k-means on what each state makes and where it stands.
"""

from dataclasses import replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from gramian.grammar.lpcfg import LPCFG

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Array = npt.NDArray[np.float64]


def halves(grammar: LPCFG) -> Ints:
    """Return a group, 0 or 1, for each state of each symbol, laid out as `state_prior`; symbols with one state have group 0."""
    features: list[list[Array]] = [[] for _ in grammar.symbols]
    use = grammar.before.sum(axis=1, dtype=np.float64)
    for symbols, single in grammar.rules():
        parent, block = symbols[0], single.astype(np.float64)
        features[parent].append(block.reshape(len(block), -1).sum(axis=1))
        joint = np.tensordot(use[parent] * grammar.prior(parent), block, 1)
        for axis, child in enumerate(symbols[1:]):
            count = joint if joint.ndim == 1 else joint.sum(axis=1 - axis)
            mass = np.maximum(use[child] * grammar.prior(child), 1e-30).astype(np.float64)
            features[child].append(count / mass)
    group = np.zeros(len(grammar.state_prior), np.int32)
    for symbol, columns in enumerate(features):
        if grammar.n_states[symbol] > 1 and columns:
            points = np.sqrt(np.maximum(np.stack(columns, axis=1), 0))
            states = slice(grammar.state_start[symbol], grammar.state_start[symbol + 1])
            group[states] = _two_means(points, grammar.prior(symbol).astype(np.float64))
    return group


def merged(grammar: LPCFG, group: Ints) -> LPCFG:
    """Return a grammar with probabilities over groups of states.

    `group` is that of each state within its symbol, from 0 and without gaps, laid out as `state_prior`.
    """
    of_symbol = np.split(group, grammar.state_start[1:-1])
    counts = np.array([groups.max() + 1 for groups in of_symbol], np.int32)
    shares = np.split(shares_in_groups(grammar, group), grammar.state_start[1:-1])
    averages = []  # (groups, states): a parent's parameters are averaged by these, a child's summed
    sums = []  # (states, groups)
    for groups, share, count in zip(of_symbol, shares, counts, strict=True):
        member = np.zeros((len(groups), count))
        member[np.arange(len(groups)), groups] = 1
        sums.append(member)
        averages.append((member * share[:, None]).T)
    blocks: list[Array] = []
    for symbols, block in grammar.rules():
        smaller = np.tensordot(averages[symbols[0]], block.astype(np.float64), 1)
        if len(symbols) == 3:
            smaller = np.einsum("abc,bi,cj->aij", smaller, sums[symbols[1]], sums[symbols[2]])
        else:
            smaller = smaller @ sums[symbols[1]]
        blocks.append(smaller.ravel())
    n_binary = len(grammar.binary_rules)

    def summed(values: Floats) -> Floats:
        parts = np.split(values.astype(np.float64), grammar.state_start[1:-1])
        return _joined([part @ table for part, table in zip(parts, sums, strict=True)])

    lexicon, tag_averages = grammar.lexicon, averages[grammar.n_phrases :]
    return replace(
        grammar,
        n_states=counts,
        state_prior=summed(grammar.state_prior),
        root=summed(grammar.root),
        binary=_joined(blocks[:n_binary]),
        unary=_joined(blocks[n_binary:]),
        factors=None,
        lexicon=replace(
            lexicon,
            n_states=counts[grammar.n_phrases :],
            entry_states=_averaged(lexicon.entry_states, lexicon.entry_tag.tolist(), tag_averages),
            class_states=_averaged(lexicon.class_states, lexicon.class_tag.tolist(), tag_averages),
        ),
    )


def shares_in_groups(grammar: LPCFG, group: Ints) -> Array:
    """Return the share of each state within its group, laid out as `state_prior`; equal shares where a group has none."""
    number = 2 * np.repeat(np.arange(grammar.n_symbols), grammar.n_states) * len(group) + group
    _, group_number = np.unique(number, return_inverse=True)
    prior = grammar.state_prior.astype(np.float64)
    total, size = np.bincount(group_number, prior), np.bincount(group_number)
    return np.where(
        total[group_number] > 0, prior / np.maximum(total[group_number], 1e-300), 1 / size[group_number]
    )


def _two_means(points: Array, weight: Array, rounds: int = 20) -> Ints:
    """Cluster weighted points in two, beginning on the sides of their mean along the main direction."""
    positive = np.maximum(weight, 1e-12)
    centred = (points - np.average(points, axis=0, weights=positive)) * np.sqrt(weight)[:, None]
    main = np.linalg.svd(centred, full_matrices=False)[2][0]
    side = (points @ main > np.average(points @ main, weights=positive)).astype(np.int32)
    for _ in range(rounds):
        if side.min() == side.max():
            break
        sides = (side == 0, side == 1)
        centres = np.stack(
            [np.average(points[members], axis=0, weights=positive[members]) for members in sides]
        )
        nearer = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1).astype(np.int32)
        if np.array_equal(nearer, side):
            break
        side = nearer
    if side.min() == side.max():  # all alike
        side = (np.arange(len(points)) % 2).astype(np.int32)
    return side


def _averaged(values: Floats, tags: list[int], averages: list[Array]) -> Floats:
    """Average scores of states, stored for the given tags one after the other, within groups."""
    ends = list(accumulate(averages[tag].shape[1] for tag in tags))
    pieces = np.split(values, ends)[:-1]
    return _joined([averages[tag] @ piece for tag, piece in zip(tags, pieces, strict=True)])


def _joined(parts: list[Array]) -> Floats:
    return np.concatenate([np.empty(0), *parts]).astype(np.float32)
