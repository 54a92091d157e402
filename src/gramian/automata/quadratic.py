"""Quadratic weighted automata: the square of a function of low rank is never negative (Bailly 2011).

The square roots of the frequencies of strings are what the spectral method factors; the square of the automaton that comes out
is an automaton of ``n (n + 1) / 2`` states, all of whose weights of strings are at least zero. Divided by their sum it is a distribution.
"""

from dataclasses import KW_ONLY, field, replace
from typing import Literal

import numpy as np

from gramian.automata.basis import BasisOptions
from gramian.automata.hankel import hankel_blocks
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Sequences
from gramian.automata.spectral import SpectralFactors, spectral_factors
from gramian.automata.weighted_automaton import WFA
from gramian.base import estimator
from gramian.value_types import Either, InstanceOf, OneOf, Whole, option

_RANKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22)
_LARGEST_RADIUS = 0.995  # of the summed transitions, so that sums over all strings converge
_LEAST = 1e-12  # probability of a held-out string that has none


def squared(automaton: WFA) -> WFA:
    """Return the automaton whose weights of strings are the squares of another's.

    Examples
    --------
    >>> coin = WFA([1.0, 1.0], [0.5, -0.2], [[[0.5, 0.0], [0.0, 0.3]]], ("a",))
    >>> squared(coin).n_states
    3
    >>> np.allclose(squared(coin).score(["", "a", "aa"]), coin.score(["", "a", "aa"]) ** 2)
    True
    """
    n = automaton.n_states
    row, column = np.triu_indices(n)
    # Products of two states in either order are one state: the symmetric part of the Kronecker product.
    multiplicity = np.where(row == column, 1.0, 2.0)
    initial = automaton.initial[row] * automaton.initial[column]
    final = automaton.final[row] * automaton.final[column]
    steps = [
        (
            move[np.ix_(row, row)] * move[np.ix_(column, column)]
            + move[np.ix_(row, column)] * move[np.ix_(column, row)]
        )
        / 2
        for move in automaton.transitions
    ]
    transitions = np.array(steps).reshape(-1, len(row), len(row))
    return WFA(initial * multiplicity, final, transitions * multiplicity, automaton.alphabet)


def normalised(automaton: WFA) -> WFA:
    """Return an automaton whose weights of strings sum to one; where they would not converge, longer strings weigh less."""
    radius = automaton.spectral_radius
    factor = min(1.0, _LARGEST_RADIUS / radius) if radius > 0 else 1.0
    small = replace(automaton, transitions=automaton.transitions * factor)
    mass = small.total_mass()
    return replace(small, final=small.final / mass) if mass > 0 else small


@estimator
class QuadraticWFA(SequenceLearner):
    """A distribution over strings that is the square of a function of low rank.

    References
    ----------
    Raphaël Bailly (2011). Quadratic weighted automata: spectral algorithm and likelihood maximization. ACML.

    Examples
    --------
    >>> strings = ["ab" * (i % 3) for i in range(30)]
    >>> QuadraticWFA(5).fit(strings).model_.score(["", "ab", "abab", "ba"]).round(2)
    array([0.33, 0.33, 0.33, 0.  ])
    """

    n_states: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default="auto")
    """The rank of the function; "auto" takes the one that gives held-out strings the highest likelihood."""
    _: KW_ONLY
    basis: BasisOptions = option(InstanceOf(BasisOptions), default=BasisOptions("ends", 300, 20))
    """How the basis is chosen."""
    model_: WFA = field(init=False)
    """With ``n (n + 1) / 2`` states; its weights may be negative, those of strings are not."""

    def _learn(self, sample: Sequences) -> WFA:
        rank = self.n_states
        if rank == "auto":
            training, held_out = sample.split(self.held_out, seed=self.random_state)
            factors = self._factors(training, _RANKS[-1])
            ranks = [number for number in _RANKS if number <= max(1, len(factors.singular_values))]
            models = [self._model(factors, number) for number in ranks]
            values = [np.log(np.maximum(model.score(held_out), _LEAST)).sum() for model in models]
            rank = ranks[int(np.argmax(values))]
        return self._model(self._factors(sample, int(rank)), int(rank))

    def _factors(self, sample: Sequences, rank: int) -> SpectralFactors:
        size = 300 if self.basis.size == "auto" else self.basis.size
        blocks = hankel_blocks(sample, self.basis.choose(sample, size, "string"), "string")
        roots = replace(
            blocks,
            matrix=blocks.matrix.sqrt(),
            stacked=blocks.stacked.sqrt(),
            prefix_values=np.sqrt(blocks.prefix_values),
            suffix_values=np.sqrt(blocks.suffix_values),
        )
        return spectral_factors(roots, rank, seed=self.random_state)

    def _model(self, factors: SpectralFactors, rank: int) -> WFA:
        return normalised(squared(factors.truncated(min(rank, max(1, len(factors.singular_values))))))
