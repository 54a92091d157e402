"""Every numba kernel of the constituency chart.

A sentence goes through three passes. :func:`coarse_forest` fills a chart with the grammar without states and keeps it as a forest: items
(symbol, span) and hyperedges (rule, parent item, left item, right item), children before parents. :func:`prune_forest` computes
coarse posteriors top-down and drops what is unlikely. :func:`fine_inside` and :func:`fine_outside` then run over the surviving
edges with state vectors that are stored as ratios to the coarse values: single precision suffices, and a scale per item takes up
what little drift remains.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["best_tree", "coarse_forest", "fine_inside", "fine_outside", "prune_forest", "sentence_forest"]

_ORDER_FREE = {"reassoc", "contract", "nsz"}  # sums may be reordered; zero, inf and NaN keep their meaning


@njit(cache=True, nogil=True)
def cell_number(start, end, n):  # type: ignore[no-untyped-def]
    """Number of the span [start, end) among all spans of n words, ordered by width, then start."""
    width = end - start
    return (width - 1) * n - (width - 1) * (width - 2) // 2 + start


@njit(cache=True, nogil=True)
def _grown(array, size):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * array.shape[0], array.dtype)
    larger[:size] = array[:size]
    return larger


@njit(cache=True, nogil=True)
def coarse_forest(  # type: ignore[no-untyped-def]
    n, tag_start, tag_symbol, tag_score, n_symbols,
    pair_start, rule_parent, rule_weight, unary_start, unary_parent, unary_weight, can_be_right,
    merit_left, merit_right, beam, allowed,
):  # fmt: skip
    """Fill the coarse chart bottom-up.

    Parameters
    ----------
    n : words.  tag_start (n + 1,), tag_symbol, tag_score: the tags of each word with their emission scores.
    pair_start (n_symbols * n_symbols + 1,): rules of each (left, right) pair; rule_parent, rule_weight in that order.
    unary_start (n_symbols + 1,): unary rules by tag; unary_parent, unary_weight.
    can_be_right (n_symbols,) bool.
    merit_left, merit_right (n + 1, n_symbols) float32: guess of the outside value of a symbol that begins / ends at a position.
    beam : items whose value times merit is below this share of their cell's best are dropped; 0 keeps all.
    allowed (n_cells,) bool: spans that may hold phrases.

    Returns
    -------
    item_symbol, item_cell int32; item_inside float64 (scaled per cell); cell_first int32 (n_cells + 1,); cell_scale float64;
    edge_parent, edge_left, edge_right (-1: unary), edge_rule int32; edge_share float32, share of the parent's inside value.
    """
    n_cells = n * (n + 1) // 2
    item_symbol = np.empty(16 * n_cells + 64, np.int32)
    item_cell = np.empty(16 * n_cells + 64, np.int32)
    item_inside = np.empty(16 * n_cells + 64, np.float64)
    cell_first = np.zeros(n_cells + 1, np.int32)
    cell_right_end = np.zeros(n_cells, np.int32)
    cell_scale = np.zeros(n_cells, np.float64)
    edge_parent = np.empty(1024, np.int32)
    edge_left = np.empty(1024, np.int32)
    edge_right = np.empty(1024, np.int32)
    edge_rule = np.empty(1024, np.int32)
    edge_share = np.empty(1024, np.float32)
    accumulated = np.zeros(n_symbols, np.float64)
    item_of = np.full(n_symbols, -1, np.int32)
    touched = np.empty(n_symbols, np.int32)
    n_items, n_edges = 0, 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            cell = cell_number(start, end, n)
            cell_first[cell] = n_items
            cell_edges = n_edges
            n_touched = 0
            reference = 0.0
            if width == 1:
                for tag in range(tag_start[start], tag_start[start + 1]):
                    item_symbol[n_items] = tag_symbol[tag]
                    item_cell[n_items] = cell
                    item_inside[n_items] = tag_score[tag]
                    below = n_items
                    n_items += 1
                    if n_items + n_symbols >= item_symbol.shape[0]:
                        item_symbol = _grown(item_symbol, n_items)
                        item_cell = _grown(item_cell, n_items)
                        item_inside = _grown(item_inside, n_items)
                    if not allowed[cell]:
                        continue
                    for rule in range(unary_start[tag_symbol[tag]], unary_start[tag_symbol[tag] + 1]):
                        value = unary_weight[rule] * tag_score[tag]
                        if value == 0.0:
                            continue
                        parent = unary_parent[rule]
                        if accumulated[parent] == 0.0:
                            touched[n_touched] = parent
                            n_touched += 1
                        accumulated[parent] += value
                        if n_edges == edge_parent.shape[0]:
                            edge_parent = _grown(edge_parent, n_edges)
                            edge_left = _grown(edge_left, n_edges)
                            edge_right = _grown(edge_right, n_edges)
                            edge_rule = _grown(edge_rule, n_edges)
                            edge_share = _grown(edge_share, n_edges)
                        edge_parent[n_edges] = parent
                        edge_left[n_edges] = below
                        edge_right[n_edges] = -1
                        edge_rule[n_edges] = rule
                        edge_share[n_edges] = value
                        n_edges += 1
            elif allowed[cell]:
                reference = -np.inf
                for split in range(start + 1, end):
                    left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                    if (
                        cell_first[left_cell] < cell_first[left_cell + 1]
                        and cell_first[right_cell] < cell_right_end[right_cell]
                    ):
                        reference = max(reference, cell_scale[left_cell] + cell_scale[right_cell])
                for split in range(start + 1, end):
                    left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                    right_first, right_end = cell_first[right_cell], cell_right_end[right_cell]
                    if cell_first[left_cell] == cell_first[left_cell + 1] or right_first == right_end:
                        continue
                    factor = np.exp(cell_scale[left_cell] + cell_scale[right_cell] - reference)
                    if factor < 1e-100:
                        continue
                    for left in range(cell_first[left_cell], cell_first[left_cell + 1]):
                        left_value = item_inside[left] * factor
                        row = pair_start[
                            item_symbol[left] * n_symbols : (item_symbol[left] + 1) * n_symbols + 1
                        ]
                        for right in range(right_first, right_end):
                            symbol = item_symbol[right]
                            first_rule, last_rule = row[symbol], row[symbol + 1]
                            if first_rule == last_rule:
                                continue
                            product = left_value * item_inside[right]
                            while n_edges + last_rule - first_rule > edge_parent.shape[0]:
                                edge_parent = _grown(edge_parent, n_edges)
                                edge_left = _grown(edge_left, n_edges)
                                edge_right = _grown(edge_right, n_edges)
                                edge_rule = _grown(edge_rule, n_edges)
                                edge_share = _grown(edge_share, n_edges)
                            for rule in range(first_rule, last_rule):
                                parent = rule_parent[rule]
                                value = product * rule_weight[rule]
                                if value == 0.0:  # a parent is noted when its sum leaves zero
                                    continue
                                if accumulated[parent] == 0.0:
                                    touched[n_touched] = parent
                                    n_touched += 1
                                accumulated[parent] += value
                                edge_parent[n_edges] = parent
                                edge_left[n_edges] = left
                                edge_right[n_edges] = right
                                edge_rule[n_edges] = rule
                                edge_share[n_edges] = value
                                n_edges += 1
            # Which of the phrases stay: those whose value times guessed outside value is near the best of the cell.
            floor = 0.0
            largest = 0.0
            for number in range(n_touched):
                symbol = touched[number]
                value = accumulated[symbol]
                largest = max(largest, value)
                if beam > 0:
                    floor = max(floor, value * merit_left[start, symbol] * merit_right[end, symbol])
            floor *= beam
            while n_items + n_touched >= item_symbol.shape[0]:
                item_symbol = _grown(item_symbol, n_items)
                item_cell = _grown(item_cell, n_items)
                item_inside = _grown(item_inside, n_items)
            if width > 1 and largest > 0:
                cell_scale[cell] = reference + np.log(largest)
            rescale = 1.0 / largest if width > 1 and largest > 0 else 1.0
            for turn in range(2):
                for number in range(n_touched):
                    symbol = touched[number]
                    if can_be_right[symbol] != (turn == 0):
                        continue
                    value = accumulated[symbol]
                    if beam > 0 and value * merit_left[start, symbol] * merit_right[end, symbol] < floor:
                        continue
                    item_symbol[n_items] = symbol
                    item_cell[n_items] = cell
                    item_inside[n_items] = value * rescale
                    item_of[symbol] = n_items
                    n_items += 1
                if turn == 0:
                    cell_right_end[cell] = n_items
            kept = cell_edges
            for edge in range(cell_edges, n_edges):
                symbol = edge_parent[edge]
                if item_of[symbol] >= 0:
                    edge_parent[kept] = item_of[symbol]
                    edge_left[kept] = edge_left[edge]
                    edge_right[kept] = edge_right[edge]
                    edge_rule[kept] = edge_rule[edge]
                    edge_share[kept] = edge_share[edge] / accumulated[symbol]
                    kept += 1
            n_edges = kept
            for number in range(n_touched):
                accumulated[touched[number]] = 0.0
                item_of[touched[number]] = -1
    cell_first[n_cells] = n_items
    return (
        item_symbol[:n_items], item_cell[:n_items], item_inside[:n_items], cell_first, cell_scale,
        edge_parent[:n_edges], edge_left[:n_edges], edge_right[:n_edges], edge_rule[:n_edges], edge_share[:n_edges],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def prune_forest(  # type: ignore[no-untyped-def]
    root_share, first_root, item_symbol, item_cell, edge_parent, edge_left, edge_right, edge_rule, edge_share,
    item_threshold, edge_threshold,
):  # fmt: skip
    """Compute coarse posteriors and keep the items and edges above the thresholds.

    `root_share` holds the posterior of each item from `first_root` on of being the root of the tree.

    Returns
    -------
    item_old int32 (kept items' old numbers); item_posterior float32; edge_parent, edge_left, edge_right, edge_rule int32,
    sorted by parent and rule; edge_share, edge_posterior float32; edge_first int32 (n_items + 1,): a parent's edges.
    """
    n_items, n_edges = item_symbol.shape[0], edge_parent.shape[0]
    posterior = np.zeros(n_items, np.float64)
    posterior[first_root:] = root_share
    used = np.zeros(n_items, np.bool_)
    used[first_root:] = root_share >= item_threshold
    kept_edge = np.zeros(n_edges, np.bool_)
    n_kept = 0
    for edge in range(n_edges - 1, -1, -1):
        parent = edge_parent[edge]
        mass = posterior[parent] * edge_share[edge]
        posterior[edge_left[edge]] += mass
        if edge_right[edge] >= 0:
            posterior[edge_right[edge]] += mass
    number = np.full(n_items, -1, np.int32)
    n_new = 0
    for item in range(n_items):
        if posterior[item] >= item_threshold and np.float32(posterior[item]) > 0:  # it becomes a divisor
            number[item] = n_new
            n_new += 1
    for edge in range(n_edges):
        if (
            number[edge_parent[edge]] >= 0
            and number[edge_left[edge]] >= 0
            and (edge_right[edge] < 0 or number[edge_right[edge]] >= 0)
            and posterior[edge_parent[edge]] * edge_share[edge] >= edge_threshold
        ):
            kept_edge[edge] = True
            n_kept += 1
    item_old = np.empty(n_new, np.int32)
    item_posterior = np.empty(n_new, np.float32)
    for item in range(n_items):
        if number[item] >= 0:
            item_old[number[item]] = item
            item_posterior[number[item]] = posterior[item]
    edge_first = np.zeros(n_new + 1, np.int32)
    for edge in range(n_edges):
        if kept_edge[edge]:
            edge_first[number[edge_parent[edge]] + 1] += 1
    for item in range(n_new):
        edge_first[item + 1] += edge_first[item]
    order = np.empty(n_kept, np.int32)
    fill = edge_first[:-1].copy()
    for edge in range(n_edges):
        if kept_edge[edge]:
            parent = number[edge_parent[edge]]
            place = fill[parent]
            fill[parent] += 1
            while place > edge_first[parent] and edge_rule[order[place - 1]] > edge_rule[edge]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = edge
    new_parent = np.empty(n_kept, np.int32)
    new_left = np.empty(n_kept, np.int32)
    new_right = np.empty(n_kept, np.int32)
    new_rule = np.empty(n_kept, np.int32)
    new_share = np.empty(n_kept, np.float32)
    new_posterior = np.empty(n_kept, np.float32)
    for place in range(n_kept):
        edge = order[place]
        new_parent[place] = number[edge_parent[edge]]
        new_left[place] = number[edge_left[edge]]
        new_right[place] = number[edge_right[edge]] if edge_right[edge] >= 0 else -1
        new_rule[place] = edge_rule[edge]
        new_share[place] = edge_share[edge]
        new_posterior[place] = posterior[edge_parent[edge]] * edge_share[edge]
    return (
        item_old,
        item_posterior,
        new_parent,
        new_left,
        new_right,
        new_rule,
        new_share,
        new_posterior,
        edge_first,
    )


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
    edge_first, edge_left, edge_right, edge_rule, edge_share, edge_posterior, item_posterior, item_symbol, item_start, n_states,
    binary, binary_start, unary, unary_start, inside, scale, outside, fine_posterior,
):  # fmt: skip
    """Fill outside vectors top-down and the fine posterior of every edge.

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
                fine_posterior[edge] = drift * edge_posterior[edge] * total
                edge += 1


@njit(cache=True, nogil=True)
def best_tree(edge_first, edge_left, edge_right, edge_score, item_score, root_score, is_leaf):  # type: ignore[no-untyped-def]
    """Find the tree with the highest sum of edge and item scores.

    `item_score` is added for every item of the tree, `root_score` for its root (-inf where an item cannot be one); a phrase none
    of whose edges survived cannot stand in a tree.

    Returns
    -------
    best edge of each item (-1: none, a leaf), total of each item, number of the best root or -1.
    """
    n_items = edge_first.shape[0] - 1
    total = np.empty(n_items, np.float64)
    choice = np.full(n_items, -1, np.int32)
    root = -1
    best_root = -np.inf
    for item in range(n_items):
        if is_leaf[item]:
            total[item] = item_score[item]
        else:
            best = -np.inf
            for edge in range(edge_first[item], edge_first[item + 1]):
                value = edge_score[edge] + total[edge_left[edge]]
                if edge_right[edge] >= 0:
                    value += total[edge_right[edge]]
                if value > best:
                    best = value
                    choice[item] = edge
            total[item] = best + item_score[item]
        if total[item] + root_score[item] > best_root:
            best_root = total[item] + root_score[item]
            root = item
    return choice, total, root


@njit(cache=True, nogil=True)
def sentence_forest(  # type: ignore[no-untyped-def]
    n,
    tag_start,
    tag_symbol,
    tag_score,
    tag_states,
    tag_state_start,
    grammar,
    allowed,
    beam,
    item_threshold,
    edge_threshold,
):
    """Run all passes over one sentence.

    `grammar` is a :class:`gramian.chart.inference.GrammarArrays`; `tag_score` is rescaled in place;
    `tag_states` holds the state scores of the tags of all words, beginning at `tag_state_start`.

    Returns
    -------
    ok bool: whether the grammar derives the sentence; log_ratio float64: log-probability, up to the words' own;
    item_symbol, item_cell int32; item_posterior float32; item_start int64, inside, outside float32;
    edge_first, edge_left, edge_right, edge_rule int32; edge_posterior float32; root_posterior float32; counts of coarse items, edges.
    """
    g = grammar
    n_tags = g.before.shape[0] - 1
    n_phrases = g.n_symbols - n_tags
    words_scale = 0.0  # each word's best tag counts as 1, so that single precision suffices for any emissions
    for word in range(n):
        best = tag_score[tag_start[word] : tag_start[word + 1]].max()
        if best > 0:
            tag_score[tag_start[word] : tag_start[word + 1]] /= best
            words_scale += np.log(best)
    merit_left = np.ones((n + 1, g.n_symbols), np.float32)
    merit_right = np.ones((n + 1, g.n_symbols), np.float32)
    if beam > 0:
        for position in range(n + 1):
            left_row, right_row = merit_left[position], merit_right[position]
            left_row[:] = 0
            right_row[:] = 0
            if position == 0:
                left_row[:] = g.before[n_tags]
            else:
                for tag in range(tag_start[position - 1], tag_start[position]):
                    _add_scaled(np.float32(tag_score[tag]), g.before[tag_symbol[tag] - n_phrases], left_row)
            if position == n:
                right_row[:] = g.after[n_tags]
            else:
                for tag in range(tag_start[position], tag_start[position + 1]):
                    _add_scaled(np.float32(tag_score[tag]), g.after[tag_symbol[tag] - n_phrases], right_row)
    (
        coarse_symbol, coarse_cell, coarse_inside, cell_first, cell_scale, 
        coarse_parent, coarse_left, coarse_right, coarse_rule, coarse_share,
    ) = coarse_forest(
        n, tag_start, tag_symbol, tag_score, g.n_symbols, g.pair_start, g.rule_parent, g.rule_weight,
        g.unary_first, g.unary_parent, g.unary_weight, g.can_be_right, merit_left, merit_right, beam, allowed,
    )  # fmt: skip
    n_cells = n * (n + 1) // 2
    first_root = cell_first[n_cells - 1]
    root_share = np.empty(coarse_symbol.shape[0] - first_root, np.float64)
    total = 0.0
    for place in range(root_share.shape[0]):
        root_share[place] = g.root[coarse_symbol[first_root + place]] * coarse_inside[first_root + place]
        total += root_share[place]
    ok = total > 0
    if ok:
        root_share /= total
    else:
        root_share[:] = 0
    old, item_posterior, _, edge_left, edge_right, edge_rule, edge_share, edge_posterior, edge_first = prune_forest(
        root_share, first_root, coarse_symbol, coarse_cell, coarse_parent, coarse_left, coarse_right, coarse_rule, coarse_share,
        item_threshold, edge_threshold,
    )  # fmt: skip
    n_items = old.shape[0]
    item_symbol = np.empty(n_items, np.int32)
    item_cell = np.empty(n_items, np.int32)
    item_start = np.zeros(n_items + 1, np.int64)
    for item in range(n_items):
        item_symbol[item] = coarse_symbol[old[item]]
        item_cell[item] = coarse_cell[old[item]]
        item_start[item + 1] = item_start[item] + g.n_states[item_symbol[item]]
    inside = np.zeros(item_start[n_items], np.float32)
    outside = np.zeros(item_start[n_items], np.float32)
    scale = np.zeros(n_items, np.float64)
    for item in range(n_items):
        if item_symbol[item] >= n_phrases:
            word = item_cell[item]
            for tag in range(tag_start[word], tag_start[word + 1]):
                if tag_symbol[tag] == item_symbol[item]:
                    first = tag_state_start[tag]
                    inside[item_start[item] : item_start[item + 1]] = tag_states[
                        first : first + g.n_states[item_symbol[item]]
                    ]
    fine_inside(
        edge_first, edge_left, edge_right, edge_rule, edge_share, item_symbol, item_start, g.n_states,
        g.binary, g.binary_start, g.unary, g.unary_start, inside, scale,
    )  # fmt: skip
    fine_total, reference = 0.0, -np.inf
    for item in range(n_items):
        if old[item] >= first_root:
            reference = max(reference, scale[item])
    for item in range(n_items):
        if old[item] >= first_root:
            ratio = g.root_ratio[g.root_start[item_symbol[item]] : g.root_start[item_symbol[item] + 1]]
            share = root_share[old[item] - first_root] * np.exp(scale[item] - reference)
            fine_total += share * _dot(ratio, inside[item_start[item] : item_start[item + 1]])
    ok = ok and fine_total != 0
    root_posterior = np.zeros(n_items, np.float32)
    fine_posterior = np.zeros(edge_left.shape[0], np.float32)
    log_ratio = -np.inf
    if ok:
        log_ratio = (
            np.log(total) + cell_scale[n_cells - 1] + np.log(abs(fine_total)) + reference + words_scale
        )
        for item in range(n_items):
            if old[item] >= first_root:
                # Outside vectors are relative to the item's whole coarse posterior, of which being the root may be only a part.
                share = root_share[old[item] - first_root]
                factor = share / item_posterior[item] * np.exp(scale[item] - reference) / fine_total
                ratio = g.root_ratio[g.root_start[item_symbol[item]] : g.root_start[item_symbol[item] + 1]]
                here = outside[item_start[item] : item_start[item + 1]]
                for state in range(here.shape[0]):
                    here[state] = ratio[state] * factor
                root_posterior[item] = item_posterior[item] * _dot(
                    here, inside[item_start[item] : item_start[item + 1]]
                )
        fine_outside(
            edge_first, edge_left, edge_right, edge_rule, edge_share, edge_posterior, item_posterior, item_symbol, item_start, g.n_states,
            g.binary, g.binary_start, g.unary, g.unary_start, inside, scale, outside, fine_posterior,
        )  # fmt: skip
        for item in range(n_items):
            first, last = item_start[item], item_start[item + 1]
            item_posterior[item] *= _dot(inside[first:last], outside[first:last])
    return (
        ok, log_ratio, item_symbol, item_cell, item_posterior, item_start, inside, outside,
        edge_first, edge_left, edge_right, edge_rule, fine_posterior, root_posterior, coarse_symbol.shape[0], coarse_rule.shape[0],
    )  # fmt: skip
