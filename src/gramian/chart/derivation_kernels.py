"""Numba kernels over derivations, that is trees with states: the best one, random ones, a tree's probability.

Everywhere `f` is an :class:`Edges`, and `g` the :class:`gramian.chart.grammar_arrays.GrammarArrays` of the forest's chart.
Where a model has negative weights, absolute values stand for them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.kernels import inlined_kernel, kernel, order_free_kernel


class Edges(NamedTuple):
    """Those arrays of a :class:`gramian.chart.forest.Forest` that say what derivations weigh; see its fields of these names."""

    symbol: Any  # (n_items,)
    start: Any  # (n_items + 1,): where an item's states lie in `inside`
    inside: Any
    root_posterior: Any  # (n_items,)
    first: Any  # (n_items + 1,): an item's edges
    left: Any  # (n_edges,)
    right: Any
    rule: Any
    weight: Any


@kernel
def _log(value):
    """Logarithm of the absolute value; -inf for zero and NaN."""
    size = abs(np.float64(value))
    return np.log(size) if size > 0 else -np.inf


@kernel
def children(edge, f, values, one):
    """Return the state values of both children; a tag alone has `one` beside it."""
    left, right = f.left[edge], f.right[edge]
    left_values = values[f.start[left] : f.start[left + 1]]
    return left_values, values[f.start[right] : f.start[right + 1]] if right >= 0 else one


@kernel
def _below(edge, f, scale):
    return scale[f.left[edge]] + (scale[f.right[edge]] if f.right[edge] >= 0 else 0.0)


@kernel
def _rooms(g):
    """Return room for what :func:`_rows` computes on its way and what it returns."""
    widest = np.int64(g.n_states.max())
    return np.empty(widest**2, np.float32), np.empty(widest**3 if g.rank.any() else 0, np.float32)


@order_free_kernel
def _rows(edge, low, high, f, g, rooms):
    """Return the tensor of an edge's rule for some of the parent's states, flat: parent by left by right states."""
    rule, left, right = f.rule[edge], f.left[edge], f.right[edge]
    left_states = f.start[left + 1] - f.start[left]
    right_states = f.start[right + 1] - f.start[right] if right >= 0 else 1
    size = left_states * right_states
    room, row_room = rooms
    if f.right[edge] < 0:
        return g.unary[g.unary_start[rule] + low * size : g.unary_start[rule] + high * size]
    if g.rank[rule] == 0:
        return g.binary[g.binary_start[rule] + low * size : g.binary_start[rule] + high * size]
    u, v, w = g.factor_start[rule]
    states = g.n_states[g.rule_parent[rule]]
    rows = row_room[: (high - low) * size]
    rows[:] = 0
    # T(x, y, z) = sum over q of U(q, x) V(q, y) W(q, z)
    for q in range(g.rank[rule]):
        products = room[:size]
        right_factor = g.factors[w + q * right_states : w + (q + 1) * right_states]
        for i in range(left_states):
            left_factor = g.factors[v + q * left_states + i]
            cells = products[i * right_states : (i + 1) * right_states]
            for j in range(right_states):
                cells[j] = left_factor * right_factor[j]
        for state in range(low, high):
            factor = g.factors[u + q * states + state]
            cells = rows[(state - low) * size : (state - low + 1) * size]
            for cell in range(size):
                cells[cell] += factor * products[cell]
    return rows


@kernel
def root_ratio(item, f, g):
    """Return the ratio of each state of an item to the coarse probability of its symbol as the root."""
    return g.root_ratio[g.root_start[f.symbol[item]] : g.root_start[f.symbol[item] + 1]]


@kernel
def root_weight(item, f, g):
    """Return the factor that turns root ratio . inside into the posterior of being the root."""
    ratio = root_ratio(item, f, g)
    whole = 0.0
    for state in range(ratio.shape[0]):
        whole += np.float64(ratio[state]) * f.inside[f.start[item] + state]
    return f.root_posterior[item] / whole if whole != 0 else 0.0


@inlined_kernel
def _multiplied(cells, left, right):
    """Return the sum of a matrix, flat, each cell times the values of its row and column."""
    value = 0.0
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            value += cells[i * right.shape[0] + j] * left[i] * right[j]
    return value


@kernel
def sampled_root(uniform, f, g):
    """Return a root and its state, drawn from their posterior by a number between 0 and 1; -1 if none."""
    last, last_state = -1, -1
    threshold = uniform * np.abs(f.root_posterior).sum()
    for item in range(f.symbol.shape[0]):
        if f.root_posterior[item] == 0:
            continue
        weight, ratio = root_weight(item, f, g), root_ratio(item, f, g)
        for state in range(ratio.shape[0]):
            part = abs(weight * ratio[state] * f.inside[f.start[item] + state])
            if part > 0:
                last, last_state = item, state
                threshold -= part
                if threshold < 0:
                    return last, last_state
    return last, last_state


@kernel
def sampled_derivation(n_words, root, root_state, values, uniforms, f, g):
    """Expand a root and its state top-down into items, edges and states, parents first, left before right.

    An edge and the states y, z of its children are drawn with P(edge, y, z | item, x) proportional to weight T(x, y, z) inside(B, y)
    inside(C, z), where `values` are the inside vectors, by one of `uniforms`, numbers between 0 and 1, a node.
    """
    items, edges, states = np.empty((3, 3 * n_words), np.int32)
    waiting_item, waiting_state = np.empty((2, 3 * n_words), np.int32)
    one = np.ones(1, np.float64)
    rooms = _rooms(g)
    waiting_item[0], waiting_state[0] = root, root_state
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        item, state = waiting_item[waiting], waiting_state[waiting]
        total, threshold = 0.0, 0.0
        chosen, left_state, right_state = -1, 0, 0
        for turn in range(2):  # the first finds the total
            if turn == 1:
                threshold = total * uniforms[count]
                total = 0.0
            for edge in range(f.first[item], f.first[item + 1]):
                if f.weight[edge] == 0 or (turn == 1 and total > threshold):
                    continue
                left, right = children(edge, f, values, one)
                cells = _rows(edge, state, state + 1, f, g, rooms)
                factor = np.float64(abs(f.weight[edge]))
                for i in range(left.shape[0]):
                    for j in range(right.shape[0]):
                        part = factor * abs(cells[i * right.shape[0] + j] * left[i] * right[j])
                        if turn == 1 and part > 0 and total <= threshold:
                            chosen, left_state, right_state = edge, i, j
                        total += part
        items[count], edges[count], states[count] = item, chosen, state
        count += 1
        if chosen >= 0:
            if f.right[chosen] >= 0:
                waiting_item[waiting], waiting_state[waiting] = f.right[chosen], right_state
                waiting += 1
            waiting_item[waiting], waiting_state[waiting] = f.left[chosen], left_state
            waiting += 1
    return items[:count].copy(), edges[:count].copy(), states[:count].copy()


@order_free_kernel
def tree_log_posterior(items, edges, f, g):
    """Return the log-posterior of a tree given the sentence, summed over its states."""
    values = np.zeros(f.inside.shape[0], np.float64)
    one = np.ones(1, np.float64)
    rooms = _rooms(g)
    scale = 0.0
    # inside(A, x) = weight sum over y, z of T(x, y, z) inside(B, y) inside(C, z), along the edges of the tree alone
    for number in range(items.shape[0] - 1, -1, -1):
        item, edge = items[number], edges[number]
        first, last = f.start[item], f.start[item + 1]
        here = values[first:last]
        if edge < 0:
            here[:] = f.inside[first:last]
            continue
        left, right = children(edge, f, values, one)
        states, size = last - first, left.shape[0] * right.shape[0]
        rows = _rows(edge, 0, states, f, g, rooms)
        for state in range(states):
            here[state] = f.weight[edge] * _multiplied(rows[state * size : (state + 1) * size], left, right)
        top = np.abs(here).max()
        if not top > 0:
            return -np.inf
        here /= top
        scale += np.log(top)
    ratio = root_ratio(items[0], f, g)
    value = 0.0
    for state in range(ratio.shape[0]):
        value += ratio[state] * values[f.start[items[0]] + state]
    return _log(value * root_weight(items[0], f, g)) + scale


@kernel
def kept_log_posterior(kept, can_be_root, n_phrases, f, g):
    """Return the log-posterior given the sentence of all trees made of the edges that are `kept`, summed over states."""
    values = np.zeros(f.inside.shape[0], np.float64)
    scale = np.full(f.symbol.shape[0], -np.inf)
    one = np.ones(1, np.float64)
    rooms = _rooms(g)
    total = -np.inf
    # The same, summed over all edges of an item that are kept.
    for item in range(f.symbol.shape[0]):
        first, states = f.start[item], f.start[item + 1] - f.start[item]
        here = values[first : first + states]
        if f.symbol[item] >= n_phrases:
            here[:] = f.inside[first : first + states]
            scale[item] = 0.0
        reference = -np.inf
        for edge in range(f.first[item], f.first[item + 1]):
            if kept[edge]:
                reference = max(reference, _below(edge, f, scale))
        for edge in range(f.first[item], f.first[item + 1]):
            if not kept[edge] or reference == -np.inf:
                continue
            left, right = children(edge, f, values, one)
            size = left.shape[0] * right.shape[0]
            rows = _rows(edge, 0, states, f, g, rooms)
            factor = f.weight[edge] * np.exp(_below(edge, f, scale) - reference)
            for state in range(states):
                here[state] += factor * _multiplied(rows[state * size : (state + 1) * size], left, right)
        top = np.abs(here).max()
        if reference > -np.inf and top > 0:
            here /= top
            scale[item] = reference + np.log(top)
        if can_be_root[item] and f.root_posterior[item] != 0 and scale[item] > -np.inf:
            ratio = root_ratio(item, f, g)
            value = 0.0
            for state in range(states):
                value += ratio[state] * here[state]
            total = np.logaddexp(total, _log(value * root_weight(item, f, g)) + scale[item])
    return total
