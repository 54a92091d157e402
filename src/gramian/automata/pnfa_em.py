"""Expectation maximisation for probabilistic automata: Baum-Welch with final weights (Balle et al. 2014)."""

from __future__ import annotations

import logging
from typing import ClassVar

import numpy as np

from gramian.automata.pnfa import Structure, random_pnfa
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.strings import Sequences, Symbol
from gramian.automata.trie import PrefixForest
from gramian.automata.weighted_automaton import WFA
from gramian.base import number_of_jobs
from gramian.errors import OptionError
from gramian.value_types import Constraint, Either, InstanceOf, Number, OneOf, Whole

_log = logging.getLogger(__name__)


class PNFAEM(SequenceLearner):
    """A probabilistic automaton by expectation maximisation.

    Equal strings and equal prefixes are merged, so that an iteration costs one pass over the distinct prefixes.

    Parameters
    ----------
    n_states : int
    start : "random", "spectral" or WFA
        Where the climb begins; a WFA must be a PNFA.
    n_restarts : int
        Random starts; the one with the highest likelihood is kept.
    max_iter : int
    tolerance : float
        Stop when the log-likelihood per string gains less than this.
    pseudo_count : float
        Added to every expected count: a Dirichlet prior, under which no string has probability zero.
    structure : "joint" or "factored"
        One distribution over (symbol, next state) for each state, or the product of two (a hidden Markov model).
    alphabet : sequence of str or int, optional
        The symbols; without it, those of the training strings.
    n_jobs : int, optional
        Threads; -1 for one a processor. The result does not depend on it.
    verbose : bool
        Show progress.
    random_state : int

    Attributes
    ----------
    model_ : WFA
        The automaton learnt, a PNFA.
    log_likelihood_ : float
        Of the training strings, before the last maximisation step.
    log_likelihoods_ : list of float
        The same for every iteration of the best start.

    Examples
    --------
    >>> strings = ["ab", "abab", "", "ab"] * 10
    >>> learnt = PNFAEM(2, random_state=1).fit(strings)
    >>> learnt.model_.score(["ab", "ba"]).round(2)
    array([0.25, 0.  ])
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_states": Whole(1),
        "start": Either(OneOf("random", "spectral"), InstanceOf(WFA)),
        "n_restarts": Whole(1),
        "max_iter": Whole(1),
        "tolerance": Number(),
        "pseudo_count": Number(0),
        "structure": OneOf("joint", "factored"),
    }
    model_: WFA

    def __init__(
        self,
        n_states: int = 10,
        *,
        start: str | WFA = "random",
        n_restarts: int = 1,
        max_iter: int = 100,
        tolerance: float = 1e-6,
        pseudo_count: float = 0.0,
        structure: Structure = "joint",
        alphabet: tuple[Symbol, ...] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: int = 0,
    ) -> None:
        self.n_states, self.structure, self.alphabet = n_states, structure, alphabet
        self.start, self.n_restarts, self.random_state = start, n_restarts, random_state
        self.max_iter, self.tolerance, self.pseudo_count = max_iter, tolerance, pseudo_count
        self.n_jobs, self.verbose = n_jobs, verbose

    def _learn(self, sample: Sequences) -> WFA:
        forest = PrefixForest.from_sample(sample)
        rng = np.random.default_rng(self.random_state)
        runs = []
        for number in range(self.n_restarts if self.start == "random" else 1):
            start, jobs = self._start(sample, rng), number_of_jobs(self.n_jobs)
            model, values = climb(
                forest, start, self.max_iter, self.tolerance, self.pseudo_count, self.structure, jobs
            )
            if self.n_restarts > 1:
                _log.info("EM start %d: log-likelihood %.2f", number + 1, values[-1])
            runs.append((model, values))
        model, self.log_likelihoods_ = max(runs, key=lambda run: run[1][-1])
        self.log_likelihood_ = self.log_likelihoods_[-1]
        return model

    def _start(self, sample: Sequences, rng: np.random.Generator) -> WFA:
        if isinstance(self.start, WFA):
            if not self.start.is_probabilistic() or self.start.alphabet != sample.alphabet:
                raise OptionError(
                    "start must be a PNFA over the alphabet of the strings; try: repair it first"
                )
            return self.start
        if self.start == "random":
            return random_pnfa(sample, self.n_states, rng, self.structure)
        from gramian.automata.spectral import SpectralWFA

        spectral = SpectralWFA(self.n_states, repair="cluster", random_state=self.random_state)
        start = spectral.fit(sample).model_
        return interpolated(start, random_pnfa(sample, start.n_states, rng))


def climb(
    forest: PrefixForest,
    start: WFA,
    max_iter: int,
    tolerance: float = 0.0,
    pseudo_count: float = 0.0,
    structure: Structure = "joint",
    n_jobs: int = 1,
) -> tuple[WFA, list[float]]:
    """Run EM from `start`; return the last automaton, and the log-likelihood at each iteration."""
    model = start
    values: list[float] = []
    for iteration in range(max_iter):
        value, counts = forest.expected_counts(model, n_jobs)
        mean = value / forest.n_strings
        _log.debug("EM, %d states, iteration %d: log-likelihood %.4f", model.n_states, iteration + 1, mean)
        gain = value - values[-1] if values else float("inf")
        values.append(value)
        if gain < tolerance * forest.n_strings:
            break
        model = counts.estimate(forest.alphabet, structure, pseudo_count)
    return model, values


def interpolated(model: WFA, noise: WFA, share: float = 0.1) -> WFA:
    """Return a PNFA between two of the same size, so that no transition of `model` is closed to EM."""
    return WFA(
        (1 - share) * model.initial + share * noise.initial,
        (1 - share) * model.final + share * noise.final,
        (1 - share) * model.transitions + share * noise.transitions,
        model.alphabet,
    )
