"""Numba kernels of the span CRF: hashed features of items and edges, inside-outside over a forest, gradient steps.

A feature is a slot of one table of weights; see :mod:`gramian.loglinear.hashing`, and for what features look at
:mod:`gramian.experts.span_templates`. A forest comes as a :class:`gramian.experts.span_forests.Skeleton`; its items are split by
context into :class:`gramian.experts.span_forests.States`, and a *pair* is a state with one of the edges of its item.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from gramian.kernels import helper_kernel, kernel
from gramian.loglinear.hashing_kernels import length_class, mix, parts_at_places, summed, take_step

_TAG = 7
_MOST = 192  # features of one item or edge
_UNARY_PAIR, _BINARY_PAIR = 1, 4  # templates of an edge that are joined with a context
_LENGTHS = (7, 10, 15, 22)
_NOTHING = np.uint64(0)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _slot(template, a, b, c):
    """Hash a template's number and three values, all uint64."""
    return mix(summed(template, a, b, c, _NOTHING, _NOTHING), _NOTHING)


@kernel
def _all_parts(views, templates):
    """Return what all templates see at all places."""
    return (
        parts_at_places(views, templates.span),
        parts_at_places(views, templates.tag),
        parts_at_places(views, templates.unary),
        parts_at_places(views, templates.binary),
        parts_at_places(views, templates.state),
    )


@helper_kernel
def _span_features(templates, parts, tag, start, end, slots):
    """OUT slots: hashed features of a span, to be joined with a label; return how many."""
    length, count = length_class(end - start, 5, _LENGTHS), templates.number.shape[0]
    for t in range(count):
        total = parts[0, 0, start, t] + parts[0, 1, end, t] + templates.small[0, length, t]
        slots[t] = mix(total, _NOTHING)
    first, after = start + 2, end + 2
    if end - start <= 6:  # the whole of a short span
        state = np.uint64(end - start)
        for place in range(first, after):
            state = mix(state * _GOLDEN + np.uint64(tag[place]), _NOTHING)
        slots[count] = _slot(np.uint64(60), state, _NOTHING, _NOTHING)
        slots[count + 1] = _slot(np.uint64(61), state, np.uint64(tag[first - 1]), np.uint64(tag[after]))
        count += 2
    if end - start > 2:  # which tags it holds
        for place in range(first, after):
            seen = False
            for earlier in range(first, place):
                if tag[earlier] == tag[place]:
                    seen = True
                    break
            if not seen and count < _MOST:
                slots[count] = _slot(np.uint64(62), np.uint64(tag[place]), _NOTHING, _NOTHING)
                count += 1
    return count


@helper_kernel
def _item_features(templates, parts, tag, start, end, is_tag, slots):
    """OUT slots: hashed features of an item, to be joined with its symbol; return how many."""
    if not is_tag:
        return _span_features(templates.span, parts[0], tag, start, end, slots)
    count = templates.tag.number.shape[0]
    for t in range(count):
        slots[t] = mix(parts[1][0, 0, start, t], _NOTHING)
    return count


@helper_kernel
def _around(binary, part, start, end, parent, around):
    """OUT around: what the features of all binary edges of an item have in common."""
    lead = np.uint64(parent) * binary.given_factor[2]
    for t in range(binary.number.shape[0]):
        around[t] = part[0, 0, start, t] + part[0, 1, end, t] + (lead & binary.given[2, t])


