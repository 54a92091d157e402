"""The fine pass: state vectors over the pruned forest. Every numba kernel that knows rule tensors.

State vectors are stored as ratios to the coarse values of their items: single precision suffices, and a scale per item takes up what
little drift remains. A rule's tensor is whole, or of low rank (Cohen and Collins 2012): then T(y, z) = U' (V y * W z), where V y is
computed once for an item and all edges that need it, the products are pooled over edges that share U, and one projection leads back.
On the way down an edge likewise adds to the derivative of V y, and one projection by V' leads from there to the outside vector.

A call or a slice costs as much as the work on one edge. So vectors are named by array, start and length, helpers are inlined, and
indices are unsigned: numba would not vectorise loops over indices that might be negative.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.kernels import helper_kernel, inlined_kernel, kernel, order_free_kernel

_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uintp(n) for n in range(5))
_LARGE, _SMALL = 1e6, 1e-6  # inside vectors beyond these are rescaled


class Vectors(NamedTuple):
    """The pruned forest, its state vectors, and what the inside pass leaves for the outside pass."""

    start: Any  # (n_items + 1,): where items' states begin in `inside` and `outside`
    first: Any  # (n_items + 1,): edges by parent, as in a forest
    left: Any  # (n_edges,), as the next three
    right: Any
    rule: Any
    weight: Any
    inside: Any  # (start[-1],): state vectors, ratios to coarse values
    outside: Any
    scale: Any  # (n_items,): logarithm of what inside vectors are to be multiplied by
    projections: Any  # V y and W z of items and low-rank rules, one after the other
    newest: Any  # (n_items,): an item's last projection or -1
    older: Any  # (n_projections,): the projection of the same item before it, or -1
    matrix: Any  # (n_projections,): where V begins among the factors
    begin: Any  # (n_projections,): where V y begins in `projections`
    rank: Any  # (n_projections,): the length of V y
    left_start: Any  # (n_edges,): where those of an edge's children begin
    right_start: Any
    room: Any  # for a vector of the highest rank or a matrix of two symbols' states
    column: Any  # for one symbol's states


class FineForests(NamedTuple):
    """What the fine pass adds to pruned forests; names as in :class:`gramian.chart.forest.Forest`."""

    log_ratio: Any  # (n_sentences,): log of fine over coarse probability, -inf if the grammar gives the sentence none
    item_posterior: Any
    edge_posterior: Any
    root_posterior: Any
    item_start: Any
    inside: Any
    outside: Any
    edge_weight: Any


@inlined_kernel
def _dot(x, a, y, b, size):
    total = np.float32(0)
    for i in range(size):
        total += x[a + i] * y[b + i]
    return total


@inlined_kernel
def _add(factor, x, a, out, b, size):
    for i in range(size):
        out[b + i] += factor * x[a + i]


@inlined_kernel
def _project(table, t, rows, x, a, width, out, b):
    """Set ``out = table @ x``, four rows at a time so that `x` is loaded once for all four."""
    row = np.uintp(0)
    while row + _FOUR <= rows:
        t1, t2, t3 = t + width, t + _TWO * width, t + _THREE * width
        s0 = s1 = s2 = s3 = np.float32(0)
        for i in range(width):
            value = x[a + i]
            s0 += table[t + i] * value
            s1 += table[t1 + i] * value
            s2 += table[t2 + i] * value
            s3 += table[t3 + i] * value
        first = b + row
        out[first], out[first + _ONE], out[first + _TWO], out[first + _THREE] = s0, s1, s2, s3
        row += _FOUR
        t = t3 + width
    while row < rows:
        out[b + row] = _dot(table, t, x, a, width)
        row += _ONE
        t += width


@inlined_kernel
def _add_rows(weights, a, rows, table, t, out, b, width):
    """Add ``weights @ table`` to `out`, four rows at a time."""
    row = np.uintp(0)
    while row + _FOUR <= rows:
        t1, t2, t3 = t + width, t + _TWO * width, t + _THREE * width
        first = a + row
        w0, w1, w2, w3 = weights[first], weights[first + _ONE], weights[first + _TWO], weights[first + _THREE]
        for i in range(width):
            out[b + i] += w0 * table[t + i] + w1 * table[t1 + i] + w2 * table[t2 + i] + w3 * table[t3 + i]
        row += _FOUR
        t = t3 + width
    while row < rows:
        _add(weights[a + row], table, t, out, b, width)
        row += _ONE
        t += width


@helper_kernel
def _weigh(first, last, edge_share, v, g):
    """Set the weights of an item's edges, relative to the highest scale among them; return that scale."""
    reference = -np.inf
    for edge in range(first, last):
        below = v.scale[v.left[edge]] + (v.scale[v.right[edge]] if v.right[edge] >= 0 else 0.0)
        reference = max(reference, below)
    for edge in range(first, last):
        below = v.scale[v.left[edge]] + (v.scale[v.right[edge]] if v.right[edge] >= 0 else 0.0)
        ratio = g.binary_ratio[v.rule[edge]] if v.right[edge] >= 0 else g.unary_ratio[v.rule[edge]]
        v.weight[edge] = edge_share[edge] * ratio
        if below != reference:
            v.weight[edge] *= np.float32(np.exp(below - reference))
    return reference


