"""Numba kernels that split the items of a forest by context; see :class:`gramian.experts.span_forests.States`."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import kernel


@kernel
def find_states(forest, label_of, is_intermediate):
    """Split items by context, and return the arrays of States."""
    n_items, n_edges, n_symbols = forest.item_symbol.shape[0], forest.edge_left.shape[0], label_of.shape[0]
    first_state = np.full(n_items, -1, np.int32)
    next_state, context = np.empty(2 * n_edges + n_items, np.int32), np.empty(2 * n_edges + n_items, np.int32)
    left_state, right_state = np.full(n_edges, -1, np.int32), np.full(n_edges, -1, np.int32)
    count = 0
    for item in range(n_items - 1, -1, -1):
        if forest.is_root[item]:
            next_state[count], context[count], first_state[item] = first_state[item], 0, count
            count += 1
        symbol = forest.item_symbol[item]
        for edge in range(forest.edge_first[item], forest.edge_first[item + 1]):
            for side in range(2):
                child = forest.edge_right[edge] if side else forest.edge_left[edge]
                if child < 0:
                    continue
                other = forest.edge_left[edge] if side else forest.edge_right[edge]
                if is_intermediate[forest.item_symbol[child]]:
                    here = 1 + n_symbols + forest.item_symbol[other]
                else:
                    here = 1 + label_of[symbol]
                state = first_state[child]
                while state >= 0 and context[state] != here:
                    state = next_state[state]
                if state < 0:
                    state = count
                    next_state[count], context[count], first_state[child] = first_state[child], here, count
                    count += 1
                if side:
                    right_state[edge] = state
                else:
                    left_state[edge] = state
    state_pair = np.zeros(count + 1, np.int32)
    for item in range(n_items):
        state = first_state[item]
        while state >= 0:
            state_pair[state + 1] = forest.edge_first[item + 1] - forest.edge_first[item]
            state = next_state[state]
    for state in range(count):
        state_pair[state + 1] += state_pair[state]
    return first_state, next_state[:count].copy(), context[:count].copy(), left_state, right_state, state_pair


@kernel
def tree_states(forest, states, items, edges):
    """Return the states of a tree's items, its root last, and its pairs, in the order of `edges`, which is that of its phrases."""
    state_of = np.full(forest.item_symbol.shape[0], -1, np.int32)
    top = items[-1]
    state = states.first_state[top]
    while states.context[state] != 0:
        state = states.next_state[state]
    state_of[top] = state
    for edge in edges:
        state_of[forest.edge_left[edge]] = states.left_state[edge]
        if states.right_state[edge] >= 0:
            state_of[forest.edge_right[edge]] = states.right_state[edge]
    tree_state, tree_pair = np.empty(items.shape[0], np.int32), np.empty(edges.shape[0], np.int32)
    place = 0
    for number in range(items.shape[0]):
        tree_state[number] = state_of[items[number]]
        first, last = forest.edge_first[items[number]], forest.edge_first[items[number] + 1]
        if place < edges.shape[0] and first <= edges[place] < last:
            tree_pair[place] = states.state_pair[tree_state[number]] + edges[place] - first
            place += 1
    return tree_state, tree_pair
