"""Readable reference of the dynamic programmes over half-constituents, the oracle of the kernels.

Inside vectors follow Balle, Carreras, Luque & Quattoni (2014, appendix A), with the left half that the appendix omits. Marginals follow
from the linearity of the partition, and decoding from Eisner (2000). Nothing is scaled, so sentences must be short. Half-constituents are
keyed by direction, first and last position; those with all modifiers of their head so far are triangles, those that end in a modifier that
may still grow are trapezoids.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.dependency.split_head_automata import LEFT, RIGHT, SHAG, Array, Symbols

_Key = tuple[int, int, int]  # direction, first position, last position


class _Inside:
    """Inside vectors of a sentence; `total` is the sum for the partition Z, or the maximum for the best tree."""

    def __init__(
        self,
        grammar: SHAG,
        sentence: Symbols,
        weights: Array | None,
        single_root: bool,
        total: Callable[..., Any] = np.sum,
    ) -> None:
        self.grammar, self.sentence, self.total = grammar, sentence, total
        self.last = last = len(sentence) - 1
        self.factor = np.ones((last + 1, last + 1)) if weights is None else weights
        self.triangles: dict[_Key, Array] = {}
        self.trapezoids: dict[_Key, Array] = {}
        for i in range(last + 1):
            for side in (LEFT, RIGHT):
                self.triangles[side, i, i] = grammar.initial[2 * sentence[i] + side]
        for width in range(1, last + 1):
            for i in range(last + 1 - width):
                j = i + width
                splits = range(i, i + 1) if i == 0 and single_root else range(i, j)
                before = [self.done(LEFT, k + 1, j) * self.triangles[RIGHT, i, k] for k in splits]
                self.trapezoids[RIGHT, i, j] = self.through(i, j, before)
                ends = [self.done(RIGHT, k, j) * self.trapezoids[RIGHT, i, k] for k in range(i + 1, j + 1)]
                self.triangles[RIGHT, i, j] = total(ends, axis=0)
                if i > 0:
                    before = [self.done(RIGHT, i, k) * self.triangles[LEFT, k + 1, j] for k in range(i, j)]
                    self.trapezoids[LEFT, i, j] = self.through(j, i, before)
                    ends = [self.done(LEFT, i, k) * self.trapezoids[LEFT, k, j] for k in range(i, j)]
                    self.triangles[LEFT, i, j] = total(ends, axis=0)

    def final(self, side: int, head: int) -> Array:
        return np.asarray(self.grammar.final[2 * self.sentence[head] + side])

    def operator(self, head: int, modifier: int) -> Array:
        side = RIGHT if head < modifier else LEFT
        row = self.grammar.rows[2 * self.sentence[head] + side, self.sentence[modifier]]
        return np.asarray(self.factor[head, modifier] * self.grammar.operators[row])

    def through(self, head: int, modifier: int, before: list[Array]) -> Array:
        """Apply the operator of an arc to the sum over the previous modifiers."""
        vector = self.total(before, axis=0)
        return np.asarray(self.total(vector[:, None] * self.operator(head, modifier), axis=0))

    def done(self, side: int, i: int, j: int) -> float:
        """Return the weight of a triangle whose head stops."""
        return float(self.total(self.triangles[side, i, j] * self.final(side, i if side == RIGHT else j)))

    @property
    def partition(self) -> float:
        return self.done(RIGHT, 0, self.last)


def partition_and_marginals(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> tuple[float, Array]:
    """Compute Z and the marginals of all arcs; parameters as of :func:`gramian.dependency.half_constituents.marginals`.

    Z is linear in the factor of an arc. The share of Z in trees with the arc is therefore one minus the ratio of Z without the arc to Z.
    """
    size = len(sentence)
    weights = np.ones((size, size)) if weights is None else weights
    partition = _Inside(grammar, sentence, weights, single_root).partition
    marginals = np.zeros((size, size))
    for head, modifier in np.ndindex(size, size):
        if modifier not in (0, head):
            without = weights.copy()
            without[head, modifier] = 0.0
            remaining = _Inside(grammar, sentence, without, single_root).partition
            marginals[head, modifier] = 1.0 - remaining / partition
    return partition, marginals


def viterbi(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> float:
    """Return the weight of the best tree together with its best state sequences (non-negative automata only)."""
    return _Inside(grammar, sentence, weights, single_root, np.max).partition


def best_tree(scores: Array, *, single_root: bool = True) -> tuple[int, ...]:
    """Return the heads of the projective tree with the largest sum of ``scores[head, modifier]``.

    Under a grammar that accepts every tree with weight one, the best tree is the one whose arcs cannot be forbidden without loss.
    """
    size = len(scores)
    operators, rows = np.array([[[0.0]], [[1.0]]]), np.ones((4, 1), np.int32)
    grammar = SHAG(("word",), np.ones((4, 1)), np.ones((4, 1)), operators, rows, np.ones(4, np.int32))
    sentence = np.array([grammar.root, *[0] * (size - 1)], np.int32)
    weights = np.exp(scores)
    best = viterbi(grammar, sentence, weights, single_root=single_root)
    heads = [0] * size
    for head, modifier in np.ndindex(size, size):
        if modifier not in (0, head):
            without = weights.copy()
            without[head, modifier] = 0.0
            if viterbi(grammar, sentence, without, single_root=single_root) < best:
                heads[modifier] = head
    return tuple(heads[1:])
