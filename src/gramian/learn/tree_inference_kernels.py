"""Inside and outside vectors of observed trees, and expected rule counts: every numba kernel of the learners.

Nodes are visited in groups that share a height and a production, some of them at a time: their vectors are the rows of a matrix, and one
matrix product with the rule's tensor serves all of them. Inside vectors are scaled to sum to one at each node; dividing outside vectors
by the same scales keeps their inner product at one, so no logarithm is taken and nothing underflows. Inner loops run over slices, since
numba cannot prove that a computed index is not negative and would otherwise not vectorise them.

Leaves of one word and tag have one inside vector. Where a rule often stands over such a leaf, its tensor is multiplied by that vector
once, and the nodes are as if they had their other child alone: the leaf is absorbed. What they count is a matrix, which then makes the
counts of the rule and of the word, both linear in it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.kernels import kernel, order_free_kernel

LEAF, UNARY, ABSORBED, BINARY = 0, 1, 2, 3
_CHUNK = 16  # nodes whose vectors are rows of one matrix


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
    """Numbers of all rules with states, and where those of each begin; where a leaf is absorbed, with the other child's states alone."""

    unary: Any
    unary_start: Any
    binary: Any
    binary_start: Any
    lexical: Any
    lexical_start: Any
    absorbed: Any
    absorbed_start: Any


class Leaves(NamedTuple):
    """Leaves that rules absorb: rule r those at ``first[r] : first[r + 1]``, each with its vector, and room for its outside vectors."""

    first: Any
    is_left: Any
    start: Any
    inside: Any
    outside: Any


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
def _outer(x, y, out):
    width = y.shape[0]
    for i in range(x.shape[0]):
        row = out[i * width : (i + 1) * width]
        factor = x[i]
        for j in range(width):
            row[j] = factor * y[j]


@kernel
def _rooms(first, last, shape, dtype):
    """Return room for a chunk of nodes of any group: of pairs of child states, of parent states, and of a rule's tensor."""
    pairs, states, cells = 1, 1, 1
    for group in range(first, last):
        size = shape[group, 1] * shape[group, 2]
        pairs, states = max(pairs, size), max(states, shape[group, 0])
        cells = max(cells, shape[group, 0] * size)
    return np.empty(_CHUNK * pairs, dtype), np.empty(_CHUNK * states, dtype), cells


@order_free_kernel
def _fill_pairs(nodes, left, right, offset, shape, inside, pairs):
    """Set the row of each node to the outer product of its children's inside vectors; of a single child, to that one's."""
    left_states, right_states = shape[1], shape[2]
    for row in range(nodes.shape[0]):
        node = nodes[row]
        below = offset[left[node]]
        first_child = inside[below : below + left_states]
        if right[node] < 0:
            pairs[row, :] = first_child
        else:
            below = offset[right[node]]
            _outer(first_child, inside[below : below + right_states], pairs[row])


@order_free_kernel
def _fill_weights(nodes, offset, scale, outside, weights):
    """Set the row of each node to its outside vector over its scale; to zeros where it has no mass."""
    states = weights.shape[1]
    for row in range(nodes.shape[0]):
        node = nodes[row]
        inverse = 1 / scale[node] if scale[node] > 0 else scale.dtype.type(0)
        vector = outside[offset[node] : offset[node] + states]
        for state in range(states):
            weights[row, state] = vector[state] * inverse


@kernel
def _tables(kind, rules):
    """Return the numbers of all rules of a kind, and where those of each begin."""
    if kind == UNARY:
        return rules.unary, rules.unary_start
    if kind == ABSORBED:
        return rules.absorbed, rules.absorbed_start
    return rules.binary, rules.binary_start


@kernel
def measure_heights(left, right, height):
    """Fill `height`: 0 of leaves; children stand before their parents."""
    for node in range(left.shape[0]):
        tallest = -1
        if left[node] >= 0:
            tallest = height[left[node]]
        if right[node] >= 0:
            tallest = max(tallest, height[right[node]])
        height[node] = tallest + 1


