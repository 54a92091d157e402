"""Compiled inside-outside over half-constituents.

Split head-automata grammars of Balle, Carreras, Luque & Quattoni (2014, appendix A), summed in another order: a head
meets its next modifier across the words between that modifier and the one before (the sibling items of Eisner 1996). Then
only trapezoids keep vectors over the states, and the operator is taken out of the sum: O(N^3 n + N^2 n^2).
Positions are 0..N with the root at 0; direction 0 is left, 1 is right; every half-constituent is stored head first.

Each projective tree uses every gap between neighbouring words as the split of exactly one arc. A factor per
gap therefore scales all trees of a sentence alike, which keeps the charts in range without logarithms.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.kernels import order_free_kernel

Array = npt.NDArray[np.float64]


class Problem(NamedTuple):
    """A grammar and a sentence of N words."""

    initial: Array  # (A, n) of all automata of the grammar
    final: Array  # (A, n)
    operators: Array  # (R, n, n) of the grammar; row 0 is the zero operator
    automata: npt.NDArray[np.int32]  # (2, N + 1): the row of `initial` for each direction and position
    arcs: npt.NDArray[np.int32]  # (N + 1, N + 1): the row of `operators` for each head and modifier
    weights: Array  # (N + 1, N + 1): a factor on each arc (1 for the plain grammar, 0 forbids the arc)
    single_root: bool  # whether position 0 takes exactly one modifier


class Charts(NamedTuple):
    """Values of all items, or the partition's gradients by them; times the factors of the gaps they cover.

    Without a shape given, [direction, N + 1, N + 1]. Right halves in `finished` also have the factor of the gap next to their end.
    """

    trapezoid: Array  # (2, N + 1, N + 1, n): inside vectors of [direction, head, modifier]
    ended: Array  # trapezoids whose head takes no further modifier
    finished: Array  # completed half-constituents by [direction, head, end]
    finished_by_end: Array  # the same by [direction, end, head]; [1, N, 0] is the sum over all trees
    between: (
        Array  # (N + 1, N + 1): the right half of one word and the left half of the next, by [first, last]
    )
    between_by_end: Array  # the same by [last, first]
    gap: Array  # (N + 1,): factor given to the gap between positions k and k + 1; 1 for the last


@order_free_kernel
def _dot(left, right):
    total = 0.0
    for q in range(left.shape[0]):
        total += left[q] * right[q]
    return total


@order_free_kernel
def inside(problem, charts):
    """Fill the inside charts of one sentence; return the logarithm of the factor taken out."""
    initial, final, operators, automata, arcs, weights, single_root = problem
    trapezoid, ended, finished, finished_by_end, between, between_by_end, gap = charts
    size = automata.shape[1]
    n = initial.shape[1]
    v = np.empty(n)
    log_scale = 0.0
    gap[:] = 1.0
    for j in range(size):
        for d in range(2):
            value = _dot(initial[automata[d, j]], final[automata[d, j]])
            finished[d, j, j] = value
            finished_by_end[d, j, j] = value
    for j in range(1, size):
        largest = 0.0
        for i in range(j - 1, -1, -1):
            for d in range(1 if i == 0 else 0, 2):
                head, end = (i, j) if d == 1 else (j, i)
                operator = arcs[head, end]
                weight = weights[head, end]
                out = trapezoid[d, head, end]
                out[:] = 0.0
                ended[d, head, end] = 0.0
                if operator == 0 or weight == 0.0:
                    continue
                c = finished[0, j, i + 1] * gap[i] if d == 1 else finished[1, i, j - 1]
                for q in range(n):
                    v[q] = c * initial[automata[d, head], q]
                if not (i == 0 and single_root):
                    for s in range(i + 1, j):
                        if weights[head, s] == 0.0:
                            continue
                        c = between_by_end[j, s] if d == 1 else between[i, s]
                        for q in range(n):
                            v[q] += c * trapezoid[d, head, s, q]
                for p in range(n):
                    c = weight * v[p]
                    if c != 0.0:
                        for q in range(n):
                            out[q] += c * operators[operator, p, q]
                ended[d, head, end] = _dot(out, final[automata[d, head]])
            value = 0.0
            for k in range(i, j):
                value += finished[1, i, k] * finished[0, j, k + 1]
            between[i, j] = value
            between_by_end[j, i] = value
            value = 0.0
            for s in range(i + 1, j + 1):
                value += ended[1, i, s] * finished_by_end[1, j, s]
            finished[1, i, j] = value
            finished_by_end[1, j, i] = value
            largest = max(largest, abs(value))
            if i > 0:
                value = 0.0
                for s in range(i, j):
                    value += ended[0, j, s] * finished_by_end[0, i, s]
                finished[0, j, i] = value
                finished_by_end[0, i, j] = value
                largest = max(largest, abs(value))
        # Keep the sum over parses of the words read so far near one; the other spans then stay in range too.
        whole = abs(finished[1, 0, j])
        if not whole > 1e-100 * largest:
            whole = largest
        if whole > 0.0 and math.isfinite(whole):
            scale = 1.0 / whole
            gap[j - 1] = scale
            log_scale += math.log(whole)
            for i in range(j):
                finished[1, i, j - 1] *= scale
                trapezoid[1, i, j] *= scale
                ended[1, i, j] *= scale
                between[i, j] *= scale
                between_by_end[j, i] *= scale
                finished[1, i, j] *= scale
                finished_by_end[1, j, i] *= scale
                if i > 0:
                    trapezoid[0, j, i] *= scale
                    ended[0, j, i] *= scale
                    finished[0, j, i] *= scale
                    finished_by_end[0, i, j] *= scale
    return log_scale


@order_free_kernel
def outside(problem, charts, gradients, marginals):
    """Run `inside` backwards: OUT `gradients`, outside values in place of zeros, and the marginals ``[head, modifier]`` of all arcs."""
    initial, final, operators, automata, arcs, weights, single_root = problem
    trapezoid, ended, finished, finished_by_end, between, between_by_end, gap = charts
    d_trapezoid, d_ended, d_finished, d_finished_by_end, d_between, d_between_by_end, _ = gradients
    size = automata.shape[1]
    n = final.shape[1]
    u = np.empty(n)
    marginals[:] = 0.0
    d_finished_by_end[1, size - 1, 0] = 1.0 / finished_by_end[1, size - 1, 0]
    for j in range(size - 1, 0, -1):
        for i in range(j):
            c = d_finished_by_end[1, j, i] + d_finished[1, i, j] * gap[j]
            for s in range(i + 1, j + 1):
                d_ended[1, i, s] += c * finished_by_end[1, j, s]
                d_finished_by_end[1, j, s] += c * ended[1, i, s]
            if i > 0:
                c = d_finished_by_end[0, i, j] + d_finished[0, j, i]
                for s in range(i, j):
                    d_ended[0, j, s] += c * finished_by_end[0, i, s]
                    d_finished_by_end[0, i, s] += c * ended[0, j, s]
            c = d_between[i, j] + d_between_by_end[j, i]
            for k in range(i, j):
                d_finished[1, i, k] += c * finished[0, j, k + 1]
                d_finished[0, j, k + 1] += c * finished[1, i, k]
            for d in range(1 if i == 0 else 0, 2):
                head, end = (i, j) if d == 1 else (j, i)
                operator = arcs[head, end]
                weight = weights[head, end]
                if operator == 0 or weight == 0.0:
                    continue
                above = d_trapezoid[d, head, end]
                c = d_ended[d, head, end]
                for q in range(n):
                    above[q] += c * final[automata[d, head], q]
                marginals[head, end] = _dot(trapezoid[d, head, end], above)
                for p in range(n):
                    u[p] = weight * _dot(operators[operator, p], above)
                c = _dot(initial[automata[d, head]], u)
                if d == 1:
                    d_finished[0, j, i + 1] += c * gap[i]
                else:
                    d_finished[1, i, j - 1] += c
                if i == 0 and single_root:
                    continue
                for s in range(i + 1, j):
                    if weights[head, s] == 0.0:
                        continue
                    coefficient = between_by_end[j, s] if d == 1 else between[i, s]
                    total = 0.0
                    for q in range(n):
                        d_trapezoid[d, head, s, q] += coefficient * u[q]
                        total += trapezoid[d, head, s, q] * u[q]
                    if d == 1:
                        d_between_by_end[j, s] += total
                    else:
                        d_between[i, s] += total


@order_free_kernel
def _zeros(size, n):
    """Charts of a sentence of `size` positions and automata of n states, filled with zeros."""
    both, flat = np.zeros((3, 2, size, size)), np.zeros((2, size, size))
    return Charts(np.zeros((2, size, size, n)), both[0], both[1], both[2], flat[0], flat[1], np.zeros(size))


@order_free_kernel
def posterior(initial, final, operators, rows, sentence, weights, single_root, marginals):
    """Fill the marginals ``[head, modifier]`` of one sentence; return the scaled partition and the logarithm of its scale.

    ``rows[automaton, symbol]`` is a row of `operators`, `sentence` has the symbols of the root and the words, the others are
    as in a `Problem`. Where the partition is zero or not finite, all marginals are zero, and so is what is returned.
    """
    size = sentence.shape[0]
    n = initial.shape[1]
    automata, arcs = np.empty((2, size), np.int32), np.zeros((size, size), np.int32)
    for i in range(size):
        automata[0, i] = 2 * sentence[i]
        automata[1, i] = 2 * sentence[i] + 1
        for j in range(1, size):
            if i != j:
                arcs[i, j] = rows[automata[1 if i < j else 0, i], sentence[j]]
    problem = Problem(initial, final, operators, automata, arcs, weights, single_root)
    charts = _zeros(size, n)
    log_scale = inside(problem, charts)
    partition = charts.finished_by_end[1, size - 1, 0]
    if partition == 0.0 or not math.isfinite(partition):
        marginals[:] = 0.0
        return 0.0, 0.0
    outside(problem, charts, _zeros(size, n), marginals)
    return partition, log_scale
