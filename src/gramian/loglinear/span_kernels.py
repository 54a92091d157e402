"""Numba kernels of the span CRF: hashed features of items and edges, inside-outside over a forest, gradient steps.

A feature is a slot of one table of weights, found by hashing a template's number with what the template sees; what
the templates see of a sentence are the rows of :data:`gramian.loglinear.word_views.Views`. A forest comes as a
:class:`gramian.loglinear.span_forests.Skeleton`; its items are split by context into
:class:`gramian.loglinear.span_forests.States`, and a *pair* is a state with one of the edges of its item.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.jit import kernel

__all__ = ["climb", "inside_outside", "score_forest"]


_WORD, _FORM, _SPELLING, _SHAPE, _END, _ENDING, _BEGINNING, _TAG = range(8)
_MOST = 192  # features of one item or edge


@kernel
def _mix(state):
    state = (state ^ (state >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(32))


@kernel
def _slot(template, a, b=0, c=0, d=0, e=0):
    """Hash a template's number and up to five values."""
    state = np.uint64(template) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(a) * np.uint64(0xD6E8FEB86659FD93)
    state += np.uint64(b) * np.uint64(0xA0761D6478BD642F) + np.uint64(c) * np.uint64(0xE7037ED1A0B428DB)
    state += np.uint64(d) * np.uint64(0x8EBC6AF09C88C6E3) + np.uint64(e) * np.uint64(0x589965CC75374CC3)
    return _mix(state)


@kernel
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


@kernel
def _span_features(views, start, end, slots):
    """OUT slots: hashed features of a span, to be joined with a label; return how many."""
    word, tag, form = views[_WORD], views[_TAG], views[_FORM]
    b, f, e, a = start + 1, start + 2, end + 1, end + 2
    length = _length_class(end - start)
    slots[0] = _slot(1, 0)
    slots[1] = _slot(2, length)
    slots[2] = _slot(3, word[f])
    slots[3] = _slot(4, word[e])
    slots[4] = _slot(5, word[b])
    slots[5] = _slot(6, word[a])
    slots[6] = _slot(7, tag[f], length)
    slots[7] = _slot(8, tag[e], length)
    slots[8] = _slot(9, tag[b], length)
    slots[9] = _slot(10, tag[a], length)
    slots[10] = _slot(11, form[f])
    slots[11] = _slot(12, form[e])
    slots[12] = _slot(13, form[b])
    slots[13] = _slot(14, form[a])
    slots[14] = _slot(15, tag[f], tag[e])
    slots[15] = _slot(16, tag[b], tag[a])
    slots[16] = _slot(17, tag[b], tag[f])
    slots[17] = _slot(18, tag[e], tag[a])
    slots[18] = _slot(19, tag[f], tag[a])
    slots[19] = _slot(20, tag[b], tag[e])
    slots[20] = _slot(21, word[f], word[e])
    slots[21] = _slot(22, word[b], word[a])
    slots[22] = _slot(23, word[b], word[f])
    slots[23] = _slot(24, word[e], word[a])
    slots[24] = _slot(25, word[f], tag[e])
    slots[25] = _slot(26, tag[f], word[e])
    slots[26] = _slot(27, word[b], tag[a])
    slots[27] = _slot(28, tag[b], word[a])
    slots[28] = _slot(29, word[b], tag[f])
    slots[29] = _slot(30, tag[b], word[f])
    slots[30] = _slot(31, word[e], tag[a])
    slots[31] = _slot(32, tag[e], word[a])
    slots[32] = _slot(33, tag[b], tag[f], tag[e])
    slots[33] = _slot(34, tag[f], tag[e], tag[a])
    slots[34] = _slot(35, tag[b], tag[f], tag[a])
    slots[35] = _slot(36, tag[b], tag[e], tag[a])
    slots[36] = _slot(37, tag[b], tag[f], tag[e], tag[a])
    slots[37] = _slot(38, tag[b - 1], tag[b])
    slots[38] = _slot(39, tag[a], tag[a + 1])
    slots[39] = _slot(40, tag[f], tag[f + 1])
    slots[40] = _slot(41, tag[e - 1], tag[e])
    slots[41] = _slot(42, tag[b], tag[f], tag[f + 1])
    slots[42] = _slot(43, tag[e - 1], tag[e], tag[a])
    slots[43] = _slot(44, tag[e], tag[a], tag[a + 1])
    slots[44] = _slot(45, tag[b - 1], tag[b], tag[f])
    slots[45] = _slot(46, word[b], tag[f], tag[e], word[a])
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