@order_free_kernel
def _fill_inside(items, edge_share, v, g):
    """Fill the inside vectors of a sentence's phrases; those of tags are already there. Return how many numbers the projections are."""
    room, column = v.room, v.column
    start, left, right, rules, weight, inside = v.start, v.left, v.right, v.rule, v.weight, v.inside
    ranks, factors, factor_start = g.rank, g.factors, g.factor_start
    binary, binary_start, unary, unary_start = g.binary, g.binary_start, g.unary, g.unary_start
    projections, left_start, right_start = v.projections, v.left_start, v.right_start
    newest, older, matrices, begins = v.newest, v.older, v.matrix, v.begin
    n_known, end = np.uintp(0), np.uintp(0)
    # inside(A, x) = sum over edges of weight sum over y, z of T(x, y, z) inside(B, y) inside(C, z)
    for item in range(items[0], items[1]):
        edge, last = np.uintp(v.first[item]), np.uintp(v.first[item + 1])
        if edge == last:
            continue
        here = np.uintp(start[item])
        states = np.uintp(start[item + 1]) - here
        for i in range(states):
            inside[here + i] = 0
        reference = _weigh(v.first[item], v.first[item + 1], edge_share, v, g)
        while edge < last:
            rule = np.uintp(rules[edge])
            below = np.uintp(start[left[edge]])
            left_states = np.uintp(start[left[edge] + 1]) - below
            if right[edge] < 0:
                first = np.uintp(unary_start[rule])
                _project(unary, first, states, inside, below, left_states, column, _ZERO)
                _add(weight[edge], column, _ZERO, inside, here, states)
                edge += _ONE
            elif ranks[rule] > 0:  # sum over q of U(q, x) sum over edges of weight (V y)(q) (W z)(q)
                rank, top = np.uintp(ranks[rule]), factor_start[rule, 0]
                for q in range(rank):
                    room[q] = 0
                while edge < last and right[edge] >= 0:  # all edges that share the matrix U
                    rule = np.uintp(rules[edge])
                    if ranks[rule] != rank or factor_start[rule, 0] != top:
                        break
                    for side in range(2):
                        child = np.uintp(left[edge] if side == 0 else right[edge])
                        matrix = factor_start[rule, 1 + side]
                        known = newest[child]
                        while known >= 0 and matrices[np.uintp(known)] != matrix:
                            known = older[np.uintp(known)]
                        if known < 0:
                            older[n_known], newest[child] = newest[child], n_known
                            matrices[n_known], begins[n_known], v.rank[n_known] = matrix, end, rank
                            known = np.int64(n_known)
                            below = np.uintp(start[child])
                            width = np.uintp(start[child + _ONE]) - below
                            _project(factors, np.uintp(matrix), rank, inside, below, width, projections, end)
                            n_known += _ONE
                            end += rank
                        if side == 0:
                            left_start[edge] = begins[np.uintp(known)]
                        else:
                            right_start[edge] = begins[np.uintp(known)]
                    y, z = left_start[edge], right_start[edge]
                    for q in range(rank):
                        room[q] += weight[edge] * projections[y + q] * projections[z + q]
                    edge += _ONE
                _add_rows(room, _ZERO, rank, factors, np.uintp(top), inside, here, states)
            else:
                right_states = np.uintp(start[right[edge] + 1] - start[right[edge]])
                size = left_states * right_states
                for i in range(size):
                    room[i] = 0
                # One tensor for all split points.
                while edge < last and rules[edge] == rule and right[edge] >= 0:
                    y, z = np.uintp(start[left[edge]]), np.uintp(start[right[edge]])
                    for i in range(left_states):
                        _add(weight[edge] * inside[y + i], inside, z, room, i * right_states, right_states)
                    edge += _ONE
                _project(binary, np.uintp(binary_start[rule]), states, room, _ZERO, size, column, _ZERO)
                _add(np.float32(1), column, _ZERO, inside, here, states)
        largest = np.float32(0)
        for i in range(states):
            largest = max(largest, abs(inside[here + i]))
        v.scale[item] = reference
        if largest > _LARGE or (largest < _SMALL and largest > 0):
            v.scale[item] += np.log(largest)
            for i in range(states):
                inside[here + i] /= largest
            for edge_ in range(v.first[item], v.first[item + 1]):
                weight[edge_] /= largest
    return end


