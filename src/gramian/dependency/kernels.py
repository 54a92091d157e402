"""Compiled dynamic programmes over half-constituents: inside-outside, Eisner, Viterbi.

Inside-outside of Balle, Carreras, Luque & Quattoni (2014, appendix A) for split head-automata grammars, with the
operator taken out of the split sum (O(N^3 n + N^2 n^2)), and Eisner's first-order decoding. Positions are
0..N with the root at 0; direction 0 is left, 1 is right; every half-constituent is stored head first.

Each projective tree uses every gap between neighbouring words as the split of exactly one arc. A factor per
gap therefore scales all trees of a sentence alike, which keeps the charts in range without logarithms.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_compile = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")


@_compile
def _combine(coefficients, rows, out):  # type: ignore[no-untyped-def]
    """OUT out (n,): the sum over t of coefficients[t] * rows[t]."""
    out[:] = 0.0
    for t in range(coefficients.shape[0]):
        c = coefficients[t]
        if c != 0.0:
            for q in range(out.shape[0]):
                out[q] += c * rows[t, q]


@_compile
def _spread(outside, coefficients, rows, d_coefficients, d_rows):  # type: ignore[no-untyped-def]
    """Reverse of `_combine`: add the derivatives of its inputs, given the outside vector of its output."""
    for t in range(coefficients.shape[0]):
        c = coefficients[t]
        total = 0.0
        for q in range(outside.shape[0]):
            d_rows[t, q] += c * outside[q]
            total += rows[t, q] * outside[q]
        d_coefficients[t] += total


@_compile
def _dot(left, right):  # type: ignore[no-untyped-def]
    total = 0.0
    for q in range(left.shape[0]):
        total += left[q] * right[q]
    return total


@_compile
def inside(  # type: ignore[no-untyped-def]
    initial, final, operators, automata, arcs, weights, single_root,
    triangle, trapezoid, finished, finished_by_end, gap,
):  # fmt: skip
    """Fill the inside charts of one sentence; return the logarithm of the factor taken out.

    Parameters
    ----------
    initial, final : IN (A, n) float64
        Initial and final vectors of all automata of the grammar.
    operators : IN (R, n, n) float64
        All transition operators of the grammar; row 0 is the zero operator.
    automata : IN (2, N + 1) int32
        Row of `initial` for each direction and position.
    arcs : IN (N + 1, N + 1) int32
        ``arcs[head, modifier]`` is a row of `operators`.
    weights : IN (N + 1, N + 1) float64
        Factor on each arc (1 for the plain grammar, 0 forbids the arc).
    single_root : IN bool
        Whether position 0 takes exactly one modifier.
    triangle, trapezoid : OUT (2, N + 1, N + 1, n) float64
        Inside vectors of ``[direction, head, end]``, times the factors of the gaps they cover.
    finished : OUT (2, N + 1, N + 1) float64
        Completed triangles as ``[direction, head, end]``, times the factor of the gap next to `end` as well.
    finished_by_end : OUT (2, N + 1, N + 1) float64
        Completed triangles as ``[direction, end, head]``; ``[1, N, 0]`` is the sum over all trees.
    gap : OUT (N + 1,) float64
        Factor given to the gap between positions k and k + 1; 1 for the last.
    """
    size = automata.shape[1]
    n = initial.shape[1]
    v = np.empty(n)
    log_scale = 0.0
    gap[:] = 1.0
    for j in range(size):
        for d in range(2):
            triangle[d, j, j, :] = initial[automata[d, j]]
            finished[d, j, j] = _dot(initial[automata[d, j]], final[automata[d, j]])
            finished_by_end[d, j, j] = finished[d, j, j]
    for j in range(1, size):
        largest = 0.0
        for i in range(j - 1, -1, -1):
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                operator = arcs[head, end]
                weight = weights[head, end]
                out = trapezoid[d, head, end]
                out[:] = 0.0
                if operator != 0 and weight != 0.0:
                    if d == 0:
                        _combine(finished[1, i, i:j], triangle[0, j, i + 1 : j + 1], v)
                    elif i == 0 and single_root:
                        _combine(finished[0, j, 1:2], triangle[1, 0, 0:1], v)
                    else:
                        _combine(finished[0, j, i + 1 : j + 1], triangle[1, i, i:j], v)
                    for p in range(n):
                        c = weight * v[p]
                        if c != 0.0:
                            for q in range(n):
                                out[q] += c * operators[operator, p, q]
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                out = triangle[d, head, end]
                if d == 0:
                    _combine(finished_by_end[0, i, i:j], trapezoid[0, j, i:j], out)
                else:
                    _combine(finished_by_end[1, j, i + 1 : j + 1], trapezoid[1, i, i + 1 : j + 1], out)
                value = _dot(out, final[automata[d, head]])
                finished_by_end[d, end, head] = value
                finished[d, head, end] = value * gap[i - 1] if d == 0 else value
                largest = max(largest, abs(value))
        # Keep the sum over parses of the words read so far near one; the other spans then stay in range too.
        whole = abs(finished[1, 0, j])
        if not whole > 1e-100 * largest:
            whole = largest
        if whole > 0.0 and math.isfinite(whole):
            scale = 1.0 / whole
            gap[j - 1] = scale
            log_scale += math.log(whole)
            finished[0, j, j] *= scale
            for i in range(j):
                finished[1, i, j - 1] *= scale
                trapezoid[1, i, j] *= scale
                triangle[1, i, j] *= scale
                finished[1, i, j] *= scale
                finished_by_end[1, j, i] *= scale
                if i > 0:
                    trapezoid[0, j, i] *= scale
                    triangle[0, j, i] *= scale
                    finished[0, j, i] *= scale
                    finished_by_end[0, i, j] *= scale
    return log_scale


@_compile
def outside(  # type: ignore[no-untyped-def]
    final, operators, automata, arcs, weights, single_root,
    triangle, trapezoid, finished, finished_by_end, gap,
    d_triangle, d_trapezoid, d_finished, d_finished_by_end, marginals,
):  # fmt: skip
    """Run `inside` backwards: outside vectors of all half-constituents, and the marginals of all arcs.

    The four ``d_`` charts (OUT, same shapes as the inside charts) must come in filled with zeros.
    `marginals` (OUT, (N + 1, N + 1)) holds ``[head, modifier]``.
    """
    size = automata.shape[1]
    n = final.shape[1]
    u = np.empty(n)
    marginals[:] = 0.0
    d_finished_by_end[1, size - 1, 0] = 1.0 / finished_by_end[1, size - 1, 0]
    for j in range(size - 1, 0, -1):
        for i in range(j):
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                above = d_triangle[d, head, end]
                beside = gap[i - 1] if d == 0 else gap[j]
                c = d_finished[d, head, end] * beside + d_finished_by_end[d, end, head]
                for q in range(n):
                    above[q] += c * final[automata[d, head], q]
                if d == 0:
                    _spread(
                        above, finished_by_end[0, i, i:j], trapezoid[0, j, i:j],
                        d_finished_by_end[0, i, i:j], d_trapezoid[0, j, i:j],
                    )  # fmt: skip
                else:
                    _spread(
                        above, finished_by_end[1, j, i + 1 : j + 1], trapezoid[1, i, i + 1 : j + 1],
                        d_finished_by_end[1, j, i + 1 : j + 1], d_trapezoid[1, i, i + 1 : j + 1],
                    )  # fmt: skip
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                operator = arcs[head, end]
                weight = weights[head, end]
                if operator == 0 or weight == 0.0:
                    continue
                above = d_trapezoid[d, head, end]
                marginals[head, end] = _dot(trapezoid[d, head, end], above)
                for p in range(n):
                    u[p] = weight * _dot(operators[operator, p], above)
                if d == 0:
                    _spread(
                        u, finished[1, i, i:j], triangle[0, j, i + 1 : j + 1],
                        d_finished[1, i, i:j], d_triangle[0, j, i + 1 : j + 1],
                    )  # fmt: skip
                elif i == 0 and single_root:
                    _spread(
                        u,
                        finished[0, j, 1:2],
                        triangle[1, 0, 0:1],
                        d_finished[0, j, 1:2],
                        d_triangle[1, 0, 0:1],
                    )
                else:
                    _spread(
                        u, finished[0, j, i + 1 : j + 1], triangle[1, i, i:j],
                        d_finished[0, j, i + 1 : j + 1], d_triangle[1, i, i:j],
                    )  # fmt: skip


@_compile
def _look_up(rows, sentence, automata, arcs):  # type: ignore[no-untyped-def]
    """OUT automata (2, N + 1), arcs (N + 1, N + 1): which automata and operators a sentence uses."""
    size = sentence.shape[0]
    for i in range(size):
        automata[0, i] = 2 * sentence[i]
        automata[1, i] = 2 * sentence[i] + 1
        arcs[i, 0] = 0
        for j in range(1, size):
            arcs[i, j] = rows[automata[1 if i < j else 0, i], sentence[j]] if i != j else 0


@_compile
def posterior(initial, final, operators, rows, sentence, weights, single_root, marginals):  # type: ignore[no-untyped-def]
    """Marginals of all arcs of one sentence; return the scaled partition and the logarithm of its scale.

    Parameters
    ----------
    initial, final, operators, weights, single_root
        As for `inside`.
    rows : IN (A, K) int32
        Row of `operators` for each automaton and modifier symbol.
    sentence : IN (N + 1,) int32
        Symbols of the root and the words.
    marginals : OUT (N + 1, N + 1) float64
        ``[head, modifier]``; all zero where the partition is zero or not finite, which is returned as 0.
    """
    size = sentence.shape[0]
    n = initial.shape[1]
    automata = np.empty((2, size), np.int32)
    arcs = np.empty((size, size), np.int32)
    _look_up(rows, sentence, automata, arcs)
    triangle = np.empty((2, size, size, n))
    trapezoid = np.empty((2, size, size, n))
    finished = np.empty((2, size, size))
    finished_by_end = np.empty((2, size, size))
    gap = np.empty(size)
    log_scale = inside(
        initial, final, operators, automata, arcs, weights, single_root,
        triangle, trapezoid, finished, finished_by_end, gap,
    )  # fmt: skip
    partition = finished_by_end[1, size - 1, 0]
    if partition == 0.0 or not math.isfinite(partition):
        marginals[:] = 0.0
        return 0.0, 0.0
    outside(
        final, operators, automata, arcs, weights, single_root,
        triangle, trapezoid, finished, finished_by_end, gap,
        np.zeros_like(triangle), np.zeros_like(trapezoid), np.zeros_like(finished), np.zeros_like(finished),
        marginals,
    )  # fmt: skip
    return partition, log_scale


@_compile
def eisner(scores, single_root, heads):  # type: ignore[no-untyped-def]
    """Best projective tree of a first-order model.

    Parameters
    ----------
    scores : IN (N + 1, N + 1) float64
        Score of each ``[head, modifier]``; the tree of largest sum wins.
    single_root : IN bool
        Whether position 0 takes exactly one modifier.
    heads : OUT (N + 1,) int32
        Head of each word; ``heads[0]`` is -1.
    """
    size = scores.shape[0]
    complete = np.zeros((2, size, size))  # [direction, head, end]
    complete_by_end = np.zeros((2, size, size))  # [direction, end, head]
    incomplete = np.full((2, size, size), -np.inf)
    complete_split = np.zeros((2, size, size), dtype=np.int32)
    incomplete_split = np.zeros((2, size, size), dtype=np.int32)
    for j in range(1, size):
        for i in range(j - 1, -1, -1):
            best, split = -np.inf, i
            for k in range(i, j):
                value = complete[1, i, k] + complete[0, j, k + 1]
                if value > best:
                    best, split = value, k
            if i > 0:
                incomplete[0, j, i] = best + scores[j, i]
                incomplete_split[0, j, i] = split
            elif single_root:
                best, split = complete[0, j, 1], 0
            incomplete[1, i, j] = best + scores[i, j]
            incomplete_split[1, i, j] = split
            best, split = -np.inf, j
            for k in range(i + 1, j + 1):
                value = incomplete[1, i, k] + complete_by_end[1, j, k]
                if value > best:
                    best, split = value, k
            complete[1, i, j] = best
            complete_by_end[1, j, i] = best
            complete_split[1, i, j] = split
            if i > 0:
                best, split = -np.inf, i
                for k in range(i, j):
                    value = incomplete[0, j, k] + complete_by_end[0, i, k]
                    if value > best:
                        best, split = value, k
                complete[0, j, i] = best
                complete_by_end[0, i, j] = best
                complete_split[0, j, i] = split
    heads[0] = -1
    stack = np.empty((2 * size + 2, 4), dtype=np.int32)  # complete or not, direction, head, end
    depth = _push(stack, 0, 1, 1, 0, size - 1)
    while depth > 0:
        depth -= 1
        is_complete, d, head, end = stack[depth]
        if head == end:
            continue
        if is_complete:
            split = complete_split[d, head, end]
            depth = _push(stack, depth, 0, d, head, split)
            depth = _push(stack, depth, 1, d, split, end)
        else:
            heads[end] = head
            split = incomplete_split[d, head, end]
            depth = _push(stack, depth, 1, d, head, split if d == 1 else split + 1)
            depth = _push(stack, depth, 1, 1 - d, end, split + 1 if d == 1 else split)


@_compile
def viterbi(initial, final, operators, rows, sentence, weights, single_root, heads):  # type: ignore[no-untyped-def]
    """Best tree with its best states; return the logarithm of their weight. Arguments as for `posterior`.

    heads : OUT (N + 1,) int32
        Head of each word; ``heads[0]`` is -1.
    """
    size = sentence.shape[0]
    n = initial.shape[1]
    automata = np.empty((2, size), np.int32)
    arcs = np.empty((size, size), np.int32)
    _look_up(rows, sentence, automata, arcs)
    log_final = np.log(final)
    triangle = np.full((2, size, size, n), -np.inf)
    trapezoid = np.full((2, size, size, n), -np.inf)
    finished = np.full((2, size, size), -np.inf)
    last_state = np.zeros((2, size, size), np.int32)
    triangle_split = np.zeros((2, size, size, n), np.int32)
    trapezoid_split = np.zeros((2, size, size, n), np.int32)  # for each state before the modifier
    state_before = np.zeros((2, size, size, n), np.int32)
    for j in range(size):
        for d in range(2):
            for q in range(n):
                triangle[d, j, j, q] = math.log(initial[automata[d, j], q])
            _finish(triangle[d, j, j], log_final[automata[d, j]], d, j, j, finished, last_state)
    for j in range(1, size):
        for i in range(j - 1, -1, -1):
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                stop = i + 1 if i == 0 and single_root else j
                for p in range(n):
                    best, split = -np.inf, i
                    for k in range(i, stop):
                        if d == 1:
                            value = finished[0, j, k + 1] + triangle[1, i, k, p]
                        else:
                            value = finished[1, i, k] + triangle[0, j, k + 1, p]
                        if value > best:
                            best, split = value, k
                    trapezoid_split[d, head, end, p] = split
                    if best > -np.inf:
                        best += math.log(weights[head, end])
                        for q in range(n):
                            value = best + math.log(operators[arcs[head, end], p, q])
                            if value > trapezoid[d, head, end, q]:
                                trapezoid[d, head, end, q] = value
                                state_before[d, head, end, q] = p
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                for k in range(i + d, j + d):
                    rest = finished[d, k, end]
                    for q in range(n):
                        value = trapezoid[d, head, k, q] + rest
                        if value > triangle[d, head, end, q]:
                            triangle[d, head, end, q] = value
                            triangle_split[d, head, end, q] = k
                _finish(
                    triangle[d, head, end], log_final[automata[d, head]], d, head, end, finished, last_state
                )
    heads[:] = 0
    heads[0] = -1
    if finished[1, 0, size - 1] == -np.inf:
        return -np.inf
    # A second state column rides along: the state in which the half-constituent ends.
    stack = np.empty((2 * size + 2, 4), np.int32)
    states = np.empty(2 * size + 2, np.int32)
    states[0] = last_state[1, 0, size - 1]
    depth = _push(stack, 0, 1, 1, 0, size - 1)
    while depth > 0:
        depth -= 1
        is_complete, d, head, end = stack[depth]
        state = states[depth]
        if head == end:
            continue
        if is_complete:
            split = triangle_split[d, head, end, state]
            states[depth] = state
            depth = _push(stack, depth, 0, d, head, split)
            states[depth] = last_state[d, split, end]
            depth = _push(stack, depth, 1, d, split, end)
        else:
            heads[end] = head
            before = state_before[d, head, end, state]
            split = trapezoid_split[d, head, end, before]
            near, far = (split, split + 1) if d == 1 else (split + 1, split)
            states[depth] = before
            depth = _push(stack, depth, 1, d, head, near)
            states[depth] = last_state[1 - d, end, far]
            depth = _push(stack, depth, 1, 1 - d, end, far)
    return finished[1, 0, size - 1]


@_compile
def _finish(vector, log_final, direction, head, end, finished, last_state):  # type: ignore[no-untyped-def]
    """OUT finished, last_state at [direction, head, end]: the best way to stop here."""
    for q in range(vector.shape[0]):
        value = vector[q] + log_final[q]
        if value > finished[direction, head, end]:
            finished[direction, head, end] = value
            last_state[direction, head, end] = q


@_compile
def _push(stack, depth, is_complete, direction, head, end):  # type: ignore[no-untyped-def]
    stack[depth, 0] = is_complete
    stack[depth, 1] = direction
    stack[depth, 2] = head
    stack[depth, 3] = end
    return depth + 1
