"""Kernels for features of arcs: hashes of templates, scores, and steps of stochastic gradient ascent.

Templates are those of :mod:`gramian.dependency.arc_templates`. :class:`gramian.dependency.arc_tokens.TokenTable` encodes the sentences,
with word i in column i + 2. `tables` are those of :mod:`gramian.loglinear.adagrad`. The score of an arc or relation is the sum of the
weights of its features, and its features are slots of a hash table.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.kernels import helper_kernel, kernel
from gramian.loglinear.hashing_kernels import add_values, length_class, mix, parts_at_places, take_step

_MOST_FEATURES = 256
_TAG, _COARSE = 0, 3
_DISTANCES = (10, 20)
_BETWEEN, _ALL_BETWEEN = np.uint64(252), np.uint64(253)
_PAIR, _TAGGED_PAIR = np.uint64(200), np.uint64(220)  # and the number of the morphological feature
_FIRST_FEATURE, _ABSENT = 9, 6


@kernel
def _stretch(head, modifier):
    """Return the direction and distance class of an arc as one number."""
    return 2 * length_class(abs(head - modifier), 5, _DISTANCES) + (1 if head < modifier else 0)


@kernel
def _packed(template, direction, a, b, third):
    """Hash the number and values of a template, all uint64, as the packed scheme of :mod:`gramian.loglinear.hashing` does."""
    first = template | direction << np.uint64(8) | a << np.uint64(13) | b << np.uint64(33)
    return mix(first * np.uint64(0x9E3779B97F4A7C15), third)


@helper_kernel
def _arc_features(templates, parts, tokens, head, modifier, slots):
    """OUT slots: the hashed features of an arc; return their number."""
    h, m, stretch = head + 2, modifier + 2, _stretch(head, modifier)
    count = templates.number.shape[0]
    for t in range(count):
        slots[t] = mix(
            parts[0, 0, h, t] + parts[0, 1, m, t] + templates.small[0, stretch, t],
            parts[1, 0, h, t] + parts[1, 1, m, t],
        )
    # Between head and modifier: each coarse tag, and the set of all of them.
    direction, coarse_tags = np.uint64(stretch & 1), np.uint64(0)
    h_tag, m_tag = np.uint64(tokens[_TAG, h]), np.uint64(tokens[_TAG, m])
    for column in range(min(h, m) + 1, max(h, m)):
        coarse = np.uint64(tokens[_COARSE, column])
        bit = np.uint64(1) << (coarse & np.uint64(63))
        if not coarse_tags & bit:
            coarse_tags |= bit
            slots[count] = _packed(_BETWEEN, direction, h_tag, coarse, m_tag)
            count += 1
    h_coarse, m_coarse = np.uint64(tokens[_COARSE, h]), np.uint64(tokens[_COARSE, m])
    slots[count] = _packed(_ALL_BETWEEN, direction, h_coarse, m_coarse, coarse_tags)
    count += 1
    # The values of each morphological feature of head and modifier, such as two cases; agreement is one of the pairs.
    tags = h_coarse | m_coarse << np.uint64(20)
    for row in range(_FIRST_FEATURE, tokens.shape[0]):
        h_value, m_value = tokens[row, h], tokens[row, m]
        if h_value > _ABSENT or m_value > _ABSENT:
            template = np.uint64(row - _FIRST_FEATURE)
            a, b = np.uint64(h_value), np.uint64(m_value)
            slots[count] = _packed(_PAIR + template, direction, a, b, np.uint64(0))
            slots[count + 1] = _packed(_TAGGED_PAIR + template, direction, a, b, tags)
            count += 2
    return count


@kernel
def score_arcs(templates, tokens, weights, scores):
    """OUT scores (N + 1, N + 1): the score of each arc [head, modifier]; -inf where there is no arc."""
    size = scores.shape[0]
    mask = np.uint64(weights.shape[0] - 1)
    parts, slots = parts_at_places(tokens, templates), np.empty(_MOST_FEATURES, np.uint64)
    for head in range(size):
        scores[head, 0] = -np.inf
        for modifier in range(1, size):
            if head == modifier:
                scores[head, modifier] = -np.inf
                continue
            total = 0.0
            for t in range(_arc_features(templates, parts, tokens, head, modifier, slots)):
                total += weights[slots[t] & mask]
            scores[head, modifier] = total


@kernel
def arc_factors(templates, tokens, weights, lowest, factors):
    """OUT factors (N + 1, N + 1): exp(score - best score of the modifier), where the exponent is at least `lowest`; 0 for no arc."""
    score_arcs(templates, tokens, weights, factors)
    size = factors.shape[0]
    factors[:, 0] = 0.0
    for modifier in range(1, size):
        best = factors[:, modifier].max()
        for head in range(size):
            log_factor = max(factors[head, modifier] - best, lowest)
            factors[head, modifier] = math.exp(log_factor) if head != modifier else 0.0


@kernel
def update_arcs(templates, tokens, gradient, step, tables):
    """INOUT tables: one AdaGrad step for the features of all arcs with a gradient above ``tables.smallest``."""
    size = gradient.shape[0]
    mask = np.uint64(tables.weights.shape[0] - 1)
    parts, slots = parts_at_places(tokens, templates), np.empty(_MOST_FEATURES, np.uint64)
    for head in range(size):
        for modifier in range(1, size):
            if abs(gradient[head, modifier]) > tables.smallest:
                for t in range(_arc_features(templates, parts, tokens, head, modifier, slots)):
                    take_step(tables, slots[t] & mask, gradient[head, modifier], step)


@kernel
def _family(heads, family):
    """OUT family (4, N + 1): first and last modifier of each word, or the word itself; previous and next sister, or -2."""
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
def relation_starts(templates, tokens, heads, labels, size):
    """Return the first slot of each word and template, int64 (N + 1, n); row 0 is unused, and the head of the root is -1.

    The weights of all relations are adjacent: relation ``label`` has the slot ``start + label``.
    """
    n, n_words, n_places = templates.number.shape[0], heads.shape[0], templates.n_places
    family, columns = np.empty((4, n_words), np.int64), np.empty(n_places, np.int64)
    sums, starts = np.empty((2, n), np.uint64), np.empty((n_words, n), np.int64)
    _family(heads, family)
    for word in range(1, n_words):
        head = heads[word]
        columns[0], columns[1] = head + 2, word + 2
        for relative in range(4):
            columns[2 + relative] = family[relative, word] + 2
        columns[6] = heads[head] + 2 if head > 0 else 0
        stretch = 2 * _stretch(head, word) + (1 if family[0, word] < word else 0)
        for t in range(n):
            sums[0, t] = templates.number[t] + templates.small[0, stretch, t]
            sums[1, t] = templates.small[1, stretch, t]
        add_values(tokens, templates, columns, sums)
        for t in range(n):
            start = np.int64(mix(sums[0, t], sums[1, t]) & np.uint64(size - 1))
            starts[word, t] = start if start + labels <= size else start - labels
    return starts


@kernel
def score_relations(starts, weights, scores):
    """OUT scores (N + 1, L): the score of each relation of each word to its head; `starts` as from :func:`relation_starts`."""
    labels, n = scores.shape[1], starts.shape[1]
    for word in range(1, scores.shape[0]):
        sums = scores[word]
        sums[:] = 0.0
        # Four templates at a time, which reads and writes the sums a quarter as often.
        for t in range(0, n - 3, 4):
            a, b = starts[word, t], starts[word, t + 1]
            c, d = starts[word, t + 2], starts[word, t + 3]
            first, second = weights[a : a + labels], weights[b : b + labels]
            third, fourth = weights[c : c + labels], weights[d : d + labels]
            for label in range(labels):
                sums[label] = sums[label] + first[label] + second[label] + third[label] + fourth[label]
        for t in range(n - n % 4, n):
            start = starts[word, t]
            rest = weights[start : start + labels]
            for label in range(labels):
                sums[label] += rest[label]


@kernel
def update_relations(starts, gradient, step, tables):
    """INOUT tables: one AdaGrad step for all relations with a gradient above ``tables.smallest``."""
    size, labels = gradient.shape
    steep = np.empty(labels, np.int64)
    for word in range(1, size):
        count = 0
        for label in range(labels):
            if abs(gradient[word, label]) > tables.smallest:
                steep[count] = label
                count += 1
        for t in range(starts.shape[1]):
            for label in steep[:count]:
                take_step(tables, starts[word, t] + label, gradient[word, label], step)
