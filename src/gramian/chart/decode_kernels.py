"""Numba kernels that look for the best tree in a finished forest by the posteriors of its items and edges.

The arrays are those of a :class:`gramian.chart.forest.Forest`, `labels` a :class:`gramian.chart.label_table.LabelArrays`. Where a model
has negative weights, absolute values stand for posteriors; what has no posterior, or not a number, stands in no tree.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.jit import kernel


@kernel
def label_posteriors(item_symbol, item_cell, item_posterior, labels, n_cells):
    """Sum the posteriors of the items of a span that have a label, shape (n_cells, n_labels).

    An item counts once for a label that its chain has twice.
    """
    table = np.zeros((n_cells, labels.n_labels), np.float32)
    label_first, label_number = labels.first, labels.number
    for item in range(item_symbol.shape[0]):
        first, last = label_first[item_symbol[item]], label_first[item_symbol[item] + 1]
        for place in range(first, last):
            seen = False
            for earlier in range(first, place):
                seen = seen or label_number[earlier] == label_number[place]
            if not seen:
                table[item_cell[item], label_number[place]] += item_posterior[item]
    return table


@kernel
def recall_scores(penalty, item_symbol, item_cell, root_posterior, edge_posterior, labels, table):
    """Return scores of items, edges and roots: the posterior of each label, less `penalty` if a phrase's."""
    n_items = item_symbol.shape[0]
    item_score = np.zeros(n_items, np.float32)
    edge_score = np.zeros(edge_posterior.shape[0], np.float32)
    root_score = np.zeros(n_items, np.float32)
    for item in range(n_items):
        if not abs(root_posterior[item]) > 0:
            root_score[item] = -np.inf
        for place in range(labels.first[item_symbol[item]], labels.first[item_symbol[item] + 1]):
            label = labels.number[place]
            item_score[item] += abs(table[item_cell[item], label])
            if label < labels.n_phrase_labels:
                item_score[item] -= penalty
    for edge in range(edge_score.shape[0]):
        if not abs(edge_posterior[edge]) > 0:
            edge_score[edge] = -np.inf
    return item_score, edge_score, root_score


@kernel
def best_tree(n_phrases, item_symbol, edge_first, edge_left, edge_right, item_score, edge_score, root_score):
    """Find the tree with the highest sum of scores.

    Returns the best sum of each item and what is below it (n_items,), its edge there or -1, the best root or -1, and its sum.
    """
    n_items = item_symbol.shape[0]
    total = np.empty(n_items, np.float64)
    choice = np.full(n_items, -1, np.int32)
    root, score = -1, -np.inf
    for item in range(n_items):
        best = 0.0
        if item_symbol[item] < n_phrases:
            best = -np.inf
            for edge in range(edge_first[item], edge_first[item + 1]):
                value = edge_score[edge] + total[edge_left[edge]]
                if edge_right[edge] >= 0:
                    value += total[edge_right[edge]]
                if value > best:
                    best = value
                    choice[item] = edge
        total[item] = best + item_score[item]
        if total[item] + root_score[item] > score:
            score = total[item] + root_score[item]
            root = item
    return total, choice, root, score


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
