"""Several sentences in one call: what goes from Python to kernels and back costs as much as the chart of a short sentence."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.chart.coarse_arrays import CoarseForest, CoarseForests, Tags
from gramian.chart.coarse_kernels import grown, pruned_forest
from gramian.chart.two_state_kernels import likely_part
from gramian.kernels import kernel

_ITEMS, _EDGES = 256, 1024  # room for each sentence to begin with


@kernel
def _extended(array, size, values, shift):
    """Return an array in which more values follow the first `size`; `shift` is added to those that are not negative."""
    while size + values.shape[0] > array.shape[0]:
        array = grown(array, size)
    for i in range(values.shape[0]):
        array[size + i] = values[i] + shift if values[i] >= 0 else values[i]
    return array


@kernel
def pruned_forests(words, tag_state_start, g, two, limits):
    """Fill and prune the coarse charts of sentences, and run the pass with two states if `limits` ask for it.

    `words` are :class:`gramian.chart.coarse_arrays.Words`, whose scores are rescaled in place; `tag_state_start` says where the states
    of each tag begin that the grammar with two states, `two`, was made of. Returns :class:`gramian.chart.coarse_arrays.CoarseForests`.
    """
    n_sentences = words.first.shape[0] - 1
    logs, first_item = np.empty(n_sentences, np.float64), np.zeros(n_sentences + 1, np.int64)
    first_cell = np.zeros(n_sentences + 1, np.int64)
    room = _ITEMS * n_sentences + 1
    symbol, cell, edge_first = np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(room, np.int32)
    posterior, root = np.empty(room, np.float32), np.empty(room, np.float32)
    room = _EDGES * n_sentences
    left, right, rule = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    share, edge_posterior = np.empty(room, np.float32), np.empty(room, np.float32)
    n_items, n_edges = 0, 0
    for sentence in range(n_sentences):
        begin, end = words.first[sentence], words.first[sentence + 1]
        n, spans = end - begin, first_cell[sentence]
        first_cell[sentence + 1] = spans + n * (n + 1) // 2
        tags = Tags(words.tags.start[begin : end + 1], words.tags.symbol, words.tags.score)
        c = pruned_forest(tags, g, words.allowed, spans, limits)
        if limits.split > 0 and c.log_probability > -np.inf:
            c = likely_part(c, tags, words.states, tag_state_start, two, limits.split)
        logs[sentence] = c.log_probability
        symbol, cell = (
            _extended(symbol, n_items, c.item_symbol, 0),
            _extended(cell, n_items, c.item_cell, spans),
        )
        posterior, root = (
            _extended(posterior, n_items, c.item_posterior, 0),
            _extended(root, n_items, c.root_share, 0),
        )
        edge_first = _extended(edge_first, n_items + 1, c.edge_first[1:], n_edges)
        left, right = (
            _extended(left, n_edges, c.edge_left, n_items),
            _extended(right, n_edges, c.edge_right, n_items),
        )
        rule, share = _extended(rule, n_edges, c.edge_rule, 0), _extended(share, n_edges, c.edge_share, 0)
        edge_posterior = _extended(edge_posterior, n_edges, c.edge_posterior, 0)
        n_items += c.item_symbol.shape[0]
        n_edges += c.edge_left.shape[0]
        first_item[sentence + 1] = n_items
    forest = CoarseForest(
        logs, symbol[:n_items], cell[:n_items], posterior[:n_items], root[:n_items], edge_first[: n_items + 1],
        left[:n_edges], right[:n_edges], rule[:n_edges], share[:n_edges], edge_posterior[:n_edges],
    )  # fmt: skip
    return CoarseForests(first_item, first_cell, forest)
