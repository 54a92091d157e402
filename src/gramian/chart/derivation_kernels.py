"""Numba kernels over derivations, that is trees with states: the best one, random ones, a tree's probability.

The arrays are those of a :class:`gramian.chart.inference.Forest`; `grammar` is its
:class:`gramian.chart.inference.GrammarArrays`; `weights` come from :func:`edge_weights`. Where a model has
negative weights, absolute values stand for them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["best_states", "edge_weights", "sampled_root", "tree_log_posterior", "unfold"]

_ORDER_FREE = {"reassoc", "contract", "nsz"}  # sums may be reordered; zero, inf and NaN keep their meaning


@njit(cache=True, nogil=True)
def _log(value):
    """Logarithm of the absolute value; -inf for zero and NaN."""
    size = abs(np.float64(value))
    return np.log(size) if size > 0 else -np.inf


@njit(cache=True, nogil=True)
def _block(edge, states, size, edge_right, edge_rule, grammar):
    """Return the rule's tensor of an edge, flat: parent's state, left child's state, right child's state."""
    rule = edge_rule[edge]
    if edge_right[edge] >= 0:
        return grammar.binary[grammar.binary_start[rule] : grammar.binary_start[rule] + states * size]
    return grammar.unary[grammar.unary_start[rule] : grammar.unary_start[rule] + states * size]


@njit(cache=True, nogil=True)
def _children(edge, edge_left, edge_right, item_start, values, one):
    """Return the state values of both children; a tag alone has `one` beside it."""
    left, right = edge_left[edge], edge_right[edge]
    left_values = values[item_start[left] : item_start[left + 1]]
    return left_values, values[item_start[right] : item_start[right + 1]] if right >= 0 else one


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def edge_weights(
    item_posterior, item_start, inside, outside, edge_first, edge_left, edge_right, edge_rule, edge_posterior,
    grammar,
):  # fmt: skip
    """Return the weight w of every edge: inside(parent) = sum over edges of w T(inside(left), inside(right)).

    T is the rule's tensor. The weights follow from the posteriors: an item's is inside . outside up to a
    factor of the item, an edge's is w outside . T(inside(left), inside(right)) with the same factor.
    """
    weights = np.zeros(edge_left.shape[0], np.float64)
    one = np.ones(1, np.float32)
    room = np.empty(grammar.n_states.max() ** 2, np.float64)
    for item in range(item_posterior.shape[0]):
        first, last = item_start[item], item_start[item + 1]
        factor = 0.0
        for state in range(first, last):
            factor += np.float64(inside[state]) * outside[state]
        if not (factor != 0 and item_posterior[item] != 0):
            continue
        factor /= item_posterior[item]
        ready = -1
        for edge in range(edge_first[item], edge_first[item + 1]):
            left, right = _children(edge, edge_left, edge_right, item_start, inside, one)
            size = left.shape[0] * right.shape[0]
            mixed = room[:size]
            if edge_rule[edge] != ready or edge_right[edge] < 0:
                mixed[:] = 0
                block = _block(edge, last - first, size, edge_right, edge_rule, grammar)
                for state in range(last - first):
                    above = np.float64(outside[first + state])
                    for place in range(size):
                        mixed[place] += above * block[state * size + place]
                ready = edge_rule[edge]
            through = 0.0
            for i in range(left.shape[0]):
                row = 0.0
                for j in range(right.shape[0]):
                    row += mixed[i * right.shape[0] + j] * right[j]
                through += row * left[i]
            if through != 0:
                weights[edge] = edge_posterior[edge] / through * factor
    return weights


@njit(cache=True, nogil=True)
def _root_ratio(item, item_symbol, grammar):
    return grammar.root_ratio[
        grammar.root_start[item_symbol[item]] : grammar.root_start[item_symbol[item] + 1]
    ]


@njit(cache=True, nogil=True)
def _root_weight(item, item_symbol, item_start, inside, root_posterior, grammar):
    """Return the factor that turns root ratio . inside into the posterior of being the root."""
    ratio = _root_ratio(item, item_symbol, grammar)
    whole = 0.0
    for state in range(ratio.shape[0]):
        whole += np.float64(ratio[state]) * inside[item_start[item] + state]
    return root_posterior[item] / whole if whole != 0 else 0.0


@njit(cache=True, nogil=True)
def _below(edge, edge_left, edge_right, scale):
    return scale[edge_left[edge]] + (scale[edge_right[edge]] if edge_right[edge] >= 0 else 0.0)


@njit(cache=True, nogil=True)
def _highest(item, edge_first, edge_left, edge_right, scale, weights):
    """Return the largest scale among the usable edges of an item."""
    reference = -np.inf
    for edge in range(edge_first[item], edge_first[item + 1]):
        if weights[edge] != 0:
            reference = max(reference, _below(edge, edge_left, edge_right, scale))
    return reference


@njit(cache=True, nogil=True)
def _raise_to(factor, values, row):
    """Raise the entries of `row` to factor times values where that is more."""
    for place in range(row.shape[0]):
        value = factor * values[place]
        row[place] = value if value > row[place] else row[place]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc"})
def _largest(cells, values):
    """Return the largest product of absolute `cells` and `values`."""
    largest = 0.0
    for place in range(values.shape[0]):
        product = abs(cells[place]) * values[place]
        if product > largest:
            largest = product
    return largest


@njit(cache=True, nogil=True)
def best_states(
    n_phrases, item_symbol, item_start, inside, root_posterior, edge_first, edge_left, edge_right, edge_rule,
    weights, grammar,
):  # fmt: skip
    """Fill the weight of the best derivation below every state of every item.

    Returns
    -------
    best float64, laid out as `inside`, to be multiplied by exp of the item's scale; scale float64 (n_items,);
    root, root_state: those of the best derivation, -1 if there is none; its log-posterior.
    """
    n_items = item_symbol.shape[0]
    best = np.zeros(inside.shape[0], np.float64)
    scale = np.zeros(n_items, np.float64)
    one = np.ones(1, np.float64)
    room = np.empty(grammar.n_states.max() ** 2, np.float64)
    root, root_state, score = -1, -1, -np.inf
    for item in range(n_items):
        first, states = item_start[item], item_start[item + 1] - item_start[item]
        here = best[first : first + states]
        if item_symbol[item] >= n_phrases:
            for state in range(states):
                here[state] = abs(inside[first + state])
        reference = _highest(item, edge_first, edge_left, edge_right, scale, weights)
        edge, last = edge_first[item], edge_first[item + 1]
        while edge < last:
            left, right = _children(edge, edge_left, edge_right, item_start, best, one)
            size = left.shape[0] * right.shape[0]
            block = _block(edge, states, size, edge_right, edge_rule, grammar)
            pairs = room[:size]
            pairs[:] = 0
            rule, is_binary = edge_rule[edge], edge_right[edge] >= 0
            while edge < last and edge_rule[edge] == rule and (edge_right[edge] >= 0) == is_binary:
                if weights[edge] != 0:
                    left, right = _children(edge, edge_left, edge_right, item_start, best, one)
                    factor = abs(weights[edge]) * np.exp(
                        _below(edge, edge_left, edge_right, scale) - reference
                    )
                    for i in range(left.shape[0]):
                        row = pairs[i * right.shape[0] : (i + 1) * right.shape[0]]
                        _raise_to(factor * left[i], right, row)
                edge += 1
            for state in range(states):
                here[state] = max(here[state], _largest(block[state * size : (state + 1) * size], pairs))
        top = here.max()
        if reference > -np.inf and top > 0:
            here /= top
            scale[item] = reference + np.log(top)
        if root_posterior[item] != 0:
            weight = _root_weight(item, item_symbol, item_start, inside, root_posterior, grammar)
            ratio = _root_ratio(item, item_symbol, grammar)
            for state in range(states):
                value = _log(weight * ratio[state] * here[state]) + scale[item]
                if value > score:
                    root, root_state, score = item, state, value
    return best, scale, root, root_state, score


@njit(cache=True, nogil=True)
def sampled_root(uniform, item_symbol, item_start, inside, root_posterior, grammar):
    """Return a root and its state, drawn from their posterior by a number between 0 and 1; -1 if none."""
    last, last_state = -1, -1
    threshold = uniform * np.abs(root_posterior).sum()
    for item in range(item_symbol.shape[0]):
        if root_posterior[item] == 0:
            continue
        weight = _root_weight(item, item_symbol, item_start, inside, root_posterior, grammar)
        ratio = _root_ratio(item, item_symbol, grammar)
        for state in range(ratio.shape[0]):
            part = abs(weight * ratio[state] * inside[item_start[item] + state])
            if part > 0:
                last, last_state = item, state
                threshold -= part
                if threshold < 0:
                    return last, last_state
    return last, last_state


@njit(cache=True, nogil=True)
def unfold(
    n_words, root, root_state, values, scale, uniforms, item_start, edge_first, edge_left, edge_right,
    edge_rule, weights, grammar,
):  # fmt: skip
    """Expand a root and its state top-down into a tree with states.

    The edge and the states of the children are the best ones by `values` (times exp of `scale`) if `uniforms`
    is empty, else drawn in proportion, by one number between 0 and 1 a node.

    Returns
    -------
    items, edges, states int32: parents first, left before right.
    """
    items = np.empty(3 * n_words, np.int32)
    edges = np.empty(3 * n_words, np.int32)
    states = np.empty(3 * n_words, np.int32)
    waiting_item = np.empty(3 * n_words, np.int32)
    waiting_state = np.empty(3 * n_words, np.int32)
    one = np.ones(1, values.dtype)
    waiting_item[0], waiting_state[0] = root, root_state
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        item, state = waiting_item[waiting], waiting_state[waiting]
        reference = _highest(item, edge_first, edge_left, edge_right, scale, weights)
        threshold, total, largest = 0.0, 0.0, 0.0
        chosen, left_state, right_state = -1, 0, 0
        for turn in range(2 if uniforms.shape[0] else 1):  # the first turn of drawing finds the total
            if turn == 1:
                threshold = total * uniforms[count]
                chosen = -1
                total = 0.0
            for edge in range(edge_first[item], edge_first[item + 1]):
                if weights[edge] == 0 or (turn == 1 and chosen >= 0 and total > threshold):
                    continue
                left, right = _children(edge, edge_left, edge_right, item_start, values, one)
                size = left.shape[0] * right.shape[0]
                block = _block(
                    edge, item_start[item + 1] - item_start[item], size, edge_right, edge_rule, grammar
                )
                factor = abs(weights[edge]) * np.exp(_below(edge, edge_left, edge_right, scale) - reference)
                for i in range(left.shape[0]):
                    for j in range(right.shape[0]):
                        part = factor * abs(block[state * size + i * right.shape[0] + j] * left[i] * right[j])
                        if (part > largest) if turn == 0 else (part > 0 and total <= threshold):
                            largest = part
                            chosen, left_state, right_state = edge, i, j
                        total += part
        items[count], edges[count], states[count] = item, chosen, state
        count += 1
        if chosen >= 0:
            if edge_right[chosen] >= 0:
                waiting_item[waiting], waiting_state[waiting] = edge_right[chosen], right_state
                waiting += 1
            waiting_item[waiting], waiting_state[waiting] = edge_left[chosen], left_state
            waiting += 1
    return items[:count].copy(), edges[:count].copy(), states[:count].copy()


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def tree_log_posterior(
    items, edges, item_symbol, item_start, inside, root_posterior, edge_left, edge_right, edge_rule, weights,
    grammar,
):  # fmt: skip
    """Return the log-posterior of a tree given the sentence, summed over its states."""
    values = np.zeros(inside.shape[0], np.float64)
    one = np.ones(1, np.float64)
    scale = 0.0
    for number in range(items.shape[0] - 1, -1, -1):
        item, edge = items[number], edges[number]
        first, last = item_start[item], item_start[item + 1]
        here = values[first:last]
        if edge < 0:
            here[:] = inside[first:last]
            continue
        left, right = _children(edge, edge_left, edge_right, item_start, values, one)
        size = left.shape[0] * right.shape[0]
        block = _block(edge, last - first, size, edge_right, edge_rule, grammar)
        for state in range(last - first):
            value = 0.0
            for i in range(left.shape[0]):
                for j in range(right.shape[0]):
                    value += block[state * size + i * right.shape[0] + j] * left[i] * right[j]
            here[state] = weights[edge] * value
        top = np.abs(here).max()
        if not top > 0:
            return -np.inf
        here /= top
        scale += np.log(top)
    root = items[0]
    ratio = _root_ratio(root, item_symbol, grammar)
    value = 0.0
    for state in range(ratio.shape[0]):
        value += ratio[state] * values[item_start[root] + state]
    return _log(value * _root_weight(root, item_symbol, item_start, inside, root_posterior, grammar)) + scale
