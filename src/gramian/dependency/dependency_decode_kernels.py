"""Compiled decoding: Eisner's best projective tree of scores on arcs, and Viterbi's best tree with its best states.

Items and arguments are those of the inside-outside kernels; Viterbi works with logarithms.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.kernels import kernel


@kernel
def eisner(scores, single_root, heads):
    """Fill `heads`, of shape (N + 1,), with the projective tree whose ``scores[head, modifier]`` have the largest sum.

    ``heads[0]`` is -1. With `single_root`, position 0 takes exactly one modifier.
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


@kernel
def viterbi(initial, final, operators, rows, sentence, weights, single_root, heads):
    """Fill `heads` with the best tree with its best states; return the logarithm of their weight.

    Arguments as for `posterior`, `heads` as for `eisner`; without any tree, all words hang on the root.
    """
    size = sentence.shape[0]
    n = initial.shape[1]
    trapezoid = np.full((2, size, size, n), -np.inf)
    ended = np.full((2, size, size), -np.inf)
    finished = np.full((2, size, size), -np.inf)
    between = np.full((size, size), -np.inf)
    before = np.zeros((2, size, size, n), np.int32)  # the modifier before, for each state between the two
    state_before = np.zeros((2, size, size, n), np.int32)
    last_state = np.zeros((2, size, size), np.int32)
    last = np.zeros((2, size, size), np.int32)  # the last modifier of a half-constituent
    split = np.zeros((size, size), np.int32)
    for j in range(size):
        for d in range(2):
            number = 2 * sentence[j] + d
            best = -np.inf
            for q in range(n):
                best = max(best, math.log(initial[number, q]) + math.log(final[number, q]))
            finished[d, j, j] = best
    for j in range(1, size):
        for i in range(j - 1, -1, -1):
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                number = 2 * sentence[head] + d
                operator = rows[number, sentence[end]]
                for p in range(n):
                    best = math.log(initial[number, p])
                    best += finished[0, j, i + 1] if d == 1 else finished[1, i, j - 1]
                    sibling = head
                    if not (i == 0 and single_root):
                        for s in range(i + 1, j):
                            value = trapezoid[d, head, s, p] + (between[s, j] if d == 1 else between[i, s])
                            if value > best:
                                best, sibling = value, s
                    before[d, head, end, p] = sibling
                    if best > -np.inf:
                        best += math.log(weights[head, end])
                        for q in range(n):
                            value = best + math.log(operators[operator, p, q])
                            if value > trapezoid[d, head, end, q]:
                                trapezoid[d, head, end, q] = value
                                state_before[d, head, end, q] = p
                for q in range(n):
                    value = trapezoid[d, head, end, q] + math.log(final[number, q])
                    if value > ended[d, head, end]:
                        ended[d, head, end] = value
                        last_state[d, head, end] = q
            for k in range(i, j):
                value = finished[1, i, k] + finished[0, j, k + 1]
                if value > between[i, j]:
                    between[i, j] = value
                    split[i, j] = k
            for d in range(2):
                if d == 0 and i == 0:
                    continue
                head, end = (i, j) if d == 1 else (j, i)
                for s in range(i + d, j + d):
                    value = ended[d, head, s] + finished[d, s, end]
                    if value > finished[d, head, end]:
                        finished[d, head, end] = value
                        last[d, head, end] = s
    heads[:] = 0
    heads[0] = -1
    if finished[1, 0, size - 1] == -np.inf:
        return -np.inf
    stack = np.empty((2 * size + 2, 3), np.int32)  # finished half-constituents: direction, head, end
    depth = _push(stack, 0, 1, 0, size - 1)
    while depth > 0:
        depth -= 1
        d, head, end = stack[depth]
        if head == end:
            continue
        modifier = last[d, head, end]
        depth = _push(stack, depth, d, modifier, end)
        state = last_state[d, head, modifier]
        while modifier != head:
            heads[modifier] = head
            state = state_before[d, head, modifier, state]
            sibling = before[d, head, modifier, state]
            if sibling == head:
                depth = _push(stack, depth, 1 - d, modifier, head + 1 if d == 1 else head - 1)
            else:
                first, second = min(sibling, modifier), max(sibling, modifier)
                depth = _push(stack, depth, 1, first, split[first, second])
                depth = _push(stack, depth, 0, second, split[first, second] + 1)
            modifier = sibling
    return finished[1, 0, size - 1]


@kernel
def _push(stack, depth, direction, head, end):
    stack[depth, 0] = direction
    stack[depth, 1] = head
    stack[depth, 2] = end
    return depth + 1