@kernel
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


@kernel
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


@kernel
def _binary_features(views, start, split, end, parent, left, right, slots):
    """OUT slots: hashed features of a binary rule and its split point; return how many."""
    word, tag = views[_WORD], views[_TAG]
    b, f, e, a = start + 1, start + 2, end + 1, end + 2
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
    slots[7] = _slot(127, rule, tag[e])
    slots[8] = _slot(128, rule, tag[b])
    slots[9] = _slot(129, rule, tag[a])
    slots[10] = _slot(130, rule, word[m])
    slots[11] = _slot(131, rule, word[n])
    slots[12] = _slot(132, rule, word[f])
    slots[13] = _slot(133, rule, word[e])
    slots[14] = _slot(134, rule, tag[m], tag[n])
    slots[15] = _slot(135, rule, tag[f], tag[n])
    slots[16] = _slot(136, rule, tag[n], tag[e])
    slots[17] = _slot(137, rule, tag[f], tag[m])
    slots[18] = _slot(138, parent, word[m], word[n])
    slots[19] = _slot(139, parent, word[f], word[n])
    slots[20] = _slot(140, parent, word[n], word[e])
    slots[21] = _slot(141, rule, word[m], tag[n])
    slots[22] = _slot(142, rule, tag[m], word[n])
    slots[23] = _slot(143, rule, word[f], tag[n])
    slots[24] = _slot(144, rule, tag[f], word[n])
    slots[25] = _slot(145, rule, tag[m - 1], tag[m], tag[n])
    slots[26] = _slot(146, rule, tag[m], tag[n], tag[n + 1])
    slots[27] = _slot(147, parent, tag[f], tag[m], tag[n], tag[e])
    slots[28] = _slot(148, rule, tag[n], tag[a])
    slots[29] = _slot(149, rule, word[n], word[a])
    return 30


@kernel
def _item_features(views, start, end, symbol, n_phrases, slots):
    if symbol >= n_phrases:
        count = _tag_features(views, start, slots)
    else:
        count = _span_features(views, start, end, slots)
    return count


@kernel
def _edge_features(views, forest, parent, edge, slots):
    left, right = forest.edge_left[edge], forest.edge_right[edge]
    symbols = forest.item_symbol
    if right < 0:
        return _unary_features(views, forest.item_begin[parent], symbols[parent], symbols[left], slots)
    return _binary_features(
        views, forest.item_begin[parent], forest.item_end[left], forest.item_end[parent],
        symbols[parent], symbols[left], symbols[right], slots,
    )  # fmt: skip


@kernel
def _state_features(views, start, end, symbol, slots):
    """OUT slots: hashed features of an item, to be joined with its context; return how many."""
    word, tag = views[_WORD], views[_TAG]
    b, f, e, a = start + 1, start + 2, end + 1, end + 2
    slots[0] = _slot(160, symbol)
    slots[1] = _slot(161, symbol, _length_class(end - start))
    slots[2] = _slot(162, symbol, tag[f])
    slots[3] = _slot(163, symbol, tag[e])
    slots[4] = _slot(164, symbol, tag[b])
    slots[5] = _slot(165, symbol, tag[a])
    slots[6] = _slot(166, symbol, word[f])
    slots[7] = _slot(167, symbol, word[e])
    slots[8] = _slot(168, symbol, tag[b], tag[a])
    slots[9] = _slot(169, symbol, word[b])
    return 10


