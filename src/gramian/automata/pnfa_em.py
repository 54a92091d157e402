"""Expectation maximisation for probabilistic automata: Baum-Welch with final weights (Balle et al. 2014)."""

import logging
from dataclasses import KW_ONLY, field
from typing import Literal

import numpy as np

from gramian.automata.pnfa import Structure, random_pnfa
from gramian.automata.prefix_forest import PrefixForest
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Sequences
from gramian.automata.weighted_automaton import WFA
from gramian.base import estimator, number_of_jobs
from gramian.errors import OptionError
from gramian.progress import tell_progress
from gramian.value_types import Either, InstanceOf, Number, OneOf, Whole, option

_log = logging.getLogger(__name__)
_LADDER = (4, 8, 16, 32, 64)


@estimator
class PNFAEM(SequenceLearner):
    """A probabilistic automaton by expectation maximisation.

    Equal strings and equal prefixes are merged, so that an iteration costs one pass over the distinct prefixes.

    Examples
    --------
    >>> strings = ["ab", "abab", "", "ab"] * 10
    >>> learnt = PNFAEM(2, random_state=1).fit(strings)
    >>> learnt.model_.score(["ab", "ba"]).round(2)
    array([0.25, 0.  ])
    """

    n_states: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default=10)
    """With "auto", the number, of 4 to 64, that gives held-out strings the highest likelihood after 50 iterations."""
    _: KW_ONLY
    start: Literal["random", "spectral"] | WFA = option(
        Either(OneOf("random", "spectral"), InstanceOf(WFA)), default="random"
    )
    """Where EM begins; a WFA must be a PNFA."""
    n_restarts: int = option(Whole(1), default=1)
    """Random starts; the one with the highest likelihood is kept."""
    max_iter: int = option(Whole(1), default=100)
    """Iterations from each start."""
    tolerance: float = option(Number(), default=1e-6)
    """Stop when the log-likelihood per string gains less than this."""
    pseudo_count: float = option(Number(0), default=0.0)
    """Added to every expected count: a Dirichlet prior, under which no string has probability zero."""
    structure: Structure = option(OneOf("joint", "factored"), default="joint")
    """One distribution over (symbol, next state) for each state, or the product of two (a hidden Markov model)."""
    log_likelihood_: float = field(init=False)
    """Of the training strings, before the last maximisation step."""
    log_likelihoods_: list[float] = field(init=False)
    """The same for every iteration of the best start."""
    model_: WFA = field(init=False)
    """The automaton learnt, a PNFA."""

    def _learn(self, sample: Sequences) -> WFA:
        n_states = self._chosen_states(sample) if self.n_states == "auto" else self.n_states
        model, self.log_likelihoods_ = self._best_run(sample, n_states, self.max_iter)
        self.log_likelihood_ = self.log_likelihoods_[-1]
        return model

    def _chosen_states(self, sample: Sequences) -> int:
        training, held_out = sample.split(self.held_out, seed=self.random_state)
        scores: list[float] = []
        for n_states in _LADDER:
            tell_progress(_log, "numbers of states tried", len(scores), len(_LADDER))
            model, _ = self._best_run(training, n_states, min(50, self.max_iter))
            scores.append(float(model.log_score(held_out).mean()))
            _log.info("EM with %d states: held-out log-probability %.4f", n_states, scores[-1])
        tell_progress(_log, "numbers of states tried", len(scores), len(_LADDER))
        return _LADDER[int(np.argmax(scores))]

    def _best_run(self, sample: Sequences, n_states: int, max_iter: int) -> tuple[WFA, list[float]]:
        """Return the model of the start that reaches the highest likelihood, and its likelihood at each iteration."""
        forest = PrefixForest.from_sample(sample)
        rng = np.random.default_rng(self.random_state)
        runs = []
        for number in range(self.n_restarts if self.start == "random" else 1):
            model, values = run_em(
                forest,
                self._start(sample, n_states, rng),
                max_iter,
                tolerance=self.tolerance,
                pseudo_count=self.pseudo_count,
                structure=self.structure,
                n_jobs=number_of_jobs(self.n_jobs),
            )
            if self.n_restarts > 1:
                _log.info("EM start %d: log-likelihood %.2f", number + 1, values[-1])
            runs.append((model, values))
        return max(runs, key=lambda run: run[1][-1])

    def _start(self, sample: Sequences, n_states: int, rng: np.random.Generator) -> WFA:
        if isinstance(self.start, WFA):
            if not self.start.is_probabilistic() or self.start.alphabet != sample.alphabet:
                raise OptionError(
                    "start must be a PNFA over the alphabet of the strings; try: repair it first"
                )
            return self.start
        if self.start == "random":
            return random_pnfa(sample, n_states, rng, self.structure)
        from gramian.automata.spectral import SpectralWFA

        spectral = SpectralWFA(n_states, repair="cluster", random_state=self.random_state)
        start = spectral.fit(sample).model_
        return interpolated(start, random_pnfa(sample, start.n_states, rng))


def run_em(
    forest: PrefixForest,
    start: WFA,
    max_iter: int,
    *,
    tolerance: float = 0.0,
    pseudo_count: float = 0.0,
    structure: Structure = "joint",
    n_jobs: int = 1,
    single: bool = False,
) -> tuple[WFA, list[float]]:
    """Run EM from `start`, with state vectors of `single` precision or of double; return the last automaton, and each log-likelihood."""
    model = start
    values: list[float] = []
    for iteration in range(max_iter):
        value, counts = forest.expected_counts(model, n_jobs, single=single)
        mean = value / forest.n_strings
        _log.debug("EM, %d states, iteration %d: log-likelihood %.4f", model.n_states, iteration + 1, mean)
        gain = value - values[-1] if values else float("inf")
        values.append(value)
        if gain < tolerance * forest.n_strings:
            break
        model = counts.estimate(forest.alphabet, structure, pseudo_count)
    return model, values


def interpolated(model: WFA, noise: WFA, share: float = 0.1) -> WFA:
    """Return a PNFA between two of the same size, so that EM can give every transition of `model` a weight."""
    return WFA(
        (1 - share) * model.initial + share * noise.initial,
        (1 - share) * model.final + share * noise.final,
        (1 - share) * model.transitions + share * noise.transitions,
        model.alphabet,
    )
