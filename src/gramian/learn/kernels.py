"""Inside and outside vectors of observed trees, and expected rule counts: every numba kernel of the learners.

Nodes are visited in groups that share a height and a production, so that one rule tensor stays in cache while all its nodes are
served. Inside vectors are scaled to sum to one at each node; dividing outside vectors by the same scales keeps their
inner product at one, so no logarithm is taken and nothing underflows. Inner loops run over slices, since numba cannot
prove that a computed index is not negative and would otherwise not vectorise them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["BINARY", "LEAF", "UNARY", "count_groups", "inside_groups", "outside_groups"]

LEAF, UNARY, BINARY = 0, 1, 2
_ORDER_FREE = {"reassoc", "contract", "nsz"}  # sums may be reordered; zero, inf and NaN keep their meaning


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _dot(x, y):  # type: ignore[no-untyped-def]
    total = x.dtype.type(0)
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _add_scaled(factor, x, y):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        y[i] += factor * x[i]


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _outer(x, y, out):  # type: ignore[no-untyped-def]
    width = y.shape[0]
    for i in range(x.shape[0]):
        row = out[i * width : (i + 1) * width]
        factor = x[i]
        for j in range(width):
            row[j] = factor * y[j]


@njit(cache=True, nogil=True)
def _pair_room(shape):  # type: ignore[no-untyped-def]
    room = 1
    for group in range(shape.shape[0]):
        room = max(room, shape[group, 1] * shape[group, 2])
    return room


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def inside_groups(  # type: ignore[no-untyped-def]
    first, last, kind, production, start, order, left, right, offset, shape,
    lexical, lexical_start, unary, unary_start, binary, binary_start, inside, scale,
):  # fmt: skip
    """Fill `inside` and `scale` for the nodes of groups ``first .. last - 1``.

    `shape` holds (m_parent, m_left, m_right) per group, 1 where there is no child; a node's vector begins at its `offset`.
    """
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
                    for state in range(states):
                        here[state] = _dot(unary[base + state * size : base + (state + 1) * size], first_child)
                else:
                    below = offset[right[node]]
                    _outer(first_child, inside[below : below + right_states], pairs)
                    base = binary_start[rule]
                    for state in range(states):
                        here[state] = _dot(binary[base + state * size : base + (state + 1) * size], pairs)
            total = inside.dtype.type(0)
            for state in range(states):
                total += here[state]
            scale[node] = total
            if total > 0:
                for state in range(states):
                    here[state] /= total


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def outside_groups(  # type: ignore[no-untyped-def]
    first, last, kind, production, start, order, left, right, offset, shape,
    unary, unary_start, binary, binary_start, inside, scale, outside,
):  # fmt: skip
    """Fill `outside` of the children of the nodes of the given groups; the nodes' own must be there."""
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
            inverse = 1 / scale[node]
            mixed[:] = 0
            base = unary_start[rule] if kind[group] == UNARY else binary_start[rule]
            table = unary if kind[group] == UNARY else binary
            for state in range(states):
                _add_scaled(here[state] * inverse, table[base + state * size : base + (state + 1) * size], mixed)
            below = offset[left[node]]
            if kind[group] == UNARY:
                outside[below : below + left_states] = mixed
                continue
            first_out, first_in = outside[below : below + left_states], inside[below : below + left_states]
            below = offset[right[node]]
            second_out, second_in = outside[below : below + right_states], inside[below : below + right_states]
            second_out[:] = 0
            for i in range(left_states):
                row = mixed[i * right_states : (i + 1) * right_states]
                first_out[i] = _dot(row, second_in)
                _add_scaled(first_in[i], row, second_out)


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def count_groups(  # type: ignore[no-untyped-def]
    first, last, kind, production, start, order, left, right, offset, shape, weight,
    unary, unary_start, binary, binary_start, inside, scale, outside,
    lexical_count, lexical_start, unary_count, binary_count,
):  # fmt: skip
    """Add the posterior counts of the nodes of the given groups to the count arrays; `weight` is per node.

    No two groups may share a production. Partial sums are handed over every thousand nodes, so that single precision is exact enough.
    """
    pair_room = np.empty(_pair_room(shape), inside.dtype)
    largest = 1
    for group in range(first, last):
        largest = max(largest, shape[group, 0] * shape[group, 1] * shape[group, 2])
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
                    count[state] += weight[node] * inside[here + state] * outside[here + state]
            continue
        size = left_states * right_states
        base = unary_start[rule] if kind[group] == UNARY else binary_start[rule]
        table = unary if kind[group] == UNARY else binary
        target = unary_count if kind[group] == UNARY else binary_count
        table, target = table[base : base + states * size], target[base : base + states * size]
        pairs, block = pair_room[:size], block_room[: states * size]
        block[:] = 0
        for position in range(start[group], start[group + 1]):
            node = order[position]
            if scale[node] > 0:
                here = outside[offset[node] : offset[node] + states]
                inverse = weight[node] / scale[node]
                below = offset[left[node]]
                first_child = inside[below : below + left_states]
                if kind[group] == UNARY:
                    pairs[:] = first_child
                else:
                    below = offset[right[node]]
                    _outer(first_child, inside[below : below + right_states], pairs)
                for state in range(states):
                    _add_scaled(here[state] * inverse, pairs, block[state * size : (state + 1) * size])
            if (position - start[group]) % 1024 == 1023 or position == start[group + 1] - 1:
                for cell in range(states * size):
                    target[cell] += block[cell] * table[cell]
                    block[cell] = 0
