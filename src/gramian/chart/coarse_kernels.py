"""The coarse chart: a forest without states, pruned. Every numba kernel of the first pass.

:func:`coarse_inside` fills a chart with the grammar without states; :func:`coarse_edges` goes top-down over its likely part,
computes posteriors and lists hyperedges (rule, parent item, left item, right item); :func:`keep_likely` drops the rest.
Items are numbered children before parents.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["coarse_edges", "coarse_inside", "keep_likely", "pruned_forest"]


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
def coarse_inside(  # type: ignore[no-untyped-def]
    n, tag_start, tag_symbol, tag_score, n_symbols, n_phrases,
    pair_start, rule_parent, rule_weight, unary_start, unary_parent, unary_weight, can_be_right,
    merit_left, merit_right, beam, allowed, allowed_symbols,
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
    allowed (n_cells,) int32: rows of allowed_symbols (n_rows, n_phrases + 1) bool: the phrases that a span may hold, and whether its
    tag may stand without a phrase. Row 0 must allow all.

    Returns
    -------
    item_symbol int32; item_inside float64, scaled per cell; cell_first (n_cells + 1,), cell_right_end (n_cells,) int32: a cell's
    items, those that can be right children first; cell_child_first (n_cells,) int32: its first that can stand beside another;
    cell_scale float64: logarithm of what a cell's values were divided by.
    """
    n_cells = n * (n + 1) // 2
    item_symbol = np.empty(16 * n_cells + n_symbols, np.int32)
    item_inside = np.empty(16 * n_cells + n_symbols, np.float64)
    cell_first = np.zeros(n_cells + 1, np.int32)
    cell_child_first = np.zeros(n_cells, np.int32)
    cell_right_end = np.zeros(n_cells, np.int32)
    cell_scale = np.zeros(n_cells, np.float64)
    value = np.zeros(n_phrases, np.float64)
    n_items = 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            cell = cell_number(start, end, n)
            cell_first[cell] = n_items
            cell_child_first[cell] = n_items
            row_allowed = allowed_symbols[allowed[cell]]
            if n_items + n_symbols > item_symbol.shape[0]:
                item_symbol = _grown(item_symbol, n_items)
                item_inside = _grown(item_inside, n_items)
            reference = 0.0
            if width == 1:
                for tag in range(tag_start[start], tag_start[start + 1]):
                    item_symbol[n_items] = tag_symbol[tag]
                    item_inside[n_items] = tag_score[tag]
                    n_items += 1
                    for rule in range(unary_start[tag_symbol[tag]], unary_start[tag_symbol[tag] + 1]):
                        value[unary_parent[rule]] += unary_weight[rule] * tag_score[tag]
                if not row_allowed[n_phrases]:
                    cell_child_first[cell] = n_items
            else:
                reference = -np.inf
                for split in range(start + 1, end):
                    left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                    if (
                        cell_child_first[left_cell] < cell_first[left_cell + 1]
                        and cell_child_first[right_cell] < cell_right_end[right_cell]
                    ):
                        reference = max(reference, cell_scale[left_cell] + cell_scale[right_cell])
            if reference == -np.inf or (allowed[cell] > 0 and not row_allowed[:n_phrases].any()):
                value[:] = 0.0
                cell_right_end[cell] = n_items
                continue
            for split in range(start + 1, end):
                left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                first, last = cell_child_first[right_cell], cell_right_end[right_cell]
                if cell_child_first[left_cell] == cell_first[left_cell + 1] or first == last:
                    continue
                factor = np.exp(cell_scale[left_cell] + cell_scale[right_cell] - reference)
                if factor < 1e-100:
                    continue
                symbols, insides = item_symbol[first:last], item_inside[first:last]
                for left in range(cell_child_first[left_cell], cell_first[left_cell + 1]):
                    left_value = item_inside[left] * factor
                    row = pair_start[item_symbol[left] * n_symbols : (item_symbol[left] + 1) * n_symbols + 1]
                    for right in range(symbols.shape[0]):
                        first_rule, last_rule = (
                            row[np.uintp(symbols[right])],
                            row[np.uintp(symbols[right] + 1)],
                        )
                        product = left_value * insides[right]
                        for rule in range(first_rule, last_rule):
                            value[np.uintp(rule_parent[np.uintp(rule)])] += (
                                product * rule_weight[np.uintp(rule)]
                            )
            if allowed[cell] > 0:
                for symbol in range(n_phrases):
                    if not row_allowed[symbol]:
                        value[symbol] = 0.0
            # Which of the phrases stay: those whose value times guessed outside value is near the best of the cell.
            floor, largest = 0.0, 0.0
            before, after = merit_left[start], merit_right[end]
            for symbol in range(n_phrases):
                if value[symbol] > 0:
                    largest = max(largest, value[symbol])
                    floor = max(floor, value[symbol] * before[symbol] * after[symbol])
            floor *= beam
            rescale = 1.0
            if width > 1 and largest > 0:
                cell_scale[cell] = reference + np.log(largest)
                rescale = 1.0 / largest
            for turn in range(2):
                for symbol in range(n_phrases):
                    merit = value[symbol] * before[symbol] * after[symbol]
                    if (
                        value[symbol] > 0
                        and can_be_right[symbol] == (turn == 0)
                        and (beam == 0 or merit >= floor)
                    ):
                        item_symbol[n_items] = symbol
                        item_inside[n_items] = value[symbol] * rescale
                        n_items += 1
                if turn == 0:
                    cell_right_end[cell] = n_items
            value[:] = 0.0
    cell_first[n_cells] = n_items
    return (
        item_symbol[:n_items], item_inside[:n_items], cell_first, cell_child_first, cell_right_end, cell_scale,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def coarse_edges(  # type: ignore[no-untyped-def]
    n, item_symbol, item_inside, cell_first, cell_child_first, cell_right_end, cell_scale, posterior, n_symbols, n_phrases,
    pair_start, rule_parent, rule_weight, unary_start, unary_parent, unary_weight, item_threshold, edge_threshold,
    edge_parent, edge_left, edge_right, edge_rule, edge_share, edge_posterior,
):  # fmt: skip
    """Compute posteriors top-down, and list the edges above the threshold.

    `posterior` (n_items,) float64 comes in with the posteriors of being the root. Cells without an item above the threshold are left
    alone, which is most of them. OUT per edge: parent, left and right item (-1: unary), rule, share of the parent's inside value,
    posterior. Returns the number of edges, which may be more than there was room for: then only as many are there.
    """
    room = edge_parent.shape[0]
    n_edges = 0
    item_of = np.full(n_phrases, -1, np.int32)
    per_value = np.zeros(
        n_phrases, np.float64
    )  # posterior of a live phrase of the cell, for each unit of inside value
    for width in range(n, 0, -1):
        for start in range(n - width + 1):
            end = start + width
            cell = cell_number(start, end, n)
            alive = False
            for item in range(cell_first[cell], cell_first[cell + 1]):
                if (
                    item_symbol[item] < n_phrases
                    and posterior[item] > 0
                    and posterior[item] >= item_threshold
                ):
                    item_of[item_symbol[item]] = item
                    per_value[item_symbol[item]] = posterior[item] / item_inside[item]
                    alive = True
            if not alive:
                continue
            if width == 1:
                for item in range(cell_first[cell], cell_first[cell + 1]):
                    tag = item_symbol[item]
                    if tag < n_phrases:
                        continue
                    for rule in range(unary_start[tag], unary_start[tag + 1]):
                        parent = unary_parent[rule]
                        value = unary_weight[rule] * item_inside[item]
                        mass = value * per_value[parent]
                        posterior[item] += mass
                        if mass > 0 and mass >= edge_threshold:
                            if n_edges < room:
                                edge_parent[n_edges] = item_of[parent]
                                edge_left[n_edges] = item
                                edge_right[n_edges] = -1
                                edge_rule[n_edges] = rule
                                edge_share[n_edges] = value / item_inside[item_of[parent]]
                                edge_posterior[n_edges] = mass
                            n_edges += 1
            for split in range(start + 1, end):
                left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                first, last = cell_child_first[right_cell], cell_right_end[right_cell]
                if cell_child_first[left_cell] == cell_first[left_cell + 1] or first == last:
                    continue
                factor = np.exp(cell_scale[left_cell] + cell_scale[right_cell] - cell_scale[cell])
                if factor < 1e-100:
                    continue
                for left in range(cell_child_first[left_cell], cell_first[left_cell + 1]):
                    left_value = item_inside[left] * factor
                    row = item_symbol[left] * n_symbols
                    left_mass = 0.0
                    for right in range(np.uintp(first), np.uintp(last)):
                        pair = np.uintp(row + item_symbol[right])
                        first_rule, last_rule = (
                            np.uintp(pair_start[pair]),
                            np.uintp(pair_start[pair + np.uintp(1)]),
                        )
                        if first_rule == last_rule:
                            continue
                        product = left_value * item_inside[right]
                        pair_mass = 0.0
                        for rule in range(first_rule, last_rule):
                            pair_mass += rule_weight[rule] * per_value[np.uintp(rule_parent[rule])]
                        pair_mass *= product
                        left_mass += pair_mass
                        posterior[right] += pair_mass
                        if pair_mass < edge_threshold or pair_mass == 0:
                            continue
                        for rule in range(first_rule, last_rule):
                            parent = rule_parent[rule]
                            mass = product * rule_weight[rule] * per_value[parent]
                            if mass > 0 and mass >= edge_threshold:
                                if n_edges < room:
                                    edge_parent[n_edges] = item_of[parent]
                                    edge_left[n_edges] = left
                                    edge_right[n_edges] = right
                                    edge_rule[n_edges] = rule
                                    edge_share[n_edges] = (
                                        product * rule_weight[rule] / item_inside[item_of[parent]]
                                    )
                                    edge_posterior[n_edges] = mass
                                n_edges += 1
                    posterior[left] += left_mass
            for item in range(cell_first[cell], cell_first[cell + 1]):
                if item_symbol[item] < n_phrases:
                    item_of[item_symbol[item]] = -1
                    per_value[item_symbol[item]] = 0.0
    return n_edges


@njit(cache=True, nogil=True)
def keep_likely(  # type: ignore[no-untyped-def]
    posterior, item_threshold, edge_parent, edge_left, edge_right, edge_rule, edge_share, edge_posterior
):
    """Drop items below the threshold and edges that touch them; number the rest anew.

    Returns
    -------
    item_old int32: old numbers of the items kept; edge_first int32 (n_items + 1,): a parent's edges, which are sorted by rule;
    edge_left, edge_right, edge_rule int32; edge_share, edge_posterior float32.
    """
    n_items, n_edges = posterior.shape[0], edge_parent.shape[0]
    number = np.full(n_items, -1, np.int32)
    n_new = 0
    for item in range(n_items):
        if posterior[item] >= item_threshold and np.float32(posterior[item]) > 0:  # it becomes a divisor
            number[item] = n_new
            n_new += 1
    item_old = np.empty(n_new, np.int32)
    for item in range(n_items):
        if number[item] >= 0:
            item_old[number[item]] = item
    edge_first = np.zeros(n_new + 1, np.int32)
    kept = np.zeros(n_edges, np.bool_)
    for edge in range(n_edges):
        right = edge_right[edge]
        if (
            number[edge_parent[edge]] >= 0
            and number[edge_left[edge]] >= 0
            and (right < 0 or number[right] >= 0)
        ):
            kept[edge] = True
            edge_first[number[edge_parent[edge]] + 1] += 1
    for item in range(n_new):
        edge_first[item + 1] += edge_first[item]
    n_kept = edge_first[n_new]
    order = np.empty(n_kept, np.int32)
    fill = edge_first[:-1].copy()
    for edge in range(n_edges):
        if kept[edge]:
            parent = number[edge_parent[edge]]
            place = fill[parent]
            fill[parent] += 1
            while place > edge_first[parent] and edge_rule[order[place - 1]] > edge_rule[edge]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = edge
    new_left = np.empty(n_kept, np.int32)
    new_right = np.empty(n_kept, np.int32)
    new_rule = np.empty(n_kept, np.int32)
    new_share = np.empty(n_kept, np.float32)
    new_posterior = np.empty(n_kept, np.float32)
    for place in range(n_kept):
        edge = order[place]
        new_left[place] = number[edge_left[edge]]
        new_right[place] = number[edge_right[edge]] if edge_right[edge] >= 0 else -1
        new_rule[place] = edge_rule[edge]
        new_share[place] = edge_share[edge]
        new_posterior[place] = edge_posterior[edge]
    return item_old, edge_first, new_left, new_right, new_rule, new_share, new_posterior


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
    n, tag_start, tag_symbol, tag_score, grammar, allowed, allowed_symbols, beam, item_threshold, edge_threshold,
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
    symbol, inside, cell_first, cell_child_first, cell_right_end, cell_scale = coarse_inside(
        n, tag_start, tag_symbol, tag_score, g.n_symbols, n_phrases, g.pair_start, g.rule_parent, g.rule_weight,
        g.unary_first, g.unary_parent, g.unary_weight, g.can_be_right, merit_left, merit_right, beam,
        allowed, allowed_symbols,
    )  # fmt: skip
    top = n * (n + 1) // 2 - 1
    posterior = np.zeros(symbol.shape[0], np.float64)
    total = 0.0
    for item in range(cell_child_first[top], cell_first[top + 1]):
        posterior[item] = g.root[symbol[item]] * inside[item]
        total += posterior[item]
    log_total = -np.inf
    if total > 0:
        posterior /= total
        log_total = np.log(total) + cell_scale[top] + words_scale
    root = posterior[cell_first[top] :].copy()
    room = 8192
    while True:
        edge_parent, edge_left = np.empty(room, np.int32), np.empty(room, np.int32)
        edge_right, edge_rule = np.empty(room, np.int32), np.empty(room, np.int32)
        edge_share, edge_posterior = np.empty(room, np.float32), np.empty(room, np.float32)
        posterior[:] = 0
        posterior[cell_first[top] :] = root
        n_edges = coarse_edges(
            n, symbol, inside, cell_first, cell_child_first, cell_right_end, cell_scale, posterior, g.n_symbols, n_phrases,
            g.pair_start, g.rule_parent, g.rule_weight, g.unary_first, g.unary_parent, g.unary_weight, item_threshold, edge_threshold,
            edge_parent, edge_left, edge_right, edge_rule, edge_share, edge_posterior,
        )  # fmt: skip
        if n_edges <= room:
            break
        room = n_edges
    old, edge_first, edge_left, edge_right, edge_rule, edge_share, edge_posterior = keep_likely(
        posterior, item_threshold, edge_parent[:n_edges], edge_left[:n_edges], edge_right[:n_edges], edge_rule[:n_edges],
        edge_share[:n_edges], edge_posterior[:n_edges],
    )  # fmt: skip
    n_items = old.shape[0]
    item_symbol = np.empty(n_items, np.int32)
    item_cell = np.empty(n_items, np.int32)
    item_posterior = np.empty(n_items, np.float32)
    root_share = np.zeros(n_items, np.float32)
    cell = 0
    for item in range(n_items):
        while cell_first[cell + 1] <= old[item]:
            cell += 1
        item_symbol[item] = symbol[old[item]]
        item_cell[item] = cell
        item_posterior[item] = posterior[old[item]]
        if cell == top:
            root_share[item] = root[old[item] - cell_first[top]]
    return (
        log_total, item_symbol, item_cell, item_posterior, root_share,
        edge_first, edge_left, edge_right, edge_rule, edge_share, edge_posterior,
    )  # fmt: skip
