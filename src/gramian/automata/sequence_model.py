"""What every sequence model can do, whether it is an automaton, an n-gram model or a mixture of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from gramian.automata.sequences import Array, Sequences, Strings, Symbol
from gramian.errors import OptionError
from gramian.io import model_files
from gramian.io.array_table import validate

if TYPE_CHECKING:
    from gramian.automata.weighted_automaton import WFA

_MOST_WEIGHTS = 1 << 27  # of one automaton, a gigabyte


class SequenceModel(ABC):
    """A function on strings that also predicts how a string continues.

    Attributes
    ----------
    alphabet : tuple of str or int
        The symbols, in the order of the columns of :meth:`next_scores`.

    Examples
    --------
    >>> from gramian.automata import NGram
    >>> isinstance(NGram(2).fit(["ab", "abab"]).model_, SequenceModel)
    True
    """

    kind: ClassVar[str]
    alphabet: tuple[Symbol, ...]

    def __init_subclass__(cls) -> None:
        """Say how models of this class are stored."""
        model_files.register(
            cls.kind, model_files.SEQUENCES, lambda model: (model._header(), model.arrays()), cls._from_parts
        )

    @abstractmethod
    def log_score(self, strings: Strings) -> Array:
        """Return the log-weight of every string; -inf where the weight is not positive."""

    def score(self, strings: Strings) -> Array:
        """Return the weight of every string."""
        return np.exp(self.log_score(strings))

    @abstractmethod
    def next_scores(self, strings: Strings) -> Array:
        """Return scores of what follows each prefix of each string, one row a prefix, in order of length.

        A string of length t has t + 1 rows. The columns are the symbols, then STOP. The rows of a
        distribution are conditional probabilities.
        """

    @abstractmethod
    def sample(self, n_strings: int, *, random_state: int = 0, max_length: int = 10_000) -> Sequences:
        """Draw strings; one that reaches `max_length` symbols is cut there. The model must be a distribution."""

    @abstractmethod
    def to_wfa(self) -> WFA:
        """Return the same function as one weighted automaton."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, as a model file holds them: all fields of the model but its alphabet."""
        names = [field.name for field in fields(cast("Any", self)) if field.name != "alphabet"]
        return {name: getattr(self, name) for name in names}

    def _header(self) -> dict[str, Any]:
        """Return what a model file holds beside the arrays."""
        return {"alphabet": self.alphabet}

    @classmethod
    def _from_parts(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """Put a model together from what a file holds."""
        symbols, build = header["alphabet"], cast("Callable[..., Self]", cls)
        if not isinstance(symbols, list) or not all(type(symbol) in (str, int) for symbol in symbols):
            raise TypeError("its alphabet must contain strings and numbers only")
        for symbol in symbols:
            str(symbol).encode()  # a text that cannot be written is none
        validate(cls.kind, arrays, symbols=len(symbols))
        return build(**arrays, alphabet=tuple(symbols))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file (safetensors with a JSON header)."""
        model_files.save(self.kind, self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that :meth:`save` wrote."""
        model: Self = model_files.load(path, cls.kind)
        return model


def check_weights(n_states: int, n_symbols: int) -> None:
    """Raise an OptionError if the weights of an automaton, one for each symbol and pair of states, are too many to be held at once."""
    if n_states**2 * n_symbols > _MOST_WEIGHTS:
        raise OptionError(
            f"an automaton of {n_states:,} states and {n_symbols:,} symbols has {n_states**2 * n_symbols:,} weights, more than "
            f"{_MOST_WEIGHTS:,}; try: fewer states, or a deterministic approximation"
        )


def load_sequence_model(path: str | os.PathLike[str]) -> SequenceModel:
    """Read any sequence model that a ``save`` of this package wrote.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from gramian.automata import SpectralWFA
    >>> model = SpectralWFA(1).fit(["ab", "abab"]).model_
    >>> with TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/ab.wfa")
    ...     print(load_sequence_model(f"{folder}/ab.wfa").n_states)
    1
    """
    from gramian.automata.mixture import Mixture
    from gramian.automata.pdfa import PDFA
    from gramian.automata.recurrent_model import RecurrentModel
    from gramian.automata.weighted_automaton import WFA

    model: SequenceModel = model_files.load(path, WFA.kind, PDFA.kind, Mixture.kind, RecurrentModel.kind)
    return model


def random_walks(
    start: Array,
    leaving: Array,
    symbol: npt.NDArray[np.int32],
    target: npt.NDArray[np.int32],
    alphabet: tuple[Symbol, ...],
    n_strings: int,
    rng: np.random.Generator,
    max_length: int,
) -> Sequences:
    """Walk through an automaton, all strings at once.

    A walk begins in a state by `start`, of shape (n_states,), and moves on by `leaving`, of shape (n_states, n_moves + 1),
    whose last column is STOP; a move says ``symbol[move]`` and leads to ``target[state, move]``.
    """
    bounds = np.cumsum(leaving, axis=1)
    bounds /= bounds[:, -1:]
    state = rng.choice(len(start), n_strings, p=start / start.sum())
    string = np.arange(n_strings)
    walk_numbers, emitted = [], []
    for _ in range(max_length):
        move = (bounds[state] <= rng.random(len(state))[:, None]).sum(axis=1)
        continues = move < len(symbol)
        state, string, move = state[continues], string[continues], move[continues]
        if len(string) == 0:
            break
        walk_numbers.append(string)
        emitted.append(symbol[move])
        state = target[state, move]
    walk_number = np.concatenate([np.empty(0, np.int64), *walk_numbers])
    order = np.argsort(walk_number, kind="stable")
    symbols = np.concatenate([np.empty(0, np.int32), *emitted])[order].astype(np.int32)
    lengths = np.bincount(walk_number, minlength=n_strings)
    return Sequences(symbols, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), alphabet)
