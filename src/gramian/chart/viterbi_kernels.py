"""The most probable derivation, by numba kernels that add and compare whole numbers.

Logarithms to the base 2 are kept as integers, in steps of ``1 / UNIT``: about as exact as single precision. Sums of such numbers are exact,
so that the way back down finds the very sums that it looks for; and the largest of integers is found several at a time. Everything is
at least ``NEVER``, which stands for zero: four of them still fit.

Everywhere `f` is a :class:`gramian.chart.derivation_kernels.Edges` whose rules are numbered as in `g`, a :class:`LogRules`.
Where a model has negative weights, absolute values stand for them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.chart.derivation_kernels import children, root_ratio, root_weight
from gramian.kernels import kernel

UNIT = 1 << 21
NEVER = -(1 << 28)


class LogRules(NamedTuple):
    """Logarithms of all rules, int32: of those that are a single product its factors, of all others whole tensors."""

    binary: Any  # tensors of rules, one after the other
    binary_start: Any  # (n_rules,): where a rule's begins
    is_product: Any  # (n_rules,)
    factors: Any
    factor_start: Any  # (n_rules, 3): where those of parent, left and right child begin
    unary: Any
    unary_start: Any  # (n_unary_rules,)


@kernel
def logs(values):
    """Return the logarithms of absolute values."""
    result = np.empty(values.shape[0], np.int32)
    for i in range(values.shape[0]):
        result[i] = _log(values[i])
    return result


@kernel
def _log(value):
    size = abs(np.float64(value))
    return np.int32(max(np.rint(np.log2(size) * UNIT), NEVER)) if size > 0 else np.int32(NEVER)


@kernel
def _largest_sum(x, y):
    largest = np.int32(4 * NEVER)
    for i in range(x.shape[0]):
        largest = max(largest, np.int32(x[i] + y[i]))
    return largest


@kernel
def _total(edge, f, scale):
    """Return what the best of an edge's children weigh, with the edge's own weight."""
    right = f.right[edge]
    return scale[f.left[edge]] + (scale[right] if right >= 0 else 0) + np.int64(_log(f.weight[edge]))


@kernel
def _reference(item, f, scale):
    """Return the largest total among the edges of an item that have a weight."""
    reference = np.int64(-1) << 60
    for edge in range(f.first[item], f.first[item + 1]):
        if f.weight[edge] != 0:
            reference = max(reference, _total(edge, f, scale))
    return reference


@kernel
def _product_sides(edge, left, right, f, g):
    """Return the largest sums of the children's values and the factors of a rule of one product."""
    _, v, w = g.factor_start[f.rule[edge]]
    return (
        _largest_sum(g.factors[v : v + left.shape[0]], left),
        _largest_sum(g.factors[w : w + right.shape[0]], right),
    )


@kernel
def _tensor(edge, size, states, f, g):
    """Return the tensor of an edge's rule, flat."""
    rule = f.rule[edge]
    if f.right[edge] < 0:
        return g.unary[g.unary_start[rule] : g.unary_start[rule] + states * size]
    return g.binary[g.binary_start[rule] : g.binary_start[rule] + states * size]


@kernel
def _raise_pairs(factor, left, right, pairs):
    """Raise the values of pairs of states to those under one edge; `factor` is what the edge adds."""
    width = right.shape[0]
    for i in range(left.shape[0]):
        row, here = pairs[i * width : (i + 1) * width], np.int32(left[i] + factor)
        for j in range(width):
            row[j] = max(row[j], np.int32(here + right[j]))