@order_free_kernel
def absorb_leaves(shape, leaves, rules):
    """Fill ``rules.absorbed``: the tensor of each rule, whose states `shape` holds, times the vector of each leaf that it absorbs."""
    for rule in range(shape.shape[0]):
        states, left_states, right_states = shape[rule]
        base = rules.binary_start[rule]
        table = rules.binary[base : rules.binary_start[rule + 1]]
        for leaf in range(leaves.first[rule], leaves.first[rule + 1]):
            vector = leaves.inside[leaves.start[leaf] : leaves.start[leaf + 1]]
            matrix = rules.absorbed[rules.absorbed_start[leaf] : rules.absorbed_start[leaf + 1]]
            if leaves.is_left[leaf]:
                matrix[:] = 0
            for row in range(states * left_states):
                cells = table[row * right_states : (row + 1) * right_states]
                if leaves.is_left[leaf]:
                    parent = row // left_states
                    target = matrix[parent * right_states : (parent + 1) * right_states]
                    _add_scaled(vector[row % left_states], cells, target)
                else:
                    matrix[row] = _dot(cells, vector)


@order_free_kernel
def _count_absorbed(rule, shape, leaves, rules, block, total):
    """Add to `total` what nodes of a rule count that absorbed a leaf, and fill the outside vectors of these leaves."""
    states, left_states, right_states = shape
    base = rules.binary_start[rule]
    table = rules.binary[base : rules.binary_start[rule + 1]]
    first, last = leaves.first[rule], leaves.first[rule + 1]
    middle = first  # leaves at the right come first
    while middle < last and not leaves.is_left[middle]:
        middle += 1
    if first < middle:
        size, cells = middle - first, slice(leaves.start[first], leaves.start[middle])
        matrices = rules.absorbed[rules.absorbed_start[first] : rules.absorbed_start[middle]].reshape(
            size, -1
        )
        outside = leaves.outside[cells].reshape(size, right_states)
        np.dot(matrices, table.reshape(-1, right_states), outside)
        inside = leaves.inside[cells].reshape(size, right_states)
        np.dot(matrices.T, inside, block.reshape(-1, right_states))
        for cell in range(total.shape[0]):
            total[cell] += block[cell]
    if middle < last:
        size, cells = last - middle, slice(leaves.start[middle], leaves.start[last])
        matrices = rules.absorbed[rules.absorbed_start[middle] : rules.absorbed_start[last]]
        outside = leaves.outside[cells].reshape(size, left_states)
        inside = leaves.inside[cells].reshape(size, left_states)
        weights = np.empty((size, right_states), total.dtype)
        mixed = np.empty((size, left_states), total.dtype)
        outside[:] = 0
        for parent in range(states):
            for leaf in range(size):
                begin = (leaf * states + parent) * right_states
                weights[leaf] = matrices[begin : begin + right_states]
            width = left_states * right_states
            rows = slice(parent * width, (parent + 1) * width)
            np.dot(weights, table[rows].reshape(left_states, right_states).T, mixed)
            outside += mixed
            np.dot(inside.T, weights, block[:width].reshape(left_states, right_states))
            part = total[rows]
            for cell in range(width):
                part[cell] += block[cell]


@order_free_kernel
def inside_groups(first, last, groups, rules, inside, scale):
    """Fill `inside` and `scale` for the nodes of groups ``first .. last - 1``."""
    kind, production, start, order, left, right, offset, shape = groups
    pair_room, state_room, _ = _rooms(first, last, shape, inside.dtype)
    for group in range(first, last):
        rule, states, size = production[group], shape[group, 0], shape[group, 1] * shape[group, 2]
        for begin in range(start[group], start[group + 1], _CHUNK):
            nodes = order[begin : min(begin + _CHUNK, start[group + 1])]
            count = nodes.shape[0]
            values = state_room[: count * states].reshape(count, states)
            if kind[group] == LEAF:
                base = rules.lexical_start[rule]
                values[:] = rules.lexical[base : base + states]
            else:
                table, table_start = _tables(kind[group], rules)
                base = table_start[rule]
                pairs = pair_room[: count * size].reshape(count, size)
                _fill_pairs(nodes, left, right, offset, shape[group], inside, pairs)
                np.dot(pairs, table[base : base + states * size].reshape(states, size).T, values)
            for row in range(count):
                node = nodes[row]
                vector = inside[offset[node] : offset[node] + states]
                total = inside.dtype.type(0)
                for state in range(states):
                    total += values[row, state]
                scale[node] = total
                inverse = 1 / total if total > 0 else inside.dtype.type(1)
                for state in range(states):
                    vector[state] = values[row, state] * inverse