@helper_kernel
def _edge_features(templates, parts, forest, parent, edge, around, slots):
    """OUT slots: hashed features of an edge, those to be joined with the context of its parent last; return how many of either."""
    left, right = forest.edge_left[edge], forest.edge_right[edge]
    symbols, start, split = forest.item_symbol, forest.item_begin[parent], forest.item_end[left]
    rule = np.int64(symbols[parent]) * 1024 + symbols[left]
    if right < 0:
        unary, part = templates.unary, parts[2]
        lead, pair = np.uint64(rule) * unary.given_factor[0], np.uint64(rule * 1024) * unary.given_factor[1]
        count = unary.number.shape[0]
        for t in range(count):
            slots[t] = mix(
                part[0, 0, start, t] + (lead & unary.given[0, t]) + (pair & unary.given[1, t]), _NOTHING
            )
        return count - _UNARY_PAIR, _UNARY_PAIR
    binary, part = templates.binary, parts[3]
    rule = rule * 1024 + symbols[right]
    lead, pair = np.uint64(rule) * binary.given_factor[0], np.uint64(rule + 1) * binary.given_factor[1]
    lengths = 11 * length_class(split - start, 5, _LENGTHS)
    lengths += length_class(forest.item_end[parent] - split, 5, _LENGTHS)
    count = binary.number.shape[0]
    for t in range(count):
        total = around[t] + part[0, 2, split, t] + binary.small[0, lengths, t]
        slots[t] = mix(total + (lead & binary.given[0, t]) + (pair & binary.given[1, t]), _NOTHING)
    return count - _BINARY_PAIR, _BINARY_PAIR


@helper_kernel
def _state_features(templates, part, start, end, symbol, slots):
    """OUT slots: hashed features of an item, to be joined with its context; return how many."""
    lead, length = np.uint64(symbol) * templates.given_factor[0], length_class(end - start, 5, _LENGTHS)
    count = templates.number.shape[0]
    for t in range(count):
        total = lead + part[0, 0, start, t] + part[0, 1, end, t] + templates.small[0, length, t]
        slots[t] = mix(total, _NOTHING)
    return count


@kernel
def score_forest(templates, views, forest, states, n_phrases, weights):
    """Return the scores of states and of pairs of state and edge, float64; those of items and edges are in them."""
    n_items, tag = forest.item_symbol.shape[0], views[_TAG]
    state_score, pair_score = np.zeros(states.context.shape[0]), np.zeros(states.state_pair[-1])
    mask = np.uint64(weights.shape[0] - 1)
    parts = _all_parts(views, templates)
    slots, own, around = np.empty(_MOST, np.uint64), np.empty(_MOST, np.uint64), np.empty(_MOST, np.uint64)
    begin, end, was_tag, count = -1, -1, False, 0
    for item in range(n_items):
        symbol = forest.item_symbol[item]
        is_tag = symbol >= n_phrases
        if forest.item_begin[item] != begin or forest.item_end[item] != end or is_tag != was_tag:
            begin, end, was_tag = forest.item_begin[item], forest.item_end[item], is_tag
            count = _item_features(templates, parts, tag, begin, end, is_tag, slots)
        base = 0.0
        for place in range(count):
            base += weights[(slots[place] ^ np.uint64(symbol)) & mask]
        own_count = _state_features(templates.state, parts[4], begin, end, symbol, own)
        state = states.first_state[item]
        while state >= 0:
            total = base
            for place in range(own_count):
                total += weights[(own[place] ^ np.uint64(states.context[state])) & mask]
            state_score[state] = total
            state = states.next_state[state]
        first = forest.edge_first[item]
        if not is_tag:
            _around(templates.binary, parts[3], begin, end, symbol, around)
        for edge in range(first, forest.edge_first[item + 1]):
            edge_count, pair_count = _edge_features(templates, parts, forest, item, edge, around, own)
            base = 0.0
            for place in range(edge_count):
                base += weights[own[place] & mask]
            state = states.first_state[item]
            while state >= 0:
                total = base
                for place in range(edge_count, edge_count + pair_count):
                    total += weights[(own[place] ^ np.uint64(states.context[state])) & mask]
                pair_score[states.state_pair[state] + edge - first] = total
                state = states.next_state[state]
    return state_score, pair_score


@kernel
def inside_outside(forest, states, n_phrases, state_score, pair_score):
    """Return the logarithm of the sum of the exponentiated scores of all trees of a forest, and posteriors as in its reference."""
    n_items, n_edges, n_states = len(forest.item_symbol), len(forest.edge_left), len(states.context)
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
    root_items, root_states = np.flatnonzero(forest.is_root), np.flatnonzero(states.context == 0)[::-1]
    best = -np.inf
    for state in root_states:  # one for each of the root items, in their order
        best = max(best, inside[state])
    log_total = -np.inf
    if best > -np.inf:
        total = 0.0
        for root, state in zip(root_items, root_states):  # noqa: B905 - numba's zip has no strict
            state_posterior[state] = root_posterior[root] = math.exp(inside[state] - best)
            total += state_posterior[state]
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


