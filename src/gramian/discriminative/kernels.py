"""Numba kernels of the span CRF: hashed features of items and edges, inside-outside over a forest, gradient steps.

A feature is a slot of one table of weights, found by hashing a template's number with what the template sees; what
the templates see of a sentence are *views*, rows of numbers, one a word, with two places of padding on either side.
The row numbers are those of :mod:`gramian.discriminative.views`. A forest comes as a
:class:`gramian.discriminative.forests.Skeleton`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["climb", "inside_outside", "score_forest"]

_compile = njit(cache=True, nogil=True, error_model="numpy")

_WORD, _FORM, _SPELLING, _SHAPE, _END, _ENDING, _BEGINNING, _TAG = range(8)
_MOST = 192  # features of one item or edge


@_compile
def _mix(state):
    state = (state ^ (state >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(32))


@_compile
def _slot(template, a, b=0, c=0, d=0, e=0):
    """Hash a template's number and up to five values."""
    state = np.uint64(template) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(a) * np.uint64(0xD6E8FEB86659FD93)
    state += np.uint64(b) * np.uint64(0xA0761D6478BD642F) + np.uint64(c) * np.uint64(0xE7037ED1A0B428DB)
    state += np.uint64(d) * np.uint64(0x8EBC6AF09C88C6E3) + np.uint64(e) * np.uint64(0x589965CC75374CC3)
    return _mix(state)


@_compile
def _length_class(length):
    if length <= 5:
        return length
    if length <= 7:
        return 6
    if length <= 10:
        return 7
    if length <= 15:
        return 8
    if length <= 22:
        return 9
    return 10


@_compile
def _span_features(views, start, end, slots):
    """OUT slots: hashed features of a span, to be joined with a label; return how many."""
    word, tag, form = views[_WORD], views[_TAG], views[_FORM]
    b, f, l, a = start + 1, start + 2, end + 1, end + 2
    length = _length_class(end - start)
    slots[0] = _slot(1, 0)
    slots[1] = _slot(2, length)
    slots[2] = _slot(3, word[f])
    slots[3] = _slot(4, word[l])
    slots[4] = _slot(5, word[b])
    slots[5] = _slot(6, word[a])
    slots[6] = _slot(7, tag[f], length)
    slots[7] = _slot(8, tag[l], length)
    slots[8] = _slot(9, tag[b], length)
    slots[9] = _slot(10, tag[a], length)
    slots[10] = _slot(11, form[f])
    slots[11] = _slot(12, form[l])
    slots[12] = _slot(13, form[b])
    slots[13] = _slot(14, form[a])
    slots[14] = _slot(15, tag[f], tag[l])
    slots[15] = _slot(16, tag[b], tag[a])
    slots[16] = _slot(17, tag[b], tag[f])
    slots[17] = _slot(18, tag[l], tag[a])
    slots[18] = _slot(19, tag[f], tag[a])
    slots[19] = _slot(20, tag[b], tag[l])
    slots[20] = _slot(21, word[f], word[l])
    slots[21] = _slot(22, word[b], word[a])
    slots[22] = _slot(23, word[b], word[f])
    slots[23] = _slot(24, word[l], word[a])
    slots[24] = _slot(25, word[f], tag[l])
    slots[25] = _slot(26, tag[f], word[l])
    slots[26] = _slot(27, word[b], tag[a])
    slots[27] = _slot(28, tag[b], word[a])
    slots[28] = _slot(29, word[b], tag[f])
    slots[29] = _slot(30, tag[b], word[f])
    slots[30] = _slot(31, word[l], tag[a])
    slots[31] = _slot(32, tag[l], word[a])
    slots[32] = _slot(33, tag[b], tag[f], tag[l])
    slots[33] = _slot(34, tag[f], tag[l], tag[a])
    slots[34] = _slot(35, tag[b], tag[f], tag[a])
    slots[35] = _slot(36, tag[b], tag[l], tag[a])
    slots[36] = _slot(37, tag[b], tag[f], tag[l], tag[a])
    slots[37] = _slot(38, tag[b - 1], tag[b])
    slots[38] = _slot(39, tag[a], tag[a + 1])
    slots[39] = _slot(40, tag[f], tag[f + 1])
    slots[40] = _slot(41, tag[l - 1], tag[l])
    slots[41] = _slot(42, tag[b], tag[f], tag[f + 1])
    slots[42] = _slot(43, tag[l - 1], tag[l], tag[a])
    slots[43] = _slot(44, tag[l], tag[a], tag[a + 1])
    slots[44] = _slot(45, tag[b - 1], tag[b], tag[f])
    slots[45] = _slot(46, word[b], tag[f], tag[l], word[a])
    count = 46
    if end - start <= 6:  # the whole of a short span
        state = np.uint64(end - start)
        for place in range(f, a):
            state = _mix(state * np.uint64(0x9E3779B97F4A7C15) + np.uint64(tag[place]))
        slots[count] = _slot(60, state)
        slots[count + 1] = _slot(61, state, tag[b], tag[a])
        count += 2
    if end - start > 2:  # which tags it holds
        for place in range(f, a):
            seen = False
            for earlier in range(f, place):
                if tag[earlier] == tag[place]:
                    seen = True
                    break
            if not seen and count < _MOST:
                slots[count] = _slot(62, tag[place])
                count += 1
    return count