@kernel
def _pair_features(views, forest, parent, edge, slots):
    """OUT slots: hashed features of an edge, to be joined with the context of its parent; return how many."""
    word, tag, symbols = views[_WORD], views[_TAG], forest.item_symbol
    left, right = forest.edge_left[edge], forest.edge_right[edge]
    rule = (np.int64(symbols[parent]) * 1024 + symbols[left]) * 1024
    if right < 0:
        slots[0] = _slot(180, rule)
        return 1
    rule += symbols[right] + 1
    split = forest.item_end[left]
    slots[0] = _slot(180, rule)
    slots[1] = _slot(181, rule, tag[split + 1])
    slots[2] = _slot(182, rule, tag[split + 2])
    slots[3] = _slot(183, rule, word[split + 2])
    return 4


@kernel
def score_forest(views, forest, states, n_phrases, weights):
    """Return the scores of states and of pairs of state and edge, float64; those of items and edges are in them."""
    n_items = forest.item_symbol.shape[0]
    state_score, pair_score = np.zeros(states.context.shape[0]), np.zeros(states.state_pair[-1])
    mask = np.uint64(weights.shape[0] - 1)
    slots, own = np.empty(_MOST, np.uint64), np.empty(_MOST, np.uint64)
    begin, end, is_tag, count = -1, -1, False, 0
    for item in range(n_items):
        symbol = forest.item_symbol[item]
        if (
            forest.item_begin[item] != begin
            or forest.item_end[item] != end
            or (symbol >= n_phrases) != is_tag
        ):
            begin, end, is_tag = forest.item_begin[item], forest.item_end[item], symbol >= n_phrases
            count = _item_features(views, begin, end, symbol, n_phrases, slots)
        base = 0.0
        for place in range(count):
            base += weights[(slots[place] ^ np.uint64(symbol)) & mask]
        own_count = _state_features(views, begin, end, symbol, own)
        state = states.first_state[item]
        while state >= 0:
            total = base
            for place in range(own_count):
                total += weights[(own[place] ^ np.uint64(states.context[state])) & mask]
            state_score[state] = total
            state = states.next_state[state]
        first = forest.edge_first[item]
        for edge in range(first, forest.edge_first[item + 1]):
            edge_count = _edge_features(views, forest, item, edge, own)
            base = 0.0
            for place in range(edge_count):
                base += weights[own[place] & mask]
            edge_count = _pair_features(views, forest, item, edge, own)
            state = states.first_state[item]
            while state >= 0:
                total = base
                for place in range(edge_count):
                    total += weights[(own[place] ^ np.uint64(states.context[state])) & mask]
                pair_score[states.state_pair[state] + edge - first] = total
                state = states.next_state[state]
    return state_score, pair_score