@order_free_kernel
def _fill_outside(items, threshold, n_projected, item_posterior, edge_posterior, v, g):
    """Fill outside vectors top-down, and the fine posteriors of edges; roots' vectors are already there.

    An outside vector is scaled so that its product with the inside vector is the ratio of fine to coarse posterior of the item.
    What has a fine posterior below `threshold` passes nothing on.
    """
    room, column = v.room, v.column
    start, left, right, rules, weight = v.start, v.left, v.right, v.rule, v.weight
    inside, outside, projections = v.inside, v.outside, v.projections
    ranks, factors, factor_start = g.rank, g.factors, g.factor_start
    derivatives = np.zeros(n_projected, np.float32)  # of projections
    has_derivative = np.zeros(n_projected, np.bool_)  # by the index of its first number
    # outside(B, y) = sum over edges of weight sum over x, z of outside(A, x) T(x, y, z) inside(C, z); posterior(edge) = inside . outside
    for item in range(items[1] - 1, items[0] - 1, -1):
        here = np.uintp(start[item])
        states = np.uintp(start[item + 1]) - here
        known = v.newest[item]
        while known >= 0:
            begin = v.begin[known]
            if has_derivative[begin]:
                rank, matrix = np.uintp(v.rank[known]), np.uintp(v.matrix[known])
                _add_rows(derivatives, begin, rank, factors, matrix, outside, here, states)
            known = v.older[known]
        edge, last = np.uintp(v.first[item]), np.uintp(v.first[item + 1])
        if edge == last:
            continue
        coarse = item_posterior[item]
        if abs(coarse * _dot(outside, here, inside, here, states)) < threshold:
            edge_posterior[v.first[item] : v.first[item + 1]] = 0
            continue
        while edge < last:
            rule = np.uintp(rules[edge])
            is_unary = right[edge] < 0
            if not is_unary and ranks[rule] > 0:
                rank, top = np.uintp(ranks[rule]), factor_start[rule, 0]
                _project(factors, np.uintp(top), rank, outside, here, states, room, _ZERO)  # U times it
                while edge < last and right[edge] >= 0:
                    rule = np.uintp(rules[edge])
                    if ranks[rule] != rank or factor_start[rule, 0] != top:
                        break
                    y, z = v.left_start[edge], v.right_start[edge]
                    total = np.float32(0)
                    for q in range(rank):
                        total += room[q] * projections[y + q] * projections[z + q]
                    factor = coarse * weight[edge]
                    edge_posterior[edge] = factor * total
                    if abs(edge_posterior[edge]) >= threshold:
                        has_derivative[y] = has_derivative[z] = True
                        share = factor / item_posterior[left[edge]]
                        for q in range(rank):
                            derivatives[y + q] += share * room[q] * projections[z + q]
                        share = factor / item_posterior[right[edge]]
                        for q in range(rank):
                            derivatives[z + q] += share * room[q] * projections[y + q]
                    edge += _ONE
                continue
            left_states = np.uintp(start[left[edge] + 1] - start[left[edge]])
            right_states = _ONE if is_unary else np.uintp(start[right[edge] + 1] - start[right[edge]])
            size = left_states * right_states
            for i in range(size):
                room[i] = 0
            if is_unary:
                _add_rows(outside, here, states, g.unary, np.uintp(g.unary_start[rule]), room, _ZERO, size)
            else:
                _add_rows(outside, here, states, g.binary, np.uintp(g.binary_start[rule]), room, _ZERO, size)
            while edge < last and rules[edge] == rule and (right[edge] < 0) == is_unary:
                y, z = np.uintp(start[left[edge]]), np.uintp(0)
                if is_unary:
                    for i in range(left_states):
                        column[i] = room[i]
                else:
                    z = np.uintp(start[right[edge]])
                    _project(room, _ZERO, left_states, inside, z, right_states, column, _ZERO)
                factor = coarse * weight[edge]
                edge_posterior[edge] = factor * _dot(column, _ZERO, inside, y, left_states)
                if abs(edge_posterior[edge]) >= threshold:
                    _add(factor / item_posterior[left[edge]], column, _ZERO, outside, y, left_states)
                    if not is_unary:
                        share = factor / item_posterior[right[edge]]
                        for i in range(left_states):
                            _add(share * inside[y + i], room, i * right_states, outside, z, right_states)
                edge += _ONE


