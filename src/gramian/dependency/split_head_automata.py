"""Split head-automata grammars: a left and a right weighted automaton for every head symbol.

The weight of a dependency tree is the product, over its words and the root, of the weights that the two automata of the
head give to its modifier sequences, read from the head outwards (Balle, Carreras, Luque & Quattoni 2014, section 6).
A :class:`SHAG` holds all automata in one set of arrays, padded to the largest number of states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.automata import WFA
from gramian.errors import OptionError

Array = npt.NDArray[np.float64]
Symbols = npt.NDArray[np.int32]

LEFT, RIGHT = 0, 1


@dataclass(frozen=True, eq=False)
class SHAG:
    """A grammar of automata over `symbols`.

    Examples
    --------
    A verb with one noun on its left:

    >>> one_noun = WFA([1.0, 0.0], [0.0, 1.0], [[[0.0, 1.0], [0.0, 0.0]]], ("N",))
    >>> one_verb = WFA([1.0, 0.0], [0.0, 1.0], [[[0.0, 1.0], [0.0, 0.0]]], ("V",))
    >>> grammar = SHAG.from_automata(("N", "V"), {("V", LEFT): one_noun, (None, RIGHT): one_verb})
    >>> grammar.tree_weight(["N", "V"], [2, 0]), grammar.tree_weight(["V", "N"], [0, 1])
    (1.0, 0.0)
    """

    #: the alphabet. The root is symbol number ``len(symbols)``; the last of `symbols` is the unknown symbol.
    symbols: tuple[str, ...]
    #: initial, final: shape (2 (K + 1), n); row ``2 h + d`` belongs to head symbol h and direction d (0 left, 1 right)
    initial: Array
    final: Array
    operators: Array  #: shape (R, n, n); transition operators; row 0 is zero
    rows: npt.NDArray[np.int32]  #: shape (2 (K + 1), K); which operator each automaton uses for each modifier
    #: shape (2 (K + 1),); number of states of each automaton; the others up to n are padding
    states: npt.NDArray[np.int32]

    @classmethod
    def from_automata(
        cls,
        symbols: Sequence[str],
        automata: Mapping[tuple[str | None, int], WFA],
        default: Mapping[int, WFA] | None = None,
    ) -> SHAG:
        """Combine automata into a grammar.

        Parameters
        ----------
        symbols : sequence of str
        automata : mapping from (head symbol, direction) to WFA
            The root is the head ``None``. Alphabets are subsets of `symbols`; any other modifier has weight 0.
        default : mapping from direction to WFA, optional
            For heads without an automaton; by default they take no modifiers.
        """
        default = default or {}
        index = {symbol: number for number, symbol in enumerate(symbols)}
        size = len(symbols)
        n = max([1, *(wfa.n_states for wfa in (*automata.values(), *default.values()))])
        initial, final = np.zeros((2, 2 * size + 2, n))
        initial[:, 0] = final[:, 0] = 1.0
        rows = np.zeros((2 * size + 2, size), np.int32)
        states = np.ones(2 * size + 2, np.int32)
        operators = [np.zeros((1, n, n))]
        count = 1
        shared: dict[int, npt.NDArray[np.int32]] = {}
        for head in (*symbols, None):
            for direction in (LEFT, RIGHT):
                wfa = automata.get((head, direction), default.get(direction))
                if wfa is None or (head is None and direction == LEFT):
                    continue
                if not set(wfa.alphabet) <= index.keys():
                    unknown = next(symbol for symbol in wfa.alphabet if symbol not in index)
                    raise OptionError(
                        f"the automaton of {head!r} has a modifier {unknown!r} that is not a symbol"
                    )
                number = 2 * (size if head is None else index[head]) + direction
                k = wfa.n_states
                states[number] = k
                initial[number] = np.pad(wfa.initial, (0, n - k))
                final[number] = np.pad(wfa.final, (0, n - k))
                if id(wfa) not in shared:
                    row = np.zeros(size, np.int32)
                    modifiers = [index[str(symbol)] for symbol in wfa.alphabet]
                    row[modifiers] = np.arange(count, count + wfa.n_symbols)
                    count += wfa.n_symbols
                    operators.append(np.pad(wfa.transitions, ((0, 0), (0, n - k), (0, n - k))))
                    shared[id(wfa)] = row
                rows[number] = shared[id(wfa)]
        return cls(tuple(symbols), initial, final, np.concatenate(operators), rows, states)

    @property
    def n_states(self) -> int:
        """Largest number of states of an automaton."""
        return int(self.initial.shape[1])

    @property
    def root(self) -> int:
        """Number of the root symbol."""
        return len(self.symbols)

    @property
    def is_nonnegative(self) -> bool:
        """Whether no weight is negative."""
        return bool(min(self.initial.min(), self.final.min(), self.operators.min()) >= 0.0)

    def encode(self, symbols: Sequence[str]) -> Symbols:
        """Return the numbers of the root and `symbols`; those missing from the grammar become its last symbol."""
        numbers, unknown = self._numbers, self.root - 1
        return np.asarray([self.root, *(numbers.get(symbol, unknown) for symbol in symbols)], np.int32)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    def automaton(self, head: str | None, direction: int) -> WFA:
        """Return the automaton of a head symbol (None for the root) and direction, over the modifiers it knows."""
        if head is not None and head not in self.symbols:
            raise OptionError(
                f"the grammar has no symbol {head!r}; it has: {', '.join(sorted(self.symbols))}"
            )
        number = 2 * (self.root if head is None else self.symbols.index(head)) + direction
        known = np.flatnonzero(self.rows[number])
        k = int(self.states[number])
        return WFA(
            self.initial[number, :k],
            self.final[number, :k],
            self.operators[self.rows[number, known], :k, :k],
            tuple(self.symbols[modifier] for modifier in known),
        )

    def tree_weight(self, symbols: Sequence[str], heads: Sequence[int]) -> float:
        """Return the weight of a tree: the product over all head-modifier sequences."""
        sentence = self.encode(symbols)
        weight = 1.0
        for head in range(len(sentence)):
            modifiers = [word for word, above in enumerate(heads, 1) if above == head]
            for direction in (LEFT, RIGHT):
                number = 2 * sentence[head] + direction
                vector = self.initial[number]
                side = [word for word in modifiers if (word > head) == (direction == RIGHT)]
                for word in side if direction == RIGHT else reversed(side):
                    vector = vector @ self.operators[self.rows[number, sentence[word]]]
                weight *= float(vector @ self.final[number])
        return weight

    def smoothed(self, epsilon: float) -> SHAG:
        """Interpolate every state with a uniform distribution over modifiers and STOP, of weight `epsilon`.

        Uniform modifiers do not change the state. A probabilistic grammar stays one, and every projective tree gets a positive weight.
        All automata share the operator of unseen modifiers.
        """
        if not 0.0 <= epsilon < 1.0:
            raise OptionError(f"smoothing must be at least 0 and less than 1, got {epsilon}")
        share = epsilon / (len(self.symbols) + 1)
        unseen = share * np.eye(self.n_states)
        operators = np.concatenate(
            [self.operators[:1], unseen[None], (1.0 - epsilon) * self.operators[1:] + unseen]
        )
        rows = (self.rows + 1).astype(np.int32)
        rows[2 * self.root] = 0
        final = (1.0 - epsilon) * self.final + share * (np.arange(self.n_states) < self.states[:, None])
        final[2 * self.root] = self.final[2 * self.root]
        return replace(self, operators=operators, rows=rows, final=final)
