"""Numba kernels of reranking: trees as arrays, their hashed features, and the scores that follow from them.

A sentence's candidates lie one after the other in flat arrays, each tree's nodes parents before children and left before right; `arity` and
`label` of every node say all there is to a tree. A feature is a slot of a table: a hash of a template's number and of what it sees.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import kernel
from gramian.loglinear.hashing_kernels import length_class, mix_well, summed

PADDING = 2  # places before and behind the words in their rows
_MOST = 96  # features of a node

# Groups of templates; a template's number is 16 times its group's and its own.
RULE, NGRAM, HEADS, WORD, BRANCH, HEAVY, EDGES, COORDINATION, PATH, ANCESTORS = range(10)
N_GROUPS = 10

_LENGTHS = (6, 9, 14, 22)
_NONE = np.uint64(0)
_FIRST, _LAST = np.uint64(1), np.uint64(2)  # what stands before the first child and behind the last


@kernel
def _hash(a, b, c=_NONE, d=_NONE, e=_NONE, f=_NONE):
    """Hash up to six numbers, all uint64."""
    return mix_well(summed(a, b, c, d, e, f))


@kernel
def _bucket(length):
    return length_class(length, 4, _LENGTHS)


@kernel
def odds_scores(item_symbol, item_cell, label_first, label_number, table, least):
    """Return for each item the sum of the log-odds of its labels; `table` (n_cells, n_labels) holds their posteriors."""
    score = np.zeros(len(item_symbol), np.float32)
    for item in range(len(item_symbol)):
        for place in range(label_first[item_symbol[item]], label_first[item_symbol[item] + 1]):
            posterior = min(max(abs(table[item_cell[item], label_number[place]]), least), 1 - least)
            score[item] += np.log(posterior / (1 - posterior))
    return score


@kernel
def unfolded(items, edges, item_symbol, edge_right, label_first, label_number):
    """Return label and arity of the nodes of a binarised tree in the shape of the treebank.

    `items` and `edges` are those of a :class:`gramian.chart.tree_arrays.Decoded`, `label_first` and `label_number` of a
    :class:`gramian.chart.tree_arrays.LabelTable`.
    """
    count = 0
    for item in items:
        count += label_first[item_symbol[item] + 1] - label_first[item_symbol[item]]
    label, arity = np.empty(count, np.int32), np.zeros(count, np.int32)
    owner = np.empty(2 * len(items) + 2, np.int32)  # nodes whose parts are still to come, the next on top
    waiting, count = 1, 0
    owner[0] = -1
    for place in range(len(items)):
        waiting -= 1
        above = owner[waiting]
        symbol = item_symbol[items[place]]
        for number in range(label_first[symbol], label_first[symbol + 1]):
            label[count] = label_number[number]
            if above >= 0:
                arity[above] += 1
            above = count
            count += 1
        edge = edges[place]
        if edge >= 0:
            for _ in range(2 if edge_right[edge] >= 0 else 1):
                owner[waiting] = above
                waiting += 1
    return label, arity


@kernel
def frames(tree_start, arity):
    """Return parent, next sibling, start and end of every node of every tree; places of nodes count from the first tree's root."""
    n = len(arity)
    parent, sibling = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    start, end = np.zeros(n, np.int32), np.zeros(n, np.int32)
    stack, left, last = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    for tree in range(len(tree_start) - 1):
        depth, word = 0, 0
        for node in range(tree_start[tree], tree_start[tree + 1]):
            start[node] = word
            if depth:
                parent[node] = stack[depth - 1]
                if last[depth - 1] >= 0:
                    sibling[last[depth - 1]] = node
                last[depth - 1] = node
            if arity[node]:
                stack[depth], left[depth], last[depth] = node, arity[node], -1
                depth += 1
                continue
            word += 1
            end[node] = word
            while depth:  # close what is complete
                left[depth - 1] -= 1
                if left[depth - 1]:
                    break
                depth -= 1
                end[stack[depth]] = word
    return parent, sibling, start, end


@kernel
def rule_keys(arity, label_code, sibling):
    """Return a hash of the label of each node and those of its children."""
    n = len(arity)
    keys = np.zeros(n, np.uint64)
    for node in range(n):
        state = _hash(np.uint64(1), label_code[node])
        child = node + 1 if arity[node] else -1
        while child >= 0:
            state = _hash(state, label_code[child])
            child = sibling[child]
        keys[node] = state
    return keys


@kernel
def _emit(slots, count, template, a, b=_NONE, c=_NONE, d=_NONE, e=_NONE):
    slots[count] = _hash(np.uint64(template + 1000), a, b, c, d, e)
    return count + 1


