"""The fine pass: state vectors over the pruned forest. Every numba kernel that knows rule tensors.

State vectors are stored as ratios to the coarse values of their items: single precision suffices, and a scale per item takes up what
little drift remains. A rule's tensor is whole, or of low rank (Cohen and Collins 2012): then T(y, z) = U' (V y * W z), where V y is
computed once for an item and all edges that need it, the products are pooled over edges that share U, and one projection leads back.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

__all__ = ["fine_forest"]

_ORDER_FREE = {"reassoc", "contract", "nsz"}  # sums may be reordered; zero, inf and NaN keep their meaning


class Vectors(NamedTuple):
    """The pruned forest, its state vectors, and what the inside pass leaves for the outside pass.

    Attributes
    ----------
    symbol, start : items' symbols, and where their states begin in `inside` and `outside`.
    first, left, right, rule : edges by parent; their child items (`right` is -1 over a tag) and rules.
    weight : of edges; an inside vector is the sum over its edges of weight times T(left vector, right vector).
    inside, outside : state vectors, ratios to coarse values; `scale`: what they are to be multiplied by, as logarithm.
    projections : products of state vectors with matrices of low-rank rules. Those of an item are a linked list, `newest` first,
        then `older`; `matrix` says where the matrix lies, `place` where the product does; `used` counts list entries and numbers.
    left_place, right_place : where the projections of an edge's children lie.
    """

    symbol: Any
    start: Any
    first: Any
    left: Any
    right: Any
    rule: Any
    weight: Any
    inside: Any
    outside: Any
    scale: Any
    projections: Any
    newest: Any
    older: Any
    matrix: Any
    place: Any
    used: Any
    left_place: Any
    right_place: Any


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _dot(x, y):
    total = x.dtype.type(0)
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _scale(factor, x):
    for i in range(x.shape[0]):
        x[i] *= factor


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _add_scaled(factor, x, y):
    for i in range(x.shape[0]):
        y[i] += factor * x[i]


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _project(table, x, out):
    """Set ``out = table @ x`` for a flat `table`, four rows at a time so that `x` is loaded once for all four."""
    width, rows = x.shape[0], out.shape[0]
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


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _add_rows(weights, table, out):
    """Add ``weights @ table`` to `out` for a flat `table`, four rows at a time."""
    width, rows = out.shape[0], weights.shape[0]
    row = 0
    while row + 4 <= rows:
        base = row * width
        t0, t1 = table[base : base + width], table[base + width : base + 2 * width]
        t2, t3 = table[base + 2 * width : base + 3 * width], table[base + 3 * width : base + 4 * width]
        w0, w1, w2, w3 = weights[row], weights[row + 1], weights[row + 2], weights[row + 3]
        for i in range(width):
            out[i] += w0 * t0[i] + w1 * t1[i] + w2 * t2[i] + w3 * t3[i]
        row += 4
    while row < rows:
        _add_scaled(weights[row], table[row * width : (row + 1) * width], out)
        row += 1


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _multiply(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * y[i]


@njit(cache=True, nogil=True, fastmath=_ORDER_FREE)
def _add_product(factor, x, y, out):
    for i in range(x.shape[0]):
        out[i] += factor * x[i] * y[i]


@njit(cache=True, nogil=True)
def _projected(item, matrix, rank, v, g):
    """Return where an item's vector times the matrix that begins at `matrix` lies; compute it if it is new."""
    known = v.newest[item]
    while known >= 0:
        if v.matrix[known] == matrix:
            return v.place[known]
        known = v.older[known]
    number, place = v.used[0], v.used[1]
    v.older[number] = v.newest[item]
    v.newest[item] = number
    v.matrix[number] = matrix
    v.place[number] = place
    v.used[0] += 1
    v.used[1] += rank
    vector = v.inside[v.start[item] : v.start[item + 1]]
    _project(g.factors[matrix : matrix + rank * vector.shape[0]], vector, v.projections[place : place + rank])
    return place


