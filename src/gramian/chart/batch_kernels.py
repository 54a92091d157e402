"""Several sentences in one call: what goes from Python to kernels and back costs as much as the chart of a short sentence."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.chart.coarse_arrays import CoarseForest, CoarseForests, Tags
from gramian.chart.coarse_kernels import grown, pruned_forest
from gramian.chart.two_state_kernels import likely_part
from gramian.jit import kernel

_ITEMS, _EDGES = 256, 1024  # room for each sentence to begin with


@kernel
def _joined(array, size, part, base):
    """Put an array behind the first `size` numbers of another, `base` added to all but negative ones; return the whole, and its room."""
    while size + part.shape[0] > array.shape[0]:
        array = grown(array, size)
    for place in range(part.shape[0]):
        array[size + place] = part[place] + base if part[place] >= 0 else part[place]
    return array


@kernel
def pruned_forests(words, tag_state_start, g, two, limits):
    """Fill and prune the coarse charts of sentences, and run the pass with two states if `limits` ask for it.

    `words` are :class:`gramian.chart.coarse_arrays.Words`, whose scores are rescaled in place; `tag_state_start` says where the states
    of each tag begin that the grammar with two states, `two`, was made of. Returns :class:`gramian.chart.coarse_arrays.CoarseForests`.
    """
    size = words.first.shape[0] - 1
    logs, first_item = np.empty(size, np.float64), np.zeros(size + 1, np.int64)
    first_cell = np.zeros(size + 1, np.int64)
    n_items, n_edges = _ITEMS * size, _EDGES * size
    symbol, cell, edge_first = (
        np.empty(n_items, np.int32),
        np.empty(n_items, np.int32),
        np.empty(n_items, np.int32),
    )
    posterior, root = np.empty(n_items, np.float32), np.empty(n_items, np.float32)
    left, right, rule = np.empty(n_edges, np.int32), np.empty(n_edges, np.int32), np.empty(n_edges, np.int32)
    share, edge_posterior = np.empty(n_edges, np.float32), np.empty(n_edges, np.float32)
    n_items, n_edges, none = 0, 0, np.int32(0)
    for one in range(size):
        begin, end = words.first[one], words.first[one + 1]
        n, spans = end - begin, first_cell[one]
        first_cell[one + 1] = spans + n * (n + 1) // 2
        tags = Tags(words.tags.start[begin : end + 1], words.tags.symbol, words.tags.score)
        c = pruned_forest(tags, g, words.allowed, spans, limits)
        if limits.split > 0 and c.log_probability > -np.inf:
            c = likely_part(c, tags, words.states, tag_state_start, two, limits.split)
        logs[one] = c.log_probability
        base, first = np.int32(n_items), np.int32(n_edges)
        symbol = _joined(symbol, n_items, c.item_symbol, none)
        cell = _joined(cell, n_items, c.item_cell, np.int32(spans))
        posterior = _joined(posterior, n_items, c.item_posterior, none)
        root = _joined(root, n_items, c.root_share, none)
        edge_first = _joined(edge_first, n_items, c.edge_first, first)
        left = _joined(left, n_edges, c.edge_left, base)
        right = _joined(right, n_edges, c.edge_right, base)
        rule = _joined(rule, n_edges, c.edge_rule, none)
        share = _joined(share, n_edges, c.edge_share, none)
        edge_posterior = _joined(edge_posterior, n_edges, c.edge_posterior, none)
        n_items += c.item_symbol.shape[0]
        n_edges += c.edge_left.shape[0]
        first_item[one + 1] = n_items
    forest = CoarseForest(
        logs, symbol[:n_items], cell[:n_items], posterior[:n_items], root[:n_items], edge_first[: n_items + 1],
        left[:n_edges], right[:n_edges], rule[:n_edges], share[:n_edges], edge_posterior[:n_edges],
    )  # fmt: skip
    return CoarseForests(first_item, first_cell, forest)