@order_free_kernel
def outside_groups(first, last, groups, rules, inside, scale, outside):
    """Fill `outside` of the children of the nodes of the given groups; the nodes' own must be there."""
    kind, production, start, order, left, right, offset, shape = groups
    pair_room, state_room, _ = _rooms(first, last, shape, inside.dtype)
    for group in range(first, last):
        if kind[group] == LEAF:
            continue
        states, left_states, right_states = shape[group, 0], shape[group, 1], shape[group, 2]
        size = left_states * right_states
        table, table_start = _tables(kind[group], rules)
        base = table_start[production[group]]
        for begin in range(start[group], start[group + 1], _CHUNK):
            nodes = order[begin : min(begin + _CHUNK, start[group + 1])]
            count = nodes.shape[0]
            weights = state_room[: count * states].reshape(count, states)
            mixed = pair_room[: count * size].reshape(count, size)
            _fill_weights(nodes, offset, scale, outside, weights)
            np.dot(weights, table[base : base + states * size].reshape(states, size), mixed)
            for index in range(count):
                node = nodes[index]
                below = offset[left[node]]
                if kind[group] < BINARY:
                    outside[below : below + left_states] = mixed[index]
                    continue
                first_out, first_in = (
                    outside[below : below + left_states],
                    inside[below : below + left_states],
                )
                below = offset[right[node]]
                second_out = outside[below : below + right_states]
                second_in = inside[below : below + right_states]
                second_out[:] = 0
                for i in range(left_states):
                    row = mixed[index, i * right_states : (i + 1) * right_states]
                    first_out[i] = _dot(row, second_in)
                    _add_scaled(first_in[i], row, second_out)


@order_free_kernel
def count_groups(first, last, groups, leaves, rules, inside, scale, outside, counts):
    """Set `counts`, which are laid out like `rules` or are these, to the posterior counts of the nodes of the given groups.

    No two groups may share a production, and those of words are zeros before. Where a leaf was absorbed, the weights of states are
    summed, in the place of its matrix, and groups of binary rules, which come later, add what follows from them. Sums are those of
    chunks, so that single precision is exact enough.
    """
    kind, production, start, order, left, right, offset, shape = groups
    pair_room, state_room, cells = _rooms(first, last, shape, inside.dtype)
    block_room, sum_room = np.empty(cells, inside.dtype), np.empty(cells, inside.dtype)
    for group in range(first, last):
        rule, states, size = production[group], shape[group, 0], shape[group, 1] * shape[group, 2]
        if kind[group] == LEAF:
            base = counts.lexical_start[rule]
            total = counts.lexical[base : base + states]
            for position in range(start[group], start[group + 1]):
                first_cell = offset[order[position]]
                for state in range(states):
                    total[state] += inside[first_cell + state] * outside[first_cell + state]
            continue
        table, table_start = _tables(kind[group], rules)
        target, _ = _tables(kind[group], counts)
        base = table_start[rule]
        table, target = table[base : base + states * size], target[base : base + states * size]
        block, total = block_room[: states * size], sum_room[: states * size]
        total[:] = 0
        for begin in range(start[group], start[group + 1], _CHUNK):
            nodes = order[begin : min(begin + _CHUNK, start[group + 1])]
            count = nodes.shape[0]
            weights = state_room[: count * states].reshape(count, states)
            pairs = pair_room[: count * size].reshape(count, size)
            _fill_weights(nodes, offset, scale, outside, weights)
            _fill_pairs(nodes, left, right, offset, shape[group], inside, pairs)
            np.dot(weights.T, pairs, block.reshape(states, size))
            for cell in range(states * size):
                total[cell] += block[cell]
        if kind[group] == ABSORBED:
            table[:] = total
            continue
        if kind[group] == BINARY:
            _count_absorbed(rule, shape[group], leaves, rules, block, total)
        for cell in range(states * size):
            target[cell] = total[cell] * table[cell]