@kernel
def inside_outside(forest, states, n_phrases, state_score, pair_score):
    """Sum over the trees of a forest.

    Returns
    -------
    log_total: logarithm of the sum of the exponentiated scores of all trees, -inf if there is none;
    item_posterior, edge_posterior, root_posterior, state_posterior, pair_posterior float64.
    """
    n_items, n_edges, n_states = (
        forest.item_symbol.shape[0],
        forest.edge_left.shape[0],
        states.context.shape[0],
    )
    inside = np.full(n_states, -np.inf)
    value = np.full(pair_score.shape[0], -np.inf)
    for item in range(n_items):
        first, last = forest.edge_first[item], forest.edge_first[item + 1]
        state = states.first_state[item]
        while state >= 0:
            if forest.item_symbol[item] >= n_phrases:
                inside[state] = state_score[state]
                state = states.next_state[state]
                continue
            best = -np.inf
            shift = states.state_pair[state] - first
            for edge in range(first, last):
                total = pair_score[shift + edge] + inside[states.left_state[edge]]
                if states.right_state[edge] >= 0:
                    total += inside[states.right_state[edge]]
                value[shift + edge] = total
                best = max(best, total)
            if best > -np.inf:
                total = 0.0
                for edge in range(first, last):
                    if value[shift + edge] > best - 30:
                        total += math.exp(value[shift + edge] - best)
                inside[state] = best + math.log(total) + state_score[state]
            state = states.next_state[state]
    root_posterior, item_posterior, edge_posterior = np.zeros(n_items), np.zeros(n_items), np.zeros(n_edges)
    state_posterior, pair_posterior = np.zeros(n_states), np.zeros(pair_score.shape[0])
    best = -np.inf
    for item in range(n_items):
        state = states.first_state[item]
        while state >= 0:
            if states.context[state] == 0:
                best = max(best, inside[state])
            state = states.next_state[state]
    log_total = -np.inf
    if best > -np.inf:
        total = 0.0
        for item in range(n_items):
            state = states.first_state[item]
            while state >= 0:
                if states.context[state] == 0:
                    state_posterior[state] = math.exp(inside[state] - best)
                    root_posterior[item] = state_posterior[state]
                    total += state_posterior[state]
                state = states.next_state[state]
        root_posterior /= total
        state_posterior /= total
        log_total = best + math.log(total)
        for item in range(n_items - 1, -1, -1):
            first, last = forest.edge_first[item], forest.edge_first[item + 1]
            state = states.first_state[item]
            while state >= 0:
                mass = state_posterior[state]
                item_posterior[item] += mass
                if mass > 1e-9:
                    here = inside[state] - state_score[state]
                    shift = states.state_pair[state] - first
                    for edge in range(first, last):
                        if value[shift + edge] > here - 30:
                            share = mass * math.exp(value[shift + edge] - here)
                            pair_posterior[shift + edge] = share
                            edge_posterior[edge] += share
                            state_posterior[states.left_state[edge]] += share
                            if states.right_state[edge] >= 0:
                                state_posterior[states.right_state[edge]] += share
                state = states.next_state[state]
    return log_total, item_posterior, edge_posterior, root_posterior, state_posterior, pair_posterior


@kernel
def _step(slot, slope, rate, decay, time, weights, squares, drift):
    squares[slot] += slope * slope
    change = rate * (slope - decay * weights[slot]) / math.sqrt(squares[slot])
    weights[slot] += change
    drift[slot] += time * change


@kernel
def climb(
    views, forest, states, n_phrases, item_slope, edge_slope, state_slope, pair_slope, smallest, rate, decay, time,
    weights, squares, drift,
):  # fmt: skip
    """Change weights along the slopes of items, edges, states and pairs, each slot at its own rate (AdaGrad).

    Slopes smaller than `smallest` are left alone. `drift` gathers changes times `time`, from which the mean of the
    weights over all steps follows.
    """
    mask = np.uint64(weights.shape[0] - 1)
    slots = np.empty(_MOST, np.uint64)
    for item in range(item_slope.shape[0]):
        symbol = forest.item_symbol[item]
        begin, end = forest.item_begin[item], forest.item_end[item]
        if abs(item_slope[item]) >= smallest:
            count = _item_features(views, begin, end, symbol, n_phrases, slots)
            for place in range(count):
                slot = (slots[place] ^ np.uint64(symbol)) & mask
                _step(slot, item_slope[item], rate, decay, time, weights, squares, drift)
        count = 0
        state = states.first_state[item]
        while state >= 0:
            if abs(state_slope[state]) >= smallest:
                if count == 0:
                    count = _state_features(views, begin, end, symbol, slots)
                for place in range(count):
                    slot = (slots[place] ^ np.uint64(states.context[state])) & mask
                    _step(slot, state_slope[state], rate, decay, time, weights, squares, drift)
            state = states.next_state[state]
        first = forest.edge_first[item]
        for edge in range(first, forest.edge_first[item + 1]):
            if abs(edge_slope[edge]) >= smallest:
                count = _edge_features(views, forest, item, edge, slots)
                for place in range(count):
                    _step(slots[place] & mask, edge_slope[edge], rate, decay, time, weights, squares, drift)
            count = 0
            state = states.first_state[item]
            while state >= 0:
                slope = pair_slope[states.state_pair[state] + edge - first]
                if abs(slope) >= smallest:
                    if count == 0:
                        count = _pair_features(views, forest, item, edge, slots)
                    for place in range(count):
                        slot = (slots[place] ^ np.uint64(states.context[state])) & mask
                        _step(slot, slope, rate, decay, time, weights, squares, drift)
                state = states.next_state[state]
