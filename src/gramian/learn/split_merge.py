"""Split, polish, merge, smooth (Petrov et al. 2006): states grow by splitting, and splits that do not pay are taken back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.learn.cluster import count_states
from gramian.learn.learner import Learner, Report
from gramian.learn.merge import merge_losses, merged
from gramian.learn.observations import Observations
from gramian.learn.smoothing import Smoothing
from gramian.learn.tables import LatentTables, Layout

__all__ = ["SplitMerge", "split"]


class SplitMerge(Learner):
    """Learn a grammar by split-merge expectation-maximisation.

    In every cycle each state is split in two, expectation-maximisation polishes the halves, the share `merge` of splits whose
    loss would cost the least likelihood is undone, and smoothed steps follow.

    Parameters
    ----------
    cycles : int
    states : int
        The most states a symbol gets.
    split_steps, merge_steps, smooth_steps : int
        Steps of expectation-maximisation after splitting, after merging, and with smoothing.
    merge : float
        Share of the splits that are taken back.
    rule_shrinkage, state_shrinkage, sister_share : float
        Smoothing of the smoothed steps and of the grammar; see :class:`gramian.learn.smoothing.Smoothing`.
    heads, random_state, jobs, say
        As for :class:`gramian.learn.SpectralClustering`.

    Attributes
    ----------
    grammar_ : LPCFG
    history_ : list of list of ndarray
        For each cycle and symbol, the state of the cycle before from which each state was split.
    report_ : dict

    References
    ----------
    Slav Petrov, Leon Barrett, Romain Thibaux and Dan Klein (2006). Learning accurate, compact, and interpretable tree annotation. ACL.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> learner = SplitMerge(cycles=1).fit(Treebank.from_trees(trees))
    >>> 1 <= learner.grammar_.n_states.max() <= 2
    np.True_
    """

    def __init__(
        self,
        cycles: int = 4,
        *,
        states: int = 64,
        split_steps: int = 12,
        merge_steps: int = 5,
        smooth_steps: int = 3,
        merge: float = 0.5,
        rule_shrinkage: float = 2.0,
        state_shrinkage: float = 2.0,
        sister_share: float = 0.02,
        heads: str | None = None,
        random_state: int = 0,
        jobs: int = 1,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.cycles, self.states, self.merge = cycles, states, merge
        self.split_steps, self.merge_steps, self.smooth_steps = split_steps, merge_steps, smooth_steps
        self.rule_shrinkage, self.state_shrinkage, self.sister_share = (
            rule_shrinkage,
            state_shrinkage,
            sister_share,
        )
        self.heads, self.random_state, self.jobs, self.say = heads, random_state, jobs, say

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        if not 0 <= self.merge <= 1:
            raise OptionError(f"merge is a share from 0 to 1, not {self.merge!r}")
        rough = Smoothing(0.0, 0.0, 0.0)
        smooth = Smoothing(self.rule_shrinkage, self.state_shrinkage, self.sister_share)
        rng = np.random.default_rng(self.random_state)
        layout = Layout.of(seen.productions, np.ones(seen.bank.n_symbols, np.int32))
        counts = count_states(seen.bank, layout, np.zeros(len(seen.bank.label), np.int32))
        self.history_: list[list[np.ndarray]] = []
        likelihoods = []

        def polish(counts: LatentTables, steps: int, smoothing: Smoothing) -> LatentTables:
            for _ in range(steps):
                expectation = seen.trees.expect(seen.tables(counts, smoothing))
                counts = expectation.counts
                likelihoods.append(round(float(expectation.log_likelihood.sum()), 2))
            return counts

        for cycle in range(1, self.cycles + 1):
            with report.stage(f"cycle {cycle}"):
                room = np.minimum(self.states, np.maximum(1, seen.label_count // 10))
                counts, parents = split(counts, room, rng)
                counts = polish(counts, self.split_steps, rough)
                counts, groups = self._merge_back(seen, counts, parents, rough)
                self.history_.append(
                    [
                        np.asarray(p)[np.unique(g, return_index=True)[1]]
                        for p, g in zip(parents, groups, strict=True)
                    ]
                )
                counts = polish(counts, self.merge_steps, rough)
                counts = polish(counts, self.smooth_steps, smooth)
            report.say(
                f"cycle {cycle}: {int(counts.layout.n_states.sum())} states, log-likelihood {likelihoods[-1]:.1f}"
            )
        report.facts["log-likelihood"] = likelihoods
        with report.stage("grammar"):
            return seen.grammar(counts, smooth)

    def _merge_back(
        self, seen: Observations, counts: LatentTables, parents: list[np.ndarray], smoothing: Smoothing
    ) -> tuple[LatentTables, list[np.ndarray]]:
        """Undo the splits that pay least; return the counts and the new state of each old one."""
        tables = seen.tables(counts, smoothing)
        counts = seen.trees.expect(tables).counts
        twins = [
            np.array([(i, i + 1) for i in range(len(p) - 1) if p[i] == p[i + 1]], np.int64).reshape(-1, 2)
            for p in parents
        ]
        losses = merge_losses(seen, tables, counts, twins)
        everything = np.concatenate(losses)
        bar = np.quantile(everything, self.merge) if len(everything) else 0.0
        groups = []
        for symbol_twins, loss, parent in zip(twins, losses, parents, strict=True):
            joined = np.zeros(len(parent), np.int64)
            joined[symbol_twins[loss <= bar, 1]] = 1
            groups.append(np.arange(len(parent)) - np.cumsum(joined))
        return merged(counts, groups), groups


def split(
    counts: LatentTables, room: np.ndarray, rng: np.random.Generator, noise: float = 0.02
) -> tuple[LatentTables, list[np.ndarray]]:
    """Split every state in two, as far as there is `room` for states of its symbol.

    Parameters
    ----------
    counts : LatentTables
    room : ndarray of int, shape (n_symbols,)
    rng : Generator
    noise : float
        Relative size of the noise that tells the halves apart.

    Returns
    -------
    counts : LatentTables
    parents : list of ndarray
        For each symbol the old state of each new one; halves stand side by side.
    """
    old = counts.layout
    parents = [
        np.repeat(np.arange(n), 2) if 2 * n <= most else np.arange(n)
        for n, most in zip(old.n_states, room, strict=True)
    ]
    layout = Layout.of(old.productions, np.array([len(p) for p in parents], np.int32))
    result = layout.zeros(counts.binary.dtype)
    share = [1 / np.bincount(p)[p] for p in parents]
    for rule, (a, b, c) in enumerate(old.productions.binary):
        block = counts.binary_block(rule)[np.ix_(parents[a], parents[b], parents[c])]
        result.binary_block(rule)[:] = block * share[a][:, None, None] * share[b][:, None] * share[c]
    for rule, (a, t) in enumerate(old.productions.unary):
        block = counts.unary_block(rule)[np.ix_(parents[a], parents[t])]
        result.unary_block(rule)[:] = block * share[a][:, None] * share[t]
    for symbol, parent in enumerate(parents):
        root = counts.root[old.root_start[symbol] : old.root_start[symbol + 1]][parent]
        result.root[layout.root_start[symbol] : layout.root_start[symbol + 1]] = root * share[symbol]
    for pair, tag in enumerate(old.productions.lexical[:, 0]):
        own = counts.lexical[old.lexical_start[pair] : old.lexical_start[pair + 1]][parents[tag]]
        result.lexical[layout.lexical_start[pair] : layout.lexical_start[pair + 1]] = own * share[tag]
    for table in (result.binary, result.unary, result.lexical):
        table *= 1 + noise * rng.uniform(-1, 1, len(table)).astype(table.dtype)
    return result, parents