@helper_kernel
def _take_steps(tables, slots, first, last, joined, gradient, time):
    """INOUT tables: take a step with each of the features first .. last - 1, joined with a number."""
    mask = np.uint64(tables.weights.shape[0] - 1)
    for slot in slots[first:last]:
        take_step(tables, (slot ^ np.uint64(joined)) & mask, gradient, time)


@kernel
def climb(templates, views, forest, states, n_phrases, gradients, time, tables):
    """INOUT tables: take a step along the gradients of items, edges, states and pairs; small ones are left alone.

    `gradients` are a :class:`gramian.experts.span_crf.Gradients`, `tables` a :class:`gramian.loglinear.adagrad.Tables`.
    """
    smallest, parts = tables.smallest, _all_parts(views, templates)
    slots, around = np.empty(_MOST, np.uint64), np.empty(_MOST, np.uint64)
    for item in range(gradients.item.shape[0]):
        symbol = forest.item_symbol[item]
        begin, end = forest.item_begin[item], forest.item_end[item]
        if abs(gradients.item[item]) >= smallest:
            count = _item_features(templates, parts, views[_TAG], begin, end, symbol >= n_phrases, slots)
            _take_steps(tables, slots, 0, count, symbol, gradients.item[item], time)
        count = 0
        state = states.first_state[item]
        while state >= 0:
            if abs(gradients.state[state]) >= smallest:
                if count == 0:
                    count = _state_features(templates.state, parts[4], begin, end, symbol, slots)
                _take_steps(tables, slots, 0, count, states.context[state], gradients.state[state], time)
            state = states.next_state[state]
        first = forest.edge_first[item]
        _around(templates.binary, parts[3], begin, end, symbol, around)
        for edge in range(first, forest.edge_first[item + 1]):
            count = 0
            if abs(gradients.edge[edge]) >= smallest:
                count, pair_count = _edge_features(templates, parts, forest, item, edge, around, slots)
                _take_steps(tables, slots, 0, count, 0, gradients.edge[edge], time)
            state = states.first_state[item]
            while state >= 0:
                gradient = gradients.pair[states.state_pair[state] + edge - first]
                if abs(gradient) >= smallest:
                    if count == 0:
                        count, pair_count = _edge_features(
                            templates, parts, forest, item, edge, around, slots
                        )
                    last = count + pair_count
                    _take_steps(tables, slots, count, last, states.context[state], gradient, time)
                state = states.next_state[state]


@kernel
def find_states(forest, label_of, is_intermediate):
    """Split items by context, and return the arrays of States."""
    n_items, n_edges, n_symbols = forest.item_symbol.shape[0], forest.edge_left.shape[0], label_of.shape[0]
    first_state = np.full(n_items, -1, np.int32)
    next_state, context = np.empty(2 * n_edges + n_items, np.int32), np.empty(2 * n_edges + n_items, np.int32)
    left_state, right_state = np.full(n_edges, -1, np.int32), np.full(n_edges, -1, np.int32)
    count = 0
    for item in range(n_items - 1, -1, -1):
        if forest.is_root[item]:
            next_state[count], context[count], first_state[item] = first_state[item], 0, count
            count += 1
        symbol = forest.item_symbol[item]
        for edge in range(forest.edge_first[item], forest.edge_first[item + 1]):
            for side in range(2):
                child = forest.edge_right[edge] if side else forest.edge_left[edge]
                if child < 0:
                    continue
                other = forest.edge_left[edge] if side else forest.edge_right[edge]
                if is_intermediate[forest.item_symbol[child]]:
                    here = 1 + n_symbols + forest.item_symbol[other]
                else:
                    here = 1 + label_of[symbol]
                state = first_state[child]
                while state >= 0 and context[state] != here:
                    state = next_state[state]
                if state < 0:
                    state = count
                    next_state[count], context[count], first_state[child] = first_state[child], here, count
                    count += 1
                if side:
                    right_state[edge] = state
                else:
                    left_state[edge] = state
    state_pair = np.zeros(count + 1, np.int32)
    for item in range(n_items):
        state = first_state[item]
        while state >= 0:
            state_pair[state + 1] = forest.edge_first[item + 1] - forest.edge_first[item]
            state = next_state[state]
    for state in range(count):
        state_pair[state + 1] += state_pair[state]
    return first_state, next_state[:count].copy(), context[:count].copy(), left_state, right_state, state_pair


