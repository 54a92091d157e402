"""The model to take when nothing is known: automata and n-grams compete on held-out strings, winners are averaged.

Gibbs chains compete (:mod:`gramian.automata.contest`); the survivors and an n-gram model with smoothing get
the mixture weights that suit the held-out strings best, and are then run, or counted, on all strings.
"""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from gramian.automata.baselines import NGram
from gramian.automata.contest import ROUNDS, Round, Runner, compete, run
from gramian.automata.mixture import Mixture, mixture_weights
from gramian.automata.pdfa import PDFA
from gramian.automata.strings import Sequences, Strings, Symbol
from gramian.automata.trie import PrefixForest, single_threaded_products
from gramian.automata.wfa import WFA
from gramian.errors import OptionError

__all__ = ["BestModel", "Trial", "best_order"]

Array = npt.NDArray[np.float64]

_log = logging.getLogger(__name__)

_LADDER = (8, 16, 32, 64)
_ORDERS = (1, 2, 3, 4, 5, 6)
_MOST_JUDGES = 4000
_MOST_EARLY = 20_000  # strings that the chains compete on
_MOST_WEIGHTS = 2_000_000  # of one automaton's transitions
_LEAST_SHARE = 0.02  # in the mixture


@dataclass(frozen=True)
class Trial:
    """One model that competed.

    Attributes
    ----------
    name : str
    n_states : int
    held_out : float
        Mean log-probability of a held-out string in the last round it took part in.
    weight : float
        In the mixture; 0 if it dropped out.
    """

    name: str
    n_states: int
    held_out: float
    weight: float


class BestModel(BaseEstimator):  # type: ignore[misc]
    """A mixture of automata and an n-gram model, chosen and weighed on a slice of the training strings.

    Parameters
    ----------
    n_states : "auto" or int
        States of the automata; "auto" tries several numbers.
    held_out : float
        Share of the strings that judges; at most 4,000 are taken.
    alphabet : sequence of str or int, optional
        The symbols; without it, those of the training strings.
    n_jobs : int, optional
        Threads; without it, one for each processor. The result does not depend on it.
    random_state : int

    Attributes
    ----------
    model_ : Mixture, WFA or PDFA
        The distribution learnt; a mixture unless one model has all the weight.
    trials_ : tuple of Trial
        What competed, the best first.

    Examples
    --------
    >>> strings = ["ab" * (i % 4) for i in range(200)]
    >>> learnt = BestModel(2).fit(strings)
    >>> bool(np.exp(learnt.model_.log_score(["abab"]))[0] > 0.2)
    True
    """

    def __init__(
        self,
        n_states: int | Literal["auto"] = "auto",
        *,
        held_out: float = 0.1,
        alphabet: tuple[Symbol, ...] | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_states = n_states
        self.held_out = held_out
        self.alphabet = alphabet
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, strings: Strings, y: None = None) -> Self:
        """Learn from `strings`."""
        if self.n_states != "auto" and self.n_states < 1:
            raise OptionError(f"n_states: got {self.n_states}; try: a number from 1, or 'auto'")
        sample = Sequences.of(strings, self.alphabet)
        forest = PrefixForest.from_sample(sample)
        kept, judges = sample.split(self.held_out, seed=self.random_state, at_most=_MOST_JUDGES)
        order, order_logs = best_order(kept, judges)
        with single_threaded_products(), ThreadPoolExecutor(self.n_jobs or os.cpu_count() or 1) as pool:
            early = kept.take(np.arange(min(len(kept), _MOST_EARLY)))
            runners, dropped = compete(early, judges, self._ladder(sample), pool, self.random_state)
            weights = mixture_weights(np.stack([*(_logs(runner) for runner in runners), order_logs]))
            weights = np.where(weights < _LEAST_SHARE, 0.0, weights)
            weights /= weights.sum()
            _log.info("last round, on all strings")

            def finish(pair: tuple[int, Runner]) -> Runner:
                lane, runner = pair
                stage = _last_round(forest, runner.n_states)
                after = run(runner, forest, stage, seed=(self.random_state, len(ROUNDS), lane))
                _log.debug("last round: %s, %d states", after.name, after.n_states)
                return after

            chosen = [(lane, runner) for lane, runner in enumerate(runners) if weights[lane] > 0]
            final = list(pool.map(finish, chosen))
        parts: list[WFA | PDFA] = []
        shares: list[float] = []
        for (lane, _), runner in zip(chosen, final, strict=True):
            parts += runner.samples
            shares += [float(weights[lane]) / len(runner.samples)] * len(runner.samples)
        if weights[-1] > 0:
            parts.append(NGram(order).fit(sample).pdfa_)
            shares.append(float(weights[-1]))
        self.model_: Mixture | WFA | PDFA = (
            parts[0] if len(parts) == 1 else Mixture(tuple(parts), np.array(shares))
        )
        trials = [
            *(Trial(r.name, r.n_states, r.mean, float(w)) for r, w in zip(runners, weights, strict=False)),
            Trial(f"{order}-gram", 0, float(order_logs.mean()), float(weights[-1])),
            *(Trial(r.name, r.n_states, r.mean, 0.0) for r in dropped),
        ]
        self.trials_ = tuple(sorted(trials, key=lambda trial: -trial.held_out))
        return self

    def _ladder(self, sample: Sequences) -> tuple[int, ...]:
        if self.n_states != "auto":
            return (self.n_states,)
        most = max(_LADDER[0], int((_MOST_WEIGHTS / max(len(sample.alphabet), 1)) ** 0.5))
        return tuple(n for n in _LADDER if n <= most)


def best_order(kept: Sequences, judges: Sequences) -> tuple[int, Array]:
    """Return the order of the n-gram model that gives `judges` the highest likelihood, and their log-scores."""
    logs = [NGram(order).fit(kept).pdfa_.log_score(judges) for order in _ORDERS]
    best = int(np.argmax([values.mean() for values in logs]))
    return _ORDERS[best], logs[best]


def _logs(runner: Runner) -> Array:
    assert runner.held_out is not None
    return runner.held_out


def _last_round(forest: PrefixForest, n_states: int) -> Round:
    """Return the stage on all strings, cut where a sweep is dear: about a minute for each chain."""
    states = sum(tree.n_path_states for tree in forest.trees)
    seconds = forest.n_nodes * n_states**2 / 2e10 + states * n_states / 1e9
    sweeps = int(np.clip(60.0 / seconds, 80, 240))
    return replace(ROUNDS[-1], climbs=10, sweeps=sweeps)