@_compile
def _tag_features(views, start, slots):
    """OUT slots: hashed features of a word, to be joined with its tag; return how many."""
    word, tag, form, spelling = views[_WORD], views[_TAG], views[_FORM], views[_SPELLING]
    w = start + 2
    slots[0] = _slot(70, spelling[w])
    slots[1] = _slot(71, form[w])
    slots[2] = _slot(72, views[_ENDING, w])
    slots[3] = _slot(73, views[_BEGINNING, w])
    slots[4] = _slot(74, tag[w])
    slots[5] = _slot(75, tag[w], tag[w - 1])
    slots[6] = _slot(76, tag[w], tag[w + 1])
    slots[7] = _slot(77, tag[w - 1], tag[w], tag[w + 1])
    slots[8] = _slot(78, spelling[w], tag[w - 1])
    slots[9] = _slot(79, spelling[w], tag[w + 1])
    slots[10] = _slot(80, word[w - 1], tag[w])
    slots[11] = _slot(81, word[w + 1], tag[w])
    slots[12] = _slot(82, form[w], tag[w - 1])
    slots[13] = _slot(83, form[w], tag[w + 1])
    slots[14] = _slot(84, tag[w - 2], tag[w - 1], tag[w])
    slots[15] = _slot(85, tag[w], tag[w + 1], tag[w + 2])
    slots[16] = _slot(86, views[_END, w])
    slots[17] = _slot(87, views[_SHAPE, w])
    slots[18] = _slot(88, spelling[w], word[w + 1])
    slots[19] = _slot(89, spelling[w], word[w - 1])
    return 20


@_compile
def _unary_features(views, start, parent, child, slots):
    """OUT slots: hashed features of a phrase over one tag; return how many."""
    word, tag, form = views[_WORD], views[_TAG], views[_FORM]
    w = start + 2
    rule = parent * 1024 + child
    slots[0] = _slot(100, rule)
    slots[1] = _slot(101, rule, word[w])
    slots[2] = _slot(102, rule, form[w])
    slots[3] = _slot(103, rule, tag[w - 1])
    slots[4] = _slot(104, rule, tag[w + 1])
    slots[5] = _slot(105, rule, word[w - 1])
    slots[6] = _slot(106, rule, word[w + 1])
    slots[7] = _slot(107, rule, tag[w - 1], tag[w + 1])
    slots[8] = _slot(108, rule, tag[w + 1], tag[w + 2])
    slots[9] = _slot(109, rule, tag[w - 2], tag[w - 1])
    return 10


