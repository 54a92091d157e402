"""Numba kernels of decoding: the product rule, the scores of max-recall, the best derivations, and the nodes they stand for.

Arrays of items and edges are those of :class:`gramian.chart.forest.Posteriors`, `labels` a
:class:`gramian.chart.label_table.LabelArrays`. Where a model has negative weights, absolute values stand for posteriors; what has no
posterior, or not a number, stands in no tree. :mod:`gramian.chart.decode_reference` has the same in plain Python.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.chart.coarse_kernels import grown
from gramian.kernels import helper_kernel, kernel

LEAST_POSTERIOR = 1e-4
"""The least posterior of a label or rule in a product."""

_F = np.float32
_LEAST = _F(LEAST_POSTERIOR)
_NODES = 64  # room for each tree to begin with


class LabelPosteriors(NamedTuple):
    """Posteriors of labels over spans, of grammars and experts, and their weights."""

    tables: Any  # float32 (n_models, n_cells, n_labels): posteriors
    weights: Any  # float32 (n_sentences, n_models)


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
        for i in range(first, last):
            seen = label_number[i] < 0
            for earlier in range(first, i):
                seen = seen or label_number[earlier] == label_number[i]
            if not seen:
                table[item_cell[item], label_number[i]] += item_posterior[item]


@helper_kernel
def _product(label_posteriors, sentence, cell, label):
    """Return the posterior of a label over a span by the product rule.

    Its log-odds are the weighted mean of those of all models: logit p = sum_v w_v logit p_v, with p_v kept away from 0 and 1.
    """
    n_models = label_posteriors.tables.shape[0]
    if n_models == 1:
        return abs(label_posteriors.tables[0, cell, label])
    odds = _F(0)
    for model in range(n_models):
        posterior = min(max(label_posteriors.tables[model, cell, label], _LEAST), _F(1) - _LEAST)
        odds += label_posteriors.weights[sentence, model] * np.log(posterior / (_F(1) - posterior))
    return _F(1) / (_F(1) + np.exp(-odds))


@kernel
def product_posteriors(label_posteriors):
    """Return the posteriors of all labels over all spans of one sentence by the product rule, float32 (n_cells, n_labels)."""
    n_models, n_cells, n_labels = label_posteriors.tables.shape
    table = np.empty((n_cells, n_labels), np.float32)
    floor = _F(-1)  # what all have that no model gives a posterior: nearly all labels over nearly all spans
    for cell in range(n_cells):
        for label in range(n_labels):
            is_unlikely = n_models > 1
            for model in range(n_models):
                is_unlikely = is_unlikely and label_posteriors.tables[model, cell, label] <= _LEAST
            if not is_unlikely:
                table[cell, label] = _product(label_posteriors, 0, cell, label)
                continue
            if floor < 0:
                floor = _product(label_posteriors, 0, cell, label)
            table[cell, label] = floor
    return table


@kernel
def recall_scores(
    penalty, first_item, item_symbol, item_cell, root_posterior, edge_posterior, labels, label_posteriors
):
    """Return :class:`ItemScores`: the posterior of each label, less `penalty` if a phrase's.

    Items of sentences begin at `first_item`; where several have :class:`LabelPosteriors`, their product counts.
    """
    n_items = item_symbol.shape[0]
    item_score = np.zeros(n_items, np.float32)
    edge_score = np.zeros(edge_posterior.shape[0], np.float32)
    root_score = np.zeros(n_items, np.float32)
    for sentence in range(first_item.shape[0] - 1):
        for item in range(first_item[sentence], first_item[sentence + 1]):
            if not abs(root_posterior[item]) > 0:
                root_score[item] = -np.inf
            for i in range(labels.first[item_symbol[item]], labels.first[item_symbol[item] + 1]):
                label = labels.number[i]
                item_score[item] += _product(label_posteriors, sentence, item_cell[item], label)
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
    # total(item) = score(item) + max over its edges of score(edge) + total(left) + total(right)
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
def best_derivations(n_phrases, first_item, item_symbol, edge_first, edge_left, edge_right, scores):
    """Find the tree of each sentence with the highest sum of scores.

    Items of sentences begin at `first_item` (n_sentences + 1,). Returns the best sum of each item and what is below it (n_items,); where
    each tree's nodes begin (n_sentences + 1,); their items, parents before children, left before right; the edge taken at each, -1 at
    tags; and each tree's sum of scores. A sentence of which no tree has a score has no nodes.
    """
    size, n_items = first_item.shape[0] - 1, item_symbol.shape[0]
    total, choice = np.empty(n_items, np.float64), np.full(n_items, -1, np.int32)
    first, score = np.zeros(size + 1, np.int32), np.empty(size, np.float64)
    items, edges = np.empty(_NODES * size, np.int32), np.empty(_NODES * size, np.int32)
    stack = np.empty(_NODES, np.int32)
    below = edge_first, edge_left, edge_right
    count = np.int32(0)
    for sentence in range(size):
        bounds = first_item[sentence], first_item[sentence + 1]
        root, score[sentence] = _best_below(bounds, n_phrases, item_symbol, below, scores, total, choice)
        waiting = 0
        if root >= 0:
            stack[0], waiting = root, 1
        while waiting:
            waiting -= 1
            item = stack[waiting]
            edge = choice[item]
            if count == items.shape[0]:
                items, edges = grown(items, count), grown(edges, count)
            items[count], edges[count] = item, edge
            count += np.int32(1)
            if edge >= 0:
                if waiting + 2 > stack.shape[0]:
                    stack = grown(stack, waiting)
                if edge_right[edge] >= 0:
                    stack[waiting] = edge_right[edge]
                    waiting += 1
                stack[waiting] = edge_left[edge]
                waiting += 1
        first[sentence + 1] = count
    return total, first, items[:count], edges[:count], score


@kernel
def labelled_nodes(trees, item_symbol, item_cell, edge_right, labels, label_posteriors):
    """Return the nodes of the treebank that derivations stand for: intermediate items have none, chains have several.

    `trees` are :class:`gramian.chart.tree_arrays.Derivations`. Returns first nodes of trees, labels, parents and posteriors as
    :class:`gramian.chart.tree_arrays.TreeArrays` has them.
    """
    size, n_nodes = trees.first.shape[0] - 1, 0
    for item in trees.items:
        n_nodes += labels.first[item_symbol[item] + 1] - labels.first[item_symbol[item]]
    first, label = np.zeros(size + 1, np.int32), np.empty(n_nodes, np.int32)
    parent, posterior = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.float32)
    stack = np.empty(trees.items.shape[0] + 1, np.int32)  # the node above each item that is still to come
    count = np.int32(0)
    for tree in range(size):
        stack[0], waiting = -1, 1
        for node in range(trees.first[tree], trees.first[tree + 1]):
            item, edge = trees.items[node], trees.edges[node]
            waiting -= 1
            above = stack[waiting]
            for i in range(labels.first[item_symbol[item]], labels.first[item_symbol[item] + 1]):
                number = labels.number[i]
                label[count], parent[count] = number, above
                posterior[count] = _product(label_posteriors, trees.sentence[tree], item_cell[item], number)
                above = count
                count += np.int32(1)
            if edge >= 0:
                stack[waiting] = above
                waiting += 1
                if edge_right[edge] >= 0:
                    stack[waiting] = above
                    waiting += 1
        first[tree + 1] = count
    return first, label, parent, posterior
