"""Expectation-maximisation from any start: random, a stored grammar, or spectral clusters.

A few smoothed steps from a spectral start do what tens of steps from a random one do not (Cohen and Collins 2014 saw the same
with another start). Smoothing happens inside the maximisation step, so the likelihood of the training trees need not rise at every
step; without smoothing it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.learn.checkpoint import Checkpoint
from gramian.learn.cluster import SpectralClustering, spectral_counts
from gramian.learn.learner import Learner, Report
from gramian.learn.lexicon_counts import LexiconName
from gramian.learn.merge import merge_similar
from gramian.learn.noise import Noise
from gramian.learn.observations import Observations
from gramian.learn.smoothing import Smoothing
from gramian.learn.states import Allocation, States
from gramian.learn.tables import LatentTables, Layout

__all__ = ["EM", "SpectralEM", "random_counts", "tables_of"]


class EM(Learner):
    """Learn a grammar by expectation-maximisation on the observed trees.

    Parameters
    ----------
    states : int
        The most states a symbol gets; a start that is a grammar brings its own.
    start : LPCFG, optional
        Where to begin. By default relative frequencies, spread over the states with noise (Matsuzaki et al. 2005).
    iterations : int
    allocation, growth : str, float
        See :func:`gramian.learn.states.allocate_states`.
    rule_shrinkage, state_shrinkage, sister_share : float
        Smoothing in every maximisation step; see :class:`gramian.learn.smoothing.Smoothing`.
    watch : callable, optional
        Called after every step with its number and the grammar's maker (a function without arguments); what it returns, higher being
        better, decides which step's grammar is kept. Without it the last one is.
    patience : int
        With `watch`, stop after so many steps without improvement.
    checkpoint : path, optional
        File that holds the counts after the latest step. If it is there and fits treebank and options, learning goes on from it; it is
        removed at the end.
    heads, random_state, jobs, say
        As for :class:`gramian.learn.SpectralClustering`.

    Attributes
    ----------
    grammar_ : LPCFG
    report_ : dict
        With ``"log-likelihood"`` of the training trees before each step.

    References
    ----------
    Takuya Matsuzaki, Yusuke Miyao and Jun'ichi Tsujii (2005). Probabilistic CFG with latent annotations. ACL.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 40)
    >>> learner = EM(states=2, allocation="all", iterations=3).fit(bank)
    >>> [len(learner.report_["log-likelihood"]), int(learner.grammar_.n_states.max())]
    [3, 2]
    """

    def __init__(
        self,
        states: States = 16,
        *,
        start: LPCFG | None = None,
        iterations: int = 40,
        allocation: Allocation = "root",
        growth: float = 0.25,
        rule_shrinkage: float = 2.0,
        state_shrinkage: float = 2.0,
        sister_share: float = 0.02,
        watch: Callable[[int, Callable[[], LPCFG]], float] | None = None,
        patience: int = 3,
        checkpoint: str | None = None,
        heads: str | None = "auto",
        random_state: int = 0,
        jobs: int = 1,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.states, self.start, self.iterations = states, start, iterations
        self.allocation, self.growth = allocation, growth
        self.rule_shrinkage, self.state_shrinkage, self.sister_share = (
            rule_shrinkage,
            state_shrinkage,
            sister_share,
        )
        self.watch, self.patience, self.checkpoint = watch, patience, checkpoint
        self.heads, self.random_state, self.jobs, self.say = heads, random_state, jobs, say

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        return run_em(self, seen, report)

    def _start(self, seen: Observations, report: Report) -> LatentTables:
        if self.start is None:
            n_states = seen.allocate(self.states, self.allocation, self.growth)
            return random_counts(seen, Layout.of(seen.productions, n_states), self.random_state)
        with report.stage("start"):
            return seen.trees.expect(tables_of(self.start, seen)).counts


class SpectralEM(SpectralClustering):
    """Spectral clusters polished by a few steps of expectation-maximisation.

    Parameters
    ----------
    iterations : int
        Steps after clustering.
    merge : float
        Share of the pairs of similar states that are merged again after the first two steps: those whose loss costs the least likelihood.
    watch, patience, checkpoint
        As for :class:`EM`.
    states, allocation, growth, features, min_count, scaling, kappa, rank, projection, restarts, noise, noise_level, soft
        As for :class:`gramian.learn.SpectralClustering`.
    rule_shrinkage, state_shrinkage, sister_share
        Likewise.
    lexicon, heads, random_state, jobs, say
        Likewise.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> learner = SpectralEM(states=2, allocation="all", iterations=2).fit(Treebank.from_trees(trees))
    >>> len(learner.report_["log-likelihood"])
    2
    """

    def __init__(
        self,
        states: States = 16,
        *,
        iterations: int = 8,
        merge: float = 0.0,
        watch: Callable[[int, Callable[[], LPCFG]], float] | None = None,
        patience: int = 3,
        checkpoint: str | None = None,
        allocation: Allocation = "root",
        growth: float = 0.25,
        features: str = "rich",
        min_count: int = 1,
        scaling: bool = True,
        kappa: float = 5.0,
        rank: int | None = None,
        projection: Any = "weighted",
        restarts: int = 1,
        noise: Noise | None = None,
        noise_level: float = 0.1,
        soft: float | None = None,
        rule_shrinkage: float = 2.0,
        state_shrinkage: float = 2.0,
        sister_share: float = 0.02,
        lexicon: LexiconName = "auto",
        heads: str | None = "auto",
        random_state: int = 0,
        jobs: int = 1,
        say: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(
            states, allocation=allocation, growth=growth, features=features, min_count=min_count, scaling=scaling, kappa=kappa,
            rank=rank, projection=projection, restarts=restarts, noise=noise, noise_level=noise_level, soft=soft,
            rule_shrinkage=rule_shrinkage, state_shrinkage=state_shrinkage,
            sister_share=sister_share, lexicon=lexicon, heads=heads, random_state=random_state, jobs=jobs, say=say,
        )  # fmt: skip
        self.iterations, self.merge = iterations, merge
        self.watch, self.patience, self.checkpoint = watch, patience, checkpoint

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        return run_em(self, seen, report)

    def _start(self, seen: Observations, report: Report) -> LatentTables:
        counts = spectral_counts(self, seen, report)
        if self.merge > 0:
            smoothing = Smoothing(self.rule_shrinkage, self.state_shrinkage, self.sister_share)
            with report.stage("merging"):
                for _ in range(2):
                    counts = seen.trees.expect(seen.tables(counts, smoothing)).counts
                counts = merge_similar(seen, counts, smoothing, self.merge)
            report.say(f"{int(counts.layout.n_states.sum())} states after merging")
        return counts


def run_em(learner: EM | SpectralEM, seen: Observations, report: Report) -> LPCFG:
    """Alternate expectation and maximisation; return the last grammar, or the best one if it is watched."""
    if learner.iterations < 0:
        raise OptionError(f"iterations is 0 or more, not {learner.iterations!r}")
    smoothing = Smoothing(learner.rule_shrinkage, learner.state_shrinkage, learner.sister_share)
    checkpoint = best_so_far = None
    if learner.checkpoint is not None:
        ignored = ("say", "jobs", "watch", "patience", "checkpoint", "iterations")
        options = {name: value for name, value in learner.get_params().items() if name not in ignored}
        checkpoint = Checkpoint(learner.checkpoint, seen, sorted(options.items(), key=str))
        best_so_far = Checkpoint(f"{learner.checkpoint}.best", seen, sorted(options.items(), key=str))
    resumed = checkpoint.load() if checkpoint is not None else None
    if resumed is not None:
        counts, likelihoods = resumed
        report.say(f"going on after step {len(likelihoods)}")
    else:
        counts, likelihoods = learner._start(seen, report), []
        if checkpoint is not None:
            checkpoint.save(counts, likelihoods)
    best: tuple[float, int, LatentTables] | None = None
    if resumed is not None and best_so_far is not None and learner.watch is not None:
        found = best_so_far.load()
        best = None if found is None else (found[1][0], int(found[1][1]), found[0])
    with report.stage("expectation-maximisation"):
        for step in range(len(likelihoods) + 1, learner.iterations + 1):
            expectation = seen.trees.expect(seen.tables(counts, smoothing))
            counts = expectation.counts
            likelihoods.append(float(expectation.log_likelihood.sum()))
            report.say(f"step {step}: log-likelihood {likelihoods[-1]:.1f}")
            if learner.watch is not None:
                value = learner.watch(step, lambda held=counts: seen.grammar(held, smoothing))  # type: ignore[misc]
                if best is None or value > best[0]:
                    best = (value, step, counts)
                    if best_so_far is not None:
                        best_so_far.save(counts, [value, float(step)])
                elif step - best[1] >= learner.patience:
                    break
            if checkpoint is not None:
                checkpoint.save(counts, likelihoods)
    report.facts["log-likelihood"] = [round(value, 2) for value in likelihoods]
    if best is not None:
        report.facts["best step"] = best[1]
        counts = best[2]
    with report.stage("grammar"):
        grammar = seen.grammar(counts, smoothing)
    for file in (checkpoint, best_so_far):
        if file is not None:
            file.remove()
    return grammar


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
    roots = np.bincount(seen.bank.label[seen.bank.tree_start[1:] - 1], minlength=seen.bank.n_symbols)
    counts.root[:] = np.repeat(roots / layout.n_states, layout.n_states)
    return counts


def tables_of(grammar: LPCFG, seen: Observations) -> LatentTables:
    """Lay a grammar's parameters out for the productions of a treebank.

    Symbols are matched by name, and one that the grammar lacks gets one state; a production that the grammar lacks gets the shares
    of its symbols' states, at the weight of the rarest rule. Negative parameters (observable operators) count as zero.
    """
    bank, productions = seen.bank, seen.productions
    number = _symbol_numbers(grammar)
    match = np.array(
        [number.get((place < bank.n_phrases, name), -1) for place, name in enumerate(bank.symbols)]
    )
    n_states = np.where(match >= 0, grammar.n_states[match], 1).astype(np.int32)
    layout = Layout.of(productions, n_states)
    tables = layout.zeros(np.float32)

    def shares(symbol: int) -> npt.NDArray[np.floating]:
        return np.maximum(grammar.prior(match[symbol]), 0) if match[symbol] >= 0 else np.ones(1)

    for rules, block, theirs, their_block in (
        (productions.binary, tables.binary_block, grammar.binary_rules, grammar.binary_block),
        (productions.unary, tables.unary_block, grammar.unary_rules, grammar.unary_block),
    ):
        known = {tuple(rule): place for place, rule in enumerate(theirs.tolist())}
        for place, rule in enumerate(rules.tolist()):
            target = block(place)
            found = known.get(tuple(int(match[symbol]) for symbol in rule))
            if found is not None:
                target[:] = np.maximum(their_block(found), 0)
            else:
                value = shares(rule[1])
                for symbol in rule[2:]:
                    value = np.multiply.outer(value, shares(symbol))
                target[:] = 1e-6 * value
    lexicon = grammar.lexicon
    tag_number = {name: place for place, name in enumerate(grammar.symbols[grammar.n_phrases :])}
    for pair, (tag, word) in enumerate(productions.lexical.tolist()):
        target = tables.lexical[layout.lexical_start[pair] : layout.lexical_start[pair + 1]]
        their_tag = tag_number.get(bank.symbols[tag])
        target[:] = (
            1 if their_tag is None else np.maximum(lexicon.pair_states(their_tag, bank.words[word]), 1e-6)
        )
    for symbol in range(bank.n_symbols):
        target = tables.root[layout.root_start[symbol] : layout.root_start[symbol + 1]]
        if match[symbol] >= 0:
            first = grammar.state_start[match[symbol]]
            target[:] = np.maximum(grammar.root[first : first + len(target)], 0)
        target += 1e-9
    return tables


def _symbol_numbers(grammar: LPCFG) -> dict[tuple[bool, str], int]:
    return {(place < grammar.n_phrases, name): place for place, name in enumerate(grammar.symbols)}
