"""What every sequence model can do, whether it is an automaton, an n-gram model or a mixture of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gramian.automata.automata_store import read_model, write_model
from gramian.automata.strings import Sequences, Strings, Symbol
from gramian.errors import ModelFileError, OptionError

if TYPE_CHECKING:
    from gramian.automata.wfa import WFA

__all__ = ["SequenceModel", "load_sequence_model", "random_walks"]

Array = npt.NDArray[np.float64]


class SequenceModel(ABC):
    """A function on strings that also predicts how a string goes on.

    Attributes
    ----------
    alphabet : tuple of str or int
        The symbols, in the order of the columns of :meth:`next_scores`.
    """

    kind: ClassVar[str]
    alphabet: tuple[Symbol, ...]

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

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, as a model file holds them."""

    def _header(self) -> dict[str, Any]:
        """Return what a model file holds beside the arrays."""
        return {"alphabet": self.alphabet}

    @classmethod
    def _from_parts(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """Put a model together from what a file holds."""
        build: Callable[..., Self] = cls
        return build(**arrays, alphabet=tuple(header["alphabet"]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file (safetensors with a JSON header)."""
        write_model(path, self.kind, self._header(), self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that :meth:`save` wrote."""
        model = load_sequence_model(path)
        if not isinstance(model, cls):
            raise ModelFileError(f"{path}: holds a {model.kind}, not a {cls.kind}; try: load_sequence_model")
        return model


def load_sequence_model(path: str | os.PathLike[str]) -> SequenceModel:
    """Read any sequence model that a ``save`` of this package wrote."""
    from gramian.automata.mixture import Mixture
    from gramian.automata.pdfa import PDFA
    from gramian.automata.wfa import WFA

    kinds: dict[str, type[SequenceModel]] = {model.kind: model for model in (WFA, PDFA, Mixture)}
    header, arrays = read_model(path)
    if header["kind"] not in kinds:
        raise ModelFileError(
            f"{path}: holds a model of unknown kind {header['kind']!r}; try: upgrading gramian"
        )
    try:
        return kinds[header["kind"]]._from_parts(header, arrays)
    except (LookupError, TypeError, ValueError, OptionError) as error:
        raise ModelFileError(
            f"{path}: the parts of the model do not fit together; try: training it again"
        ) from error


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
    owners, said = [], []
    for _ in range(max_length):
        move = (bounds[state] <= rng.random(len(state))[:, None]).sum(axis=1)
        going = move < len(symbol)
        state, string, move = state[going], string[going], move[going]
        if len(string) == 0:
            break
        owners.append(string)
        said.append(symbol[move])
        state = target[state, move]
    owner = np.concatenate([np.empty(0, np.int64), *owners])
    order = np.argsort(owner, kind="stable")
    symbols = np.concatenate([np.empty(0, np.int32), *said])[order].astype(np.int32)
    lengths = np.bincount(owner, minlength=n_strings)
    return Sequences(symbols, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), alphabet)