@njit(cache=True, nogil=True)
def _pool_low_rank(edge, last, v, g, room):
    """Add up an item's low-rank edges from `edge` on that share their topmost matrix; return the edge after them."""
    rank, top = g.rank[v.rule[edge]], g.factor_start[v.rule[edge], 0]
    pooled = room[:rank]
    pooled[:] = 0
    while edge < last and v.right[edge] >= 0:
        rule = v.rule[edge]
        if g.rank[rule] != rank or g.factor_start[rule, 0] != top:
            break
        left = _projected(v.left[edge], g.factor_start[rule, 1], rank, v, g)
        right = _projected(v.right[edge], g.factor_start[rule, 2], rank, v, g)
        v.left_place[edge], v.right_place[edge] = left, right
        _add_product(
            v.weight[edge], v.projections[left : left + rank], v.projections[right : right + rank], pooled
        )
        edge += 1
    return edge


@njit(cache=True, nogil=True)
def _pool_whole(edge, last, v, room):
    """Add up the products of the children's vectors of an item's edges of one rule; return the edge after them."""
    rule = v.rule[edge]
    left_states = v.start[v.left[edge] + 1] - v.start[v.left[edge]]
    right_states = v.start[v.right[edge] + 1] - v.start[v.right[edge]]
    pairs = room[: left_states * right_states]
    pairs[:] = 0
    while edge < last and v.rule[edge] == rule and v.right[edge] >= 0:
        left = v.inside[v.start[v.left[edge]] : v.start[v.left[edge] + 1]]
        right = v.inside[v.start[v.right[edge]] : v.start[v.right[edge] + 1]]
        for i in range(left_states):
            _add_scaled(v.weight[edge] * left[i], right, pairs[i * right_states : (i + 1) * right_states])
        edge += 1
    return edge


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _rooms(g):
    """Return room for two vectors of the highest rank or a matrix of two symbols' states, and for one symbol's states."""
    most = np.int64(0)
    for rank in g.rank:
        most = max(most, np.int64(rank))
    widest = np.int64(g.n_states.max())
    return np.empty(max(widest * widest, 2 * most), np.float32), np.empty(widest, np.float32)


@njit(cache=True, nogil=True)
def _fill_inside(edge_share, v, g):
    """Fill the inside vectors of all phrases; those of tags are already there."""
    room, column = _rooms(g)
    for item in range(v.symbol.shape[0]):
        first, last = v.first[item], v.first[item + 1]
        if first == last:
            continue
        here = v.inside[v.start[item] : v.start[item + 1]]
        states = here.shape[0]
        here[:] = 0
        reference = _weigh(first, last, edge_share, v, g)
        edge = first
        while edge < last:
            rule = v.rule[edge]
            if v.right[edge] < 0:
                below = v.inside[v.start[v.left[edge]] : v.start[v.left[edge] + 1]]
                base = g.unary_start[rule]
                _project(g.unary[base : base + states * below.shape[0]], below, column[:states])
                _add_scaled(v.weight[edge], column[:states], here)
                edge += 1
            elif g.rank[rule] > 0:
                edge = _pool_low_rank(edge, last, v, g, room)
                top, rank = g.factor_start[rule, 0], g.rank[rule]
                _add_rows(room[:rank], g.factors[top : top + rank * states], here)
            else:
                size = (v.start[v.left[edge] + 1] - v.start[v.left[edge]]) * (
                    v.start[v.right[edge] + 1] - v.start[v.right[edge]]
                )
                edge = _pool_whole(edge, last, v, room)
                base = g.binary_start[rule]
                _project(g.binary[base : base + states * size], room[:size], column[:states])
                _add_scaled(np.float32(1), column[:states], here)
        largest = np.float32(0)
        for state in range(states):
            largest = max(largest, abs(here[state]))
        v.scale[item] = reference
        if largest > 1e6 or (largest < 1e-6 and largest > 0):
            v.scale[item] += np.log(largest)
            for state in range(states):
                here[state] /= largest
            for edge in range(first, last):
                v.weight[edge] /= largest


