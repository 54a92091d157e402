"""Latent counts to smoothed rule probabilities: the maximisation step, a rule at a time.

Sums are taken in NumPy's order (pairwise along rows, one row after the other down columns), so that grammars do not change with the
way that they are computed.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.kernels import kernel

_BLOCK = 128  # as many numbers NumPy adds up in eight columns; more it halves first


class RuleCounts(NamedTuple):
    """Counts of rules with states; `rules` has a row (parent, left, right) or (parent, tag) for each."""

    rules: Any
    start: Any
    count: Any
    n_states: Any
    state_start: Any


class SmoothingWeights(NamedTuple):
    """How strongly rules, child states and sister states are smoothed."""

    rule: float
    state: float
    sister_share: float


@kernel
def _sum(x):
    n = x.shape[0]
    if n < 8:
        total = 0.0
        for i in range(n):
            total += x[i]
        return total
    if n > _BLOCK:
        half = n // 2
        half -= half % 8
        return _sum(x[:half]) + _sum(x[half:])
    a, b, c, d = np.float64(x[0]), np.float64(x[1]), np.float64(x[2]), np.float64(x[3])
    e, f, g, h = np.float64(x[4]), np.float64(x[5]), np.float64(x[6]), np.float64(x[7])
    n_blocked = n - n % 8
    for i in range(8, n_blocked, 8):
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
        e += x[i + 4]
        f += x[i + 5]
        g += x[i + 6]
        h += x[i + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(n_blocked, n):
        total += x[i]
    return total


@kernel
def _sum_rows(table, rows, out):
    """Fill `out` with the sum of the rows of a flat table."""
    width = out.shape[0]
    if width == 1:
        out[0] = _sum(table[:rows])
        return
    out[:] = 0
    for row in range(rows):
        values = table[row * width : (row + 1) * width]
        for i in range(width):
            out[i] += values[i]


@kernel
def _shrink(count, towards, weight):
    total = _sum(count) + weight
    for i in range(count.shape[0]):
        count[i] = (count[i] + weight * towards[i]) / total


@kernel
def add_rows(target, rows, out):
    """Add each row to that row of `out` which is its place."""
    for row in range(target.shape[0]):
        for column in range(out.shape[1]):
            out[target[row], column] += rows[row, column]


@kernel
def add_state_masses(counts, mass, share_mass):
    """Add the counts of every parent state, to `mass` as NumPy sums them and to `share_mass` as its ``reduceat`` does."""
    for rule in range(counts.rules.shape[0]):
        parent = counts.rules[rule, 0]
        states, first = counts.n_states[parent], counts.state_start[parent]
        width = (counts.start[rule + 1] - counts.start[rule]) // states
        for state in range(states):
            begin = counts.start[rule] + state * width
            row = counts.count[begin : begin + width]
            mass[first + state] += _sum(row)
            share_mass[first + state] += row[0] + _sum(row[1:])


@kernel
def estimate_rules(first, last, counts, mass, shares, weights, result):
    """Fill `result` with the probabilities of rules ``first .. last - 1``, given the states' counts and shares."""
    largest, widest, most = 1, 1, 1
    for rule in range(first, last):
        size, states = counts.start[rule + 1] - counts.start[rule], counts.n_states[counts.rules[rule, 0]]
        largest, widest, most = max(largest, size), max(widest, size // states), max(most, states)
    block_room, below_room, mean_room = np.empty(largest), np.empty(widest), np.empty(widest)
    by_state_room, left_room, right_room = np.empty(most), np.empty(widest), np.empty(widest)
    k, sister_share = weights.state, weights.sister_share
    for rule in range(first, last):
        parent, child = counts.rules[rule, 0], counts.rules[rule, 1]
        begin, end, states = counts.start[rule], counts.start[rule + 1], counts.n_states[parent]
        width = (end - begin) // states
        count, out, block = counts.count[begin:end], result[begin:end], block_room[: end - begin]
        by_state, below, mean = by_state_room[:states], below_room[:width], mean_room[:width]
        for state in range(states):
            by_state[state] = _sum(count[state * width : (state + 1) * width])
        total = _sum(by_state)
        # What the children's states are, whatever the parent's: shrunk towards independence, and towards each child's own shares.
        _sum_rows(count, states, below)
        first_state = counts.state_start[child]
        if counts.rules.shape[1] == 2:
            _shrink(below, shares[first_state : first_state + width], k)
        else:
            n_left = counts.n_states[child]
            n_right = width // n_left
            left, right = left_room[:n_left], right_room[:n_right]
            for i in range(n_left):
                left[i] = _sum(below[i * n_right : (i + 1) * n_right])
            _sum_rows(below, n_left, right)
            _shrink(left, shares[first_state : first_state + n_left], k)
            first_state = counts.state_start[counts.rules[rule, 2]]
            _shrink(right, shares[first_state : first_state + n_right], k)
            for i in range(n_left):
                row, share = below[i * n_right : (i + 1) * n_right], left[i]
                for j in range(n_right):
                    row[j] = (row[j] + k * (share * right[j])) / (total + k)
        state_mass = mass[counts.state_start[parent] : counts.state_start[parent] + states]
        overall = total / max(_sum(state_mass), 1e-200)
        for state in range(states):
            of_rule = (by_state[state] + weights.rule * overall) / (state_mass[state] + weights.rule)
            factor = of_rule / (by_state[state] + k)
            seen = count[state * width : (state + 1) * width]
            target = block[state * width : (state + 1) * width]
            for i in range(width):
                target[i] = (seen[i] + k * below[i]) * factor
        _sum_rows(block, states, mean)
        for i in range(width):
            mean[i] = sister_share * (mean[i] / states)
        for state in range(states):
            mixed = block[state * width : (state + 1) * width]
            target = out[state * width : (state + 1) * width]
            for i in range(width):
                target[i] = (1 - sister_share) * mixed[i] + mean[i]