@kernel
def _vectors(forests, g):
    """Return empty vectors for forests, with room for the projections of one of them at a time."""
    c, first_item = forests.forest, forests.first_item
    n_items, n_edges = c.item_symbol.shape[0], c.edge_left.shape[0]
    start = np.zeros(n_items + 1, np.int64)
    for item in range(n_items):
        start[item + 1] = start[item] + g.n_states[c.item_symbol[item]]
    most, size = 0, 0
    for sentence in range(first_item.shape[0] - 1):
        own_most, own_size = 0, 0
        for edge in range(c.edge_first[first_item[sentence]], c.edge_first[first_item[sentence + 1]]):
            if c.edge_right[edge] >= 0 and g.rank[c.edge_rule[edge]] > 0:
                own_most += 2
                own_size += 2 * g.rank[c.edge_rule[edge]]
        most, size = max(most, own_most), max(size, own_size)
    highest, widest = np.int64(0), np.int64(0)
    for rank in g.rank:
        highest = max(highest, np.int64(rank))
    for states in g.n_states:
        widest = max(widest, np.int64(states))
    return Vectors(
        start, c.edge_first, c.edge_left, c.edge_right, c.edge_rule, np.empty(n_edges, np.float32),
        np.zeros(start[n_items], np.float32), np.zeros(start[n_items], np.float32), np.zeros(n_items, np.float64),
        np.empty(size, np.float32), np.full(n_items, -1, np.int64), np.empty(most, np.int64), np.empty(most, np.int64),
        np.empty(most, np.uint64), np.empty(most, np.int32), np.empty(n_edges, np.uint64), np.empty(n_edges, np.uint64),
        np.empty(max(widest * widest, highest), np.float32), np.empty(widest, np.float32),
    )  # fmt: skip


@kernel
def fine_forests(forests, words, tag_state_start, g, threshold):
    """Run the fine pass over pruned forests, :class:`gramian.chart.coarse_arrays.CoarseForests`.

    `words` are :class:`gramian.chart.coarse_arrays.Words`; the state scores of their tags begin at `tag_state_start`. Items and edges with
    a fine posterior below `threshold` count as impossible on the way down. Returns :class:`FineForests`.
    """
    c, tags = forests.forest, words.tags
    n_phrases = g.n_symbols - g.before.shape[0] + 1
    n_items, size = c.item_symbol.shape[0], words.first.shape[0] - 1
    item_posterior, edge_posterior = c.item_posterior.copy(), c.edge_posterior.copy()
    root_posterior, log_ratio = np.zeros(n_items, np.float32), np.full(size, -np.inf)
    v = _vectors(forests, g)
    for sentence in range(size):
        items = forests.first_item[sentence], forests.first_item[sentence + 1]
        before = words.first[sentence] - forests.first_cell[sentence]  # a word's number, less its span's
        for item in range(items[0], items[1]):
            symbol, word = c.item_symbol[item], before + c.item_cell[item]
            if symbol >= n_phrases:
                for tag in range(tags.start[word], tags.start[word + 1]):
                    if tags.symbol[tag] == symbol:
                        for state in range(g.n_states[symbol]):
                            v.inside[v.start[item] + state] = words.states[tag_state_start[tag] + state]
        n_projected = _fill_inside(items, c.edge_share, v, g)
        total, reference = 0.0, -np.inf
        for item in range(items[0], items[1]):
            if c.root_share[item] > 0:
                reference = max(reference, v.scale[item])
        for item in range(items[0], items[1]):
            if c.root_share[item] > 0:
                share = c.root_share[item] * np.exp(v.scale[item] - reference)
                total += share * _root_value(item, c.item_symbol, v, g)
        if not abs(total) > 0:
            continue
        log_ratio[sentence] = np.log(abs(total)) + reference
        for item in range(items[0], items[1]):
            if c.root_share[item] > 0:
                # Outside vectors are relative to the item's whole coarse posterior, of which being the root may be only a part.
                factor = c.root_share[item] / item_posterior[item] * np.exp(v.scale[item] - reference) / total
                first = g.root_start[c.item_symbol[item]] - v.start[item]
                for state in range(v.start[item], v.start[item + 1]):
                    v.outside[state] = g.root_ratio[first + state] * factor
                root_posterior[item] = item_posterior[item] * factor * _root_value(item, c.item_symbol, v, g)
        _fill_outside(items, threshold, n_projected, item_posterior, edge_posterior, v, g)
        for item in range(items[0], items[1]):
            ratio = np.float32(0)
            for state in range(v.start[item], v.start[item + 1]):
                ratio += v.inside[state] * v.outside[state]
            item_posterior[item] *= ratio
    return FineForests(
        log_ratio, item_posterior, edge_posterior, root_posterior, v.start, v.inside, v.outside, v.weight
    )


@helper_kernel
def _root_value(item, item_symbol, v, g):
    """Return the inside value of an item as the root, over its coarse value."""
    first = g.root_start[item_symbol[item]] - v.start[item]
    value = 0.0
    for state in range(v.start[item], v.start[item + 1]):
        value += g.root_ratio[first + state] * v.inside[state]
    return value
