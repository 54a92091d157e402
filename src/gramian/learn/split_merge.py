"""Split, refine, merge, smooth (Petrov et al. 2006): states grow by splitting; splits whose merge costs little likelihood are undone."""

import logging
from dataclasses import KW_ONLY
from functools import reduce

import numpy as np
import numpy.typing as npt

from gramian.base import Report, estimator
from gramian.grammar import LPCFG
from gramian.learn.counting import count_productions
from gramian.learn.learner import Learner, Maximisation
from gramian.learn.observations import Observations
from gramian.learn.smoothing import NO_SMOOTHING, Smoothing, state_shares
from gramian.learn.tables import LatentTables, Layout
from gramian.progress import tell_progress
from gramian.value_types import InstanceOf, Number, Whole, option, or_none

_log = logging.getLogger(__name__)


@estimator
class SplitMerge(Learner):
    """Learn a grammar by split-merge expectation-maximisation.

    In every cycle each state is split in two, expectation-maximisation refines the halves, the share `merge` of splits whose
    loss would cost the least likelihood is undone, and smoothed steps follow.

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
    """How often every state is split."""
    _: KW_ONLY
    n_states: int = option(Whole(1), default=64)
    """The most states a symbol gets."""
    split_steps: int = option(Whole(0), default=12)
    """Steps of expectation-maximisation after splitting."""
    merge_steps: int = option(Whole(0), default=5)
    """Steps of expectation-maximisation after merging."""
    smooth_steps: int = option(Whole(0), default=3)
    """Steps of expectation-maximisation with smoothing, at the end of a cycle."""
    merge: float = option(Number(0, 1), default=0.5)
    """Share of the splits that are taken back."""
    smoothing: Smoothing = option(InstanceOf(Smoothing), default=Smoothing())
    """Of the smoothed steps and of the grammar; see :class:`gramian.learn.Smoothing`."""
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
                self.history_.append([parent[index] for parent, index in zip(parents, kept, strict=True)])
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
        for rule, symbols in enumerate(rules.tolist()):
            shares = reduce(np.multiply.outer, [share[symbol] for symbol in symbols])
            new_block(rule)[:] = block(rule)[np.ix_(*(parents[symbol] for symbol in symbols))] * shares
    for table in (result.binary, result.unary, result.lexical):
        table *= 1 + noise * rng.uniform(-1, 1, len(table)).astype(table.dtype)
    return result, parents


Pairs = npt.NDArray[np.int64]
Groups = list[npt.NDArray[np.int64]]


def merge_losses(
    seen: Observations, tables: LatentTables, counts: LatentTables, pairs: list[Pairs], n_jobs: int = 1
) -> list[npt.NDArray[np.float64]]:
    """Return the log-likelihood of the training trees that merging each pair of states would cost.

    Each node is looked at on its own: the two states are replaced by one whose inside value is their mean, weighted by their shares
    in `counts`, and whose outside value is their sum.
    """
    shares = state_shares(counts)
    layout, weight = tables.layout, seen.bank.node_weight
    posteriors = seen.trees.posteriors(tables, n_jobs)
    losses = []
    for symbol, symbol_pairs in enumerate(pairs):
        loss = np.zeros(len(symbol_pairs))
        if len(symbol_pairs):
            nodes = seen.nodes(symbol)
            cells = posteriors.offset[nodes][:, None] + np.arange(layout.n_states[symbol])
            below, above = (
                posteriors.inside[cells].astype(np.float64),
                posteriors.outside[cells].astype(np.float64),
            )
            product = below * above
            total = product.sum(axis=1)
            share = shares[layout.root_start[symbol] : layout.root_start[symbol + 1]]
            for index, (i, j) in enumerate(symbol_pairs):
                mean = (share[i] * below[:, i] + share[j] * below[:, j]) / max(share[i] + share[j], 1e-300)
                after = total - product[:, i] - product[:, j] + mean * (above[:, i] + above[:, j])
                fine = (total > 0) & (after > 0)
                lost = np.log(total[fine] / after[fine])
                loss[index] = lost.sum() if weight is None else lost @ weight[nodes[fine]]
        losses.append(loss)
    return losses


def merge_cheapest(
    model: Maximisation,
    counts: LatentTables,
    share: float,
    pairs: list[Pairs],
    n_jobs: int = 1,
) -> tuple[LatentTables, Groups]:
    """Merge the `share` of pairs of states whose loss costs the least likelihood.

    Returns the counts and, for each symbol, the new state of each old one.
    """
    tables = model.tables(counts)
    counts = model.seen.expect(tables, n_jobs).counts
    losses = merge_losses(model.seen, tables, counts, pairs, n_jobs)
    everything = np.concatenate(losses)
    bar = np.quantile(everything, share) if len(everything) else 0.0
    groups = []
    for symbol, (symbol_pairs, loss) in enumerate(zip(pairs, losses, strict=True)):
        group = np.arange(counts.layout.n_states[symbol])
        for i, j in symbol_pairs[loss <= bar]:
            group[max(i, j)] = min(i, j)
        groups.append(np.unique(group, return_inverse=True)[1])
    return merged(counts, groups), groups


def merged(counts: LatentTables, groups: Groups) -> LatentTables:
    """Return counts in which states are added up: for each symbol, `groups` has the new state of each old one, from 0 without gaps."""
    old = counts.layout
    n_states = np.array([group.max() + 1 for group in groups], np.int32)
    layout = Layout.of(old.productions, n_states)
    result = layout.zeros(counts.binary.dtype)
    add = [np.eye(n, dtype=counts.binary.dtype)[group].T for n, group in zip(n_states, groups, strict=True)]
    for rule, (a, b, c) in enumerate(old.productions.binary):
        block = np.tensordot(add[a], counts.binary_block(rule), 1)
        result.binary_block(rule)[:] = np.matmul(np.matmul(add[b], block), add[c].T)
    for rule, (a, t) in enumerate(old.productions.unary):
        result.unary_block(rule)[:] = add[a] @ counts.unary_block(rule) @ add[t].T
    for symbol, group in enumerate(groups):
        result.root_block(symbol)[:] = np.bincount(group, counts.root_block(symbol))
    first, tags = layout.lexical_start[:-1], old.productions.lexical[:, 0]
    target = np.concatenate([start + groups[tag] for start, tag in zip(first, tags, strict=True)])
    result.lexical[:] = np.bincount(target, counts.lexical, len(result.lexical))
    return result
