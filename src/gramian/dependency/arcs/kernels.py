"""Compiled features of arcs: hashed templates, scores, and steps of stochastic gradient ascent.

A feature is a slot of one table of weights, found by hashing a template's number and its values; templates
follow McDonald, Crammer & Pereira (2005): tags, forms and endings of head and modifier, tags around and
between them, with direction and distance. Sentences come as :class:`TokenTable` encodes them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_compile = njit(cache=True, nogil=True, error_model="numpy")
_MOST_FEATURES = 128


@njit(inline="always")
def _mix(state, value):  # type: ignore[no-untyped-def]
    state = (state ^ np.uint64(value + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@njit(inline="always")
def _pair(template, a, b):  # type: ignore[no-untyped-def]
    return _mix(_mix(_mix(np.uint64(template), a), b), 7)


@njit(inline="always")
def _three(template, a, b, c):  # type: ignore[no-untyped-def]
    return _mix(_mix(_mix(_mix(np.uint64(template), a), b), c), 7)


@njit(inline="always")
def _four(template, a, b, c, d):  # type: ignore[no-untyped-def]
    return _mix(_mix(_mix(_mix(_mix(np.uint64(template), a), b), c), d), 7)


@njit(inline="always")
def _five(template, a, b, c, d, e):  # type: ignore[no-untyped-def]
    return _mix(_mix(_mix(_mix(_mix(_mix(np.uint64(template), a), b), c), d), e), 7)


@_compile
def _stretch(head, modifier):  # type: ignore[no-untyped-def]
    """Direction and class of distance in one number."""
    distance = abs(head - modifier)
    if distance > 20:
        distance = 8
    elif distance > 10:
        distance = 7
    elif distance > 5:
        distance = 6
    return 2 * distance + (1 if head < modifier else 0)


@_compile
def _arc_features(tokens, head, modifier, slots):  # type: ignore[no-untyped-def]
    """OUT slots: the hashed features of an arc; return how many."""
    tag, form, ending, coarse, short_ending = tokens[0], tokens[1], tokens[2], tokens[3], tokens[4]
    h, m = head + 2, modifier + 2
    d = 1 if head < modifier else 0
    b = _stretch(head, modifier)
    h_tag, m_tag, h_form, m_form = tag[h], tag[m], form[h], form[m]
    h_before, h_after, m_before, m_after = tag[h - 1], tag[h + 1], tag[m - 1], tag[m + 1]

    slots[0] = _three(1, h_tag, m_tag, d)
    slots[1] = _three(2, h_tag, m_tag, b)
    slots[2] = _pair(3, h_tag, b)
    slots[3] = _pair(4, m_tag, b)
    # tags around head and modifier
    slots[4] = _five(5, h_tag, h_after, m_before, m_tag, d)
    slots[5] = _five(6, h_before, h_tag, m_before, m_tag, d)
    slots[6] = _five(7, h_tag, h_after, m_tag, m_after, d)
    slots[7] = _five(8, h_before, h_tag, m_tag, m_after, d)
    slots[8] = _four(9, h_before, h_tag, m_tag, d)
    slots[9] = _four(10, h_tag, h_after, m_tag, d)
    slots[10] = _four(11, h_tag, m_before, m_tag, d)
    slots[11] = _four(12, h_tag, m_tag, m_after, d)
    slots[12] = _five(13, h_tag, m_before, m_tag, m_after, d)
    slots[13] = _five(14, h_before, h_tag, h_after, m_tag, d)
    slots[14] = _five(15, h_tag, m_tag, tag[m - 2], m_before, d)
    slots[15] = _five(16, h_tag, m_tag, m_after, tag[m + 2], d)
    slots[16] = _five(17, h_tag, m_tag, tag[h - 2], h_before, d)
    slots[17] = _five(18, h_tag, m_tag, h_after, tag[h + 2], d)
    # coarse tags
    slots[18] = _three(19, coarse[h], coarse[m], d)
    slots[19] = _three(20, coarse[h], coarse[m], b)
    slots[20] = _five(21, coarse[h - 1], coarse[h], coarse[h + 1], coarse[m], d)
    slots[21] = _five(22, coarse[h], coarse[m - 1], coarse[m], coarse[m + 1], d)
    # forms
    slots[22] = _three(23, h_form, m_tag, d)
    slots[23] = _three(24, h_tag, m_form, d)
    slots[24] = _three(25, h_form, m_form, d)
    slots[25] = _pair(26, h_form, b)
    slots[26] = _pair(27, m_form, b)
    slots[27] = _three(28, h_form, m_tag, b)
    slots[28] = _three(29, h_tag, m_form, b)
    slots[29] = _four(30, h_tag, m_form, m_after, d)
    slots[30] = _four(31, h_tag, m_form, m_before, d)
    slots[31] = _four(32, h_form, m_tag, m_before, d)
    slots[32] = _four(33, h_form, m_tag, m_after, d)
    slots[33] = _four(34, h_tag, m_tag, form[m - 1], d)
    slots[34] = _four(35, h_tag, m_tag, form[m + 1], d)
    slots[35] = _four(36, h_tag, m_tag, form[h - 1], d)
    slots[36] = _four(37, h_tag, m_tag, form[h + 1], d)
    slots[37] = _four(38, h_tag, form[h + 1], m_form, d)
    slots[38] = _four(39, h_form, form[m - 1], m_tag, d)
    slots[39] = _four(40, h_form, form[m + 1], m_tag, d)
    # endings
    slots[40] = _three(41, ending[h], m_tag, d)
    slots[41] = _three(42, h_tag, ending[m], d)
    slots[42] = _three(43, ending[h], ending[m], d)
    slots[43] = _pair(44, ending[h], b)
    slots[44] = _pair(45, ending[m], b)
    slots[45] = _three(46, short_ending[h], m_tag, d)
    slots[46] = _three(47, h_tag, short_ending[m], d)
    slots[47] = _three(48, short_ending[h], short_ending[m], d)
    slots[48] = _three(49, ending[h], short_ending[m], d)
    slots[49] = _four(50, h_tag, m_tag, short_ending[m], b)
    slots[50] = _four(51, h_tag, m_tag, short_ending[h], b)
    # each coarse tag between head and modifier, and the set of them
    count = 51
    seen = np.uint64(0)
    for t in range(min(h, m) + 1, max(h, m)):
        bit = np.uint64(1) << np.uint64(coarse[t] & 63)
        if not seen & bit:
            seen |= bit
            slots[count] = _four(52, h_tag, coarse[t], m_tag, d)
            count += 1
    slots[count] = _four(53, coarse[h], coarse[m], np.int64(seen >> np.uint64(1)), d)
    return count + 1


@_compile
def score_arcs(tokens, weights, scores):  # type: ignore[no-untyped-def]
    """OUT scores (N + 1, N + 1): the sum of the weights of each arc's features; -inf where there is no arc."""
    size = scores.shape[0]
    mask = np.uint64(weights.shape[0] - 1)
    slots = np.empty(_MOST_FEATURES, np.uint64)
    for head in range(size):
        scores[head, 0] = -np.inf
        for modifier in range(1, size):
            if head == modifier:
                scores[head, modifier] = -np.inf
                continue
            total = 0.0
            for t in range(_arc_features(tokens, head, modifier, slots)):
                total += weights[slots[t] & mask]
            scores[head, modifier] = total


