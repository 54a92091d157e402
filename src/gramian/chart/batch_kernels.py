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
def pruned_forests(words, tag_state_start, g, two, limits):
    """Fill and prune the coarse charts of sentences, and run the pass with two states if `limits` ask for it.

    `words` are :class:`gramian.chart.coarse_arrays.Words`, whose scores are rescaled in place; `tag_state_start` says where the states
    of each tag begin that the grammar with two states, `two`, was made of. Returns :class:`gramian.chart.coarse_arrays.CoarseForests`.
    """
    size = words.first.shape[0] - 1
    logs, first_item = np.empty(size, np.float64), np.zeros(size + 1, np.int64)
    first_cell = np.zeros(size + 1, np.int64)
    room = _ITEMS * size + 1
    symbol, cell, edge_first = np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(room, np.int32)
    posterior, root = np.empty(room, np.float32), np.empty(room, np.float32)
    room = _EDGES * size
    left, right, rule = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    share, edge_posterior = np.empty(room, np.float32), np.empty(room, np.float32)
    n_items, n_edges = 0, 0
    for one in range(size):
        begin, end = words.first[one], words.first[one + 1]
        n, spans = end - begin, first_cell[one]
        first_cell[one + 1] = spans + n * (n + 1) // 2
        tags = Tags(words.tags.start[begin : end + 1], words.tags.symbol, words.tags.score)
        c = pruned_forest(tags, g, words.allowed, spans, limits)
        if limits.split > 0 and c.log_probability > -np.inf:
            c = likely_part(c, tags, words.states, tag_state_start, two, limits.split)
        logs[one] = c.log_probability
        while n_items + c.item_symbol.shape[0] >= symbol.shape[0]:
            symbol, cell, edge_first = (
                grown(symbol, n_items),
                grown(cell, n_items),
                grown(edge_first, n_items + 1),
            )
            posterior, root = grown(posterior, n_items), grown(root, n_items)
        while n_edges + c.edge_left.shape[0] > left.shape[0]:
            left, right, rule = grown(left, n_edges), grown(right, n_edges), grown(rule, n_edges)
            share, edge_posterior = grown(share, n_edges), grown(edge_posterior, n_edges)
        for item in range(c.item_symbol.shape[0]):
            place = n_items + item
            symbol[place], cell[place] = c.item_symbol[item], c.item_cell[item] + spans
            posterior[place], root[place] = c.item_posterior[item], c.root_share[item]
            edge_first[place + 1] = c.edge_first[item + 1] + n_edges
        for edge in range(c.edge_left.shape[0]):
            place = n_edges + edge
            left[place], right[place] = c.edge_left[edge] + n_items, c.edge_right[edge]
            if right[place] >= 0:
                right[place] += n_items
            rule[place], share[place] = c.edge_rule[edge], c.edge_share[edge]
            edge_posterior[place] = c.edge_posterior[edge]
        n_items += c.item_symbol.shape[0]
        n_edges += c.edge_left.shape[0]
        first_item[one + 1] = n_items
    forest = CoarseForest(
        logs, symbol[:n_items], cell[:n_items], posterior[:n_items], root[:n_items], edge_first[: n_items + 1],
        left[:n_edges], right[:n_edges], rule[:n_edges], share[:n_edges], edge_posterior[:n_edges],
    )  # fmt: skip
    return CoarseForests(first_item, first_cell, forest)
