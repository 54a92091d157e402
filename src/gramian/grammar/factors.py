"""Low-rank forms of rule tensors: sums of few products of vectors instead of one number per triple of states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Factors:
    """Rule tensors as ``T[h1, h2, h3] = weight * sum over q of U[q, h1] V[q, h2] W[q, h3]``.

    Two rules may share a matrix: then both begin at the same place.
    """

    rank: Ints  # (R,): how many products make up each binary rule; 0 for a rule whose block is kept whole
    weight: Floats  # (R,)
    start: Longs  # (R, 3): where U (rank, m_parent), V (rank, m_left) and W (rank, m_right) begin in `values`
    values: Floats

    @classmethod
    def none(cls, n_rules: int) -> Factors:
        """Return what stands for rules of which none is of low rank."""
        rank, start = np.zeros(n_rules, np.int32), np.zeros((n_rules, 3), np.int64)
        return cls(rank, np.ones(n_rules, np.float32), start, np.empty(0, np.float32))

    def matrices(self, rule: int, states: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return U, V and W of a rule whose symbols have the given numbers of states."""
        rank = int(self.rank[rule])
        u, v, w = (
            self.values[start : start + rank * size].reshape(rank, size)
            for start, size in zip(self.start[rule].tolist(), np.asarray(states).tolist(), strict=True)
        )
        return u, v, w

    def block(self, rule: int, states: npt.ArrayLike) -> Floats:
        """Return a rule's tensor, shape (m_parent, m_left, m_right)."""
        u, v, w = self.matrices(rule, states)
        pairs = (v[:, :, None] * w[:, None, :]).reshape(len(v), -1)
        return (self.weight[rule] * (u.T @ pairs)).reshape(np.asarray(states))

    def row_sums(self, rule: int, states: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the sum of a rule's tensor over both children's states, for each state of the parent."""
        u, v, w = self.matrices(rule, states)
        mass = v.sum(axis=1, dtype=np.float64) * w.sum(axis=1, dtype=np.float64)
        return np.asarray(self.weight[rule] * (mass @ u))