@kernel
def best_states(n_phrases, f, g, chart):
    """Fill the weight of the best derivation below every state of every item; `chart` are the arrays of its grammar.

    Returns these, laid out as ``f.inside``, relative to the largest of their item; these (n_items,); root and its state of the best
    derivation, -1 if there is none; its weight.
    """
    n_items = f.symbol.shape[0]
    best = np.empty(f.inside.shape[0], np.int32)
    scale = np.zeros(n_items, np.int64)
    one = np.zeros(1, np.int32)
    widest = np.int64(chart.n_states.max())
    pair_room = np.empty(widest**2, np.int32)
    root, root_state, score = -1, -1, np.int64(-1) << 60
    for item in range(n_items):
        first, states = f.start[item], f.start[item + 1] - f.start[item]
        here = best[first : first + states]
        here[:] = 4 * NEVER
        if f.symbol[item] >= n_phrases:
            for state in range(states):
                here[state] = _log(f.inside[first + state])
        reference = _reference(item, f, scale)
        edge, last = f.first[item], f.first[item + 1]
        while edge < last:
            begin, rule, is_binary = edge, f.rule[edge], f.right[edge] >= 0
            is_product = is_binary and g.is_product[rule]
            left, right = children(edge, f, best, one)
            size = left.shape[0] * right.shape[0]
            pairs = pair_room[:size]
            if not is_product:
                pairs[:] = 3 * NEVER
            while edge < last and f.rule[edge] == rule and (f.right[edge] >= 0) == is_binary:
                factor = max(_total(edge, f, scale) - reference, NEVER)
                if f.weight[edge] != 0 and factor > NEVER:
                    left, right = children(edge, f, best, one)
                    if is_product:
                        left_most, right_most = _product_sides(edge, left, right, f, g)
                        above = max(factor + left_most + right_most, 3 * NEVER)
                        u = g.factor_start[rule, 0]
                        for state in range(states):
                            here[state] = max(here[state], np.int32(above + g.factors[u + state]))
                    else:
                        _raise_pairs(np.int32(factor), left, right, pairs)
                edge += 1
            if not is_product:
                rows = _tensor(begin, size, states, f, g)
                for state in range(states):
                    cells = rows[state * size : (state + 1) * size]
                    here[state] = max(here[state], _largest_sum(cells, pairs))
        top = here.max()
        if top <= NEVER:
            here[:] = NEVER
            scale[item] = np.int64(-1) << 40
        else:
            for state in range(states):
                here[state] = NEVER if here[state] <= NEVER else max(here[state] - top, NEVER)
            scale[item] = top + (0 if f.symbol[item] >= n_phrases else reference)
        if f.root_posterior[item] != 0:
            weight, ratio = root_weight(item, f, chart), root_ratio(item, f, chart)
            for state in range(states):
                own = _log(weight * ratio[state])
                value = np.int64(own) + here[state] + scale[item]
                if own > NEVER and here[state] > NEVER and value > score:
                    root, root_state, score = item, state, value
    return best, scale, root, root_state, score


@kernel
def _index_of(wanted, x, y):
    """Return the first index at which two arrays add up to a number, or -1."""
    for i in range(x.shape[0]):
        if x[i] + y[i] == wanted:
            return i
    return -1


@kernel
def best_derivation(n_words, root, root_state, best, scale, f, g):
    """Follow the best derivation down from its root: items, edges and states, parents first, left before right.

    `best` and `scale` are those of :func:`best_states`.
    """
    items, edges, states = np.empty((3, 3 * n_words), np.int32)
    waiting_item, waiting_state = np.empty((2, 3 * n_words), np.int32)
    one = np.zeros(1, np.int32)
    pairs_room = np.empty(np.diff(f.start).max() ** 2, np.int32)
    waiting_item[0], waiting_state[0] = root, root_state
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        item, state = waiting_item[waiting], waiting_state[waiting]
        reference, n_states = _reference(item, f, scale), f.start[item + 1] - f.start[item]
        wanted = best[f.start[item] + state] + scale[item] - reference
        chosen, left_state, right_state = -1, 0, 0
        for edge in range(f.first[item], f.first[item + 1]):
            factor = max(_total(edge, f, scale) - reference, NEVER)
            if f.weight[edge] == 0 or factor == NEVER:
                continue
            left, right = children(edge, f, best, one)
            size = left.shape[0] * right.shape[0]
            if f.right[edge] >= 0 and g.is_product[f.rule[edge]]:
                u, v, w = g.factor_start[f.rule[edge]]
                left_most, right_most = _product_sides(edge, left, right, f, g)
                if factor + left_most + right_most + g.factors[u + state] == wanted:
                    chosen = edge
                    left_state = _index_of(left_most, g.factors[v : v + left.shape[0]], left)
                    right_state = _index_of(right_most, g.factors[w : w + right.shape[0]], right)
                    break
                continue
            pairs = pairs_room[:size]
            pairs[:] = 3 * NEVER
            _raise_pairs(np.int32(factor), left, right, pairs)
            cells = _tensor(edge, size, n_states, f, g)[state * size : (state + 1) * size]
            if _largest_sum(cells, pairs) == wanted:
                pair = _index_of(wanted, cells, pairs)
                chosen, left_state, right_state = edge, pair // right.shape[0], pair % right.shape[0]
                break
        items[count], edges[count], states[count] = item, chosen, state
        count += 1
        if chosen >= 0:
            if f.right[chosen] >= 0:
                waiting_item[waiting], waiting_state[waiting] = f.right[chosen], right_state
                waiting += 1
            waiting_item[waiting], waiting_state[waiting] = f.left[chosen], left_state
            waiting += 1
    return items[:count].copy(), edges[:count].copy(), states[:count].copy()
