"""Labels over spans on a device, and the trees with the most labels to be expected right.

What :mod:`gramian.chart.combine` and :mod:`gramian.chart.decode` do for one sentence under ``product`` and ``max-recall``, for a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from gramian.chart.decode_kernels import LEAST_POSTERIOR
from gramian.chart.gpu.batch_forest import BatchForest
from gramian.chart.label_table import LabelTable
from gramian.torch_device import has_kernels


class LabelTensors(NamedTuple):
    """The labels of symbols: how often each is in a symbol's chain, and whether it is."""

    count: torch.Tensor  # (n_symbols, n_labels)
    has: torch.Tensor  # the same shape
    n_phrase_labels: torch.Tensor  # (n_symbols,): how many of a symbol's labels are phrases'

    @classmethod
    def of(cls, table: LabelTable, device: torch.device) -> LabelTensors:
        """Return a table as tensors."""
        count = torch.zeros(len(table.first) - 1, len(table.names))
        lengths = torch.from_numpy(table.first[1:] - table.first[:-1]).long()
        symbol = torch.repeat_interleave(torch.arange(len(count)), lengths)
        count.index_put_((symbol, torch.from_numpy(table.number).long()), torch.ones(()), accumulate=True)
        phrases = count[:, : table.n_phrase_labels].sum(1)
        return cls(count.to(device), (count > 0).float().to(device), phrases.to(device))


class Choice(NamedTuple):
    """The items of the best trees of a batch: by sentence, parents before children, left before right."""

    sentence: torch.Tensor
    item: torch.Tensor
    above: torch.Tensor  # the item with a label that it stands under, ``n_items`` at the root


def label_posteriors(
    labels: LabelTensors, f: BatchForest, posterior: torch.Tensor, n_sentences: int
) -> torch.Tensor:
    """Return the posterior of every label over every span, shape (n_sentences, n_cells, n_labels)."""
    n_cells = f.n_words * (f.n_words + 1) // 2
    table = posterior.new_zeros(n_sentences, n_cells, len(labels.has))
    table[f.sentence, f.cell, f.symbol] = posterior
    return table @ labels.has


def product(tables: Sequence[torch.Tensor], weights: torch.Tensor) -> torch.Tensor:
    """Return the posteriors whose log-odds are the mean of those of some tables; `weights` has shape (n_tables, n_sentences)."""
    odds = torch.zeros_like(tables[0])
    for table, weight in zip(tables, weights, strict=True):
        odds += weight[:, None, None] * torch.logit(table, LEAST_POSTERIOR)
    return odds.sigmoid_()


def best_trees(
    f: BatchForest, labels: LabelTensors, table: torch.Tensor, edge_possible: torch.Tensor,
    root_possible: torch.Tensor, penalty: float,
) -> Choice:  # fmt: skip
    """Return the trees with the highest sums of posteriors of labels, less `penalty` for each that is a phrase's.

    A sentence that has no possible tree has no items.
    """
    score = (table @ labels.count.T)[f.sentence, f.cell, f.symbol] - penalty * labels.n_phrase_labels[
        f.symbol
    ]
    total = torch.cat([score, score.new_zeros(1)])  # nothing is worth nothing
    n_edges = len(f.edge_parent)
    choice = torch.full((f.n_items,), n_edges, device=score.device)
    if has_kernels(score):
        from gramian.chart.gpu.batch_forest_gpu import choose

        numbers = torch.arange(f.n_items + 1, device=score.device)
        edge_first, possible = torch.searchsorted(f.edge_parent, numbers), edge_possible.to(torch.uint8)
        for level in range(1, f.n_words + 1):
            items = slice(*f.level[level : level + 2])
            choose(items, edge_first, f.edge_left, f.edge_right, possible, total, choice)
    edge_level = [] if has_kernels(score) else f.edge_level()
    for level in range(1, len(edge_level) - 1):
        items, edges = slice(*f.level[level : level + 2]), slice(*edge_level[level : level + 2])
        parent = f.edge_parent[edges] - items.start
        value = total[f.edge_left[edges]] + total[f.edge_right[edges]]
        value = torch.where(edge_possible[edges], value, -torch.inf)
        best = value.new_full((items.stop - items.start,), -torch.inf).scatter_reduce_(
            0, parent, value, "amax"
        )
        number = torch.arange(edges.start, edges.stop, device=score.device)
        number = torch.where((value == best[parent]) & (value > -torch.inf), number, n_edges)
        choice[items].scatter_reduce_(0, parent, number, "amin")
        total[items] += best
    tops = (root_possible & (total[:-1] > -torch.inf)).nonzero()[:, 0]
    sentence = f.sentence[tops]
    best = score.new_full((len(table),), -torch.inf).scatter_reduce_(0, sentence, total[tops], "amax")
    number = torch.where(total[tops] == best[sentence], tops, f.n_items)
    root = torch.full((len(table),), f.n_items, device=score.device).scatter_reduce_(
        0, sentence, number, "amin"
    )
    return _collected(f, labels, choice, root)


def _collected(f: BatchForest, labels: LabelTensors, choice: torch.Tensor, root: torch.Tensor) -> Choice:
    """Walk down from the roots, and bring what is met into the order of trees."""
    n_items, n_edges = f.n_items, len(f.edge_parent)
    above = torch.full(
        (n_items + 2,), -1, device=choice.device
    )  # behind nothing, a place for what is not met
    above[root] = n_items
    numbers, labelled = torch.arange(n_items, device=choice.device), labels.has.any(1)[f.symbol]
    left, right = (torch.cat([one, one.new_full((1,), n_items + 1)]) for one in (f.edge_left, f.edge_right))
    for level in range(f.n_words, 0, -1):
        items = slice(*f.level[level : level + 2])
        if has_kernels(choice):
            from gramian.chart.gpu.batch_forest_gpu import walk

            walk(items, choice, f.edge_left, f.edge_right, labelled, above)
            continue
        own = above[items]
        edge = torch.where(own >= 0, choice[items], n_edges)
        own = torch.where(labelled[items], numbers[items], own)
        above[left[edge]] = own
        above[right[edge]] = own
    met = (above[:n_items] >= 0).nonzero()[:, 0]
    # Where an item begins, the widest comes first, and a tag last.
    n = f.n_words
    is_tag = (met < f.level[1]).long()
    key = (((f.sentence[met] * (n + 1) + f.start[met]) * (n + 2) + n - f.width[met]) << 1) + is_tag
    met = met[torch.argsort(key)]
    return Choice(f.sentence[met], met, above[met])
