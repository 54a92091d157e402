"""Numba kernels that look for the best tree in a finished forest by the posteriors of its items and edges.

The arrays are those of a :class:`gramian.chart.forest.Forest`, `labels` a :class:`gramian.chart.label_table.LabelArrays`. Where a model
has negative weights, absolute values stand for posteriors; what has no posterior, or not a number, stands in no tree.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.chart.coarse_kernels import grown
from gramian.jit import helper_kernel, kernel

LEAST_POSTERIOR = 1e-4
"""The least posterior of a label or rule in a product."""

_F = np.float32
_LEAST = _F(LEAST_POSTERIOR)
_NODES = 64  # room for each tree to begin with


class Votes(NamedTuple):
    """Posteriors of labels over spans from several, float32 (n_voices, n_cells, n_labels), and their weights (n_sentences, n_voices)."""

    tables: Any
    weights: Any


class ItemScores(NamedTuple):
    """What a decoder adds up over a tree: scores of its items and edges, and of each item as its root; -inf (or NaN) where it cannot be."""

    item: Any  # float32, as all
    edge: Any
    root: Any


@kernel
def add_posteriors(item_symbol, item_cell, item_posterior, labels, table):
    """Add to a table (n_cells, n_labels) the posteriors of the items of a span that have a label.

    An item counts once for a label that its chain has twice. A label of number -1 is passed over.
    """
    label_first, label_number = labels.first, labels.number
    for item in range(item_symbol.shape[0]):
        first, last = label_first[item_symbol[item]], label_first[item_symbol[item] + 1]
        for place in range(first, last):
            seen = label_number[place] < 0
            for earlier in range(first, place):
                seen = seen or label_number[earlier] == label_number[place]
            if not seen:
                table[item_cell[item], label_number[place]] += item_posterior[item]


@helper_kernel
def _together(votes, sentence, cell, label):
    """Return the posterior of a label over a span: of several, the one whose log-odds are the weighted mean of theirs."""
    n_voices = votes.tables.shape[0]
    if n_voices == 1:
        return abs(votes.tables[0, cell, label])
    odds = _F(0)
    for voice in range(n_voices):
        sure = min(max(votes.tables[voice, cell, label], _LEAST), _F(1) - _LEAST)
        odds += votes.weights[sentence, voice] * np.log(sure / (_F(1) - sure))
    return _F(1) / (_F(1) + np.exp(-odds))


@kernel
def recall_scores(penalty, first_item, item_symbol, item_cell, root_posterior, edge_posterior, labels, votes):
    """Return :class:`ItemScores`: the posterior of each label, less `penalty` if a phrase's.

    Items of sentences begin at `first_item`; where several have :class:`Votes`, their product counts.
    """
    n_items = item_symbol.shape[0]
    item_score = np.zeros(n_items, np.float32)
    edge_score = np.zeros(edge_posterior.shape[0], np.float32)
    root_score = np.zeros(n_items, np.float32)
    for one in range(first_item.shape[0] - 1):
        for item in range(first_item[one], first_item[one + 1]):
            if not abs(root_posterior[item]) > 0:
                root_score[item] = -np.inf
            for place in range(labels.first[item_symbol[item]], labels.first[item_symbol[item] + 1]):
                label = labels.number[place]
                item_score[item] += _together(votes, one, item_cell[item], label)
                if label < labels.n_phrase_labels:
                    item_score[item] -= penalty
    for edge in range(edge_score.shape[0]):
        if not abs(edge_posterior[edge]) > 0:
            edge_score[edge] = -np.inf
    return ItemScores(item_score, edge_score, root_score)


@helper_kernel
def _best_below(items, n_phrases, item_symbol, edges, scores, total, choice):
    """Set of each item the best sum of itself and what is below, and its edge there; return the best root or -1, and its sum."""
    edge_first, edge_left, edge_right = edges
    root, score = -1, -np.inf
    for item in range(items[0], items[1]):
        best = 0.0
        if item_symbol[item] < n_phrases:
            best = -np.inf
            for edge in range(edge_first[item], edge_first[item + 1]):
                value = scores.edge[edge] + total[edge_left[edge]]
                if edge_right[edge] >= 0:
                    value += total[edge_right[edge]]
                if value > best:
                    best = value
                    choice[item] = edge
        total[item] = best + scores.item[item]
        if total[item] + scores.root[item] > score:
            score = total[item] + scores.root[item]
            root = item
    return root, score


@kernel
def best_tree(n_phrases, item_symbol, edge_first, edge_left, edge_right, scores):
    """Find the tree with the highest sum of scores.

    Returns the best sum of each item and what is below it (n_items,), its edge there or -1, the best root or -1, and its sum.
    """
    n_items = item_symbol.shape[0]
    total, choice = np.empty(n_items, np.float64), np.full(n_items, -1, np.int32)
    edges = edge_first, edge_left, edge_right
    root, score = _best_below((0, n_items), n_phrases, item_symbol, edges, scores, total, choice)
    return total, choice, root, score


@kernel
def best_trees(n_phrases, forests, scores, labels, votes):
    """Find the tree of each sentence with the highest sum of scores.

    `forests` are :class:`gramian.chart.coarse_arrays.CoarseForests`. Returns first nodes of trees, labels, parents and posteriors as
    :class:`gramian.chart.tree_arrays.TreeArrays` has them.
    """
    c, size = forests.forest, forests.first_item.shape[0] - 1
    n_items = c.item_symbol.shape[0]
    total, choice = np.empty(n_items, np.float64), np.full(n_items, -1, np.int32)
    first, room = np.zeros(size + 1, np.int32), _NODES * size
    node_label, node_parent = np.empty(room, np.int32), np.empty(room, np.int32)
    node_posterior = np.empty(room, np.float32)
    waiting_item, waiting_above = np.empty(_NODES, np.int32), np.empty(_NODES, np.int32)
    count = np.int32(0)
    for one in range(size):
        items = forests.first_item[one], forests.first_item[one + 1]
        edges = c.edge_first, c.edge_left, c.edge_right
        root, _ = _best_below(items, n_phrases, c.item_symbol, edges, scores, total, choice)
        waiting = 0
        if root >= 0:
            waiting_item[0], waiting_above[0], waiting = root, -1, 1
        while waiting:
            waiting -= 1
            item, above = waiting_item[waiting], waiting_above[waiting]
            begin, end = labels.first[c.item_symbol[item]], labels.first[c.item_symbol[item] + 1]
            if count + end - begin > node_label.shape[0]:
                node_label, node_parent = grown(node_label, count), grown(node_parent, count)
                node_posterior = grown(node_posterior, count)
            for place in range(begin, end):
                label = labels.number[place]
                node_label[count], node_parent[count] = label, above
                node_posterior[count] = _together(votes, one, c.item_cell[item], label)
                above = count
                count += np.int32(1)
            edge = choice[item]
            if edge >= 0:
                if waiting + 2 > waiting_item.shape[0]:
                    waiting_item = grown(waiting_item, waiting)
                    waiting_above = grown(waiting_above, waiting)
                if c.edge_right[edge] >= 0:
                    waiting_item[waiting], waiting_above[waiting] = c.edge_right[edge], above
                    waiting += 1
                waiting_item[waiting], waiting_above[waiting] = c.edge_left[edge], above
                waiting += 1
        first[one + 1] = count
    return first, node_label[:count], node_parent[:count], node_posterior[:count]


@kernel
def read_tree(root, choice, edge_left, edge_right, n_words):
    """Return the items under `root` and the edge taken at each, parents first, left before right."""
    items, edges, stack = np.empty((3, 3 * n_words), np.int32)
    stack[0] = root
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        item = stack[waiting]
        edge = choice[item]
        items[count], edges[count] = item, edge
        count += 1
        if edge >= 0:
            if edge_right[edge] >= 0:
                stack[waiting] = edge_right[edge]
                waiting += 1
            stack[waiting] = edge_left[edge]
            waiting += 1
    return items[:count].copy(), edges[:count].copy()


@kernel
def node_confidences(items, item_symbol, item_cell, labels, table):
    """Return the posterior of every label of the items, top-down within a chain."""
    label_first, label_number = labels.first, labels.number
    count = 0
    for item in items:
        count += label_first[item_symbol[item] + 1] - label_first[item_symbol[item]]
    confidences = np.empty(count, np.float64)
    count = 0
    for item in items:
        for place in range(label_first[item_symbol[item]], label_first[item_symbol[item] + 1]):
            confidences[count] = abs(table[item_cell[item], label_number[place]])
            count += 1
    return confidences