@kernel
def tree_states(forest, states, items, edges):
    """Return the states of a tree's items, its root last, and its pairs, in the order of `edges`, which is that of its phrases."""
    state_of = np.full(forest.item_symbol.shape[0], -1, np.int32)
    top = items[-1]
    state = states.first_state[top]
    while states.context[state] != 0:
        state = states.next_state[state]
    state_of[top] = state
    for edge in edges:
        state_of[forest.edge_left[edge]] = states.left_state[edge]
        if states.right_state[edge] >= 0:
            state_of[forest.edge_right[edge]] = states.right_state[edge]
    tree_state, tree_pair = np.empty(items.shape[0], np.int32), np.empty(edges.shape[0], np.int32)
    place = 0
    for number in range(items.shape[0]):
        tree_state[number] = state_of[items[number]]
        first, last = forest.edge_first[items[number]], forest.edge_first[items[number] + 1]
        if place < edges.shape[0] and first <= edges[place] < last:
            tree_pair[place] = states.state_pair[tree_state[number]] + edges[place] - first
            place += 1
    return tree_state, tree_pair


_TAG = 7


@helper_kernel
def _features(templates, parts, views, column, mask, slots):
    """OUT slots: features of the word in a column, to the left of which tags are known."""
    before = np.uint64(views[_TAG, column - 1]) * templates.given_factor[0]
    second = np.uint64(views[_TAG, column - 2]) * templates.given_factor[1]
    start = 1 if column == 2 else 0
    for t in range(slots.shape[0]):
        total = parts[0, 0, column, t] + templates.small[0, start, t]
        total += (before & templates.given[0, t]) + (second & templates.given[1, t])
        slots[t] = np.int64(mix(total, np.uint64(0)) & mask)


@kernel
def _best(weights, slots, scores):
    scores[:] = 0
    for slot in slots:
        for tag in range(scores.shape[0]):
            scores[tag] += weights[slot ^ tag]
    return scores.argmax()


@kernel
def tag_sentence(templates, views, n_tags, weights):
    """Fill the row of tags of `views`."""
    parts, slots = parts_at_places(views, templates), np.empty(templates.number.shape[0], np.int64)
    scores = np.empty(n_tags, np.float32)
    mask = np.uint64(weights.shape[0] - 1)
    for column in range(2, views.shape[1] - 2):
        _features(templates, parts, views, column, mask, slots)
        views[_TAG, column] = _best(weights, slots, scores) + 1


@kernel
def learn_tags(templates, lesson, order, n_tags, weights, drift, step):
    """Pass once over sentences in the given order; return the number of the last step.

    `lesson` is a :class:`gramian.experts.span_model.Lesson`. The mean of the weights over all steps is ``weights - drift / step``.
    """
    slots = np.empty(templates.number.shape[0], np.int64)
    scores = np.empty(n_tags, np.float32)
    mask = np.uint64(weights.shape[0] - 1)
    for sentence in order:
        first, last = lesson.starts[sentence], lesson.starts[sentence + 1]
        here = lesson.views[:, first:last]
        parts = parts_at_places(here, templates)
        for column in range(2, last - first - 2):
            step += 1
            _features(templates, parts, here, column, mask, slots)
            guess, right = _best(weights, slots, scores), lesson.tags[first + column]
            if guess != right:
                for slot in slots:
                    weights[slot ^ right] += 1
                    weights[slot ^ guess] -= 1
                    drift[slot ^ right] += step
                    drift[slot ^ guess] -= step
            here[_TAG, column] = guess + 1
    return step
