"""The dynamic programmes over half-constituents as the equations have them: slow, readable, the oracle.

Inside and outside vectors of Balle, Carreras, Luque & Quattoni (2014, appendix A, equations 3-8), with the left
half that the appendix leaves out, and Eisner's (2000) decoding. Nothing is scaled, so sentences must be short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.dependency.shag import SHAG, Array, Symbols

__all__ = ["Charts", "best_tree", "charts", "viterbi"]

LEFT, RIGHT = 0, 1
Span = tuple[int, int, int]  # direction, first position, last position


@dataclass(frozen=True)
class Charts:
    """All inside and outside vectors of a sentence; keys are ``(direction, first, last)``.

    Attributes
    ----------
    partition : float
        Z, the sum of the weights of all projective trees.
    marginals : array of shape (N + 1, N + 1)
        Share of Z in trees with the arc ``[head, modifier]``.
    triangles, trapezoids : dict
        Inside vectors of complete and incomplete half-constituents.
    outer_triangles, outer_trapezoids : dict
        Their outside vectors.
    """

    partition: float
    marginals: Array
    triangles: dict[Span, Array]
    trapezoids: dict[Span, Array]
    outer_triangles: dict[Span, Array]
    outer_trapezoids: dict[Span, Array]


def charts(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> Charts:
    """Compute Z, all inside and outside vectors, and the marginals of all arcs.

    Parameters
    ----------
    grammar : SHAG
    sentence : int array of shape (N + 1,)
        Symbols of the root and of the words, as :meth:`SHAG.encode` gives them.
    weights : array of shape (N + 1, N + 1), optional
        A factor on each arc ``[head, modifier]``.
    single_root : bool
        Whether the root takes exactly one word.
    """
    last = len(sentence) - 1
    factor = np.ones((last + 1, last + 1)) if weights is None else weights
    initial = [[grammar.initial[2 * s + d] for s in sentence] for d in (LEFT, RIGHT)]
    final = [[grammar.final[2 * s + d] for s in sentence] for d in (LEFT, RIGHT)]

    def operator(head: int, modifier: int) -> Array:
        direction = RIGHT if head < modifier else LEFT
        row = grammar.rows[2 * sentence[head] + direction, sentence[modifier]]
        return np.asarray(factor[head, modifier] * grammar.operators[row])

    triangles: dict[Span, Array] = {}
    trapezoids: dict[Span, Array] = {}

    def done_left(i: int, j: int) -> float:
        return float(triangles[LEFT, i, j] @ final[LEFT][j])

    def done_right(i: int, j: int) -> float:
        return float(triangles[RIGHT, i, j] @ final[RIGHT][i])

    for i in range(last + 1):
        triangles[RIGHT, i, i] = initial[RIGHT][i]
        triangles[LEFT, i, i] = initial[LEFT][i]
    for width in range(1, last + 1):
        for i in range(last + 1 - width):
            j = i + width
            splits = range(i, i + 1) if i == 0 and single_root else range(i, j)
            trapezoids[RIGHT, i, j] = operator(i, j).T @ sum(
                done_left(k + 1, j) * triangles[RIGHT, i, k] for k in splits
            )
            triangles[RIGHT, i, j] = _sum(
                [done_right(k, j) * trapezoids[RIGHT, i, k] for k in range(i + 1, j + 1)]
            )
            if i > 0:
                trapezoids[LEFT, i, j] = operator(j, i).T @ sum(
                    done_right(i, k) * triangles[LEFT, k + 1, j] for k in range(i, j)
                )
                triangles[LEFT, i, j] = _sum([done_left(i, k) * trapezoids[LEFT, k, j] for k in range(i, j)])
    partition = done_right(0, last)

    nothing = np.zeros(grammar.n_states)
    outer_triangles: dict[Span, Array] = {}
    outer_trapezoids: dict[Span, Array] = {}
    for width in range(last, 0, -1):
        for i in range(last + 1 - width):
            j = i + width
            outside = [nothing] if i > 0 or j < last else [final[RIGHT][0]]
            for k in range(i):  # i's right half completes a right modifier of k
                outside.append((trapezoids[RIGHT, k, i] @ outer_triangles[RIGHT, k, j]) * final[RIGHT][i])
            for k in range(j + 1, last + 1):
                if not (i == 0 and single_root):  # head side of a right trapezoid
                    outside.append(done_left(j + 1, k) * (operator(i, k) @ outer_trapezoids[RIGHT, i, k]))
                if i > 0:  # i is a left modifier of k
                    inner = triangles[LEFT, j + 1, k] @ operator(k, i) @ outer_trapezoids[LEFT, i, k]
                    outside.append(inner * final[RIGHT][i])
            outer_triangles[RIGHT, i, j] = _sum(outside)
            if i > 0:
                outside = [nothing]
                for k in range(j + 1, last + 1):  # j's left half completes a left modifier of k
                    outside.append((trapezoids[LEFT, j, k] @ outer_triangles[LEFT, i, k]) * final[LEFT][j])
                for k in range(1, i):  # head side of a left trapezoid
                    outside.append(done_right(k, i - 1) * (operator(j, k) @ outer_trapezoids[LEFT, k, j]))
                for k in range(i):  # j is a right modifier of k
                    if k == 0 and single_root and i > 1:
                        continue
                    inner = triangles[RIGHT, k, i - 1] @ operator(k, j) @ outer_trapezoids[RIGHT, k, j]
                    outside.append(inner * final[LEFT][j])
                outer_triangles[LEFT, i, j] = _sum(outside)
        for i in range(last + 1 - width):
            j = i + width
            outer_trapezoids[RIGHT, i, j] = _sum(
                [done_right(j, k) * outer_triangles[RIGHT, i, k] for k in range(j, last + 1)]
            )
            if i > 0:
                outer_trapezoids[LEFT, i, j] = _sum(
                    [done_left(k, i) * outer_triangles[LEFT, k, j] for k in range(1, i + 1)]
                )

    marginals = np.zeros((last + 1, last + 1))
    for (direction, i, j), inside in trapezoids.items():
        head, modifier = (i, j) if direction == RIGHT else (j, i)
        marginals[head, modifier] = inside @ outer_trapezoids[direction, i, j] / partition
    return Charts(partition, marginals, triangles, trapezoids, outer_triangles, outer_trapezoids)


def _sum(vectors: list[Array]) -> Array:
    return np.sum(vectors, axis=0)


def best_tree(scores: Array, *, single_root: bool = True) -> tuple[int, ...]:
    """Return the heads of the projective tree with the largest sum of ``scores[head, modifier]`` (Eisner 2000)."""
    last = len(scores) - 1
    Best = tuple[float, tuple[tuple[int, int], ...]]
    complete: dict[Span, Best] = {}
    incomplete: dict[Span, Best] = {}
    for i in range(last + 1):
        complete[RIGHT, i, i] = complete[LEFT, i, i] = (0.0, ())
    for width in range(1, last + 1):
        for i in range(last + 1 - width):
            j = i + width
            splits = range(i, i + 1) if i == 0 and single_root else range(i, j)
            joined = max((_join(complete[RIGHT, i, k], complete[LEFT, k + 1, j]) for k in splits), key=_score)
            incomplete[RIGHT, i, j] = (joined[0] + scores[i, j], (*joined[1], (i, j)))
            complete[RIGHT, i, j] = max(
                (_join(incomplete[RIGHT, i, k], complete[RIGHT, k, j]) for k in range(i + 1, j + 1)),
                key=_score,
            )
            if i > 0:
                incomplete[LEFT, i, j] = (joined[0] + scores[j, i], (*joined[1], (j, i)))
                complete[LEFT, i, j] = max(
                    (_join(complete[LEFT, i, k], incomplete[LEFT, k, j]) for k in range(i, j)), key=_score
                )
    heads = {modifier: head for head, modifier in complete[RIGHT, 0, last][1]}
    return tuple(heads[modifier] for modifier in range(1, last + 1))


def _join(
    first: tuple[float, tuple[tuple[int, int], ...]], second: tuple[float, tuple[tuple[int, int], ...]]
) -> tuple[float, tuple[tuple[int, int], ...]]:
    return first[0] + second[0], first[1] + second[1]


def _score(item: tuple[float, tuple[tuple[int, int], ...]]) -> float:
    return item[0]


def viterbi(
    grammar: SHAG, sentence: Symbols, weights: Array | None = None, *, single_root: bool = True
) -> float:
    """Return the weight of the best tree together with its best state sequences (non-negative automata only)."""
    last = len(sentence) - 1
    factor = np.ones((last + 1, last + 1)) if weights is None else weights
    triangles: dict[Span, Array] = {}
    trapezoids: dict[Span, Array] = {}

    def through(head: int, modifier: int, vector: Array) -> Array:
        automaton = 2 * sentence[head] + (RIGHT if head < modifier else LEFT)
        operator = grammar.operators[grammar.rows[automaton, sentence[modifier]]]
        return np.asarray((vector[:, None] * operator).max(axis=0) * factor[head, modifier])

    def done(direction: int, i: int, j: int) -> float:
        head = i if direction == RIGHT else j
        return float((triangles[direction, i, j] * grammar.final[2 * sentence[head] + direction]).max())

    for i in range(last + 1):
        for direction in (LEFT, RIGHT):
            triangles[direction, i, i] = grammar.initial[2 * sentence[i] + direction]
    for width in range(1, last + 1):
        for i in range(last + 1 - width):
            j = i + width
            splits = range(i, i + 1) if i == 0 and single_root else range(i, j)
            before = [done(LEFT, k + 1, j) * triangles[RIGHT, i, k] for k in splits]
            trapezoids[RIGHT, i, j] = through(i, j, np.max(before, axis=0))
            ends = [done(RIGHT, k, j) * trapezoids[RIGHT, i, k] for k in range(i + 1, j + 1)]
            triangles[RIGHT, i, j] = np.max(ends, axis=0)
            if i > 0:
                before = [done(RIGHT, i, k) * triangles[LEFT, k + 1, j] for k in range(i, j)]
                trapezoids[LEFT, i, j] = through(j, i, np.max(before, axis=0))
                ends = [done(LEFT, i, k) * trapezoids[LEFT, k, j] for k in range(i, j)]
                triangles[LEFT, i, j] = np.max(ends, axis=0)
    return done(RIGHT, 0, last)
