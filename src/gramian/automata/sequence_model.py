"""What every sequence model can do, whether it is an automaton, an n-gram model or a mixture of them."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gramian.automata.automata_store import read_model
from gramian.automata.strings import Sequences, Strings, Symbol
from gramian.errors import ModelFileError

__all__ = ["SequenceModel", "load_sequence_model"]

Array = npt.NDArray[np.float64]


class SequenceModel(Protocol):
    """A function on strings that also predicts how a string goes on."""

    @property
    def alphabet(self) -> tuple[Symbol, ...]:
        """The symbols, in the order of the columns of :meth:`next_scores`."""

    def log_score(self, strings: Strings) -> Array:
        """Return the log-weight of every string; -inf where the weight is not positive."""

    def next_scores(self, strings: Strings) -> Array:
        """Return scores of what follows each prefix of each string, one row a prefix, in order of length.

        A string of length t has t + 1 rows. The columns are the symbols, then STOP. The rows of a
        distribution are conditional probabilities.
        """

    def sample(self, n_strings: int, *, random_state: int = 0, max_length: int = 10_000) -> Sequences:
        """Draw strings; the model must be a distribution."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file."""


def load_sequence_model(path: str | os.PathLike[str]) -> SequenceModel:
    """Read any sequence model that a ``save`` of this package wrote."""
    from gramian.automata.mixture import Mixture
    from gramian.automata.pdfa import PDFA
    from gramian.automata.wfa import WFA

    kinds: dict[str, type[WFA | PDFA | Mixture]] = {"wfa": WFA, "pdfa": PDFA, "mixture": Mixture}
    header, _ = read_model(path)
    if header["kind"] not in kinds:
        raise ModelFileError(
            f"{path}: holds a model of unknown kind {header['kind']!r}; try: upgrading gramian"
        )
    return kinds[header["kind"]].load(path)