@njit(cache=True, nogil=True)
def _push_low_rank(edge, last, above, coarse, threshold, item_posterior, edge_posterior, v, g, room):
    """Pass the outside vector `above` down an item's low-rank edges from `edge` on that share their topmost matrix."""
    rank, top = g.rank[v.rule[edge]], g.factor_start[v.rule[edge], 0]
    high, mixed = room[:rank], room[rank : 2 * rank]
    _project(g.factors[top : top + rank * above.shape[0]], above, high)
    while edge < last and v.right[edge] >= 0:
        rule, left, right = v.rule[edge], v.left[edge], v.right[edge]
        if g.rank[rule] != rank or g.factor_start[rule, 0] != top:
            break
        left_low = v.projections[v.left_place[edge] : v.left_place[edge] + rank]
        right_low = v.projections[v.right_place[edge] : v.right_place[edge] + rank]
        factor = coarse * v.weight[edge]
        _multiply(high, right_low, mixed)
        edge_posterior[edge] = factor * _dot(mixed, left_low)
        if abs(edge_posterior[edge]) >= threshold:
            matrix, out = g.factor_start[rule, 1], v.outside[v.start[left] : v.start[left + 1]]
            _scale(factor / item_posterior[left], mixed)
            _add_rows(mixed, g.factors[matrix : matrix + rank * out.shape[0]], out)
            matrix, out = g.factor_start[rule, 2], v.outside[v.start[right] : v.start[right + 1]]
            _multiply(high, left_low, mixed)
            _scale(factor / item_posterior[right], mixed)
            _add_rows(mixed, g.factors[matrix : matrix + rank * out.shape[0]], out)
        edge += 1
    return edge


@njit(cache=True, nogil=True)
def _push_whole(edge, last, above, coarse, threshold, item_posterior, edge_posterior, v, table, room, column):
    """Pass the outside vector `above` down an item's edges of one rule; over tags the right side is a single 1."""
    rule, is_unary = v.rule[edge], v.right[edge] < 0
    left_states = v.start[v.left[edge] + 1] - v.start[v.left[edge]]
    right_states = 1 if is_unary else v.start[v.right[edge] + 1] - v.start[v.right[edge]]
    size = left_states * right_states
    mixed = room[:size]
    mixed[:] = 0
    _add_rows(above, table, mixed)
    while edge < last and v.rule[edge] == rule and (v.right[edge] < 0) == is_unary:
        left = v.left[edge]
        left_in = v.inside[v.start[left] : v.start[left + 1]]
        through = mixed
        if not is_unary:
            right = v.right[edge]
            through = column[:left_states]
            _project(mixed, v.inside[v.start[right] : v.start[right + 1]], through)
        factor = coarse * v.weight[edge]
        edge_posterior[edge] = factor * _dot(through, left_in)
        if abs(edge_posterior[edge]) >= threshold:
            _add_scaled(factor / item_posterior[left], through, v.outside[v.start[left] : v.start[left + 1]])
            if not is_unary:
                right_out = v.outside[v.start[right] : v.start[right + 1]]
                for i in range(left_states):
                    row = mixed[i * right_states : (i + 1) * right_states]
                    _add_scaled(factor / item_posterior[right] * left_in[i], row, right_out)
        edge += 1
    return edge


@njit(cache=True, nogil=True)
def _fill_outside(threshold, item_posterior, edge_posterior, v, g):
    """Fill outside vectors top-down, and the fine posteriors of edges; roots' vectors are already there.

    An outside vector is scaled so that its product with the inside vector is the ratio of fine to coarse posterior of the item.
    What has a fine posterior below `threshold` passes nothing on.
    """
    room, column = _rooms(g)
    for item in range(v.symbol.shape[0] - 1, -1, -1):
        edge, last = v.first[item], v.first[item + 1]
        if edge == last:
            continue
        here = v.outside[v.start[item] : v.start[item + 1]]
        coarse = item_posterior[item]
        if abs(coarse * _dot(here, v.inside[v.start[item] : v.start[item + 1]])) < threshold:
            edge_posterior[edge:last] = 0
            continue
        while edge < last:
            rule = v.rule[edge]
            if v.right[edge] >= 0 and g.rank[rule] > 0:
                edge = _push_low_rank(
                    edge, last, here, coarse, threshold, item_posterior, edge_posterior, v, g, room
                )
                continue
            size = here.shape[0] * (v.start[v.left[edge] + 1] - v.start[v.left[edge]])
            if v.right[edge] < 0:
                table = g.unary[g.unary_start[rule] : g.unary_start[rule] + size]
            else:
                size *= v.start[v.right[edge] + 1] - v.start[v.right[edge]]
                table = g.binary[g.binary_start[rule] : g.binary_start[rule] + size]
            edge = _push_whole(
                edge, last, here, coarse, threshold, item_posterior, edge_posterior, v, table, room, column
            )


