"""The maximisation step in NumPy, rule by rule: what the kernels must equal byte for byte."""

import numpy as np
import numpy.typing as npt

from gramian.learn.smoothing import TINY, Smoothing
from gramian.learn.tables import LatentTables

__all__ = ["estimate_rules", "state_shares"]


def state_shares(counts: LatentTables) -> npt.NDArray[np.float64]:
    """Return the share of each state in its symbol, symbols one after the other; uniform where nothing was counted."""
    layout = counts.layout
    mass = np.zeros(int(layout.root_start[-1]))
    for table, start, rules in (
        (counts.binary, layout.binary_start, layout.productions.binary),
        (counts.unary, layout.unary_start, layout.productions.unary),
        (counts.lexical, layout.lexical_start, layout.productions.lexical),
    ):
        parents = rules[:, 0]
        sizes = layout.n_states[parents].astype(np.int64)
        per_state = np.diff(start) // sizes  # cells of a block that share a parent state
        starts = np.repeat(start[:-1], sizes) + _ramp(sizes) * np.repeat(per_state, sizes)
        if len(starts):
            sums = np.add.reduceat(table, starts, dtype=np.float64)
            np.add.at(mass, np.repeat(layout.root_start[parents], sizes) + _ramp(sizes), sums)
    owner = np.repeat(np.arange(len(layout.n_states)), layout.n_states)
    total = np.bincount(owner, mass, len(layout.n_states))[owner]
    return np.where(total > 0, mass / np.maximum(total, 1e-300), 1 / layout.n_states[owner])


def _ramp(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return 0 .. size-1 for each size, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def estimate_rules(
    counts: LatentTables, smoothing: Smoothing, shares: npt.NDArray[np.float64] | None = None
) -> LatentTables:
    """Return rule and root probabilities; the lexical part is left at zero, it is the lexicon's."""
    layout, productions = counts.layout, counts.layout.productions
    if shares is None:
        shares = state_shares(counts)
    starts = layout.root_start
    result = layout.zeros(counts.binary.dtype)
    # Mass of each state of each phrase, from its rules.
    state_mass = np.zeros(int(starts[-1]))
    for rule in range(len(productions.binary)):
        parent = productions.binary[rule, 0]
        state_mass[starts[parent] : starts[parent + 1]] += counts.binary_block(rule).sum(
            axis=(1, 2), dtype=np.float64
        )
    for rule in range(len(productions.unary)):
        parent = productions.unary[rule, 0]
        state_mass[starts[parent] : starts[parent + 1]] += counts.unary_block(rule).sum(
            axis=1, dtype=np.float64
        )

    def rule_given_state(block_mass: npt.NDArray[np.float64], parent: int) -> npt.NDArray[np.float64]:
        own = state_mass[starts[parent] : starts[parent + 1]]
        overall = block_mass.sum() / max(own.sum(), TINY)
        return (block_mass + rule_weight * overall) / (own + rule_weight)

    rule_weight, k, a = max(smoothing.rule, TINY), max(smoothing.state, TINY), smoothing.sister_share
    for rule in range(len(productions.binary)):
        parent, left, right = productions.binary[rule]
        count = counts.binary_block(rule).astype(np.float64)
        by_state = count.sum(axis=(1, 2))
        total = by_state.sum()
        pair = count.sum(axis=0)
        left_share = _shrink(pair.sum(axis=1), shares[starts[left] : starts[left + 1]], k)
        right_share = _shrink(pair.sum(axis=0), shares[starts[right] : starts[right + 1]], k)
        pair = (pair + k * np.outer(left_share, right_share)) / (total + k)
        block = (count + k * pair) * (rule_given_state(by_state, parent) / (by_state + k))[:, None, None]
        result.binary_block(rule)[:] = (1 - a) * block + a * block.mean(axis=0)
    for rule in range(len(productions.unary)):
        parent, tag = productions.unary[rule]
        count = counts.unary_block(rule).astype(np.float64)
        by_state = count.sum(axis=1)
        below = _shrink(count.sum(axis=0), shares[starts[tag] : starts[tag + 1]], k)
        block = (count + k * below) * (rule_given_state(by_state, parent) / (by_state + k))[:, None]
        result.unary_block(rule)[:] = (1 - a) * block + a * block.mean(axis=0)
    result.root[:] = counts.root / max(counts.root.sum(), TINY)
    return result


def _shrink(
    count: npt.NDArray[np.float64], towards: npt.NDArray[np.float64], weight: float
) -> npt.NDArray[np.float64]:
    return (count + weight * towards) / (count.sum() + weight)
