"""The coarse chart: a forest without states, pruned. Every numba kernel of the first pass.

:func:`coarse_inside` fills a chart with the grammar without states; :func:`coarse_edges` goes top-down over its likely part, computes
posteriors and lists hyperedges; :func:`keep_likely` drops the rest. Items are numbered children before parents.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.chart.coarse_arrays import Cells, CoarseForest, EdgeList, Guesses
from gramian.jit import kernel

_LOG_TWO = math.log(2)
_NOTHING = -(1 << 60)
_POWER = 0.5 ** np.arange(400)  # down to what does not count
_ITEMS_A_CELL, _EDGES = 8, 8192  # room to begin with
_WIDE, _WIDE_RATE = 20.0, -0.5  # guesses of spans of more words are trusted less, by this power of e a word


@kernel
def cell_number(start, end, n):
    """Number of the span [start, end) among all spans of n words, ordered by width, then start."""
    width = end - start
    return (width - 1) * n - (width - 1) * (width - 2) // 2 + start


@kernel
def _grown(array, size):
    larger = np.empty(2 * array.shape[0], array.dtype)
    larger[:size] = array[:size]
    return larger


@kernel
def _right_children_first(can_be_right, n_phrases):
    """Return the phrases, those that can be right children before the others, and how many those are."""
    phrases = np.empty(n_phrases, np.int32)
    count = 0
    for wanted in (True, False):
        n_right = count
        for symbol in range(n_phrases):
            if can_be_right[symbol] == wanted:
                phrases[count] = symbol
                count += 1
    return phrases, n_right


@kernel
def coarse_inside(tags, g, guesses, allowed, limits):
    """Fill the coarse chart bottom-up; return its :class:`Cells`.

    `tags`, `guesses` of outside values and `limits` are as in :mod:`gramian.chart.coarse_arrays`, `g` is a
    :class:`gramian.chart.grammar_arrays.GrammarArrays`, `allowed` a :class:`gramian.chart.forest.Allowed`. Inside value times both guesses
    is a guess of a posterior.
    """
    n, n_symbols = tags.start.shape[0] - 1, g.n_symbols
    n_phrases = n_symbols - g.before.shape[0] + 1
    tag_start, tag_symbol, tag_score = tags.start, tags.symbol, tags.score
    unary_start, unary_parent, unary_weight = g.unary_first, g.unary_parent, g.unary_weight
    left_start, rule_right, rule_parent = g.left_start, g.rule_right, g.rule_parent
    rule_weight = g.rule_weight
    before, after, before_scale, after_scale = guesses
    allowed_row, allowed_symbols = allowed
    n_cells = n * (n + 1) // 2
    item_symbol = np.empty(_ITEMS_A_CELL * n_cells + n_symbols, np.int32)
    item_inside = np.empty(_ITEMS_A_CELL * n_cells + n_symbols, np.float64)
    cell_first = np.zeros(n_cells + 1, np.int32)
    cell_child_first = np.zeros(n_cells, np.int32)
    cell_right_end = np.zeros(n_cells, np.int32)
    cell_scale = np.zeros(n_cells, np.int64)
    value, merit = np.zeros(n_phrases, np.float64), np.empty(n_phrases, np.float64)
    phrases, n_right_phrases = _right_children_first(g.can_be_right, n_phrases)
    # Products of left and right child, summed over split points: a row for each left child that the cell has met.
    products = np.empty(n_symbols * n_symbols, np.float64)
    lefts, row_of = np.empty(n_symbols, np.int32), np.full(n_symbols, -1, np.int32)
    n_items = 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            cell = cell_number(start, end, n)
            cell_first[cell] = n_items
            cell_child_first[cell] = n_items
            cell_right_end[cell] = n_items
            row_allowed = allowed_symbols[allowed_row[cell]]
            if n_items + n_symbols > item_symbol.shape[0]:
                item_symbol = _grown(item_symbol, n_items)
                item_inside = _grown(item_inside, n_items)
            reference = 0
            if width > 1:
                reference = _NOTHING
                for split in range(start + 1, end):
                    left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                    if (
                        cell_child_first[left_cell] < cell_first[left_cell + 1]
                        and cell_child_first[right_cell] < cell_right_end[right_cell]
                    ):
                        reference = max(reference, int(cell_scale[left_cell] + cell_scale[right_cell]))
                if reference == _NOTHING:
                    continue
            # A guess of the posterior is value * before * after * exp(scale).
            scale = before_scale[start] + after_scale[end] + reference * _LOG_TWO
            least = 0.0
            if limits.guess > 0:
                least = limits.guess * np.exp(max(0.0, width - _WIDE) * _WIDE_RATE - scale)
            if width == 1:
                for tag in range(tag_start[start], tag_start[start + 1]):
                    symbol = tag_symbol[tag]
                    if tag_score[tag] * before[start, symbol] * after[end, symbol] < least:
                        continue
                    item_symbol[n_items] = symbol
                    item_inside[n_items] = tag_score[tag]
                    n_items += 1
                    for rule in range(unary_start[symbol], unary_start[symbol + 1]):
                        value[unary_parent[rule]] += unary_weight[rule] * tag_score[tag]
                cell_right_end[cell] = n_items
                if not row_allowed[n_phrases]:
                    cell_child_first[cell] = n_items
            if allowed_row[cell] > 0 and not row_allowed[:n_phrases].any():
                value[:] = 0.0
                continue
            n_lefts = 0
            for split in range(start + 1, end):
                left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                first, last = np.uintp(cell_child_first[right_cell]), np.uintp(cell_right_end[right_cell])
                left, left_end = np.uintp(cell_child_first[left_cell]), np.uintp(cell_first[left_cell + 1])
                if left == left_end or first == last:
                    continue
                shift = reference - cell_scale[left_cell] - cell_scale[right_cell]
                if shift >= _POWER.shape[0]:
                    continue
                factor = _POWER[shift]
                while left < left_end:
                    symbol = item_symbol[left]
                    if row_of[symbol] < 0:
                        row_of[symbol] = n_lefts
                        lefts[n_lefts] = symbol
                        row = np.uintp(n_lefts * n_symbols)
                        n_lefts += 1
                        for i in range(row, row + np.uintp(n_symbols)):
                            products[i] = 0.0
                    left_value = item_inside[left] * factor
                    row = np.uintp(row_of[symbol] * n_symbols)
                    for right in range(first, last):
                        products[row + np.uintp(item_symbol[right])] += left_value * item_inside[right]
                    left += np.uintp(1)
            for place in range(n_lefts):
                symbol = lefts[place]
                row_of[symbol] = -1
                row = np.uintp(place * n_symbols)
                for rule in range(np.uintp(left_start[symbol]), np.uintp(left_start[symbol + 1])):
                    value[np.uintp(rule_parent[rule])] += (
                        rule_weight[rule] * products[row + np.uintp(rule_right[rule])]
                    )
            if allowed_row[cell] > 0:
                for symbol in range(n_phrases):
                    if not row_allowed[symbol]:
                        value[symbol] = 0.0
            # Which of the phrases stay: those whose guess is near the best of the cell.
            best, largest = 0.0, 0.0
            left_guess, right_guess = before[start], after[end]
            for symbol in range(n_phrases):
                merit[symbol] = value[symbol] * left_guess[symbol] * right_guess[symbol]
                largest = max(largest, value[symbol])
                best = max(best, merit[symbol])
            floor = max(limits.beam * best, least)
            rescale = 1.0
            if width > 1 and largest > 0:
                exponent = math.frexp(largest)[1]
                cell_scale[cell] = reference + exponent
                rescale = 2.0**-exponent
            for place in range(n_phrases):
                if place == n_right_phrases:
                    cell_right_end[cell] = n_items
                symbol = phrases[place]
                if merit[symbol] >= floor and value[symbol] > 0:
                    item_symbol[n_items] = symbol
                    item_inside[n_items] = value[symbol] * rescale
                    n_items += 1
            if n_right_phrases == n_phrases:
                cell_right_end[cell] = n_items
            value[:] = 0.0
    cell_first[n_cells] = n_items
    return Cells(
        item_symbol[:n_items], item_inside[:n_items], cell_first, cell_child_first, cell_right_end, cell_scale
    )


@kernel
def _put(edges, place, parent, left, right, rule, share, posterior):
    edges.parent[place], edges.left[place], edges.right[place] = parent, left, right
    edges.rule[place], edges.share[place], edges.posterior[place] = rule, share, posterior


@kernel
def coarse_edges(n, cells, posterior, g, limits, edges):
    """Compute posteriors top-down, and list the edges above the threshold.

    `posterior` (n_items,) float64 comes in with the posteriors of being the root. Cells without an item above the threshold are left
    alone, which is most of them. Returns the number of edges, which may be more than `edges` has room for: then only as many are there.
    """
    n_symbols = g.n_symbols
    n_phrases = n_symbols - g.before.shape[0] + 1
    item_symbol, item_inside, cell_first, cell_child_first, cell_right_end, cell_scale = cells
    pair_start, rule_parent, rule_weight = g.pair_start, g.rule_parent, g.rule_weight
    unary_start, unary_parent, unary_weight = g.unary_first, g.unary_parent, g.unary_weight
    item_threshold, edge_threshold = limits.item, limits.edge
    room = edges.parent.shape[0]
    n_edges = 0
    item_of = np.full(n_phrases, -1, np.int32)
    per_value = np.zeros(n_phrases, np.float64)  # posterior of a live phrase, for each unit of inside value
    for width in range(n, 0, -1):
        for start in range(n - width + 1):
            end = start + width
            cell = cell_number(start, end, n)
            alive = False
            for item in range(cell_first[cell], cell_first[cell + 1]):
                symbol, mass = item_symbol[item], posterior[item]
                if symbol < n_phrases and mass > 0 and mass >= item_threshold:
                    item_of[symbol] = item
                    per_value[symbol] = mass / item_inside[item]
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
                                share = value / item_inside[item_of[parent]]
                                _put(edges, n_edges, item_of[parent], item, -1, rule, share, mass)
                            n_edges += 1
            for split in range(start + 1, end):
                left_cell, right_cell = cell_number(start, split, n), cell_number(split, end, n)
                first, last = np.uintp(cell_child_first[right_cell]), np.uintp(cell_right_end[right_cell])
                if cell_child_first[left_cell] == cell_first[left_cell + 1] or first == last:
                    continue
                shift = cell_scale[cell] - cell_scale[left_cell] - cell_scale[right_cell]
                if shift >= _POWER.shape[0]:
                    continue
                factor = _POWER[max(shift, 0)] if shift >= 0 else 2.0**-shift
                for left in range(cell_child_first[left_cell], cell_first[left_cell + 1]):
                    left_value = item_inside[left] * factor
                    row = np.uintp(item_symbol[left] * n_symbols)
                    left_mass = 0.0
                    for right in range(first, last):
                        pair = row + np.uintp(item_symbol[right])
                        first_rule = np.uintp(pair_start[pair])
                        last_rule = np.uintp(pair_start[pair + np.uintp(1)])
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
                                    share = product * rule_weight[rule] / item_inside[item_of[parent]]
                                    _put(edges, n_edges, item_of[parent], left, right, rule, share, mass)
                                n_edges += 1
                    posterior[left] += left_mass
            for item in range(cell_first[cell], cell_first[cell + 1]):
                if item_symbol[item] < n_phrases:
                    item_of[item_symbol[item]] = -1
                    per_value[item_symbol[item]] = 0.0
    return n_edges


@kernel
def keep_likely(posterior, item_threshold, edges):
    """Drop items below the threshold and edges that touch them; number the rest anew.

    Returns the old numbers of the items kept; where a parent's edges begin (n_items + 1,), which are sorted by rule; left, right, rule,
    share and posterior of edges.
    """
    edge_parent, edge_left, edge_right, edge_rule, edge_share, edge_posterior = edges
    n_items, n_edges = posterior.shape[0], edge_parent.shape[0]
    number = np.full(n_items, -1, np.int32)
    n_new = 0
    for item in range(n_items):
        if posterior[item] >= item_threshold and np.float32(posterior[item]) > 0:  # it becomes a divisor
            number[item] = n_new
            n_new += 1
    edge_first = np.zeros(n_new + 1, np.int32)
    kept = np.zeros(n_edges, np.bool_)
    for edge in range(n_edges):
        parent, left, right = number[edge_parent[edge]], number[edge_left[edge]], edge_right[edge]
        if parent >= 0 and left >= 0 and (right < 0 or number[right] >= 0):
            kept[edge] = True
            edge_first[parent + 1] += 1
    for item in range(n_new):
        edge_first[item + 1] += edge_first[item]
    # Sorted by rule, and then, in that order, dealt out to the parents.
    n_kept, n_rules = edge_first[n_new], np.int32(0)
    for edge in range(n_edges):
        n_rules = max(n_rules, edge_rule[edge] + np.int32(1))
    after_rule = np.zeros(n_rules + 1, np.int32)
    for edge in range(n_edges):
        if kept[edge]:
            after_rule[edge_rule[edge] + 1] += 1
    for rule in range(n_rules):
        after_rule[rule + 1] += after_rule[rule]
    by_rule = np.empty(n_kept, np.int32)
    for edge in range(n_edges):
        if kept[edge]:
            by_rule[after_rule[edge_rule[edge]]] = edge
            after_rule[edge_rule[edge]] += 1
    order = np.empty(n_kept, np.int32)
    fill = edge_first[:-1].copy()
    for place in range(n_kept):
        parent = number[edge_parent[by_rule[place]]]
        order[fill[parent]] = by_rule[place]
        fill[parent] += 1
    right = edge_right[order]
    for place in range(right.shape[0]):
        if right[place] >= 0:
            right[place] = number[right[place]]
    old, left, rule = np.flatnonzero(number >= 0), number[edge_left[order]], edge_rule[order]
    return old, edge_first, left, right, rule, edge_share[order], edge_posterior[order]


@kernel
def outside_guesses(tags, g):
    """Guess what stands around each symbol from a chain of tags (Caraballo & Charniak 1998).

    Guesses are the chance of a symbol to begin / end at a position, given the words before / after it; divided by the probability of all
    words, which both scales share.
    """
    n_phrases, n_tags = g.n_symbols - g.before.shape[0] + 1, g.before.shape[0] - 1
    share = np.zeros(n_tags, np.float64)
    for row in range(n_tags + 1):
        for tag in range(n_tags):
            share[tag] += g.before[row, n_phrases + tag]
    before, before_scale = _chain(tags, g.before, share, n_phrases, 1)
    after, after_scale = _chain(tags, g.after, np.ones(n_tags, np.float64), n_phrases, -1)
    total = 0.0
    for tag in range(tags.start[0], tags.start[1]):
        total += before[0, tags.symbol[tag]] * tags.score[tag] * after[1, tags.symbol[tag]]
    if total > 0:
        shift = np.log(total) + after_scale[1]
        for position in range(after_scale.shape[0]):
            after_scale[position] -= shift
    return Guesses(before, after, before_scale, after_scale)


@kernel
def _chain(tags, table, share, n_phrases, step):
    """Return a chance for every position and symbol, from the first position on (`step` 1) or from the last (-1), and its scale."""
    n, n_symbols = tags.start.shape[0] - 1, table.shape[1]
    chance, scale = np.zeros((n + 1, n_symbols), np.float64), np.zeros(n + 1, np.float64)
    position = 0 if step > 0 else n
    out, row = chance[position], table[table.shape[0] - 1]
    for i in range(n_symbols):
        out[i] = row[i]
    for _ in range(n):
        known, position = position, position + step
        word = min(known, position)
        total = 0.0
        out = chance[position]
        for tag in range(tags.start[word], tags.start[word + 1]):
            symbol = tags.symbol[tag]
            weight = tags.score[tag] * chance[known, symbol]
            total += weight
            rate = weight / share[symbol - n_phrases] if share[symbol - n_phrases] > 0 else 0.0
            row = table[symbol - n_phrases]
            for i in range(n_symbols):
                out[i] += rate * row[i]
        scale[position] = scale[known]
        if total > 0:
            for i in range(n_symbols):
                out[i] /= total
            scale[position] += np.log(total)
    return chance, scale


@kernel
def _edge_room(size):
    parent, left, right, rule = np.empty((4, size), np.int32)
    share, posterior = np.empty((2, size), np.float32)
    return EdgeList(parent, left, right, rule, share, posterior)


@kernel
def pruned_forest(tags, g, allowed, limits):
    """Fill the coarse chart of a sentence and prune it; return a :class:`CoarseForest`.

    Arguments are those of :func:`coarse_inside`; the scores of `tags` are rescaled in place.
    """
    n = tags.start.shape[0] - 1
    words_scale = 0.0  # each word's best tag counts as 1, so that single precision suffices for any emissions
    for word in range(n):
        best = 0.0
        for tag in range(tags.start[word], tags.start[word + 1]):
            best = max(best, tags.score[tag])
        if best > 0:
            for tag in range(tags.start[word], tags.start[word + 1]):
                tags.score[tag] /= best
            words_scale += np.log(best)
    cells = coarse_inside(tags, g, outside_guesses(tags, g), allowed, limits)
    symbol, inside, cell_first, cell_child_first, _, cell_scale = cells
    top = n * (n + 1) // 2 - 1
    posterior = np.zeros(symbol.shape[0], np.float64)
    total = 0.0
    for item in range(cell_child_first[top], cell_first[top + 1]):
        posterior[item] = g.root[symbol[item]] * inside[item]
        total += posterior[item]
    log_total = -np.inf
    if total > 0:
        for item in range(cell_child_first[top], cell_first[top + 1]):
            posterior[item] /= total
        log_total = np.log(total) + cell_scale[top] * _LOG_TWO + words_scale
    root = posterior[cell_first[top] :].copy()
    edges = _edge_room(_EDGES)
    n_edges = coarse_edges(n, cells, posterior, g, limits, edges)
    if n_edges > _EDGES:
        posterior[:] = 0
        posterior[cell_first[top] :] = root
        edges = _edge_room(n_edges)
        coarse_edges(n, cells, posterior, g, limits, edges)
    listed = EdgeList(
        edges.parent[:n_edges], edges.left[:n_edges], edges.right[:n_edges], edges.rule[:n_edges],
        edges.share[:n_edges], edges.posterior[:n_edges],
    )  # fmt: skip
    old, edge_first, left, right, rule, share, edge_posterior = keep_likely(posterior, limits.item, listed)
    item_cell = np.empty(old.shape[0], np.int32)
    root_share = np.zeros(old.shape[0], np.float32)
    cell = 0
    for item in range(old.shape[0]):
        while cell_first[cell + 1] <= old[item]:
            cell += 1
        item_cell[item] = cell
        if cell == top:
            root_share[item] = root[old[item] - cell_first[top]]
    return CoarseForest(
        log_total, symbol[old], item_cell, posterior[old].astype(np.float32), root_share,
        edge_first, left, right, rule, share, edge_posterior,
    )  # fmt: skip
