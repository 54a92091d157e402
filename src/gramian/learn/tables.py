"""Latent tables: one number per production and combination of states. Counts and probabilities have this same shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.corpus.productions import Productions

__all__ = ["LatentTables", "Layout"]

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Layout:
    """Where the numbers of each production lie, for given state counts.

    Attributes
    ----------
    productions : Productions
    n_states : ndarray of int32, shape (n_symbols,)
    binary_start, unary_start, lexical_start, root_start : ndarray of int64
        First cell of each production's block; one more entry at the end.
    """

    productions: Productions
    n_states: npt.NDArray[np.int32]
    binary_start: npt.NDArray[np.int64]
    unary_start: npt.NDArray[np.int64]
    lexical_start: npt.NDArray[np.int64]
    root_start: npt.NDArray[np.int64]

    @classmethod
    def of(cls, productions: Productions, n_states: npt.NDArray[np.int32]) -> Layout:
        """Lay out tables for `n_states` states of each symbol."""
        sizes = n_states.astype(np.int64)

        def starts(block: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            return np.concatenate([[0], np.cumsum(block)])

        return cls(
            productions, n_states,
            starts(sizes[productions.binary].prod(axis=1)),
            starts(sizes[productions.unary].prod(axis=1)),
            starts(sizes[productions.lexical[:, 0]]),
            starts(sizes),
        )  # fmt: skip

    def zeros(self, dtype: npt.DTypeLike = np.float32) -> LatentTables:
        """Return tables full of zeros."""
        ends = (self.binary_start, self.unary_start, self.lexical_start, self.root_start)
        return LatentTables(self, *(np.zeros(int(end[-1]), dtype) for end in ends))


@dataclass(frozen=True)
class LatentTables:
    """Numbers for every production and combination of states, in flat arrays.

    Attributes
    ----------
    layout : Layout
    binary, unary, lexical, root : ndarray of float
    """

    layout: Layout
    binary: Floats
    unary: Floats
    lexical: Floats
    root: Floats

    def binary_block(self, rule: int) -> Floats:
        """Return a rule's numbers as an array of shape (m_parent, m_left, m_right)."""
        layout = self.layout
        shape = layout.n_states[layout.productions.binary[rule]]
        return self.binary[layout.binary_start[rule] : layout.binary_start[rule + 1]].reshape(shape)

    def unary_block(self, rule: int) -> Floats:
        """Return a unary rule's numbers as an array of shape (m_parent, m_tag)."""
        layout = self.layout
        shape = layout.n_states[layout.productions.unary[rule]]
        return self.unary[layout.unary_start[rule] : layout.unary_start[rule + 1]].reshape(shape)
