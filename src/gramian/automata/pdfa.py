"""Deterministic probabilistic automata: one next state for each symbol, so a string has one path.

n-gram models and the DFA approximation of an automaton are of this kind. State 0 is where strings begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from gramian.automata import automata_kernels as kernels
from gramian.automata.sequence_model import SequenceModel, check_weights, random_walks
from gramian.automata.sequences import Array, Sequences, Strings, Symbol
from gramian.automata.weighted_automaton import WFA
from gramian.errors import OptionError


@dataclass(frozen=True, eq=False)
class PDFA(SequenceModel):
    """A probabilistic deterministic automaton.

    Examples
    --------
    >>> machine = PDFA([[1], [0]], [[1.0, 0.0], [0.5, 0.5]], ("a",))
    >>> np.exp(machine.log_score([["a"], ["a", "a"]]))
    array([0.5, 0. ])
    >>> machine.to_wfa().score([["a", "a", "a"]])
    array([0.25])
    """

    kind: ClassVar[str] = "pdfa"
    successor: npt.NDArray[np.int32]  #: shape (n_states, n_symbols); the next state; -1 where there is none
    #: shape (n_states, n_symbols + 1); of each symbol and, in the last column, of STOP; rows sum to one
    probability: Array
    alphabet: tuple[Symbol, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "successor", np.ascontiguousarray(self.successor, np.int32))
        object.__setattr__(self, "probability", np.ascontiguousarray(self.probability, np.float64))
        object.__setattr__(self, "alphabet", tuple(self.alphabet))
        n, k = len(self.successor), len(self.alphabet)
        if self.successor.shape != (n, k) or self.probability.shape != (n, k + 1) or n == 0:
            raise OptionError(
                f"PDFA: {self.successor.shape}, {self.probability.shape} for {k} symbols; "
                "try: successor (n, n_symbols), probability (n, n_symbols + 1)"
            )
        if self.successor.max(initial=-1) >= n or self.successor.min(initial=-1) < -1:
            raise OptionError(f"PDFA: invalid successor; try: numbers from -1 to {n - 1}")

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.successor)

    def started_at(self, state: int) -> PDFA:
        """Return the same automaton with the states renumbered so that strings begin in `state`."""
        order = np.arange(self.n_states)
        order[[0, state]] = state, 0
        moved = np.append(order, -1)[self.successor][order]  # a swap is its own inverse
        return PDFA(moved, self.probability[order], self.alphabet)

    def states(self, strings: Strings) -> npt.NDArray[np.int32]:
        """Return the state before each symbol and at the end of each string, -1 where there is none."""
        sample = Sequences.of(strings, self.alphabet)
        states = np.empty(sample.n_cuts, np.int32)
        kernels.follow(self.successor, sample.symbols, sample.offsets, states)
        return states

    def log_score(self, strings: Strings) -> Array:
        """Return the log-probability of every string; -inf where it is zero."""
        sample = Sequences.of(strings, self.alphabet)
        result = np.empty(len(sample))
        with np.errstate(divide="ignore"):
            logs = np.log(self.probability)
        kernels.score_paths(self.successor, logs, sample.symbols, sample.offsets, result)
        return result

    def next_scores(self, strings: Strings) -> Array:
        """Return the conditional probabilities of what follows each prefix; zeros after an impossible one."""
        states = self.states(strings)
        return np.where(states[:, None] >= 0, self.probability[states], 0.0)

    def sample(self, n_strings: int, *, random_state: int = 0, max_length: int = 10_000) -> Sequences:
        """Draw strings; one that reaches `max_length` symbols is cut there."""
        return random_walks(
            np.eye(1, self.n_states)[0],
            self.probability,
            np.arange(len(self.alphabet), dtype=np.int32),
            self.successor,
            self.alphabet,
            n_strings,
            np.random.default_rng(random_state),
            max_length,
        )

    def to_wfa(self) -> WFA:
        """Return the same distribution as a weighted automaton."""
        n, k = self.successor.shape
        check_weights(n, k)
        transitions = np.zeros((k, n, n))
        state, symbol = np.nonzero(self.successor >= 0)
        transitions[symbol, state, self.successor[state, symbol]] = self.probability[state, symbol]
        return WFA(np.eye(n)[0], self.probability[:, -1], transitions, self.alphabet)
