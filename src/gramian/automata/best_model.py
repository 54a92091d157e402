"""The model to take when nothing is known: automata and n-grams compete on held-out strings, winners are averaged.

Gibbs chains compete (:mod:`gramian.automata.gibbs_chains`); the survivors and an n-gram model with smoothing get
the mixture weights that suit the held-out strings best, and are then run, or counted, on all strings.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gramian.automata.gibbs_chains import ROUNDS, Chain, Round, compete
from gramian.automata.mixture import Mixture, mixture_weights
from gramian.automata.ngram import NGram, best_order
from gramian.automata.pdfa import PDFA
from gramian.automata.prefix_forest import PrefixForest
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Sequences
from gramian.automata.weighted_automaton import WFA
from gramian.base import estimator, number_of_jobs
from gramian.progress import tell_progress
from gramian.value_types import Either, OneOf, Whole, option

_log = logging.getLogger(__name__)

_LADDER = (8, 16, 32, 64)
_MOST_HELD_OUT = 4000
_MOST_EARLY = 250_000  # cuts of the strings that the chains compete on
_MOST_WEIGHTS = 2_000_000  # of one automaton's transitions
_LEAST_SHARE = 0.02  # in the mixture


@dataclass(frozen=True)
class Candidate:
    """One model that competed."""

    name: str
    n_states: int
    held_out: float  # the mean log-probability of a held-out string in its last round
    weight: float  # its share in the mixture, 0 if it dropped out


@estimator
class BestModel(SequenceLearner):
    """A mixture of automata and an n-gram model, chosen and weighed on a slice of the training strings.

    Examples
    --------
    >>> strings = ["ab" * (i % 4) for i in range(200)]
    >>> learnt = BestModel(2).fit(strings)
    >>> bool(np.exp(learnt.model_.log_score(["abab"]))[0] > 0.2)
    True
    """

    n_states: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default="auto")
    """States of the automata; "auto" tries several numbers."""
    candidates_: tuple[Candidate, ...] = field(init=False)
    """What competed, the best first."""
    model_: Mixture | WFA | PDFA = field(init=False)
    """The distribution learnt; a mixture unless one model has all the weight."""

    def _learn(self, sample: Sequences) -> Mixture | WFA | PDFA:
        forest = PrefixForest.from_sample(sample)
        training, held_out = sample.split(self.held_out, seed=self.random_state, at_most=_MOST_HELD_OUT)
        order, order_logs = best_order(training, held_out)
        with ThreadPoolExecutor(number_of_jobs(self.n_jobs)) as pool:
            early = training.take(next(training.blocks(_MOST_EARLY)))
            state_counts = self._state_counts(len(sample.alphabet))
            chains, dropped = compete(early, held_out, state_counts, pool, self.random_state)
            weights = mixture_weights(np.stack([*(chain.held_out for chain in chains), order_logs]))
            weights = np.where(weights < _LEAST_SHARE, 0.0, weights)
            weights /= weights.sum()
            _log.info("last round, on all strings")

            def finish(lane: int) -> Chain:
                plan = _last_round(forest, chains[lane].n_states)
                return chains[lane].advanced(forest, plan, (self.random_state, len(ROUNDS), lane))

            chosen = np.flatnonzero(weights[:-1]).tolist()
            parts: list[WFA | PDFA] = []
            shares: list[float] = []
            tell_progress(_log, "chains of the last round", 0, len(chosen))
            for done, (lane, chain) in enumerate(zip(chosen, pool.map(finish, chosen), strict=True), 1):
                parts += chain.samples
                shares += [float(weights[lane]) / len(chain.samples)] * len(chain.samples)
                tell_progress(_log, "chains of the last round", done, len(chosen))
        if weights[-1] > 0:
            parts.append(NGram(order).fit(sample).model_)
            shares.append(float(weights[-1]))
        shares_of_chains = [*weights[:-1].tolist(), *[0.0] * len(dropped)]
        candidates = [
            Candidate(chain.name, chain.n_states, chain.mean, weight)
            for chain, weight in zip([*chains, *dropped], shares_of_chains, strict=True)
        ]
        candidates.append(Candidate(f"{order}-gram", 0, float(order_logs.mean()), float(weights[-1])))
        self.candidates_ = tuple(sorted(candidates, key=lambda candidate: -candidate.held_out))
        return parts[0] if len(parts) == 1 else Mixture(tuple(parts), np.array(shares))

    def _state_counts(self, n_symbols: int) -> tuple[int, ...]:
        """Return the numbers of states to try: those whose automata are not too large, at least one."""
        if self.n_states != "auto":
            return (self.n_states,)
        most_states = max(_LADDER[0], int((_MOST_WEIGHTS / max(n_symbols, 1)) ** 0.5))
        return tuple(n for n in _LADDER if n <= most_states)


def _last_round(forest: PrefixForest, n_states: int) -> Round:
    """Return the stage on all strings, shorter where a sweep is costly: some ten seconds for each chain."""
    states = sum(tree.n_path_states for tree in forest.trees)
    seconds = forest.n_nodes * n_states**2 / 2e10 + states * n_states / 2e9
    sweeps = int(np.clip(10.0 / seconds, 60, 160))
    return ROUNDS[-1]._replace(em_iterations=10, sweeps=sweeps)
