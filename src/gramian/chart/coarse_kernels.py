"""The coarse chart: a forest without states, pruned. Every numba kernel of the first pass.

:func:`coarse_inside` fills a chart with the grammar without states; :func:`coarse_edges` goes top-down over its likely part, computes
posteriors and lists hyperedges; :func:`keep_likely` drops the rest. Items are numbered children before parents.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.chart.coarse_arrays import BLOCK as _FOUR
from gramian.chart.coarse_arrays import Cells, CoarseForest, EdgeList
from gramian.chart.guess_kernels import outside_guesses
from gramian.kernels import kernel

_LOG_TWO = math.log(2)
_NOTHING = -(1 << 60)
_POWER = 0.5 ** np.arange(400)  # down to what does not count
_ITEMS_A_CELL, _EDGES = 8, 8192  # room to begin with
_ONE, _TWO, _THREE = (np.uintp(n) for n in range(1, 4))
_PAIRS = 2048  # of children: when more are listed, they are worked through
_WIDE, _WIDE_RATE = 20.0, -0.5  # guesses of spans of more words are trusted less, by this power of e a word


@kernel
def cell_number(start, end, n):
    """Number of the span [start, end) among all spans of n words, ordered by width, then start."""
    width = end - start
    return (width - 1) * n - (width - 1) * (width - 2) // 2 + start


@kernel
def grown(array, size):
    """Return an array with twice the room, and the first `size` numbers of another."""
    larger = np.empty(2 * array.shape[0], array.dtype)
    for i in range(size):  # one slice set to another would have numba compile a message about their shapes
        larger[i] = array[i]
    return larger


@kernel
def taken(values, indices):
    """Return the values at some indices."""
    result = np.empty(indices.shape[0], values.dtype)
    for i in range(indices.shape[0]):
        result[i] = values[indices[i]]
    return result


@kernel
def renumbered(children, edges, number):
    """Return the new numbers of the children of some edges, -1 where an edge has no such child."""
    result = np.empty(edges.shape[0], np.int32)
    for i in range(edges.shape[0]):
        child = children[edges[i]]
        result[i] = number[child] if child >= 0 else child
    return result


@kernel
def _width_starts(n):
    """Return the number of the first span of each width from 0 to `n`."""
    starts = np.empty(n + 1, np.int64)
    for width in range(n + 1):
        starts[width] = cell_number(0, width, n)
    return starts


@kernel
def _pair_room(n_symbols):
    """Return room for pairs of children: the first block of their rules, their product, the left item, the index of the right one.

    There is room for all pairs of a split beside as many as may wait.
    """
    size = _PAIRS + n_symbols * n_symbols + 1
    blocks, lefts, rights = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    return blocks, np.empty(size, np.float64), lefts, rights


@kernel
def coarse_inside(tags, g, guesses, allowed, first_cell, limits):
    """Fill the coarse chart bottom-up; return its :class:`Cells`.

    `tags`, `guesses` of outside values and `limits` are as in :mod:`gramian.chart.coarse_arrays`, `g` is a
    :class:`gramian.chart.grammar_arrays.GrammarArrays`, `allowed` :class:`gramian.chart.coarse_arrays.AllowedRows`, in which the
    sentence's spans begin at `first_cell`. Inside value times both guesses is a guess of a posterior.
    """
    n, n_symbols = tags.start.shape[0] - 1, g.n_symbols
    n_phrases = n_symbols - g.before.shape[0] + 1
    tag_start, tag_symbol, tag_score = tags.start, tags.symbol, tags.score
    unary_start, unary_parent, unary_weight = g.unary_first, g.unary_parent, g.unary_weight
    block_count, slot_parent, slot_weight = g.block_count, g.slot_parent, g.slot_weight
    before, after, before_scale, after_scale = guesses
    allowed_row, allowed_symbols, row_has_phrase = allowed
    n_cells, begin = n * (n + 1) // 2, _width_starts(n)
    room = _ITEMS_A_CELL * n_cells + n_symbols
    item_symbol, item_inside = np.empty(room, np.int32), np.empty(room, np.float64)
    right_symbol, right_inside = np.empty(room, np.int32), np.empty(room, np.float64)
    right_item = np.empty(room, np.int32)
    cell_first = np.zeros(n_cells + 1, np.int32)
    cell_child_first = np.zeros(n_cells, np.int32)
    cell_right = np.zeros(n_cells + 1, np.int32)
    cell_scale = np.zeros(n_cells, np.int64)
    # Merits are looked through in eights, which are passed over if their largest is too small. The bits of numbers that are not negative
    # have the order of the numbers, and the largest of whole numbers is found in vectors.
    n_eights = (n_phrases + 7) // 8
    value, merit = np.zeros(8 * n_eights + _FOUR, np.float64), np.zeros(8 * n_eights, np.float64)
    most, largest = np.empty(n_eights, np.float64), np.empty(1, np.float64)
    value_bits, merit_bits = value.view(np.int64), merit.view(np.int64)
    most_bits, largest_bits = most.view(np.int64), largest.view(np.int64)
    # Of each pair of children, the sum of their products; that of pairs without rules is never 0, so that it is not listed.
    pair_sum, blocks = (
        np.zeros(block_count.shape[0], np.float64),
        np.empty(block_count.shape[0] + 1, np.uintp),
    )
    pair_sum[0] = 1.0
    pair_block, columns = g.pair_block, np.uintp(g.n_symbols)
    live_left, live_right = np.empty(n, np.int64), np.empty(n, np.int64)
    n_items, n_rights = 0, 0
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end, cell = start + width, begin[width] + start
            cell_first[cell] = n_items
            cell_child_first[cell] = n_items
            cell_right[cell] = n_rights
            row_allowed = allowed_row[
                first_cell + cell
            ]  # to make a view of the row would take longer than using it
            if width > 1 and not row_has_phrase[row_allowed]:
                continue
            if n_items + n_symbols > item_symbol.shape[0]:
                item_symbol, item_inside = grown(item_symbol, n_items), grown(item_inside, n_items)
            if n_rights + n_symbols > right_symbol.shape[0]:
                right_symbol, right_inside = grown(right_symbol, n_rights), grown(right_inside, n_rights)
                right_item = grown(right_item, n_rights)
            reference, n_live = 0, 0
            if width > 1:
                reference = _NOTHING
                for part in range(1, width):
                    left_cell, right_cell = begin[part] + start, begin[width - part] + start + part
                    if (
                        cell_child_first[left_cell] < cell_first[left_cell + 1]
                        and cell_right[right_cell] < cell_right[right_cell + 1]
                    ):
                        reference = max(reference, int(cell_scale[left_cell] + cell_scale[right_cell]))
                        live_left[n_live], live_right[n_live] = left_cell, right_cell
                        n_live += 1
                if n_live == 0:
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
                if not allowed_symbols[row_allowed, n_phrases]:
                    cell_child_first[cell] = n_items
            # inside(A, i, j) = sum over rules A -> B C of P(A -> B C) times the sum over splits k of inside(B, i, k) inside(C, k, j): the
            # sums are taken first, since splits share pairs of B and C, and the rules of each pair are then added up in blocks.
            count = np.uintp(0)
            for split in range(n_live):
                left_cell, right_cell = live_left[split], live_right[split]
                shift = reference - cell_scale[left_cell] - cell_scale[right_cell]
                if shift < _POWER.shape[0]:
                    left, left_end = (
                        np.uintp(cell_child_first[left_cell]),
                        np.uintp(cell_first[left_cell + 1]),
                    )
                    first, last = np.uintp(cell_right[right_cell]), np.uintp(cell_right[right_cell + 1])
                    factor = _POWER[shift]
                    while left < left_end:
                        left_value, row = item_inside[left] * factor, np.uintp(item_symbol[left]) * columns
                        for right in range(first, last):
                            block = np.uintp(pair_block[row + np.uintp(right_symbol[right])])
                            before_sum, product = pair_sum[block], left_value * right_inside[right]
                            pair_sum[block] = before_sum + product
                            blocks[count] = block
                            count += np.uintp((before_sum == 0.0) & (product > 0.0))
                        left += _ONE
            for index in range(count):
                block = blocks[index]
                product, pair_sum[block] = pair_sum[block], 0.0
                slot = block * np.uintp(_FOUR)
                last = slot + np.uintp(block_count[block]) * np.uintp(_FOUR)
                while slot < last:
                    value[np.uintp(slot_parent[slot])] += slot_weight[slot] * product
                    value[np.uintp(slot_parent[slot + _ONE])] += slot_weight[slot + _ONE] * product
                    value[np.uintp(slot_parent[slot + _TWO])] += slot_weight[slot + _TWO] * product
                    value[np.uintp(slot_parent[slot + _THREE])] += slot_weight[slot + _THREE] * product
                    slot += np.uintp(_FOUR)
            if row_allowed > 0:
                for symbol in range(n_phrases):
                    if not allowed_symbols[row_allowed, symbol]:
                        value[symbol] = 0.0
            # merit(A) = inside(A, i, j) before(A, i) after(A, j) guesses a posterior; what is far from the best of the cell is dropped.
            for symbol in range(n_phrases):
                merit[symbol] = value[symbol] * before[start, symbol] * after[end, symbol]
            best = np.int64(0)
            for eight in range(n_eights):
                bits = np.int64(0)
                for symbol in range(8 * eight, 8 * eight + 8):
                    bits = max(bits, merit_bits[symbol])
                most_bits[eight] = bits
                best = max(best, bits)
            largest_bits[0] = best
            floor = max(limits.beam * largest[0], least)
            best = np.int64(0)
            for symbol in range(n_phrases):
                best = max(best, value_bits[symbol])
            largest_bits[0] = best
            rescale = 1.0
            if width > 1 and largest[0] > 0:
                exponent = math.frexp(largest[0])[1]
                cell_scale[cell] = reference + exponent
                rescale = math.ldexp(1.0, -exponent)
            for eight in range(n_eights):
                if most[eight] >= floor:
                    for symbol in range(8 * eight, min(8 * eight + 8, n_phrases)):
                        if merit[symbol] >= floor and value[symbol] > 0:
                            item_symbol[n_items] = symbol
                            item_inside[n_items] = value[symbol] * rescale
                            n_items += 1
            value[:] = 0.0
            for item in range(cell_child_first[cell], n_items):
                if g.can_be_right[item_symbol[item]]:
                    right_symbol[n_rights], right_inside[n_rights] = item_symbol[item], item_inside[item]
                    right_item[n_rights] = item
                    n_rights += 1
            cell_right[cell + 1] = n_rights
    cell_first[n_cells] = n_items
    return Cells(
        item_symbol[:n_items], item_inside[:n_items], cell_first, cell_child_first, cell_right, right_symbol, right_inside,
        right_item, cell_scale,
    )  # fmt: skip


@kernel
def coarse_edges(n, cells, posterior, g, limits, edges):
    """Compute posteriors top-down, and list the edges above the threshold.

    `posterior` (n_items,) float64 comes in with the posteriors of being the root. Cells without an item above the threshold are left
    alone, which is most of them. Returns the number of edges, which may be more than `edges` has room for: then only as many are there.
    """
    n_phrases = g.n_symbols - g.before.shape[0] + 1
    item_symbol, item_inside = cells.symbol, cells.inside
    cell_first, cell_child_first = cells.first, cells.child_first
    cell_right, right_item, cell_scale = cells.right, cells.right_item, cells.scale
    right_symbol, right_inside, slot_rule = cells.right_symbol, cells.right_inside, g.slot_rule
    block_count, slot_parent, slot_weight = g.block_count, g.slot_parent, g.slot_weight
    unary_start, unary_parent, unary_weight = g.unary_first, g.unary_parent, g.unary_weight
    item_threshold, edge_threshold = limits.item, limits.edge
    edge_parent, edge_left, edge_right, edge_rule, edge_share, edge_posterior = edges
    room = edge_parent.shape[0]
    n_edges, begin = 0, _width_starts(n)
    item_of = np.full(n_phrases, -1, np.int32)
    # posterior(A) / inside(A), which is outside(A) / P(sentence), of the phrases above the threshold
    per_value = np.zeros(n_phrases + _FOUR, np.float64)
    share_per_value = np.zeros(n_phrases, np.float64)
    blocks, products, lefts, rights = _pair_room(g.n_symbols)
    pair_block, columns = g.pair_block, np.uintp(g.n_symbols)
    for width in range(n, 0, -1):
        for start in range(n - width + 1):
            cell = begin[width] + start
            alive = False
            for item in range(cell_first[cell], cell_first[cell + 1]):
                symbol, mass = item_symbol[item], posterior[item]
                if symbol < n_phrases and mass > 0 and mass >= item_threshold:
                    item_of[symbol] = item
                    per_value[symbol] = mass / item_inside[item]
                    share_per_value[symbol] = 1 / item_inside[item]
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
                                edge_parent[n_edges], edge_left[n_edges] = item_of[parent], item
                                edge_right[n_edges], edge_rule[n_edges] = -1, rule
                                edge_share[n_edges] = value * share_per_value[parent]
                                edge_posterior[n_edges] = mass
                            n_edges += 1
            count = np.uintp(0)
            for part in range(1, width):
                left_cell, right_cell = begin[part] + start, begin[width - part] + start + part
                left, left_end = np.uintp(cell_child_first[left_cell]), np.uintp(cell_first[left_cell + 1])
                first, last = np.uintp(cell_right[right_cell]), np.uintp(cell_right[right_cell + 1])
                shift = cell_scale[cell] - cell_scale[left_cell] - cell_scale[right_cell]
                if left < left_end and first < last and shift < _POWER.shape[0]:
                    factor = _POWER[shift] if shift >= 0 else 2.0**-shift
                    while left < left_end:
                        left_value, row = item_inside[left] * factor, np.uintp(item_symbol[left]) * columns
                        for right in range(first, last):
                            block = pair_block[row + np.uintp(right_symbol[right])]
                            blocks[count], products[count] = block, left_value * right_inside[right]
                            lefts[count], rights[count] = left, right
                            count += np.uintp(block != 0)
                        left += _ONE
                if count <= np.uintp(_PAIRS) and part < width - 1:
                    continue
                # posterior(edge) = P(A -> B C) inside(B) inside(C) posterior(A) / inside(A); an item's is the sum over the edges above it.
                n_likely = np.uintp(0)
                for pair in range(count):
                    block = np.uintp(blocks[pair])
                    slot = block * np.uintp(_FOUR)
                    last = slot + np.uintp(block_count[block]) * np.uintp(_FOUR)
                    mass = 0.0
                    while slot < last:
                        mass += slot_weight[slot] * per_value[np.uintp(slot_parent[slot])]
                        mass += slot_weight[slot + _ONE] * per_value[np.uintp(slot_parent[slot + _ONE])]
                        mass += slot_weight[slot + _TWO] * per_value[np.uintp(slot_parent[slot + _TWO])]
                        mass += slot_weight[slot + _THREE] * per_value[np.uintp(slot_parent[slot + _THREE])]
                        slot += np.uintp(_FOUR)
                    mass *= products[pair]
                    posterior[np.uintp(lefts[pair])] += mass
                    posterior[np.uintp(right_item[np.uintp(rights[pair])])] += mass
                    # Those that have a likely edge move to the front.
                    blocks[n_likely], products[n_likely] = blocks[pair], products[pair]
                    lefts[n_likely], rights[n_likely] = lefts[pair], rights[pair]
                    n_likely += np.uintp(mass > 0 and mass >= edge_threshold)
                for pair in range(n_likely):
                    block, product = np.uintp(blocks[pair]), products[pair]
                    slot = block * np.uintp(_FOUR)
                    last = slot + np.uintp(block_count[block]) * np.uintp(_FOUR)
                    for at in range(slot, last):
                        parent = np.uintp(slot_parent[at])
                        value = product * slot_weight[at]
                        mass = value * per_value[parent]
                        if mass > 0 and mass >= edge_threshold:
                            if n_edges < room:
                                edge_parent[n_edges], edge_left[n_edges] = item_of[parent], lefts[pair]
                                edge_right[n_edges] = right_item[rights[pair]]
                                edge_rule[n_edges] = slot_rule[at]
                                edge_share[n_edges] = value * share_per_value[parent]
                                edge_posterior[n_edges] = mass
                            n_edges += 1
                count = np.uintp(0)
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
    for index in range(n_kept):
        parent = number[edge_parent[by_rule[index]]]
        order[fill[parent]] = by_rule[index]
        fill[parent] += 1
    old = np.empty(n_new, np.int32)
    for item in range(n_items):
        if number[item] >= 0:
            old[number[item]] = item
    lefts, rights = renumbered(edge_left, order, number), renumbered(edge_right, order, number)
    rules, shares, posteriors = (
        taken(edge_rule, order),
        taken(edge_share, order),
        taken(edge_posterior, order),
    )
    return old, edge_first, lefts, rights, rules, shares, posteriors


@kernel
def _edge_room(size):
    parent, left, right = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    return EdgeList(
        parent, left, right, np.empty(size, np.int32), np.empty(size, np.float32), np.empty(size, np.float32)
    )


@kernel
def pruned_forest(tags, g, allowed, first_cell, limits):
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
    cells = coarse_inside(tags, g, outside_guesses(tags, g), allowed, first_cell, limits)
    symbol, inside, cell_first, cell_child_first = cells.symbol, cells.inside, cells.first, cells.child_first
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
        log_total = np.log(total) + cells.scale[top] * _LOG_TWO + words_scale
    root = posterior[cell_first[top] :].copy()
    edges = _edge_room(_EDGES)
    n_edges = coarse_edges(n, cells, posterior, g, limits, edges)
    if n_edges > _EDGES:
        posterior[:] = 0
        for i in range(root.shape[0]):
            posterior[cell_first[top] + i] = root[i]
        edges = _edge_room(n_edges)
        coarse_edges(n, cells, posterior, g, limits, edges)
    listed = EdgeList(
        edges.parent[:n_edges], edges.left[:n_edges], edges.right[:n_edges], edges.rule[:n_edges],
        edges.share[:n_edges], edges.posterior[:n_edges],
    )  # fmt: skip
    old, edge_first, left, right, rule, share, edge_posterior = keep_likely(posterior, limits.item, listed)
    item_symbol, item_posterior = taken(symbol, old), taken(posterior, old).astype(np.float32)
    item_cell, root_share = np.empty(old.shape[0], np.int32), np.zeros(old.shape[0], np.float32)
    cell = 0
    for item in range(old.shape[0]):
        while cell_first[cell + 1] <= old[item]:
            cell += 1
        item_cell[item] = cell
        if cell == top:
            root_share[item] = root[old[item] - cell_first[top]]
    return CoarseForest(
        log_total, item_symbol, item_cell, item_posterior, root_share,
        edge_first, left, right, rule, share, edge_posterior,
    )  # fmt: skip
