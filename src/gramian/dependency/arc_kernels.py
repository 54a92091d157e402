"""Compiled features of arcs: hashed templates, scores, and steps of stochastic gradient ascent.

A feature is a slot of one table of weights, found by hashing a template's number and its values; templates
follow McDonald, Crammer & Pereira (2005): tags, forms and endings of head and modifier, tags around and
between them, with direction and distance. Sentences come as :class:`TokenTable` encodes them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.jit import kernel

_MOST_FEATURES = 128


@kernel
def _slot(template, stretch, a, b=0, c=0, d=0, e=0):
    """Hash a template (below 64), a direction or stretch (below 32) and up to five values (below 2 ** 20)."""
    first = np.uint64(template) | np.uint64(stretch) << np.uint64(6) | np.uint64(a) << np.uint64(11)
    first |= np.uint64(b) << np.uint64(31)
    second = np.uint64(c) | np.uint64(d) << np.uint64(20) | np.uint64(e) << np.uint64(40)
    return _mix(first, second)


@kernel
def _mix(first, second):
    state = first * np.uint64(0x9E3779B97F4A7C15)
    state = ((state ^ (state >> np.uint64(29))) + second) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(32))


@kernel
def _stretch(head, modifier):
    """Direction and class of distance in one number."""
    distance = abs(head - modifier)
    if distance > 20:
        distance = 8
    elif distance > 10:
        distance = 7
    elif distance > 5:
        distance = 6
    return 2 * distance + (1 if head < modifier else 0)


@kernel
def _arc_features(tokens, head, modifier, slots):
    """OUT slots: the hashed features of an arc; return how many."""
    tag, form, ending, coarse, short_ending = tokens[0], tokens[1], tokens[2], tokens[3], tokens[4]
    h, m = head + 2, modifier + 2
    d = 1 if head < modifier else 0
    b = _stretch(head, modifier)
    h_tag, m_tag, h_form, m_form = tag[h], tag[m], form[h], form[m]
    h_before, h_after, m_before, m_after = tag[h - 1], tag[h + 1], tag[m - 1], tag[m + 1]

    slots[0] = _slot(1, d, h_tag, m_tag)
    slots[1] = _slot(2, b, h_tag, m_tag)
    slots[2] = _slot(3, b, h_tag)
    slots[3] = _slot(4, b, m_tag)
    # tags around head and modifier
    slots[4] = _slot(5, d, h_tag, h_after, m_before, m_tag)
    slots[5] = _slot(6, d, h_before, h_tag, m_before, m_tag)
    slots[6] = _slot(7, d, h_tag, h_after, m_tag, m_after)
    slots[7] = _slot(8, d, h_before, h_tag, m_tag, m_after)
    slots[8] = _slot(9, d, h_before, h_tag, m_tag)
    slots[9] = _slot(10, d, h_tag, h_after, m_tag)
    slots[10] = _slot(11, d, h_tag, m_before, m_tag)
    slots[11] = _slot(12, d, h_tag, m_tag, m_after)
    slots[12] = _slot(13, d, h_tag, m_before, m_tag, m_after)
    slots[13] = _slot(14, d, h_before, h_tag, h_after, m_tag)
    slots[14] = _slot(15, d, h_tag, m_tag, tag[m - 2], m_before)
    slots[15] = _slot(16, d, h_tag, m_tag, m_after, tag[m + 2])
    slots[16] = _slot(17, d, h_tag, m_tag, tag[h - 2], h_before)
    slots[17] = _slot(18, d, h_tag, m_tag, h_after, tag[h + 2])
    # coarse tags
    slots[18] = _slot(19, d, coarse[h], coarse[m])
    slots[19] = _slot(20, b, coarse[h], coarse[m])
    slots[20] = _slot(21, d, coarse[h - 1], coarse[h], coarse[h + 1], coarse[m])
    slots[21] = _slot(22, d, coarse[h], coarse[m - 1], coarse[m], coarse[m + 1])
    # forms
    slots[22] = _slot(23, d, h_form, m_tag)
    slots[23] = _slot(24, d, h_tag, m_form)
    slots[24] = _slot(25, d, h_form, m_form)
    slots[25] = _slot(26, b, h_form)
    slots[26] = _slot(27, b, m_form)
    slots[27] = _slot(28, b, h_form, m_tag)
    slots[28] = _slot(29, b, h_tag, m_form)
    slots[29] = _slot(30, d, h_tag, m_form, m_after)
    slots[30] = _slot(31, d, h_tag, m_form, m_before)
    slots[31] = _slot(32, d, h_form, m_tag, m_before)
    slots[32] = _slot(33, d, h_form, m_tag, m_after)
    slots[33] = _slot(34, d, h_tag, m_tag, form[m - 1])
    slots[34] = _slot(35, d, h_tag, m_tag, form[m + 1])
    slots[35] = _slot(36, d, h_tag, m_tag, form[h - 1])
    slots[36] = _slot(37, d, h_tag, m_tag, form[h + 1])
    slots[37] = _slot(38, d, h_tag, form[h + 1], m_form)
    slots[38] = _slot(39, d, h_form, form[m - 1], m_tag)
    slots[39] = _slot(40, d, h_form, form[m + 1], m_tag)
    # endings
    slots[40] = _slot(41, d, ending[h], m_tag)
    slots[41] = _slot(42, d, h_tag, ending[m])
    slots[42] = _slot(43, d, ending[h], ending[m])
    slots[43] = _slot(44, b, ending[h])
    slots[44] = _slot(45, b, ending[m])
    slots[45] = _slot(46, d, short_ending[h], m_tag)
    slots[46] = _slot(47, d, h_tag, short_ending[m])
    slots[47] = _slot(48, d, short_ending[h], short_ending[m])
    slots[48] = _slot(49, d, ending[h], short_ending[m])
    slots[49] = _slot(50, b, h_tag, m_tag, short_ending[m])
    slots[50] = _slot(51, b, h_tag, m_tag, short_ending[h])
    # each coarse tag between head and modifier, and the set of them
    count = 51
    seen = np.uint64(0)
    for t in range(min(h, m) + 1, max(h, m)):
        bit = np.uint64(1) << np.uint64(coarse[t] & 63)
        if not seen & bit:
            seen |= bit
            slots[count] = _slot(52, d, h_tag, coarse[t], m_tag)
            count += 1
    slots[count] = _slot(53, d, coarse[h], coarse[m], seen)
    return count + 1


@kernel
def score_arcs(tokens, weights, scores):
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


@kernel
def arc_factors(tokens, weights, lowest, factors):
    """OUT factors (N + 1, N + 1): exponents of the scores of `score_arcs`, 1 for the best arc of each modifier, 0 where there is none.

    Scores below the best by more than `lowest` count as so much below it.
    """
    score_arcs(tokens, weights, factors)
    size = factors.shape[0]
    factors[:, 0] = 0.0
    for modifier in range(1, size):
        best = -np.inf
        for head in range(size):
            best = max(best, factors[head, modifier])
        for head in range(size):
            if head == modifier:
                factors[head, modifier] = 0.0
            else:
                factors[head, modifier] = math.exp(max(factors[head, modifier] - best, lowest))


@kernel
def climb_arcs(tokens, gradient, rate, smallest, step, weights, squares, drift):
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


@kernel
def _relation_features(tokens, heads, modifier, family, slots):
    """OUT slots: the hashed features of a relation; `family` as `_family` fills it."""
    tag, form, ending, coarse, short_ending = tokens[0], tokens[1], tokens[2], tokens[3], tokens[4]
    long_ending, beginning = tokens[5], tokens[6]
    head = heads[modifier]
    h, m = head + 2, modifier + 2
    d = 1 if head < modifier else 0
    b = _stretch(head, modifier)
    first, last = family[0, modifier] + 2, family[1, modifier] + 2
    before, after = family[2, modifier] + 2, family[3, modifier] + 2
    above = tag[heads[head] + 2] if head > 0 else 0
    slots[0] = _slot(1, d, tag[h], tag[m])
    slots[1] = _slot(2, b, tag[h], tag[m])
    slots[2] = _slot(3, d, coarse[h], coarse[m])
    slots[3] = _slot(4, d, form[m])
    slots[4] = _slot(5, 0, form[h], tag[m])
    slots[5] = _slot(6, d, tag[h], form[m])
    slots[6] = _slot(7, d, form[h], form[m])
    slots[7] = _slot(8, d, tag[h], ending[m])
    slots[8] = _slot(9, d, tag[m], short_ending[m])
    slots[9] = _slot(10, d, tag[h], tag[m], short_ending[m])
    slots[10] = _slot(11, d, tag[m - 1], tag[m], tag[m + 1])
    slots[11] = _slot(12, 0, tag[h - 1], tag[h], tag[h + 1], tag[m])
    slots[12] = _slot(13, d, tag[h], tag[m], form[m - 1])
    slots[13] = _slot(14, d, tag[h], tag[m], form[m + 1])
    # modifiers of the modifier
    slots[14] = _slot(15, d, coarse[h], coarse[m], form[first])
    slots[15] = _slot(16, d, tag[h], tag[m], tag[first], 1 if first < m else 0)
    slots[16] = _slot(17, d, form[h], tag[m], form[first])
    slots[17] = _slot(18, d, tag[h], tag[m], tag[last], form[last])
    slots[18] = _slot(19, d, tag[h], tag[m], ending[m], tag[first], tag[last])
    # modifiers beside it, and the head of the head
    slots[19] = _slot(20, d, tag[h], tag[m], tag[before], tag[after])
    slots[20] = _slot(21, d, tag[h], tag[m], tag[before])
    slots[21] = _slot(22, d, tag[h], tag[m], tag[after])
    slots[22] = _slot(23, d, tag[h], tag[m], short_ending[m], tag[before])
    slots[23] = _slot(24, d, tag[h], tag[m], short_ending[m], tag[after])
    slots[24] = _slot(25, d, tag[h], tag[m], above)
    # endings and beginnings
    slots[25] = _slot(26, d, ending[h], ending[m])
    slots[26] = _slot(27, d, tag[h], tag[m], long_ending[m])
    slots[27] = _slot(28, d, tag[h], tag[m], beginning[m])
    slots[28] = _slot(29, d, beginning[h], tag[m], short_ending[m])
    slots[29] = _slot(30, d, beginning[h], ending[m])
    slots[30] = _slot(31, d, short_ending[h], tag[h], tag[m], short_ending[m])
    slots[31] = _slot(32, b, tag[m], short_ending[m])
    return 32


@kernel
def _family(heads, family):
    """OUT family (4, N + 1): first and last modifier of each word, or itself; the modifiers beside it, or two places before 0."""
    size = heads.shape[0]
    for word in range(size):
        family[0, word] = family[1, word] = word
        family[2, word] = family[3, word] = -2
    for word in range(1, size):
        head = heads[word]
        if family[1, head] == head:
            family[0, head] = word
        else:
            family[2, word] = family[1, head]
            family[3, family[1, head]] = word
        family[1, head] = word


@kernel
def _first_weight(slot, labels, weights):
    """Where the weights of a feature's relations begin: all of them lie within the table, side by side."""
    start = np.int64(slot & np.uint64(weights.shape[0] - 1))
    return start if start + labels <= weights.shape[0] else start - labels