@_compile
def climb_arcs(tokens, gradient, rate, smallest, step, weights, squares, drift):  # type: ignore[no-untyped-def]
    """One step of AdaGrad on the features of the arcs whose gradient exceeds `smallest`.

    `weights`, `squares` and `drift` (the sum of the changes, each times its step) are INOUT tables of one size.
    """
    size = gradient.shape[0]
    mask = np.uint64(weights.shape[0] - 1)
    slots = np.empty(_MOST_FEATURES, np.uint64)
    for head in range(size):
        for modifier in range(1, size):
            slope = gradient[head, modifier]
            if abs(slope) <= smallest:
                continue
            for t in range(_arc_features(tokens, head, modifier, slots)):
                slot = slots[t] & mask
                squares[slot] += slope * slope
                change = rate * slope / math.sqrt(squares[slot] + 0.01)
                weights[slot] += change
                drift[slot] += step * change


@_compile
def _relation_features(tokens, head, modifier, child, slots):  # type: ignore[no-untyped-def]
    """OUT slots: the hashed features of a relation; `child` is the leftmost modifier of `modifier`, or itself."""
    tag, form, ending, coarse, short_ending = tokens[0], tokens[1], tokens[2], tokens[3], tokens[4]
    h, m, c = head + 2, modifier + 2, child + 2
    d = 1 if head < modifier else 0
    b = _stretch(head, modifier)
    slots[0] = _three(101, tag[h], tag[m], d)
    slots[1] = _three(102, tag[h], tag[m], b)
    slots[2] = _three(103, coarse[h], coarse[m], d)
    slots[3] = _pair(104, form[m], d)
    slots[4] = _pair(105, form[h], tag[m])
    slots[5] = _three(106, tag[h], form[m], d)
    slots[6] = _three(107, form[h], form[m], d)
    slots[7] = _three(108, tag[h], ending[m], d)
    slots[8] = _three(109, tag[m], short_ending[m], d)
    slots[9] = _four(110, tag[h], tag[m], short_ending[m], d)
    slots[10] = _four(111, tag[m - 1], tag[m], tag[m + 1], d)
    slots[11] = _four(112, tag[h - 1], tag[h], tag[h + 1], tag[m])
    slots[12] = _four(113, tag[h], tag[m], form[m - 1], d)
    slots[13] = _four(114, tag[h], tag[m], form[m + 1], d)
    slots[14] = _four(115, coarse[h], coarse[m], form[c], d)
    slots[15] = _five(116, tag[h], tag[m], tag[c], 1 if child < modifier else 0, d)
    slots[16] = _four(117, form[h], tag[m], form[c], d)
    slots[17] = _three(118, ending[h], ending[m], d)
    return 18


