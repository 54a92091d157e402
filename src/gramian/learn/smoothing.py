"""Latent counts to probabilities, with shrinkage that all learners share.

What a state has not seen often is shrunk step by step: the states of a rule's children towards those of the rule under any parent state,
these towards independent children, these towards each child's own shares; and each state's rules towards its symbol's. At
the end a state borrows a little from its sisters (Petrov et al. 2006).
"""

from functools import reduce

import numpy as np
import numpy.typing as npt

from gramian.learn import smoothing_kernels as kernels
from gramian.learn.tables import LatentTables
from gramian.value_types import Number, option, options

TINY = 1e-200  # the least shrinkage: only what was never counted takes the coarser distribution's place


@options
class Smoothing:
    """How strongly latent rules are shrunk; with zeros they are relative frequencies.

    Examples
    --------
    >>> from gramian.learn import SpectralClustering
    >>> SpectralClustering(4, smoothing=Smoothing(rule=0, state=0, sister_share=0)).smoothing.rule
    0
    """

    rule: float = option(Number(0), default=2.0)
    """Weight, in counts, of the symbol's rule distribution for each of its states."""
    state: float = option(Number(0), default=2.0)
    """Weight, in counts, of the coarser distribution of child states."""
    sister_share: float = option(Number(0, 1), default=0.02)
    """Share that each state takes from the mean of all states of its symbol."""
    floor: float = option(Number(0, 1), default=0.0)
    """In the grammar, a rule of states, or a word of a state, that is less probable takes the probability that it has without states."""


NO_SMOOTHING = Smoothing(0.0, 0.0, 0.0)


def state_shares(counts: LatentTables) -> npt.NDArray[np.float64]:
    """Return the share of each state in its symbol, symbols one after the other; uniform where nothing was counted."""
    return _masses_and_shares(counts)[1]


def estimate_rules(counts: LatentTables, smoothing: Smoothing) -> LatentTables:
    """Return rule and root probabilities; the lexical part is left at zero, it is the lexicon's."""
    result = counts.layout.zeros(counts.binary.dtype)
    mass, shares = _masses_and_shares(counts)
    weights = kernels.SmoothingWeights(
        max(smoothing.rule, TINY), max(smoothing.state, TINY), float(smoothing.sister_share)
    )
    for part, target in zip(_rule_counts(counts), (result.binary, result.unary), strict=False):
        kernels.estimate_rules(0, len(part.rules), part, mass, shares, weights, target)
    result.root[:] = counts.root / max(counts.root.sum(), TINY)
    return result


def raise_to_floor(rules: LatentTables, counts: LatentTables, floor: float) -> None:
    """Set the cells of rules below `floor` to p(a -> b c | a), shared out by the shares of the states of the children.

    The rules of every state are then scaled to sum to one.
    """
    layout, shares = counts.layout, state_shares(counts)
    productions, start = layout.productions, layout.root_start
    part = np.split(shares, start[1:-1])
    total = np.bincount(productions.binary[:, 0], productions.binary_count, len(part))
    total += np.bincount(productions.unary[:, 0], productions.unary_count, len(part))
    mass = [np.zeros(len(states)) for states in part]
    blocks = []
    for numbers, times, block_of in (
        (productions.binary, productions.binary_count, rules.binary_block),
        (productions.unary, productions.unary_count, rules.unary_block),
    ):
        for rule, (parent, *children) in enumerate(numbers.tolist()):
            block = block_of(rule)
            without_states = reduce(np.multiply.outer, [part[child] for child in children])
            np.copyto(block, times[rule] / total[parent] * without_states, where=block < floor)
            mass[parent] += block.reshape(len(block), -1).sum(axis=1)
            blocks.append((block, parent))
    for block, parent in blocks:
        block /= mass[parent].reshape(-1, *[1] * (block.ndim - 1))


def _masses_and_shares(counts: LatentTables) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the counts of each phrase's states in its rules, and the share of each state in its symbol."""
    n_states = counts.layout.n_states
    binary, unary, lexical = _rule_counts(counts)
    mass, unused, shares = (np.zeros(int(counts.layout.root_start[-1])) for _ in range(3))
    for part, into in ((binary, mass), (unary, mass), (lexical, unused)):
        kernels.add_state_masses(part, into, shares)
    owner = np.repeat(np.arange(len(n_states)), n_states)
    total = np.bincount(owner, shares, len(n_states))[owner]
    return mass, np.where(total > 0, shares / np.maximum(total, 1e-300), 1 / n_states[owner])


def _rule_counts(counts: LatentTables) -> tuple[kernels.RuleCounts, ...]:
    layout, productions = counts.layout, counts.layout.productions
    return tuple(
        kernels.RuleCounts(rules, start, count, layout.n_states, layout.root_start)
        for rules, start, count in (
            (productions.binary, layout.binary_start, counts.binary),
            (productions.unary, layout.unary_start, counts.unary),
            (productions.lexical, layout.lexical_start, counts.lexical),
        )
    )