@kernel
def _features(trees, first, last, slots):
    """OUT slots: the features of the tree with the nodes first .. last - 1; return how many.

    `trees` is a :class:`gramian.experts.rerank_features.CandidateArrays`.
    """
    _, arity, code, parent, sibling, start, end, head, key, lexical, role, has_heads, groups = trees
    n_words = end[first]
    size = last - first
    tag = np.zeros(n_words + 2 * PADDING, np.uint64)
    leaf = np.empty(n_words, np.int32)
    head_word, deep = np.zeros(size, np.int32), np.zeros(size, np.uint64)
    for node in range(last - 1, first - 1, -1):
        here = node - first
        if arity[node] == 0:
            tag[PADDING + start[node]] = code[node]
            leaf[start[node]] = node
            head_word[here] = start[node]
            deep[here] = code[node]
            continue
        child = node + 1
        state = code[node]
        for number in range(arity[node]):
            if number == head[node]:
                head_word[here] = head_word[child - first]
            state = _hash(np.uint64(2), state, key[child])
            child = sibling[child]
        deep[here] = state
    final = n_words  # without punctuation at the end
    while final > 1 and role[leaf[final - 1]] == 2:
        final -= 1
    count = 0
    for node in range(first, last):
        here = node - first
        label, above = code[node], parent[node]
        up = code[above] if above >= 0 else _NONE
        higher = parent[above] if above >= 0 else -1
        up2 = code[higher] if higher >= 0 else _NONE
        highest = parent[higher] if higher >= 0 else -1
        up3 = code[highest] if highest >= 0 else _NONE
        f, e = start[node] + PADDING, end[node] - 1 + PADDING
        if arity[node] == 0:
            if groups[WORD]:
                word = lexical[f]
                t = 16 * WORD
                count = _emit(slots, count, t, word, label)
                count = _emit(slots, count, t + 1, word, label, up)
                count = _emit(slots, count, t + 2, word, label, up, up2)
                count = _emit(slots, count, t + 3, label, up, up2, up3)
                count = _emit(slots, count, t + 7, label, lexical[f - 1])
                count = _emit(slots, count, t + 8, label, lexical[f + 1])
                count = _emit(slots, count, t + 9, label, tag[f - 1])
                count = _emit(slots, count, t + 10, label, tag[f - 1], tag[f - 2])
                if has_heads:  # the largest phrase it is head of
                    top = node
                    while parent[top] >= 0 and head_word[parent[top] - first] == start[node]:
                        top = parent[top]
                    over = code[parent[top]] if parent[top] >= 0 else _NONE
                    over2 = (
                        code[parent[parent[top]]] if parent[top] >= 0 and parent[parent[top]] >= 0 else _NONE
                    )
                    count = _emit(slots, count, t + 4, word, label, code[top])
                    count = _emit(slots, count, t + 5, word, label, code[top], over)
                    count = _emit(slots, count, t + 6, label, code[top], over, over2)
            continue
        length = np.uint64(_bucket(end[node] - start[node]))
        hw = head_word[here] + PADDING
        if groups[RULE]:
            t, rule = 16 * RULE, key[node]
            count = _emit(slots, count, t, rule)
            count = _emit(slots, count, t + 1, rule, up)
            count = _emit(slots, count, t + 2, rule, up, up2)
            count = _emit(slots, count, t + 3, deep[here])
            if has_heads:
                count = _emit(slots, count, t + 4, rule, lexical[hw])
                count = _emit(slots, count, t + 5, rule, tag[hw], up)
        if groups[ANCESTORS]:
            t = 16 * ANCESTORS
            count = _emit(slots, count, t, label, up, up2, up3)
            count = _emit(slots, count, t + 1, label, up, length)
            count = _emit(slots, count, t + 2, label, np.uint64(arity[node]), up)
            if has_heads:
                count = _emit(slots, count, t + 3, label, up, lexical[hw])
                count = _emit(slots, count, t + 4, label, up, up2, tag[hw])
                if above >= 0:
                    upper = head_word[above - first] + PADDING
                    count = _emit(slots, count, t + 5, label, up, up2, tag[upper])
                    count = _emit(slots, count, t + 6, label, up, lexical[upper])
        if groups[BRANCH]:
            t = 16 * BRANCH
            rightmost = np.uint64(end[node] >= final)
            count = _emit(slots, count, t, rightmost)
            count = _emit(slots, count, t + 1, label)
        if groups[HEAVY]:
            t = 16 * HEAVY
            count = _emit(slots, count, t, label, length, np.uint64(end[node] == n_words))
            count = _emit(slots, count, t + 1, label, length, tag[e + 1])
            count = _emit(slots, count, t + 2, label, length, tag[f - 1])
            count = _emit(slots, count, t + 3, label, length, tag[e + 1], tag[f - 1])
        if groups[EDGES]:
            t = 16 * EDGES
            count = _emit(slots, count, t, label, tag[f - 1], tag[e + 1])
            count = _emit(slots, count, t + 1, label, tag[f], tag[e])
            count = _emit(slots, count, t + 2, label, lexical[f - 1])
            count = _emit(slots, count, t + 3, label, lexical[e + 1])
            count = _emit(slots, count, t + 4, label, lexical[f])
            count = _emit(slots, count, t + 5, label, lexical[e])
            count = _emit(slots, count, t + 6, label, tag[f - 1], tag[f])
            count = _emit(slots, count, t + 7, label, tag[e], tag[e + 1])
            count = _emit(slots, count, t + 8, label, tag[f - 1], tag[f], tag[e], tag[e + 1])
            count = _emit(slots, count, t + 9, label, up, tag[f - 1])
            count = _emit(slots, count, t + 10, label, up, tag[e + 1])
            count = _emit(slots, count, t + 11, label, lexical[f - 1], tag[f])
            count = _emit(slots, count, t + 12, label, lexical[f], tag[f - 1])
            count = _emit(slots, count, t + 13, label, up, lexical[f])
        # What follows looks at the children.
        conjunction = False
        head_node, child = node + 1, node + 1
        for number in range(arity[node]):
            conjunction = conjunction or role[child] == 1
            if number == head[node]:
                head_node = child
            child = sibling[child]
        if groups[NGRAM] and arity[node] > 1:
            t = 16 * NGRAM
            before, before2, child = _FIRST, _FIRST, node + 1
            before_head = PADDING
            for number in range(arity[node] + 1):
                now = code[child] if child >= 0 else _LAST
                side = _NONE
                if has_heads:
                    side = np.uint64(1 if number < head[node] else 2 if number == head[node] else 3)
                count = _emit(slots, count, t, label, before, now)
                count = _emit(slots, count, t + 1, label, before, now, side, up)
                count = _emit(slots, count, t + 2, label, before2, before, now)
                if has_heads and 0 < number < arity[node]:
                    this = head_word[child - first] + PADDING
                    count = _emit(slots, count, t + 3, label, now, before, lexical[before_head], tag[this])
                    count = _emit(slots, count, t + 4, label, now, before, tag[before_head], lexical[this])
                    count = _emit(slots, count, t + 5, before, now, lexical[before_head], lexical[this])
                    before_head = this
                elif number == 0:
                    before_head = head_word[child - first] + PADDING
                before2, before = before, now
                child = sibling[child] if child >= 0 else -1
        if groups[HEADS] and has_heads and arity[node] > 1:
            t = 16 * HEADS
            child, centre = node + 1, code[head_node]
            for number in range(arity[node]):
                if number != head[node]:
                    side = np.uint64(1 if number < head[node] else 2)
                    d = head_word[child - first] + PADDING
                    kind = _hash(label, code[child], centre, side)
                    count = _emit(slots, count, t, kind, tag[hw], tag[d])
                    count = _emit(slots, count, t + 1, kind, lexical[hw], tag[d])
                    count = _emit(slots, count, t + 2, kind, tag[hw], lexical[d])
                    count = _emit(slots, count, t + 3, label, code[child], lexical[hw], lexical[d])
                    count = _emit(slots, count, t + 4, side, lexical[hw], lexical[d])
                    count = _emit(slots, count, t + 5, kind, np.uint64(_bucket(abs(d - hw))), tag[hw])
                    count = _emit(slots, count, t + 6, kind, lexical[hw])
                    count = _emit(slots, count, t + 7, kind, lexical[d])
                    if arity[child] > 1:  # the object of a preposition, the verb of a clause
                        below, inner = child + 1, -1
                        for place in range(arity[child]):
                            if place != head[child]:
                                inner = below
                            below = sibling[below]
                        if inner >= 0:
                            o = head_word[inner - first] + PADDING
                            count = _emit(slots, count, t + 8, kind, tag[hw], lexical[d], tag[o])
                            count = _emit(slots, count, t + 9, kind, tag[hw], lexical[d], lexical[o])
                            count = _emit(slots, count, t + 10, kind, lexical[hw], lexical[d], tag[o])
                            count = _emit(slots, count, t + 11, label, lexical[hw], lexical[d], lexical[o])
                child = sibling[child]
        if groups[COORDINATION] and conjunction:
            t = 16 * COORDINATION
            child, earlier = node + 1, -1
            while child >= 0:
                if role[child]:
                    child = sibling[child]
                    continue
                if earlier >= 0:
                    same = _NONE
                    if code[earlier] == code[child]:
                        same = np.uint64(1)
                        if key[earlier] == key[child]:
                            same = np.uint64(3 if deep[earlier - first] == deep[child - first] else 2)
                    ours, theirs = end[child] - start[child], end[earlier] - start[earlier]
                    longer = _bucket(abs(ours - theirs))
                    difference = np.uint64(20 + longer if ours >= theirs else 20 - longer)
                    closing = np.uint64(sibling[child] < 0)
                    count = _emit(slots, count, t, label, same)
                    count = _emit(slots, count, t + 1, label, same, code[earlier], code[child])
                    count = _emit(slots, count, t + 2, difference, closing)
                    count = _emit(slots, count, t + 3, label, difference, closing)
                    if has_heads:
                        one, two = head_word[earlier - first] + PADDING, head_word[child - first] + PADDING
                        count = _emit(slots, count, t + 4, label, tag[one], tag[two])
                        count = _emit(slots, count, t + 5, lexical[one], lexical[two])
                earlier = child
                child = sibling[child]
            count = _emit(slots, count, t + 6, label, up, np.uint64(arity[node]))
            count = _emit(slots, count, t + 7, label, tag[f - 1], tag[f])
    if groups[PATH]:
        t = 16 * PATH
        previous = _NONE
        for place in range(n_words - 1):
            left, right = leaf[place], leaf[place + 1]
            # The lowest phrase over both: go up from the right while it begins there.
            state, node = code[right], parent[right]
            while start[node] > place:
                state = _hash(np.uint64(3), state, code[node])
                node = parent[node]
            other, lower = code[left], parent[left]
            while lower != node:
                other = _hash(np.uint64(4), other, code[lower])
                lower = parent[lower]
            path = _hash(other, state, code[node])
            count = _emit(slots, count, t, path)
            count = _emit(slots, count, t + 1, path, lexical[place + PADDING])
            count = _emit(slots, count, t + 2, path, lexical[place + 1 + PADDING])
            count = _emit(slots, count, t + 3, path, previous)
            previous = path
    return count