@kernel
def score_relations(tokens, heads, weights, scores):
    """OUT scores (N + 1, L): the score of each relation of each word to its head; row 0 is left alone.

    The weights of a feature's relations lie side by side from its slot on. `heads` (N + 1,) has -1 for the root.
    """
    size, labels = scores.shape
    slots = np.empty(_MOST_FEATURES, np.uint64)
    family = np.empty((4, size), np.int64)
    _family(heads, family)
    for word in range(1, size):
        scores[word] = 0.0
        for t in range(_relation_features(tokens, heads, word, family, slots)):
            start = _first_weight(slots[t], labels, weights)
            for label in range(labels):
                scores[word, label] += weights[start + label]


@kernel
def best_relations(tokens, heads, weights, root_only, labels, best):
    """OUT best (N,): the best of `labels` relations of each word.

    Those that `root_only` (L,) names go to words at the root, and the others elsewhere; if it is empty, any goes anywhere.
    """
    free = root_only.shape[0] == 0
    scores = np.empty((heads.shape[0], labels))
    score_relations(tokens, heads, weights, scores)
    for word in range(1, heads.shape[0]):
        highest = -np.inf
        for label in range(labels):
            if (free or root_only[label] == (heads[word] == 0)) and scores[word, label] > highest:
                highest = scores[word, label]
                best[word - 1] = label


@kernel
def climb_relations(tokens, heads, gradient, rate, smallest, step, weights, squares, drift):
    """One step of AdaGrad on the relations whose gradient exceeds `smallest`; tables as in `climb_arcs`."""
    size, labels = gradient.shape
    slots = np.empty(_MOST_FEATURES, np.uint64)
    family = np.empty((4, size), np.int64)
    _family(heads, family)
    for word in range(1, size):
        for t in range(_relation_features(tokens, heads, word, family, slots)):
            start = _first_weight(slots[t], labels, weights)
            for label in range(labels):
                slope = gradient[word, label]
                if abs(slope) > smallest:
                    slot = start + label
                    squares[slot] += slope * slope
                    change = rate * slope / math.sqrt(squares[slot] + 0.01)
                    weights[slot] += change
                    drift[slot] += step * change
