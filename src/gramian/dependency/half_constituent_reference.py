"""The dynamic programmes over half-constituents as the equations have them: slow, readable, the oracle.

Inside and outside vectors of Balle, Carreras, Luque & Quattoni (2014, appendix A, equations 3-8), with the left
half that the appendix leaves out, and Eisner's (2000) decoding. Nothing is scaled, so sentences must be short.
Half-constituents are keyed by direction, first and last position; those with all modifiers of their head so far are
triangles, those that end in a modifier that may still grow are trapezoids.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gramian.dependency.split_head_automata import LEFT, RIGHT, SHAG, Array, Symbols

Span = tuple[int, int, int]  # direction, first position, last position


class ArcMarginals(NamedTuple):
    """The partition Z, and the share of Z in trees with the arc ``[head, modifier]``."""

    partition: float
    marginals: Array


class _Inside:
    """Inside vectors of a sentence; `total` sums them for Z, or takes the largest for the best tree."""

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
        self.triangles: dict[Span, Array] = {}
        self.trapezoids: dict[Span, Array] = {}
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
        """Let a head take a modifier, whatever came before."""
        vector = self.total(before, axis=0)
        return np.asarray(self.total(vector[:, None] * self.operator(head, modifier), axis=0))

    def done(self, side: int, i: int, j: int) -> float:
        """Let the head of a triangle stop."""
        return float(self.total(self.triangles[side, i, j] * self.final(side, i if side == RIGHT else j)))

    @property
    def partition(self) -> float:
        return self.done(RIGHT, 0, self.last)


def charts(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> ArcMarginals:
    """Compute Z and the marginals of all arcs; parameters as of :func:`gramian.dependency.half_constituents.marginals`."""
    inside = _Inside(grammar, sentence, weights, single_root)
    triangles, trapezoids, last = inside.triangles, inside.trapezoids, inside.last
    done, final, operator = inside.done, inside.final, inside.operator
    nothing = np.zeros(grammar.n_states)
    outer_triangles: dict[Span, Array] = {}
    outer_trapezoids: dict[Span, Array] = {}
    for width in range(last, 0, -1):
        for i in range(last + 1 - width):
            j = i + width
            outside = [nothing] if i > 0 or j < last else [final(RIGHT, 0)]
            for k in range(i):  # i's right half completes a right modifier of k
                outside.append((trapezoids[RIGHT, k, i] @ outer_triangles[RIGHT, k, j]) * final(RIGHT, i))
            for k in range(j + 1, last + 1):
                if not (i == 0 and single_root):  # head side of a right trapezoid
                    outside.append(done(LEFT, j + 1, k) * (operator(i, k) @ outer_trapezoids[RIGHT, i, k]))
                if i > 0:  # i is a left modifier of k
                    inner = triangles[LEFT, j + 1, k] @ operator(k, i) @ outer_trapezoids[LEFT, i, k]
                    outside.append(inner * final(RIGHT, i))
            outer_triangles[RIGHT, i, j] = np.sum(outside, axis=0)
            if i > 0:
                outside = [nothing]
                for k in range(j + 1, last + 1):  # j's left half completes a left modifier of k
                    outside.append((trapezoids[LEFT, j, k] @ outer_triangles[LEFT, i, k]) * final(LEFT, j))
                for k in range(1, i):  # head side of a left trapezoid
                    outside.append(done(RIGHT, k, i - 1) * (operator(j, k) @ outer_trapezoids[LEFT, k, j]))
                for k in range(i):  # j is a right modifier of k
                    if k == 0 and single_root and i > 1:
                        continue
                    inner = triangles[RIGHT, k, i - 1] @ operator(k, j) @ outer_trapezoids[RIGHT, k, j]
                    outside.append(inner * final(LEFT, j))
                outer_triangles[LEFT, i, j] = np.sum(outside, axis=0)
        for i in range(last + 1 - width):
            j = i + width
            ends = [done(RIGHT, j, k) * outer_triangles[RIGHT, i, k] for k in range(j, last + 1)]
            outer_trapezoids[RIGHT, i, j] = np.sum(ends, axis=0)
            if i > 0:
                ends = [done(LEFT, k, i) * outer_triangles[LEFT, k, j] for k in range(1, i + 1)]
                outer_trapezoids[LEFT, i, j] = np.sum(ends, axis=0)
    marginals = np.zeros((last + 1, last + 1))
    for (direction, i, j), vector in trapezoids.items():
        head, modifier = (i, j) if direction == RIGHT else (j, i)
        marginals[head, modifier] = vector @ outer_trapezoids[direction, i, j] / inside.partition
    return ArcMarginals(inside.partition, marginals)


def viterbi(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> float:
    """Return the weight of the best tree together with its best state sequences (non-negative automata only)."""
    return _Inside(grammar, sentence, weights, single_root, np.max).partition


def best_tree(scores: Array, *, single_root: bool = True) -> tuple[int, ...]:
    """Return the heads of the projective tree with the largest sum of ``scores[head, modifier]`` (Eisner 2000)."""
    Best = tuple[float, tuple[tuple[int, int], ...]]  # a score, and its arcs

    def joined(first: Best, second: Best) -> Best:
        return first[0] + second[0], first[1] + second[1]

    last = len(scores) - 1
    complete: dict[Span, Best] = {(side, i, i): (0.0, ()) for side in (LEFT, RIGHT) for i in range(last + 1)}
    incomplete: dict[Span, Best] = {}
    for width in range(1, last + 1):
        for i in range(last + 1 - width):
            j = i + width
            splits = range(i, i + 1) if i == 0 and single_root else range(i, j)
            both = max(joined(complete[RIGHT, i, k], complete[LEFT, k + 1, j]) for k in splits)
            incomplete[RIGHT, i, j] = joined(both, (scores[i, j], ((i, j),)))
            complete[RIGHT, i, j] = max(
                joined(incomplete[RIGHT, i, k], complete[RIGHT, k, j]) for k in range(i + 1, j + 1)
            )
            if i > 0:
                incomplete[LEFT, i, j] = joined(both, (scores[j, i], ((j, i),)))
                complete[LEFT, i, j] = max(
                    joined(complete[LEFT, i, k], incomplete[LEFT, k, j]) for k in range(i, j)
                )
    heads = {modifier: head for head, modifier in complete[RIGHT, 0, last][1]}
    return tuple(heads[modifier] for modifier in range(1, last + 1))
