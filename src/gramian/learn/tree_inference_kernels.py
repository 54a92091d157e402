"""Inside and outside vectors of observed trees, and expected rule counts: every numba kernel of the learners.

Nodes are visited in groups that share a height and a production, so that one rule tensor stays in cache while all its nodes are
served. Inside vectors are scaled to sum to one at each node; dividing outside vectors by the same scales keeps their
inner product at one, so no logarithm is taken and nothing underflows. Inner loops run over slices, since numba cannot
prove that a computed index is not negative and would otherwise not vectorise them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.jit import kernel, order_free_kernel

LEAF, UNARY, BINARY = 0, 1, 2


class Groups(NamedTuple):
    """Nodes in groups of one kind and production: those at ``order[start[g] : start[g + 1]]``.

    `shape` holds (m_parent, m_left, m_right) per group, 1 where there is no child; a node's vector begins at its `offset`.
    """

    kind: Any
    production: Any
    start: Any
    order: Any
    left: Any
    right: Any
    offset: Any
    shape: Any


class Rules(NamedTuple):
    """Numbers of all rules with states, and where those of each begin."""

    unary: Any
    unary_start: Any
    binary: Any
    binary_start: Any
    lexical: Any
    lexical_start: Any


@order_free_kernel
def _dot(x, y):
    total = x.dtype.type(0)
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@order_free_kernel
def _add_scaled(factor, x, y):
    for i in range(x.shape[0]):
        y[i] += factor * x[i]


@order_free_kernel
def _rows_times(table, rows, x, out):
    """Set ``out = table @ x`` for a flat `table`, four rows at a time so that `x` is loaded once for all four."""
    width = x.shape[0]
    row = 0
    while row + 4 <= rows:
        base = row * width
        t0, t1 = table[base : base + width], table[base + width : base + 2 * width]
        t2, t3 = table[base + 2 * width : base + 3 * width], table[base + 3 * width : base + 4 * width]
        s0 = s1 = s2 = s3 = x.dtype.type(0)
        for i in range(width):
            value = x[i]
            s0 += t0[i] * value
            s1 += t1[i] * value
            s2 += t2[i] * value
            s3 += t3[i] * value
        out[row], out[row + 1], out[row + 2], out[row + 3] = s0, s1, s2, s3
        row += 4
    while row < rows:
        out[row] = _dot(table[row * width : (row + 1) * width], x)
        row += 1


@order_free_kernel
def _times_rows(weights, factor, table, out):
    """Set ``out = factor * weights @ table`` for a flat `table`, four rows at a time."""
    width = out.shape[0]
    rows = weights.shape[0]
    out[:] = 0
    row = 0
    while row + 4 <= rows:
        base = row * width
        t0, t1 = table[base : base + width], table[base + width : base + 2 * width]
        t2, t3 = table[base + 2 * width : base + 3 * width], table[base + 3 * width : base + 4 * width]
        w0, w1 = weights[row] * factor, weights[row + 1] * factor
        w2, w3 = weights[row + 2] * factor, weights[row + 3] * factor
        for i in range(width):
            out[i] += w0 * t0[i] + w1 * t1[i] + w2 * t2[i] + w3 * t3[i]
        row += 4
    while row < rows:
        _add_scaled(weights[row] * factor, table[row * width : (row + 1) * width], out)
        row += 1


@order_free_kernel
def _add_outer(rows, width, n_vectors, weights, vectors, out):
    """Add ``sum_v outer(weights_v, vectors_v)`` to a flat `out`, for up to four vectors at once."""
    if n_vectors == 4:
        v0, v1, v2, v3 = vectors[0, :width], vectors[1, :width], vectors[2, :width], vectors[3, :width]
        for row in range(rows):
            w0, w1, w2, w3 = weights[0, row], weights[1, row], weights[2, row], weights[3, row]
            target = out[row * width : (row + 1) * width]
            for i in range(width):
                target[i] += w0 * v0[i] + w1 * v1[i] + w2 * v2[i] + w3 * v3[i]
    else:
        for vector in range(n_vectors):
            for row in range(rows):
                target = out[row * width : (row + 1) * width]
                _add_scaled(weights[vector, row], vectors[vector, :width], target)


@order_free_kernel
def _outer(x, y, out):
    width = y.shape[0]
    for i in range(x.shape[0]):
        row = out[i * width : (i + 1) * width]
        factor = x[i]
        for j in range(width):
            row[j] = factor * y[j]


@kernel
def _pair_room(shape):
    room = 1
    for group in range(shape.shape[0]):
        room = max(room, shape[group, 1] * shape[group, 2])
    return room


@order_free_kernel
def inside_groups(first, last, groups, rules, inside, scale):
    """Fill `inside` and `scale` for the nodes of groups ``first .. last - 1``."""
    kind, production, start, order, left, right, offset, shape = groups
    unary, unary_start, binary, binary_start, lexical, lexical_start = rules
    room = np.empty(_pair_room(shape), inside.dtype)
    for group in range(first, last):
        rule = production[group]
        states, left_states, right_states = shape[group, 0], shape[group, 1], shape[group, 2]
        size = left_states * right_states
        pairs = room[:size]
        for position in range(start[group], start[group + 1]):
            node = order[position]
            here = inside[offset[node] : offset[node] + states]
            if kind[group] == LEAF:
                here[:] = lexical[lexical_start[rule] : lexical_start[rule] + states]
            else:
                below = offset[left[node]]
                first_child = inside[below : below + left_states]
                if kind[group] == UNARY:
                    base = unary_start[rule]
                    _rows_times(unary[base : base + states * size], states, first_child, here)
                else:
                    below, base = offset[right[node]], binary_start[rule]
                    _outer(first_child, inside[below : below + right_states], pairs)
                    _rows_times(binary[base : base + states * size], states, pairs, here)
            total = inside.dtype.type(0)
            for state in range(states):
                total += here[state]
            scale[node] = total
            if total > 0:
                for state in range(states):
                    here[state] /= total


@order_free_kernel
def outside_groups(first, last, groups, rules, inside, scale, outside):
    """Fill `outside` of the children of the nodes of the given groups; the nodes' own must be there."""
    kind, production, start, order, left, right, offset, shape = groups
    unary, unary_start, binary, binary_start, _, _ = rules
    room = np.empty(_pair_room(shape), inside.dtype)
    for group in range(first, last):
        if kind[group] == LEAF:
            continue
        rule = production[group]
        states, left_states, right_states = shape[group, 0], shape[group, 1], shape[group, 2]
        size = left_states * right_states
        mixed = room[:size]
        for position in range(start[group], start[group + 1]):
            node = order[position]
            if scale[node] <= 0:
                continue
            here = outside[offset[node] : offset[node] + states]
            base = unary_start[rule] if kind[group] == UNARY else binary_start[rule]
            table = unary if kind[group] == UNARY else binary
            _times_rows(here, 1 / scale[node], table[base : base + states * size], mixed)
            below = offset[left[node]]
            if kind[group] == UNARY:
                outside[below : below + left_states] = mixed
                continue
            first_out, first_in = outside[below : below + left_states], inside[below : below + left_states]
            below = offset[right[node]]
            second_out = outside[below : below + right_states]
            second_in = inside[below : below + right_states]
            second_out[:] = 0
            for i in range(left_states):
                row = mixed[i * right_states : (i + 1) * right_states]
                first_out[i] = _dot(row, second_in)
                _add_scaled(first_in[i], row, second_out)


