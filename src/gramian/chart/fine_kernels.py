"""The fine pass: state vectors over the pruned forest. Every numba kernel that knows rule tensors.

State vectors are stored as ratios to the coarse values of their items: single precision suffices, and a scale per item takes up what
little drift remains.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["fine_forest", "fine_inside", "fine_outside"]

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
def fine_inside(  # type: ignore[no-untyped-def]
    edge_first, edge_left, edge_right, edge_rule, edge_share, item_symbol, item_start, n_states,
    binary, binary_start, unary, unary_start, inside, scale,
):  # fmt: skip
    """Fill the state vectors of all phrases; those of tags are already in `inside`.

    Vectors are ratios to coarse values; the true ratio of an item is its vector times exp of its `scale`.
    """
    n_items = item_symbol.shape[0]
    widest = n_states.max()
    room = np.empty(widest * widest, np.float32)
    for item in range(n_items):
        first, last = edge_first[item], edge_first[item + 1]
        if first == last:
            continue
        states = n_states[item_symbol[item]]
        here = inside[item_start[item] : item_start[item] + states]
        here[:] = 0
        reference = -np.inf
        for edge in range(first, last):
            below = scale[edge_left[edge]]
            if edge_right[edge] >= 0:
                below += scale[edge_right[edge]]
            reference = max(reference, below)
        edge = first
        while edge < last:
            rule = edge_rule[edge]
            left_states = n_states[item_symbol[edge_left[edge]]]
            if edge_right[edge] < 0:
                left = edge_left[edge]
                factor = edge_share[edge]
                if scale[left] != reference:
                    factor *= np.float32(np.exp(scale[left] - reference))
                vector = inside[item_start[left] : item_start[left] + left_states]
                base = unary_start[rule]
                for state in range(states):
                    here[state] += factor * _dot(
                        unary[base + state * left_states : base + (state + 1) * left_states], vector
                    )
                edge += 1
                continue
            right_states = n_states[item_symbol[edge_right[edge]]]
            size = left_states * right_states
            pairs = room[:size]
            pairs[:] = 0
            while (
                edge < last and edge_rule[edge] == rule and edge_right[edge] >= 0
            ):  # one tensor for all split points
                left, right = edge_left[edge], edge_right[edge]
                factor = edge_share[edge]
                below = scale[left] + scale[right]
                if below != reference:
                    factor *= np.float32(np.exp(below - reference))
                right_vector = inside[item_start[right] : item_start[right] + right_states]
                base = item_start[left]
                for i in range(left_states):
                    _add_scaled(
                        factor * inside[base + i],
                        right_vector,
                        pairs[i * right_states : (i + 1) * right_states],
                    )
                edge += 1
            base = binary_start[rule]
            for state in range(states):
                here[state] += _dot(binary[base + state * size : base + (state + 1) * size], pairs)
        largest = np.float32(0)
        for state in range(states):
            largest = max(largest, abs(here[state]))
        scale[item] = reference
        if largest > 1e6 or (largest < 1e-6 and largest > 0):
            scale[item] += np.log(largest)
            for state in range(states):
                here[state] /= largest


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def fine_outside(  # type: ignore[no-untyped-def]
    edge_first, edge_left, edge_right, edge_rule, edge_posterior, item_posterior, item_symbol, item_start, n_states,
    binary, binary_start, unary, unary_start, inside, scale, outside,
):  # fmt: skip
    """Fill outside vectors top-down and turn the coarse posterior of every edge into the fine one.

    Roots' vectors are already in `outside`. An outside vector is scaled so that its product with the inside vector is the ratio of
    fine to coarse posterior of the item.
    """
    n_items = item_symbol.shape[0]
    widest = n_states.max()
    room = np.empty(widest * widest, np.float32)
    for item in range(n_items - 1, -1, -1):
        first, last = edge_first[item], edge_first[item + 1]
        if first == last:
            continue
        states = n_states[item_symbol[item]]
        here = outside[item_start[item] : item_start[item] + states]
        edge = first
        while edge < last:
            rule = edge_rule[edge]
            left_states = n_states[item_symbol[edge_left[edge]]]
            is_unary = edge_right[edge] < 0
            right_states = 1 if is_unary else n_states[item_symbol[edge_right[edge]]]
            size = left_states * right_states
            mixed = room[:size]
            mixed[:] = 0
            base = unary_start[rule] if is_unary else binary_start[rule]
            table = unary if is_unary else binary
            for state in range(states):
                _add_scaled(here[state], table[base + state * size : base + (state + 1) * size], mixed)
            while edge < last and edge_rule[edge] == rule and (edge_right[edge] < 0) == is_unary:
                left, right = edge_left[edge], edge_right[edge]
                below = scale[left]
                if not is_unary:
                    below += scale[right]
                drift = np.float32(1)
                if below != scale[item]:
                    drift = np.float32(np.exp(below - scale[item]))
                left_in = inside[item_start[left] : item_start[left] + left_states]
                left_out = outside[item_start[left] : item_start[left] + left_states]
                factor = drift * edge_posterior[edge] / item_posterior[left]
                total = np.float32(0)
                if is_unary:
                    _add_scaled(factor, mixed, left_out)
                    total = _dot(mixed, left_in)
                else:
                    right_in = inside[item_start[right] : item_start[right] + right_states]
                    right_out = outside[item_start[right] : item_start[right] + right_states]
                    right_factor = drift * edge_posterior[edge] / item_posterior[right]
                    for i in range(left_states):
                        row = mixed[i * right_states : (i + 1) * right_states]
                        value = _dot(row, right_in)
                        left_out[i] += factor * value
                        total += left_in[i] * value
                        _add_scaled(right_factor * left_in[i], row, right_out)
                edge_posterior[edge] *= drift * total
                edge += 1


@njit(cache=True, nogil=True)
def fine_forest(  # type: ignore[no-untyped-def]
    item_symbol, item_cell, item_posterior, root_share, edge_first, edge_left, edge_right, edge_rule, edge_share, edge_posterior,
    tag_start, tag_symbol, tag_states, tag_state_start, grammar,
):  # fmt: skip
    """Run the fine pass over a pruned forest.

    `item_posterior` and `edge_posterior` come in as coarse posteriors and leave as fine ones; `tag_states` holds the state scores of
    the tags of all words, beginning at `tag_state_start`.

    Returns
    -------
    log_ratio float64: log of fine over coarse probability, -inf if the grammar gives the sentence none;
    item_start int64, inside, outside float32; root_posterior float32.
    """
    g = grammar
    n_phrases = g.n_symbols - g.before.shape[0] + 1
    n_items = item_symbol.shape[0]
    item_start = np.zeros(n_items + 1, np.int64)
    for item in range(n_items):
        item_start[item + 1] = item_start[item] + g.n_states[item_symbol[item]]
    inside = np.zeros(item_start[n_items], np.float32)
    outside = np.zeros(item_start[n_items], np.float32)
    scale = np.zeros(n_items, np.float64)
    for item in range(n_items):
        if item_symbol[item] >= n_phrases:
            for tag in range(tag_start[item_cell[item]], tag_start[item_cell[item] + 1]):
                if tag_symbol[tag] == item_symbol[item]:
                    first = tag_state_start[tag]
                    last = first + g.n_states[item_symbol[item]]
                    inside[item_start[item] : item_start[item + 1]] = tag_states[first:last]
    fine_inside(
        edge_first, edge_left, edge_right, edge_rule, edge_share, item_symbol, item_start, g.n_states,
        g.binary, g.binary_start, g.unary, g.unary_start, inside, scale,
    )  # fmt: skip
    total, reference = 0.0, -np.inf
    for item in range(n_items):
        if root_share[item] > 0:
            reference = max(reference, scale[item])
    for item in range(n_items):
        if root_share[item] > 0:
            ratio = g.root_ratio[g.root_start[item_symbol[item]] : g.root_start[item_symbol[item] + 1]]
            share = root_share[item] * np.exp(scale[item] - reference)
            total += share * _dot(ratio, inside[item_start[item] : item_start[item + 1]])
    root_posterior = np.zeros(n_items, np.float32)
    if not abs(total) > 0:
        return -np.inf, item_start, inside, outside, root_posterior
    for item in range(n_items):
        if root_share[item] > 0:
            # Outside vectors are relative to the item's whole coarse posterior, of which being the root may be only a part.
            factor = root_share[item] / item_posterior[item] * np.exp(scale[item] - reference) / total
            ratio = g.root_ratio[g.root_start[item_symbol[item]] : g.root_start[item_symbol[item] + 1]]
            here = outside[item_start[item] : item_start[item + 1]]
            for state in range(here.shape[0]):
                here[state] = ratio[state] * factor
            root_posterior[item] = item_posterior[item] * _dot(
                here, inside[item_start[item] : item_start[item + 1]]
            )
    fine_outside(
        edge_first, edge_left, edge_right, edge_rule, edge_posterior, item_posterior, item_symbol, item_start, g.n_states,
        g.binary, g.binary_start, g.unary, g.unary_start, inside, scale, outside,
    )  # fmt: skip
    for item in range(n_items):
        first, last = item_start[item], item_start[item + 1]
        item_posterior[item] *= _dot(inside[first:last], outside[first:last])
    return np.log(abs(total)) + reference, item_start, inside, outside, root_posterior