@_compile
def _leftmost(heads, children):  # type: ignore[no-untyped-def]
    """OUT children (N + 1,): the leftmost modifier of each word, or itself."""
    for word in range(heads.shape[0]):
        children[word] = word
    for word in range(heads.shape[0] - 1, 0, -1):
        children[heads[word]] = word


@_compile
def score_relations(tokens, heads, weights, scores):  # type: ignore[no-untyped-def]
    """OUT scores (N + 1, L): the score of each relation of each word to its head; row 0 is left alone.

    The weights of a feature's relations lie side by side from its slot on. `heads` (N + 1,) has -1 for the root.
    """
    size, labels = scores.shape
    mask = weights.shape[0] - 1
    slots = np.empty(_MOST_FEATURES, np.uint64)
    children = np.empty(size, np.int64)
    _leftmost(heads, children)
    for word in range(1, size):
        scores[word] = 0.0
        for t in range(_relation_features(tokens, heads[word], word, children[word], slots)):
            start = np.int64(slots[t] & np.uint64(mask))
            for label in range(labels):
                scores[word, label] += weights[(start + label) & mask]


@_compile
def climb_relations(tokens, heads, gradient, rate, smallest, step, weights, squares, drift):  # type: ignore[no-untyped-def]
    """One step of AdaGrad on the relations whose gradient exceeds `smallest`; tables as in `climb_arcs`."""
    size, labels = gradient.shape
    mask = weights.shape[0] - 1
    slots = np.empty(_MOST_FEATURES, np.uint64)
    children = np.empty(size, np.int64)
    _leftmost(heads, children)
    for word in range(1, size):
        for t in range(_relation_features(tokens, heads[word], word, children[word], slots)):
            start = np.int64(slots[t] & np.uint64(mask))
            for label in range(labels):
                slope = gradient[word, label]
                if abs(slope) > smallest:
                    slot = (start + label) & mask
                    squares[slot] += slope * slope
                    change = rate * slope / math.sqrt(squares[slot] + 0.01)
                    weights[slot] += change
                    drift[slot] += step * change
