"""Numba kernels over the binary trees of one sentence: the probability of each span, and the tree worth most.

Spans are numbered by width, then start. Values are float64: sums of a few hundred scores lose nothing worth speaking of.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import kernel


@kernel
def span_marginals(scores, n):
    """Return the logarithm of the sum over binary trees, and the probability of each span, shape (n_cells,)."""
    inside = np.empty((n + 1, n + 1))  # by start and end
    outside = np.zeros((n + 1, n + 1))  # first the sums of splits, then probabilities
    cell = 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            total = 0.0
            if width > 1:
                highest = -np.inf
                for middle in range(start + 1, end):
                    highest = max(highest, inside[start, middle] + inside[middle, end])
                for middle in range(start + 1, end):
                    total += np.exp(inside[start, middle] + inside[middle, end] - highest)
                total = highest + np.log(total)
            inside[start, end] = total + scores[cell]
            outside[end, start] = total  # the half below the diagonal keeps the sums of splits
            cell += 1
    probability = np.empty(scores.shape[0])
    outside[0, n] = 1.0
    for width in range(n, 0, -1):
        cell -= n - width + 1
        for start in range(n - width + 1):
            end = start + width
            posterior = outside[start, end]
            probability[cell + start] = posterior
            if posterior > 1e-12:
                for middle in range(start + 1, end):
                    share = posterior * np.exp(
                        inside[start, middle] + inside[middle, end] - outside[end, start]
                    )
                    outside[start, middle] += share
                    outside[middle, end] += share
    return inside[0, n], probability


@kernel
def best_spans(worth, n):
    """Return the cells of the binary tree whose spans are worth most, shape (2 * n - 1,), parents before children."""
    best = np.empty((n + 1, n + 1))
    choice = np.zeros((n + 1, n + 1), np.int32)
    cell = 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            highest = 0.0
            if width > 1:
                highest = -np.inf
                for middle in range(start + 1, end):
                    value = best[start, middle] + best[middle, end]
                    if value > highest:
                        highest = value
                        choice[start, end] = middle
            best[start, end] = highest + worth[cell]
            cell += 1
    cells = np.empty(2 * n - 1, np.int32)
    stack = np.empty((n + 1, 2), np.int32)
    stack[0, 0], stack[0, 1] = 0, n
    stack_size, n_found = 1, 0
    while stack_size > 0:
        stack_size -= 1
        start, end = stack[stack_size]
        width = end - start
        cells[n_found] = (width - 1) * (2 * n - width + 2) // 2 + start
        n_found += 1
        if width > 1:
            middle = choice[start, end]
            stack[stack_size, 0], stack[stack_size, 1] = middle, end
            stack[stack_size + 1, 0], stack[stack_size + 1, 1] = start, middle
            stack_size += 2
    return cells