@order_free_kernel
def count_groups(first, last, groups, rules, inside, scale, outside, counts):
    """Add the posterior counts of the nodes of the given groups to `counts`, which are laid out like `rules`.

    No two groups may share a production. Partial sums are handed over every thousand nodes, so that single precision is exact enough.
    """
    kind, production, start, order, left, right, offset, shape = groups
    unary, unary_start, binary, binary_start, _, lexical_start = rules
    unary_count, _, binary_count, _, lexical_count, _ = counts
    pairs = np.empty((4, _pair_room(shape)), inside.dtype)
    largest, most_states = 1, 1
    for group in range(first, last):
        largest = max(largest, shape[group, 0] * shape[group, 1] * shape[group, 2])
        most_states = max(most_states, shape[group, 0])
    weights = np.empty((4, most_states), inside.dtype)
    block_room = np.empty(largest, inside.dtype)
    for group in range(first, last):
        rule = production[group]
        states, left_states, right_states = shape[group, 0], shape[group, 1], shape[group, 2]
        if kind[group] == LEAF:
            count = lexical_count[lexical_start[rule] : lexical_start[rule] + states]
            for position in range(start[group], start[group + 1]):
                node = order[position]
                here = offset[node]
                for state in range(states):
                    count[state] += inside[here + state] * outside[here + state]
            continue
        size = left_states * right_states
        base = unary_start[rule] if kind[group] == UNARY else binary_start[rule]
        table = unary if kind[group] == UNARY else binary
        target = unary_count if kind[group] == UNARY else binary_count
        table, target = table[base : base + states * size], target[base : base + states * size]
        block = block_room[: states * size]
        block[:] = 0
        waiting = 0
        for position in range(start[group], start[group + 1]):
            node = order[position]
            is_last = position == start[group + 1] - 1
            if scale[node] > 0:
                inverse = inside.dtype.type(1) / scale[node]
                for state in range(states):
                    weights[waiting, state] = outside[offset[node] + state] * inverse
                below = offset[left[node]]
                first_child = inside[below : below + left_states]
                if kind[group] == UNARY:
                    pairs[waiting, :size] = first_child
                else:
                    below = offset[right[node]]
                    _outer(first_child, inside[below : below + right_states], pairs[waiting])
                waiting += 1
            if waiting == 4 or is_last:
                _add_outer(states, size, waiting, weights, pairs, block)
                waiting = 0
            if (position - start[group]) % 1024 == 1023 or is_last:
                for cell in range(states * size):
                    target[cell] += block[cell] * table[cell]
                    block[cell] = 0
