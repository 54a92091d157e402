"""Decoding kernels: the best projective tree for scores of arcs (Eisner 2000), and the best tree with its best states (Viterbi).

Items are those of :mod:`gramian.dependency.half_constituent_kernels`, with maxima of sums of logarithms in place of sums of products.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.kernels import kernel


@kernel
def eisner(scores, single_root, heads):
    """OUT heads (N + 1,): the projective tree with the largest sum of ``scores[head, modifier]``; ``heads[0]`` is -1.

    With `single_root`, position 0 takes exactly one modifier. The recurrences over spans i..j, with C for complete and I for incomplete
    half-constituents, to the right (those to the left are their mirror image):

        I[i,j] = max_k C[i,k] + C[j,k+1] + scores[i,j]        C[i,j] = max_k I[i,k] + C[k,j]
    """
    size = scores.shape[0]
    complete = np.zeros((2, size, size))  # [direction, head, end]
    complete_by_end = np.zeros((2, size, size))  # [direction, end, head]
    incomplete = np.full((2, size, size), -np.inf)
    complete_split = np.zeros((2, size, size), dtype=np.int32)
    incomplete_split = np.zeros((2, size, size), dtype=np.int32)
    for j in range(1, size):
        for i in range(j - 1, -1, -1):
            # I in both directions, which share the split k
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
            # C to the right, then to the left
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
    # Follow the splits from the whole sentence down.
    heads[0] = -1
    stack = np.empty((2 * size + 2, 3), dtype=np.int32)  # complete half-constituents: direction, head, end
    depth = _push(stack, 0, 1, 0, size - 1)
    while depth > 0:
        depth -= 1
        d, head, end = stack[depth]
        while head != end:
            modifier = complete_split[d, head, end]
            depth = _push(stack, depth, d, modifier, end)
            heads[modifier] = head
            split = incomplete_split[d, head, modifier]
            depth = _push(stack, depth, 1 - d, modifier, split + 1 if d == 1 else split)
            end = split if d == 1 else split + 1


class BestItems(NamedTuple):
    """Logarithms of the best weights of items, and the choices that lead to them, for N words and n states.

    Arrays without a shape are (2, N + 1, N + 1), by [direction, head, modifier or end].
    """

    trapezoid: npt.NDArray[np.float64]  # (2, N + 1, N + 1, n)
    ended: npt.NDArray[np.float64]
    finished: npt.NDArray[np.float64]
    between: npt.NDArray[np.float64]  # (N + 1, N + 1)
    sibling: npt.NDArray[
        np.int32
    ]  # (2, N + 1, N + 1, n): previous modifier, or the head, by the state before the modifier
    state_before: npt.NDArray[
        np.int32
    ]  # (2, N + 1, N + 1, n): state before the modifier, by the state after it
    last_state: npt.NDArray[np.int32]  # state after the last modifier
    last: npt.NDArray[np.int32]  # last modifier of a finished half-constituent
    split: npt.NDArray[np.int32]  # (N + 1, N + 1): end of the right half in `between`


@kernel
def _fill(problem, best_items):
    """OUT best_items: fill the charts of `viterbi`.

    The loops are those of `_inside` in :mod:`gramian.dependency.half_constituent_kernels`, whose items they maximise.
    """
    initial, final, operators, rows, sentence, weights, single_root = problem
    trapezoid, ended, finished, between, sibling, state_before, last_state, last, split = best_items
    size, n = sentence.shape[0], initial.shape[1]
    # F[d,h,h] = max_q a_q + b_q
    for j in range(size):
        for d in range(2):
            number = 2 * sentence[j] + d
            best = -np.inf
            for q in range(n):
                best = max(best, math.log(initial[number, q]) + math.log(final[number, q]))
            finished[d, j, j] = best
    for j in range(1, size):
        for i in range(j - 1, -1, -1):
            for d in range(1 if i == 0 else 0, 2):
                head, end = (i, j) if d == 1 else (j, i)
                number = 2 * sentence[head] + d
                operator = rows[number, sentence[end]]
                for p in range(n):
                    # V_p = max(F[1-d,m,h'] + a_p, max_s B[s,m] + T_p[d,h,s])
                    best = math.log(initial[number, p])
                    best += finished[0, j, i + 1] if d == 1 else finished[1, i, j - 1]
                    previous = head
                    if not (i == 0 and single_root):
                        for s in range(i + 1, j):
                            value = trapezoid[d, head, s, p] + (between[s, j] if d == 1 else between[i, s])
                            if value > best:
                                best, previous = value, s
                    sibling[d, head, end, p] = previous
                    # T_q[d,h,m] = max_p w[h,m] + V_p + A_m[p,q]
                    if best > -np.inf:
                        best += math.log(weights[head, end])
                        for q in range(n):
                            value = best + math.log(operators[operator, p, q])
                            if value > trapezoid[d, head, end, q]:
                                trapezoid[d, head, end, q] = value
                                state_before[d, head, end, q] = p
                # E[d,h,m] = max_q T_q[d,h,m] + b_q
                for q in range(n):
                    value = trapezoid[d, head, end, q] + math.log(final[number, q])
                    if value > ended[d, head, end]:
                        ended[d, head, end] = value
                        last_state[d, head, end] = q
            # B[i,j] = max_k F[1,i,k] + F[0,j,k+1]
            for k in range(i, j):
                value = finished[1, i, k] + finished[0, j, k + 1]
                if value > between[i, j]:
                    between[i, j] = value
                    split[i, j] = k
            # F[d,h,e] = max_m E[d,h,m] + F[d,m,e]
            for d in range(1 if i == 0 else 0, 2):
                head, end = (i, j) if d == 1 else (j, i)
                for s in range(i + d, j + d):
                    value = ended[d, head, s] + finished[d, s, end]
                    if value > finished[d, head, end]:
                        finished[d, head, end] = value
                        last[d, head, end] = s


@kernel
def viterbi(problem, heads):
    """OUT heads (N + 1,): the best tree with its best states, as in `eisner`; return the logarithm of its weight.

    If there is no tree, all words are attached to the root.
    """
    size, n = problem.sentence.shape[0], problem.initial.shape[1]
    items = BestItems(
        np.full((2, size, size, n), -np.inf),
        np.full((2, size, size), -np.inf),
        np.full((2, size, size), -np.inf),
        np.full((size, size), -np.inf),
        np.zeros((2, size, size, n), np.int32),
        np.zeros((2, size, size, n), np.int32),
        np.zeros((2, size, size), np.int32),
        np.zeros((2, size, size), np.int32),
        np.zeros((size, size), np.int32),
    )
    _fill(problem, items)
    heads[:] = 0
    heads[0] = -1
    if items.finished[1, 0, size - 1] == -np.inf:
        return -np.inf
    # Follow the choices from the whole sentence down.
    stack = np.empty((2 * size + 2, 3), np.int32)  # finished half-constituents: direction, head, end
    depth = _push(stack, 0, 1, 0, size - 1)
    while depth > 0:
        depth -= 1
        d, head, end = stack[depth]
        if head == end:
            continue
        modifier = items.last[d, head, end]
        depth = _push(stack, depth, d, modifier, end)
        state = items.last_state[d, head, modifier]
        while modifier != head:
            heads[modifier] = head
            state = items.state_before[d, head, modifier, state]
            sibling = items.sibling[d, head, modifier, state]
            if sibling == head:
                depth = _push(stack, depth, 1 - d, modifier, head + 1 if d == 1 else head - 1)
            else:
                first, second = min(sibling, modifier), max(sibling, modifier)
                depth = _push(stack, depth, 1, first, items.split[first, second])
                depth = _push(stack, depth, 0, second, items.split[first, second] + 1)
            modifier = sibling
    return items.finished[1, 0, size - 1]


@kernel
def _push(stack, depth, direction, head, end):
    """INOUT stack: add a half-constituent; return the new depth."""
    stack[depth, 0] = direction
    stack[depth, 1] = head
    stack[depth, 2] = end
    return depth + 1