@_compile
def _binary_features(views, start, split, end, parent, left, right, slots):
    """OUT slots: hashed features of a binary rule and its split point; return how many."""
    word, tag = views[_WORD], views[_TAG]
    b, f, l, a = start + 1, start + 2, end + 1, end + 2
    m, n = split + 1, split + 2  # the words before and after the split
    rule = (np.int64(parent) * 1024 + left) * 1024 + right
    long_left, long_right = _length_class(split - start), _length_class(end - split)
    slots[0] = _slot(120, rule)
    slots[1] = _slot(121, rule, long_left)
    slots[2] = _slot(122, rule, long_right)
    slots[3] = _slot(123, parent, long_left, long_right)
    slots[4] = _slot(124, rule, tag[m])
    slots[5] = _slot(125, rule, tag[n])
    slots[6] = _slot(126, rule, tag[f])
    slots[7] = _slot(127, rule, tag[l])
    slots[8] = _slot(128, rule, tag[b])
    slots[9] = _slot(129, rule, tag[a])
    slots[10] = _slot(130, rule, word[m])
    slots[11] = _slot(131, rule, word[n])
    slots[12] = _slot(132, rule, word[f])
    slots[13] = _slot(133, rule, word[l])
    slots[14] = _slot(134, rule, tag[m], tag[n])
    slots[15] = _slot(135, rule, tag[f], tag[n])
    slots[16] = _slot(136, rule, tag[n], tag[l])
    slots[17] = _slot(137, rule, tag[f], tag[m])
    slots[18] = _slot(138, parent, word[m], word[n])
    slots[19] = _slot(139, parent, word[f], word[n])
    slots[20] = _slot(140, parent, word[n], word[l])
    slots[21] = _slot(141, rule, word[m], tag[n])
    slots[22] = _slot(142, rule, tag[m], word[n])
    slots[23] = _slot(143, rule, word[f], tag[n])
    slots[24] = _slot(144, rule, tag[f], word[n])
    slots[25] = _slot(145, rule, tag[m - 1], tag[m], tag[n])
    slots[26] = _slot(146, rule, tag[m], tag[n], tag[n + 1])
    slots[27] = _slot(147, parent, tag[f], tag[m], tag[n], tag[l])
    slots[28] = _slot(148, rule, tag[n], tag[a])
    slots[29] = _slot(149, rule, word[n], word[a])
    return 30


@_compile
def _item_features(views, start, end, symbol, n_phrases, slots):
    if symbol >= n_phrases:
        count = _tag_features(views, start, slots)
    else:
        count = _span_features(views, start, end, slots)
    return count


@_compile
def _edge_features(views, forest, parent, edge, slots):
    left, right = forest.edge_left[edge], forest.edge_right[edge]
    symbols = forest.item_symbol
    if right < 0:
        return _unary_features(views, forest.item_begin[parent], symbols[parent], symbols[left], slots)
    return _binary_features(
        views, forest.item_begin[parent], forest.item_end[left], forest.item_end[parent],
        symbols[parent], symbols[left], symbols[right], slots,
    )  # fmt: skip


@_compile
def score_forest(views, forest, n_phrases, weights):
    """Return the score of each item and of each edge of a forest, float64."""
    n_items, n_edges = forest.item_symbol.shape[0], forest.edge_left.shape[0]
    item_score, edge_score = np.zeros(n_items), np.zeros(n_edges)
    mask = np.uint64(weights.shape[0] - 1)
    slots = np.empty(_MOST, np.uint64)
    begin, end, is_tag, count = -1, -1, False, 0
    edge_slots = np.empty(_MOST, np.uint64)
    for item in range(n_items):
        symbol = forest.item_symbol[item]
        if (
            forest.item_begin[item] != begin
            or forest.item_end[item] != end
            or (symbol >= n_phrases) != is_tag
        ):
            begin, end, is_tag = forest.item_begin[item], forest.item_end[item], symbol >= n_phrases
            count = _item_features(views, begin, end, symbol, n_phrases, slots)
        total = 0.0
        for place in range(count):
            total += weights[(slots[place] ^ np.uint64(symbol)) & mask]
        item_score[item] = total
        for edge in range(forest.edge_first[item], forest.edge_first[item + 1]):
            edge_count = _edge_features(views, forest, item, edge, edge_slots)
            total = 0.0
            for place in range(edge_count):
                total += weights[edge_slots[place] & mask]
            edge_score[edge] = total
    return item_score, edge_score


