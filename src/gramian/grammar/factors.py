"""Low-rank forms of rule tensors: sums of few products of vectors instead of one number per triple of states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


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

    def row(self, rule: int, states: npt.ArrayLike, state: int) -> Floats:
        """Return a rule's tensor for one of the parent's states, shape (m_left, m_right)."""
        u, v, w = self.matrices(rule, states)
        return self.weight[rule] * ((u[:, state, None] * v).T @ w)

    def margins(self, rule: int, states: npt.ArrayLike) -> tuple[Doubles, Doubles]:
        """Return the sums of a rule's tensor over the right, and over the left child's states: (m_parent, m_left), (m_parent, m_right)."""
        u, v, w = (matrix.astype(np.float64) for matrix in self.matrices(rule, states))
        u *= float(self.weight[rule])
        return (u * w.sum(axis=1, keepdims=True)).T @ v, (u * v.sum(axis=1, keepdims=True)).T @ w

    def row_sums(self, states: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
        """Return the sums of rules' tensors over both children's states, for each state of the parent, one rule after the other.

        `states`, of shape (R, 3), are the numbers of states of the rules' symbols. Rules kept whole have sums of 0.
        """
        rank, (parents, lefts, rights) = self.rank.astype(np.int64), states.T.astype(np.int64)
        padded = np.append(self.values, np.float32(0))
        owner = np.repeat(np.arange(len(rank)), rank)  # the rule of each product
        number = np.arange(len(owner)) - np.repeat(np.cumsum(rank) - rank, rank)
        mass = self.weight[owner].astype(np.float64)
        for side, sizes in ((1, lefts), (2, rights)):
            first = self.start[owner, side] + number * sizes[owner]
            ends = np.stack([first, first + sizes[owner]], axis=1).ravel()
            mass *= np.add.reduceat(padded, ends, dtype=np.float64)[::2] if len(ends) else 1.0
        width = parents[owner]
        state = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        cells = np.repeat(self.start[owner, 0] + number * width, width) + state
        target = np.repeat((np.cumsum(parents) - parents)[owner], width) + state
        sums = np.bincount(target, np.repeat(mass, width) * self.values[cells], int(parents.sum()))
        return np.asarray(sums, np.float64)