@kernel
def scores(trees, weights):
    """Return the sum of the weights of each tree's features."""
    tree_start = trees.tree_start
    n = len(tree_start) - 1
    total = np.zeros(n)
    slots, mask = np.empty(_MOST * np.diff(tree_start).max(), np.uint64), np.uint64(len(weights) - 1)
    for tree in range(n):
        first, last = tree_start[tree], tree_start[tree + 1]
        count = _features(trees, first, last, slots)
        for slot in slots[:count]:
            total[tree] += weights[slot & mask]
    return total


@kernel
def differences(trees, table):
    """Return in what features trees differ from the first one: where each tree's begin, slots, and differences of counts.

    `table` holds zeros, as many as there are slots, and does so again afterwards.
    """
    tree_start = trees.tree_start
    n = len(tree_start) - 1
    where = np.zeros(n + 1, np.int64)
    found, counts = np.empty(1024, np.int32), np.empty(1024, np.int8)
    size = 0
    longest = np.diff(tree_start).max()
    own, slots = np.empty(_MOST * longest, np.uint64), np.empty(_MOST * longest, np.uint64)
    mask = np.uint64(len(table) - 1)
    n_own = 0
    for tree in range(n):
        first, last = tree_start[tree], tree_start[tree + 1]
        count = _features(trees, first, last, slots)
        slots[:count] &= mask
        if tree == 0:
            own[:count] = slots[:count]
            n_own = count
        else:
            for place in range(count):
                table[slots[place]] += 1
            for place in range(n_own):
                table[own[place]] -= 1
            if size + count + n_own > len(found):
                room = 2 * (size + count + n_own)
                longer, more = np.empty(room, np.int32), np.empty(room, np.int8)
                longer[:size], more[:size] = found[:size], counts[:size]
                found, counts = longer, more
            for place in range(count + n_own):
                slot = slots[place] if place < count else own[place - count]
                if table[slot] != 0:
                    found[size] = slot
                    counts[size] = min(max(table[slot], -100), 100)
                    size += 1
                    table[slot] = 0
        where[tree + 1] = size
    return where, found[:size].copy(), counts[:size].copy()


@kernel
def match_counts(tree_start, arity, label, start, end, same, kept, gold):
    """Return how many brackets of each tree count, and how many of these are gold's.

    `same` maps labels to those they count as, or to -1; `kept` (n_words + 1,) counts the words before each that are no punctuation;
    `gold` (n, 3) are label, start and end of gold's brackets.
    """
    n = len(tree_start) - 1
    predicted, matched = np.zeros(n, np.int32), np.zeros(n, np.int32)
    used = np.zeros(len(gold), np.int32)
    for tree in range(n):
        for node in range(tree_start[tree], tree_start[tree + 1]):
            if arity[node] == 0 or same[label[node]] < 0:
                continue
            first, last = kept[start[node]], kept[end[node]]
            if first == last:
                continue
            predicted[tree] += 1
            for place in range(len(gold)):
                if (
                    used[place] != tree + 1
                    and gold[place, 1] == first
                    and gold[place, 2] == last
                    and gold[place, 0] == same[label[node]]
                ):
                    used[place] = tree + 1
                    matched[tree] += 1
                    break
    return predicted, matched
