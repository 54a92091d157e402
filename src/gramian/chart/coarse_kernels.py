"""The coarse chart: a forest without states, and its pruning. Every numba kernel of the first pass.

:func:`coarse_forest` fills a chart with the grammar without states and keeps it as a forest: items (symbol, span) and hyperedges
(rule, parent item, left item, right item), children before parents. :func:`prune_forest` computes posteriors top-down and drops
what is unlikely; :func:`pruned_forest` does both.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["coarse_forest", "prune_forest", "pruned_forest"]


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


@njit(cache=True, nogil=True)
def _merits(n, tag_start, tag_symbol, tag_score, n_phrases, table, step, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n + 1, n_symbols): how well each symbol goes with the word before (`step` 0) or after (1) each position."""
    for position in range(n + 1):
        word = position - 1 + step
        row = out[position]
        if word < 0 or word >= n:
            row[:] = table[table.shape[0] - 1]
            continue
        row[:] = 0
        for tag in range(tag_start[word], tag_start[word + 1]):
            weights = table[tag_symbol[tag] - n_phrases]
            score = np.float32(tag_score[tag])
            for symbol in range(row.shape[0]):
                row[symbol] += score * weights[symbol]


@njit(cache=True, nogil=True)
def pruned_forest(  # type: ignore[no-untyped-def]
    n, tag_start, tag_symbol, tag_score, grammar, allowed, beam, item_threshold, edge_threshold,
):  # fmt: skip
    """Fill the coarse chart of a sentence and prune it.

    `grammar` is a :class:`gramian.chart.inference.GrammarArrays`; `tag_score` is rescaled in place.

    Returns
    -------
    log_total float64: coarse log-probability up to the words' own, -inf if there is no parse;
    item_symbol, item_cell int32; item_posterior, root_share float32: posterior of an item at all, and as the root;
    edge_first, edge_left, edge_right, edge_rule int32; edge_share, edge_posterior float32.
    """
    g = grammar
    words_scale = 0.0  # each word's best tag counts as 1, so that single precision suffices for any emissions
    for word in range(n):
        best = tag_score[tag_start[word] : tag_start[word + 1]].max()
        if best > 0:
            tag_score[tag_start[word] : tag_start[word + 1]] /= best
            words_scale += np.log(best)
    n_phrases = g.n_symbols - g.before.shape[0] + 1
    merit_left = np.ones((n + 1, g.n_symbols), np.float32)
    merit_right = np.ones((n + 1, g.n_symbols), np.float32)
    if beam > 0:
        _merits(n, tag_start, tag_symbol, tag_score, n_phrases, g.before, 0, merit_left)
        _merits(n, tag_start, tag_symbol, tag_score, n_phrases, g.after, 1, merit_right)
    (
        coarse_symbol, coarse_cell, coarse_inside, cell_first, cell_scale,
        coarse_parent, coarse_left, coarse_right, coarse_rule, coarse_share,
    ) = coarse_forest(
        n, tag_start, tag_symbol, tag_score, g.n_symbols, g.pair_start, g.rule_parent, g.rule_weight,
        g.unary_first, g.unary_parent, g.unary_weight, g.can_be_right, merit_left, merit_right, beam, allowed,
    )  # fmt: skip
    n_cells = n * (n + 1) // 2
    first_root = cell_first[n_cells - 1]
    root = np.empty(coarse_symbol.shape[0] - first_root, np.float64)
    total = 0.0
    for place in range(root.shape[0]):
        root[place] = g.root[coarse_symbol[first_root + place]] * coarse_inside[first_root + place]
        total += root[place]
    log_total = -np.inf
    if total > 0:
        root /= total
        log_total = np.log(total) + cell_scale[n_cells - 1] + words_scale
    else:
        root[:] = 0
    old, item_posterior, _, edge_left, edge_right, edge_rule, edge_share, edge_posterior, edge_first = prune_forest(
        root, first_root, coarse_symbol, coarse_cell, coarse_parent, coarse_left, coarse_right, coarse_rule, coarse_share,
        item_threshold, edge_threshold,
    )  # fmt: skip
    n_items = old.shape[0]
    item_symbol = np.empty(n_items, np.int32)
    item_cell = np.empty(n_items, np.int32)
    root_share = np.zeros(n_items, np.float32)
    for item in range(n_items):
        item_symbol[item] = coarse_symbol[old[item]]
        item_cell[item] = coarse_cell[old[item]]
        if old[item] >= first_root:
            root_share[item] = root[old[item] - first_root]
    return (
        log_total, item_symbol, item_cell, item_posterior, root_share,
        edge_first, edge_left, edge_right, edge_rule, edge_share, edge_posterior,
    )  # fmt: skip