@njit(cache=True, nogil=True)
def _vectors(item_symbol, edge_first, edge_left, edge_right, edge_rule, g):
    """Return empty vectors for a forest."""
    n_items, n_edges = item_symbol.shape[0], edge_left.shape[0]
    start = np.zeros(n_items + 1, np.int64)
    for item in range(n_items):
        start[item + 1] = start[item] + g.n_states[item_symbol[item]]
    n_projections, size = 0, 0
    for edge in range(n_edges):
        if edge_right[edge] >= 0 and g.rank[edge_rule[edge]] > 0:
            n_projections += 2
            size += 2 * g.rank[edge_rule[edge]]
    return Vectors(
        item_symbol, start, edge_first, edge_left, edge_right, edge_rule, np.empty(n_edges, np.float32),
        np.zeros(start[n_items], np.float32), np.zeros(start[n_items], np.float32), np.zeros(n_items, np.float64),
        np.empty(size, np.float32), np.full(n_items, -1, np.int32), np.empty(n_projections, np.int32),
        np.empty(n_projections, np.int64), np.empty(n_projections, np.int64), np.zeros(2, np.int64),
        np.empty(n_edges, np.int64), np.empty(n_edges, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def fine_forest(
    item_symbol, item_cell, item_posterior, root_share, edge_first, edge_left, edge_right, edge_rule, edge_share, edge_posterior,
    tag_start, tag_symbol, tag_states, tag_state_start, grammar, threshold,
):  # fmt: skip
    """Run the fine pass over a pruned forest.

    `item_posterior` and `edge_posterior` come in as coarse posteriors and leave as fine ones; `tag_states` holds the state scores of
    the tags of all words, beginning at `tag_state_start`. Items and edges with a fine posterior below `threshold` count as impossible
    on the way down.

    Returns
    -------
    log_ratio float64: log of fine over coarse probability, -inf if the grammar gives the sentence none;
    item_start int64, inside, outside float32; edge_weight float32: see :class:`Vectors`; root_posterior float32.
    """
    g = grammar
    n_phrases = g.n_symbols - g.before.shape[0] + 1
    n_items = item_symbol.shape[0]
    v = _vectors(item_symbol, edge_first, edge_left, edge_right, edge_rule, g)
    for item in range(n_items):
        if item_symbol[item] >= n_phrases:
            for tag in range(tag_start[item_cell[item]], tag_start[item_cell[item] + 1]):
                if tag_symbol[tag] == item_symbol[item]:
                    first = tag_state_start[tag]
                    last = first + g.n_states[item_symbol[item]]
                    v.inside[v.start[item] : v.start[item + 1]] = tag_states[first:last]
    _fill_inside(edge_share, v, g)
    total, reference = 0.0, -np.inf
    for item in range(n_items):
        if root_share[item] > 0:
            reference = max(reference, v.scale[item])
    for item in range(n_items):
        if root_share[item] > 0:
            ratio = g.root_ratio[g.root_start[item_symbol[item]] : g.root_start[item_symbol[item] + 1]]
            share = root_share[item] * np.exp(v.scale[item] - reference)
            total += share * _dot(ratio, v.inside[v.start[item] : v.start[item + 1]])
    root_posterior = np.zeros(n_items, np.float32)
    if not abs(total) > 0:
        return -np.inf, v.start, v.inside, v.outside, v.weight, root_posterior
    for item in range(n_items):
        if root_share[item] > 0:
            # Outside vectors are relative to the item's whole coarse posterior, of which being the root may be only a part.
            factor = root_share[item] / item_posterior[item] * np.exp(v.scale[item] - reference) / total
            ratio = g.root_ratio[g.root_start[item_symbol[item]] : g.root_start[item_symbol[item] + 1]]
            here = v.outside[v.start[item] : v.start[item + 1]]
            for state in range(here.shape[0]):
                here[state] = ratio[state] * factor
            root_posterior[item] = item_posterior[item] * _dot(
                here, v.inside[v.start[item] : v.start[item + 1]]
            )
    _fill_outside(threshold, item_posterior, edge_posterior, v, g)
    for item in range(n_items):
        first, last = v.start[item], v.start[item + 1]
        item_posterior[item] *= _dot(v.inside[first:last], v.outside[first:last])
    return np.log(abs(total)) + reference, v.start, v.inside, v.outside, v.weight, root_posterior
