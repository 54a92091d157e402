"""Expectation maximisation for probabilistic automata: Baum-Welch with final weights (Balle et al. 2014)."""

from __future__ import annotations

import logging
import os
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from gramian.automata.pnfa import Structure, check_structure, random_pnfa
from gramian.automata.strings import Sequences, Strings, Symbol
from gramian.automata.trie import PrefixForest, single_threaded_products
from gramian.automata.wfa import WFA
from gramian.errors import OptionError

__all__ = ["PNFAEM", "climb"]

_log = logging.getLogger(__name__)


class PNFAEM(BaseEstimator):  # type: ignore[misc]
    """A probabilistic automaton by expectation maximisation.

    Equal strings and equal prefixes are merged, so that an iteration costs one pass over the distinct
    prefixes.

    Parameters
    ----------
    n_states : int
    start : "random", "spectral" or WFA
        Where the climb begins; a WFA must be a PNFA.
    n_restarts : int
        Random starts; the one with the highest likelihood is kept.
    max_iterations : int
    tolerance : float
        Stop when the log-likelihood per string gains less than this.
    pseudo_count : float
        Added to every expected count: a Dirichlet prior, under which no string has probability zero.
    structure : "joint" or "factored"
        One distribution over (symbol, next state) for each state, or the product of two (a hidden Markov
        model).
    alphabet : sequence of str or int, optional
        The symbols; without it, those of the training strings.
    n_jobs : int, optional
        Threads; without it, one for each processor. The result does not depend on it.
    random_state : int

    Attributes
    ----------
    wfa_ : WFA
        The automaton learnt, a PNFA.
    log_likelihood_ : float
        Of the training strings, before the last maximisation step.
    log_likelihoods_ : list of float
        The same for every iteration of the best start.

    Examples
    --------
    >>> strings = ["ab", "abab", "", "ab"] * 10
    >>> learnt = PNFAEM(2, random_state=1).fit(strings)
    >>> learnt.wfa_.score(["ab", "ba"]).round(2)
    array([0.25, 0.  ])
    """

    def __init__(
        self,
        n_states: int = 10,
        *,
        start: str | WFA = "random",
        n_restarts: int = 1,
        max_iterations: int = 100,
        tolerance: float = 1e-6,
        pseudo_count: float = 0.0,
        structure: Structure = "joint",
        alphabet: tuple[Symbol, ...] | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_states = n_states
        self.start = start
        self.n_restarts = n_restarts
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.pseudo_count = pseudo_count
        self.structure = structure
        self.alphabet = alphabet
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, strings: Strings, y: None = None) -> Self:
        """Learn from `strings`."""
        check_structure(self.structure)
        for name in ("n_states", "n_restarts", "max_iterations"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}: got {getattr(self, name)}; try: 1 or more")
        sample = Sequences.of(strings, self.alphabet)
        forest = PrefixForest.from_sample(sample)
        rng = np.random.default_rng(self.random_state)
        best = None
        with single_threaded_products():
            for restart in range(self.n_restarts if self.start == "random" else 1):
                model, values = self._climb(forest, self._start(sample, rng))
                _log.info("EM start %d: log-likelihood %.2f", restart + 1, values[-1])
                if best is None or values[-1] > best:
                    self.wfa_, self.log_likelihoods_, best = model, values, values[-1]
        self.log_likelihood_ = best
        return self

    def _start(self, sample: Sequences, rng: np.random.Generator) -> WFA:
        if isinstance(self.start, WFA):
            if not self.start.is_probabilistic() or self.start.alphabet != sample.alphabet:
                raise OptionError(
                    "start: must be a PNFA over the alphabet of the strings; try: repair it first"
                )
            return self.start
        if self.start == "random":
            return random_pnfa(sample, self.n_states, rng, self.structure)
        if self.start == "spectral":
            from gramian.automata.repair import softened
            from gramian.automata.spectral import SpectralWFA

            spectral = SpectralWFA(self.n_states, repair="cluster", random_state=self.random_state)
            start = spectral.fit(sample).wfa_
            return softened(start, random_pnfa(sample, start.n_states, rng))
        raise OptionError(f"start: got {self.start!r}; try one of: random, spectral, or a WFA")

    def _climb(self, forest: PrefixForest, start: WFA) -> tuple[WFA, list[float]]:
        return climb(
            forest,
            start,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            pseudo_count=self.pseudo_count,
            structure=self.structure,
            n_jobs=self.n_jobs or os.cpu_count() or 1,
            name=f"EM with {start.n_states} states",
        )


def climb(
    forest: PrefixForest,
    start: WFA,
    *,
    max_iterations: int,
    tolerance: float = 0.0,
    pseudo_count: float = 0.0,
    structure: Structure = "joint",
    n_jobs: int = 1,
    name: str | None = None,
) -> tuple[WFA, list[float]]:
    """Run EM from `start`; return the last automaton, and the log-likelihood at each iteration.

    With a `name` for the run, each iteration is logged.
    """
    model = start
    values: list[float] = []
    for iteration in range(max_iterations):
        value, counts = forest.expected_counts(model, n_jobs)
        if name is not None:
            mean = value / forest.n_strings
            _log.debug(
                "%s: iteration %d of at most %d, log-likelihood of a string %.4f",
                name, iteration + 1, max_iterations, mean,
            )  # fmt: skip
        gain = value - values[-1] if values else float("inf")
        values.append(value)
        if gain < tolerance * forest.n_strings:
            break
        model = counts.estimate(forest.alphabet, structure, pseudo_count)
    return model, values
