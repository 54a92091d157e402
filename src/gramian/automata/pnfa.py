"""Probabilistic automata from counts: the step that EM, Gibbs sampling and repair share.

A PNFA is a :class:`~gramian.automata.weighted_automaton.WFA` with weights >= 0 whose initial weights sum to one, and whose final and
transition weights out of each state sum to one. ``structure`` says what a state's row is: "joint", one distribution over
(symbol, next state) and STOP; "factored", a distribution over symbols and STOP times one over next states, which is a hidden Markov model.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from gramian.automata.sequences import Array, Sequences, Symbol
from gramian.automata.weighted_automaton import WFA

Structure = Literal["joint", "factored"]

# A weight this small belongs to a count far below one string; zero lets the kernels skip it.
_NEGLIGIBLE = 1e-12


class MoveCounts(NamedTuple):
    """How often each state began a string, ended one, and each transition was taken; shapes as of a WFA's weights."""

    initial: Array
    final: Array
    transitions: Array

    @classmethod
    def zeros(cls, n_symbols: int, n_states: int) -> MoveCounts:
        """Return counts of nothing yet."""
        return cls(np.zeros(n_states), np.zeros(n_states), np.zeros((n_symbols, n_states, n_states)))

    def estimate(
        self, alphabet: tuple[Symbol, ...], structure: Structure = "joint", pseudo_count: float = 0.0
    ) -> WFA:
        """Return the PNFA of relative frequencies, after adding `pseudo_count` to every count."""
        if pseudo_count > 0.0:
            return _normalised([count + pseudo_count for count in self._parts(structure)], alphabet)
        weights = _normalised(self._parts(structure), alphabet)
        small = weights.transitions < _NEGLIGIBLE
        if not small.any():
            return weights
        transitions = np.where(small, 0.0, weights.transitions)
        leaving = weights.final + transitions.sum(axis=(0, 2))
        return WFA(weights.initial, weights.final / leaving, transitions / leaving[:, None], alphabet)

    def draw(
        self,
        alphabet: tuple[Symbol, ...],
        structure: Structure,
        concentration: float,
        rng: np.random.Generator,
    ) -> WFA:
        """Draw a PNFA from the Dirichlet posterior that these counts and a symmetric prior give."""
        parts = [rng.standard_gamma(count + concentration) for count in self._parts(structure)]
        # A gamma draw of a small shape underflows to zero, but no string may become impossible.
        return _normalised([np.maximum(part, 1e-300) for part in parts], alphabet)

    def _parts(self, structure: Structure) -> list[Array]:
        """Counts of first state, STOP and move; or, factored, of first state, symbol or STOP, next state."""
        if structure == "joint":
            return [self.initial, self.final, self.transitions]
        emitted = np.column_stack([self.transitions.sum(axis=2).T, self.final])
        return [self.initial, emitted, self.transitions.sum(axis=0)]


def _normalised(parts: list[Array], alphabet: tuple[Symbol, ...]) -> WFA:
    """Turn the counts of `MoveCounts._parts` into weights; a state never visited stops."""
    initial, second, third = parts
    if third.ndim == 3:
        leaving = second + third.sum(axis=(0, 2))
        unseen = leaving <= 0.0
        final = np.where(unseen, 1.0, second)
        leaving = np.where(unseen, 1.0, leaving)
        return WFA(initial / initial.sum(), final / leaving, third / leaving[:, None], alphabet)
    emitted, moves = second.copy(), third.copy()
    emitted[emitted.sum(axis=1) <= 0.0, -1] = 1.0
    moves[moves.sum(axis=1) <= 0.0] = 1.0
    emitted /= emitted.sum(axis=1, keepdims=True)
    moves /= moves.sum(axis=1, keepdims=True)
    transitions = emitted.T[:-1, :, None] * moves
    return WFA(initial / initial.sum(), emitted[:, -1], transitions, alphabet)


def random_pnfa(
    sample: Sequences, n_states: int, rng: np.random.Generator, structure: Structure = "joint"
) -> WFA:
    """Draw a PNFA whose symbol and STOP frequencies lie around those of `sample`."""
    k = len(sample.alphabet)
    frequency = np.bincount(sample.symbols, minlength=k) + 0.5
    noise = rng.standard_exponential((k, n_states, n_states))
    if structure == "factored":
        emitted = rng.standard_exponential((k, n_states, 1))
        noise = emitted * rng.standard_exponential((n_states, n_states))
    transitions = noise * frequency[:, None, None] / n_states
    final = np.full(n_states, float(max(len(sample), 1)))
    return MoveCounts(rng.standard_exponential(n_states), final, transitions).estimate(
        sample.alphabet, structure
    )