@_compile
def inside_outside(forest, n_phrases, item_score, edge_score):
    """Sum over the trees of a forest.

    Returns
    -------
    log_total: logarithm of the sum of the exponentiated scores of all trees, -inf if there is none;
    item_posterior, edge_posterior, root_posterior float64.
    """
    n_items, n_edges = item_score.shape[0], edge_score.shape[0]
    inside = np.full(n_items, -np.inf)
    value = np.full(n_edges, -np.inf)  # of an edge with what lies below it
    for item in range(n_items):
        if forest.item_symbol[item] >= n_phrases:
            inside[item] = item_score[item]
            continue
        best = -np.inf
        first, last = forest.edge_first[item], forest.edge_first[item + 1]
        for edge in range(first, last):
            total = edge_score[edge] + inside[forest.edge_left[edge]]
            if forest.edge_right[edge] >= 0:
                total += inside[forest.edge_right[edge]]
            value[edge] = total
            best = max(best, total)
        if best == -np.inf:
            continue
        total = 0.0
        for edge in range(first, last):
            if value[edge] > best - 40:
                total += math.exp(value[edge] - best)
        inside[item] = best + math.log(total) + item_score[item]
    root_posterior = np.zeros(n_items)
    best = -np.inf
    for item in range(n_items):
        if forest.is_root[item]:
            best = max(best, inside[item])
    item_posterior, edge_posterior = np.zeros(n_items), np.zeros(n_edges)
    if best == -np.inf:
        return -np.inf, item_posterior, edge_posterior, root_posterior
    total = 0.0
    for item in range(n_items):
        if forest.is_root[item]:
            root_posterior[item] = math.exp(inside[item] - best)
            total += root_posterior[item]
    root_posterior /= total
    item_posterior[:] = root_posterior
    for item in range(n_items - 1, -1, -1):
        mass = item_posterior[item]
        if mass <= 1e-12 or forest.item_symbol[item] >= n_phrases:
            continue
        here = inside[item] - item_score[item]
        for edge in range(forest.edge_first[item], forest.edge_first[item + 1]):
            if value[edge] > here - 40:
                share = mass * math.exp(value[edge] - here)
                edge_posterior[edge] = share
                item_posterior[forest.edge_left[edge]] += share
                if forest.edge_right[edge] >= 0:
                    item_posterior[forest.edge_right[edge]] += share
    return best + math.log(total), item_posterior, edge_posterior, root_posterior


@_compile
def _step(slot, slope, rate, decay, time, weights, squares, drift):
    squares[slot] += slope * slope
    change = rate * (slope - decay * weights[slot]) / math.sqrt(squares[slot])
    weights[slot] += change
    drift[slot] += time * change


@_compile
def climb(
    views, forest, n_phrases, item_slope, edge_slope, smallest, rate, decay, time, weights, squares, drift
):
    """Change weights along the slopes of items and edges, each slot at its own rate (AdaGrad).

    Slopes smaller than `smallest` are left alone. `drift` gathers changes times `time`, from which the mean of the
    weights over all steps follows.
    """
    mask = np.uint64(weights.shape[0] - 1)
    slots = np.empty(_MOST, np.uint64)
    for item in range(item_slope.shape[0]):
        symbol = forest.item_symbol[item]
        if abs(item_slope[item]) >= smallest:
            count = _item_features(
                views, forest.item_begin[item], forest.item_end[item], symbol, n_phrases, slots
            )
            for place in range(count):
                slot = (slots[place] ^ np.uint64(symbol)) & mask
                _step(slot, item_slope[item], rate, decay, time, weights, squares, drift)
        for edge in range(forest.edge_first[item], forest.edge_first[item + 1]):
            if abs(edge_slope[edge]) >= smallest:
                count = _edge_features(views, forest, item, edge, slots)
                for place in range(count):
                    _step(slots[place] & mask, edge_slope[edge], rate, decay, time, weights, squares, drift)
