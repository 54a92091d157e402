"""Kernels of inside-outside over half-constituents.

Split head-automata grammars of Balle, Carreras, Luque & Quattoni (2014, appendix A), summed in another order: a head meets its next
modifier across the words between that modifier and the previous one (the sibling items of Eisner 1996). Then only trapezoids hold vectors
over the states, and the operator is applied once per trapezoid: O(N^3 n + N^2 n^2). Positions are 0..N with the root at 0; direction d is
0 for left and 1 for right; every half-constituent is stored head first.

Let a, b and A be the initial vector, final vector and operators of the automaton of head h and direction d, and w the factors of arcs:

    T[d,h,m] = w[h,m] V A_m        trapezoid: h takes the modifier m, whose inner half is complete; V sums over the previous modifier:
    V = F[1-d,m,h'] a + sum_s B[s,m] T[d,h,s]        h' is the neighbour of h, for the first modifier; s is the previous modifier
    E[d,h,m] = T[d,h,m] b          ended: m is the last modifier of h in this direction
    B[i,j] = sum_k F[1,i,k] F[0,j,k+1]               between: two neighbouring modifiers and everything between them
    F[d,h,e] = sum_m E[d,h,m] F[d,m,e],   F[d,h,h] = a b        finished: a half-constituent with all its modifiers

F[1,0,N] is the partition. Each projective tree uses every gap between neighbouring words as the split of exactly one arc. A factor per gap
therefore scales all trees of a sentence alike, which keeps the charts in range without logarithms.
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
    """A grammar of A automata with at most n states, R operators and K symbols, and a sentence of N words."""

    initial: Array  # (A, n)
    final: Array  # (A, n)
    operators: Array  # (R, n, n); row 0 is the zero operator
    rows: npt.NDArray[np.int32]  # (A, K): row of `operators` for each automaton and modifier
    sentence: npt.NDArray[
        np.int32
    ]  # (N + 1,): symbols of the root and the words; automaton 2 * symbol + direction
    weights: Array  # (N + 1, N + 1): factor of each arc [head, modifier]; 0 forbids the arc
    single_root: bool  # whether position 0 takes exactly one modifier


class Charts(NamedTuple):
    """Values of all items, or gradients of the partition by them; each is scaled by the factors of the gaps it covers.

    Arrays without a shape are (2, N + 1, N + 1). Right halves in `finished` also include the factor of the gap after their end.
    """

    trapezoid: Array  # (2, N + 1, N + 1, n): T by [direction, head, modifier]
    ended: Array  # E by [direction, head, modifier]
    finished: Array  # F by [direction, head, end]
    finished_by_end: Array  # F by [direction, end, head]; [1, N, 0] is the partition
    between: Array  # (N + 1, N + 1): B by [first, last]
    between_by_end: Array  # (N + 1, N + 1): B by [last, first]
    gap: Array  # (N + 1,): factor of the gap between positions k and k + 1; 1 for the last


@order_free_kernel
def _dot(left, right):
    total = 0.0
    for q in range(left.shape[0]):
        total += left[q] * right[q]
    return total


@order_free_kernel
def _lookup(problem):
    """Return the automaton of each [direction, position] and the operator of each arc [head, modifier]."""
    size = problem.sentence.shape[0]
    automata, arcs = np.empty((2, size), np.int32), np.zeros((size, size), np.int32)
    for i in range(size):
        automata[0, i] = 2 * problem.sentence[i]
        automata[1, i] = 2 * problem.sentence[i] + 1
        for j in range(1, size):
            if i != j:
                arcs[i, j] = problem.rows[automata[1 if i < j else 0, i], problem.sentence[j]]
    return automata, arcs


@order_free_kernel
def _inside(problem, automata, arcs, charts):
    """Fill the inside charts of one sentence; return the logarithm of the scale that was divided out.

    One loop over (j, i) computes all items of the span i..j, so that they share what is in the cache; hence its length.
    """
    initial, final, operators = problem.initial, problem.final, problem.operators
    weights, single_root = problem.weights, problem.single_root
    trapezoid, ended, finished, finished_by_end, between, between_by_end, gap = charts
    size = automata.shape[1]
    n = initial.shape[1]
    v = np.empty(n)
    log_scale = 0.0
    gap[:] = 1.0
    # F[d,h,h] = a b
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
                # V = F[1-d,m,h'] a for the first modifier; the left half brings the factor of its gap
                c = finished[0, j, i + 1] * gap[i] if d == 1 else finished[1, i, j - 1]
                for q in range(n):
                    v[q] = c * initial[automata[d, head], q]
                # V += sum_s B[s,m] T[d,h,s] for a further modifier
                if not (i == 0 and single_root):
                    for s in range(i + 1, j):
                        if weights[head, s] == 0.0:
                            continue
                        c = between_by_end[j, s] if d == 1 else between[i, s]
                        for q in range(n):
                            v[q] += c * trapezoid[d, head, s, q]
                # T[d,h,m] = w[h,m] V A_m and E[d,h,m] = T[d,h,m] b
                for p in range(n):
                    c = weight * v[p]
                    if c != 0.0:
                        for q in range(n):
                            out[q] += c * operators[operator, p, q]
                ended[d, head, end] = _dot(out, final[automata[d, head]])
            # B[i,j] = sum_k F[1,i,k] F[0,j,k+1]
            value = 0.0
            for k in range(i, j):
                value += finished[1, i, k] * finished[0, j, k + 1]
            between[i, j] = value
            between_by_end[j, i] = value
            # F[d,h,e] = sum_m E[d,h,m] F[d,m,e], to the right and to the left
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
        # Keep F[1,0,j], the sum over the trees of the words so far, near one; the other spans then stay in range too.
        whole = abs(finished[1, 0, j])
        if not whole > 1e-100 * largest:
            whole = largest
        if whole > 0.0 and math.isfinite(whole):
            # The gap before j is covered by all items that end at j, and by the right halves that end at j - 1.
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
def _outside(problem, automata, arcs, charts, gradients, marginals):
    """OUT gradients and marginals: backpropagate log Z through `_inside`.

    The gradient by an item is its outside value over Z; a product x y adds the gradient times y to that of x, and the reverse. The
    marginal of an arc is the inside value of its trapezoid times the gradient by it.
    """
    initial, final, operators = problem.initial, problem.final, problem.operators
    weights, single_root = problem.weights, problem.single_root
    trapezoid, ended, finished, finished_by_end, between, between_by_end, gap = charts
    d_trapezoid, d_ended, d_finished, d_finished_by_end, d_between, d_between_by_end, _ = gradients
    size = automata.shape[1]
    n = final.shape[1]
    u = np.empty(n)
    marginals[:] = 0.0
    # d log Z / d F[1,0,N] = 1 / Z
    d_finished_by_end[1, size - 1, 0] = 1.0 / finished_by_end[1, size - 1, 0]
    for j in range(size - 1, 0, -1):
        for i in range(j):
            # back through F[d,h,e] = sum_m E[d,h,m] F[d,m,e]
            c = d_finished_by_end[1, j, i] + d_finished[1, i, j] * gap[j]
            for s in range(i + 1, j + 1):
                d_ended[1, i, s] += c * finished_by_end[1, j, s]
                d_finished_by_end[1, j, s] += c * ended[1, i, s]
            if i > 0:
                c = d_finished_by_end[0, i, j] + d_finished[0, j, i]
                for s in range(i, j):
                    d_ended[0, j, s] += c * finished_by_end[0, i, s]
                    d_finished_by_end[0, i, s] += c * ended[0, j, s]
            # back through B[i,j] = sum_k F[1,i,k] F[0,j,k+1]
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
                # back through E = T b; then T is complete, and so is the marginal of its arc
                gradient = d_trapezoid[d, head, end]
                c = d_ended[d, head, end]
                for q in range(n):
                    gradient[q] += c * final[automata[d, head], q]
                marginals[head, end] = _dot(trapezoid[d, head, end], gradient)
                # back through T = w V A_m: u is the gradient by V
                for p in range(n):
                    u[p] = weight * _dot(operators[operator, p], gradient)
                # back through V = F[1-d,m,h'] a + sum_s B[s,m] T[d,h,s]
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
    """Return charts of zeros for `size` positions and automata of n states."""
    both, flat = np.zeros((3, 2, size, size)), np.zeros((2, size, size))
    return Charts(np.zeros((2, size, size, n)), both[0], both[1], both[2], flat[0], flat[1], np.zeros(size))


@order_free_kernel
def posterior(problem, marginals):
    """OUT marginals (N + 1, N + 1), by [head, modifier]; return the scaled partition and the logarithm of its scale.

    Where the partition is zero or not finite, all marginals and both returned values are zero.
    """
    size, n = problem.sentence.shape[0], problem.initial.shape[1]
    automata, arcs = _lookup(problem)
    charts = _zeros(size, n)
    log_scale = _inside(problem, automata, arcs, charts)
    partition = charts.finished_by_end[1, size - 1, 0]
    if partition == 0.0 or not math.isfinite(partition):
        marginals[:] = 0.0
        return 0.0, 0.0
    _outside(problem, automata, arcs, charts, _zeros(size, n), marginals)
    return partition, log_scale
