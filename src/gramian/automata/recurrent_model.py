"""A recurrent network that predicts the next symbol: trained with PyTorch, run with NumPy.

An LSTM (Hochreiter and Schmidhuber 1997) reads START and the symbols of a string; a softmax over the symbols and STOP follows each of its
states. It is a distribution over strings without a finite number of states, so only :func:`gramian.automata.extract` makes an automaton
of it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramian.automata.sequence_model import SequenceModel
from gramian.automata.sequences import Array, Sequences, Strings, Symbol
from gramian.automata.weighted_automaton import WFA
from gramian.errors import OptionError

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class RecurrentModel(SequenceModel):
    """An LSTM over strings.

    Examples
    --------
    >>> load_sequence_model("net.wfa").log_score(["ab"])  # doctest: +SKIP
    """

    kind: ClassVar[str] = "recurrent"
    embedding: Floats  #: shape (n_symbols + 1, n_inputs); of each symbol and, last, of START
    #: input_weights, recurrent_weights, gate_bias: shapes (n_inputs, 4, n), (n, 4, n) and (4, n); of the input gate, the forget gate,
    #: the cell and the output gate, in this order
    input_weights: Floats
    recurrent_weights: Floats
    gate_bias: Floats
    #: output_weights, output_bias: shapes (n, n_symbols + 1) and (n_symbols + 1,); of each symbol and, last, of STOP
    output_weights: Floats
    output_bias: Floats
    alphabet: tuple[Symbol, ...]

    @property
    def n_states(self) -> int:
        """Size of the state vector."""
        return len(self.recurrent_weights)

    def log_score(self, strings: Strings) -> Array:
        """Return the log-probability of every string; -inf with a symbol outside the alphabet."""
        sample = Sequences.of(strings, self.alphabet)
        with np.errstate(divide="ignore"):
            logs = np.log(self.next_scores(sample)[np.arange(sample.n_cuts), sample.events()])
        logs[sample.inner_cuts[sample.symbols < 0]] = -np.inf
        return np.add.reduceat(logs, sample.first_cuts) if len(sample) else np.empty(0)

    def next_scores(self, strings: Strings) -> Array:
        """Return the conditional probabilities of what follows each prefix; see `SequenceModel`."""
        sample = Sequences.of(strings, self.alphabet)
        states = np.empty((sample.n_cuts, self.n_states), np.float32)
        order = np.argsort(-sample.lengths, kind="stable")  # the strings that are still read come first
        cuts, lengths = sample.first_cuts[order], sample.lengths[order]
        hidden, cell = np.zeros((2, len(order), self.n_states), np.float32)
        symbols = np.full(len(order), len(self.alphabet))  # START
        for position in range(int(lengths.max(initial=0)) + 1):
            n = int(np.searchsorted(-lengths, -position, side="right"))
            if position > 0:
                symbols = sample.symbols[sample.offsets[order[:n]] + position - 1]
            hidden, cell = self._stepped(symbols[:n], hidden[:n], cell[:n])
            states[cuts[:n] + position] = hidden
        return self._predictions(states)

    def _stepped(self, symbols: npt.NDArray[Any], hidden: Floats, cell: Floats) -> tuple[Floats, Floats]:
        """Read one symbol each; one outside the alphabet (-1) has no embedding."""
        inputs = np.where(symbols[:, None] >= 0, self.embedding[symbols], np.float32(0))
        into, forget, new, out = np.split(
            inputs @ self.input_weights.reshape(inputs.shape[1], -1)
            + hidden @ self.recurrent_weights.reshape(self.n_states, -1)
            + self.gate_bias.ravel(),
            4,
            axis=1,
        )
        cell = _sigmoid(forget) * cell + _sigmoid(into) * np.tanh(new)
        return _sigmoid(out) * np.tanh(cell), cell

    def _predictions(self, states: Floats) -> Array:
        scores = (states @ self.output_weights + self.output_bias).astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    def sample(self, n_strings: int, *, random_state: int = 0, max_length: int = 10_000) -> Sequences:
        """Draw strings; one that reaches `max_length` symbols is cut there."""
        rng = np.random.default_rng(random_state)
        rows: list[list[int]] = [[] for _ in range(n_strings)]
        alive = np.arange(n_strings)
        hidden, cell = np.zeros((2, n_strings, self.n_states), np.float32)
        symbols = np.full(n_strings, len(self.alphabet))
        for _ in range(max_length):
            hidden, cell = self._stepped(symbols, hidden, cell)
            bounds = np.cumsum(self._predictions(hidden), axis=1)
            symbols = (bounds / bounds[:, -1:] <= rng.random(len(alive))[:, None]).sum(axis=1)
            going = symbols < len(self.alphabet)
            alive, symbols, hidden, cell = alive[going], symbols[going], hidden[going], cell[going]
            for row, symbol in zip(alive.tolist(), symbols.tolist(), strict=True):
                rows[row].append(symbol)
            if not len(alive):
                break
        drawn = Sequences.from_strings(rows, range(len(self.alphabet)))
        return Sequences(drawn.symbols, drawn.offsets, self.alphabet)

    def to_wfa(self) -> WFA:
        """Raise an OptionError: the states of a network are not finitely many."""
        raise OptionError("a recurrent model is not an automaton; try: 'gramian wfa extract'")


def _sigmoid(values: Floats) -> Floats:
    half = np.float32(0.5)
    return np.asarray(half * np.tanh(half * values) + half)
