"""Split, refine, merge, smooth (Petrov et al. 2006): states grow by splitting, and splits that do not pay are taken back."""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY
from functools import reduce

import numpy as np
import numpy.typing as npt

from gramian.base import Report, estimator
from gramian.grammar import LPCFG
from gramian.learn.counting import count_productions
from gramian.learn.learner import Learner, Maximisation
from gramian.learn.merge import merge_cheapest
from gramian.learn.observations import Observations
from gramian.learn.smoothing import NO_SMOOTHING, Smoothing
from gramian.learn.tables import LatentTables, Layout
from gramian.progress import tell_progress
from gramian.value_types import InstanceOf, Number, Whole, option, or_none

_log = logging.getLogger(__name__)


@estimator
class SplitMerge(Learner):
    """Learn a grammar by split-merge expectation-maximisation.

    In every cycle each state is split in two, expectation-maximisation refines the halves, the share `merge` of splits whose
    loss would cost the least likelihood is undone, and smoothed steps follow.

    Parameters
    ----------
    cycles : int
        How often every state is split.
    n_states : int
        The most states a symbol gets.
    split_steps, merge_steps, smooth_steps : int
        Steps of expectation-maximisation after splitting, after merging, and with smoothing.
    merge : float
        Share of the splits that are taken back.
    smoothing : Smoothing
        Of the smoothed steps and of the grammar; see :class:`gramian.learn.Smoothing`.
    device : str, optional
        As for :class:`gramian.learn.EM`.
    lexicon, random_state, n_jobs, verbose
        As for :class:`gramian.learn.SpectralClustering`.

    Attributes
    ----------
    model_ : LPCFG
    history_ : list of list of ndarray
        For each cycle and symbol, the state of the cycle before from which each state was split.
    report_ : dict

    References
    ----------
    Slav Petrov, Leon Barrett, Romain Thibaux and Dan Klein (2006). Learning accurate, compact, and interpretable tree annotation. ACL.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> learner = SplitMerge(cycles=1).fit(trees)
    >>> 1 <= learner.model_.n_states.max() <= 2
    np.True_
    """

    cycles: int = option(Whole(0), default=4)
    _: KW_ONLY
    n_states: int = option(Whole(1), default=64)
    split_steps: int = option(Whole(0), default=12)
    merge_steps: int = option(Whole(0), default=5)
    smooth_steps: int = option(Whole(0), default=3)
    merge: float = option(Number(0, 1), default=0.5)
    smoothing: Smoothing = option(InstanceOf(Smoothing), default=Smoothing())
    device: str | None = option(or_none(InstanceOf(str)), default=None)
    random_state: int = option(Whole(0), default=0)

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        rough, smooth = (
            Maximisation(seen, how, self.lexicon, self.device) for how in (NO_SMOOTHING, self.smoothing)
        )
        rng = np.random.default_rng(self.random_state)
        counts = count_productions(seen)
        room = np.minimum(self.n_states, np.maximum(1, seen.label_count // 10))
        self.history_: list[list[npt.NDArray[np.int64]]] = []
        report.facts["log-likelihood"] = likelihoods = []
        all_steps = self.cycles * (self.split_steps + self.merge_steps + self.smooth_steps)
        tell_progress(_log, "steps of EM", 0, all_steps)

        def refine(counts: LatentTables, steps: int, model: Maximisation) -> LatentTables:
            for _ in range(steps):
                expectation = model.expect(counts, self._threads)
                counts = expectation.counts
                likelihoods.append(round(expectation.total, 2))
                tell_progress(_log, "steps of EM", len(likelihoods), all_steps)
            return counts

        for cycle in range(1, self.cycles + 1):
            with report.stage(f"cycle {cycle}"):
                counts, parents = split(counts, room, rng)
                firsts = [np.flatnonzero(parent[:-1] == parent[1:]) for parent in parents]
                twins = [np.stack([first, first + 1], axis=1) for first in firsts]
                counts = refine(counts, self.split_steps, rough)
                counts, groups = merge_cheapest(rough, counts, self.merge, twins, self._threads)
                kept = [np.unique(group, return_index=True)[1] for group in groups]
                self.history_.append([parent[one] for parent, one in zip(parents, kept, strict=True)])
                counts = refine(counts, self.merge_steps, rough)
                counts = refine(counts, self.smooth_steps, smooth)
            report.say(
                f"cycle {cycle}: {int(counts.layout.n_states.sum())} states, log-likelihood {likelihoods[-1]:.1f}"
            )
        with report.stage("grammar"):
            return smooth.grammar(counts)


def split(
    counts: LatentTables, room: npt.NDArray[np.int64], rng: np.random.Generator, noise: float = 0.02
) -> tuple[LatentTables, list[npt.NDArray[np.int64]]]:
    """Split every state in two, as far as there is `room` for states of its symbol; relative `noise` tells the halves apart.

    Returns counts, and for each symbol the old state of each new one; halves stand side by side.
    """
    old = counts.layout
    parents = [
        np.repeat(np.arange(n), 2) if 2 * n <= most else np.arange(n)
        for n, most in zip(old.n_states, room, strict=True)
    ]
    layout = Layout.of(old.productions, np.array([len(p) for p in parents], np.int32))
    result = layout.zeros(counts.binary.dtype)
    share = [1 / np.bincount(p)[p] for p in parents]
    for rules, block, new_block in (
        (old.productions.binary, counts.binary_block, result.binary_block),
        (old.productions.unary, counts.unary_block, result.unary_block),
        (old.productions.lexical[:, :1], counts.lexical_block, result.lexical_block),
        (np.arange(len(parents))[:, None], counts.root_block, result.root_block),
    ):
        for place, symbols in enumerate(rules.tolist()):
            shares = reduce(np.multiply.outer, [share[symbol] for symbol in symbols])
            new_block(place)[:] = block(place)[np.ix_(*(parents[symbol] for symbol in symbols))] * shares
    for table in (result.binary, result.unary, result.lexical):
        table *= 1 + noise * rng.uniform(-1, 1, len(table)).astype(table.dtype)
    return result, parents
