"""What a dense chart leaves of a batch of sentences: one list of likely items, and one of likely edges.

Tags come first, then phrases by width; edges come in the order of their parents, so that those of a width lie side by side. The right child
of a phrase over a tag is nothing, an item behind all others.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from gramian.chart.forest import Pruning
from gramian.chart.gpu.dense_chart import DenseChart, first_cell
from gramian.chart.gpu.grammar_tensors import CoarseTensors
from gramian.torch_device import has_kernels


class BatchForest(NamedTuple):
    """Items and edges of all sentences of a batch, with values without states."""

    n_words: int  # of the longest sentence
    sentence: torch.Tensor  # (n_items,)
    cell: torch.Tensor
    symbol: torch.Tensor
    start: torch.Tensor
    width: torch.Tensor
    posterior: torch.Tensor
    root_share: torch.Tensor  # (n_items,): posterior of being the root
    level: list[int]  # (n_words + 2,): the first item of tags, then of phrases of each width, and the end
    edge_parent: torch.Tensor  # (n_edges,)
    edge_left: torch.Tensor
    edge_right: torch.Tensor
    edge_rule: torch.Tensor
    edge_share: torch.Tensor  # of the parent's inside value
    edge_posterior: torch.Tensor

    @property
    def n_items(self) -> int:
        """How many items there are, without nothing."""
        return len(self.symbol)

    def edge_level(self) -> list[int]:
        """Return the first edge whose parent is of each level, shape (n_words + 2,); the device is waited for."""
        bounds = torch.tensor(self.level, device=self.edge_parent.device)
        found: list[int] = torch.searchsorted(self.edge_parent, bounds).tolist()
        return found


class Items(NamedTuple):
    """Items of a batch while its edges are sought."""

    sentence: torch.Tensor
    cell: torch.Tensor
    symbol: torch.Tensor
    start: torch.Tensor
    width: torch.Tensor
    inside: torch.Tensor
    scale: torch.Tensor


def likely_forest(grammar: CoarseTensors, chart: DenseChart, pruning: Pruning) -> BatchForest:
    """Return the items and edges of a batch whose posteriors without states are at least those of `pruning`."""
    n, (size, n_cells, n_symbols) = chart.n_words, chart.inside.shape
    posterior = chart.inside * chart.outside
    likely = (posterior >= max(pruning.item, 1e-30)) & (chart.log_total > -torch.inf)[:, None, None]
    phrases = likely[..., : grammar.n_phrases].transpose(0, 1).nonzero()
    tags = likely[:, :n, grammar.n_phrases :].nonzero()
    sentence = torch.cat([tags[:, 0], phrases[:, 1]])
    cell = torch.cat([tags[:, 1], phrases[:, 0]])
    symbol = torch.cat([tags[:, 2] + grammar.n_phrases, phrases[:, 2]])
    numbers = torch.arange(n, device=cell.device)
    widths, starts = (numbers[:, None] + numbers < n).nonzero(as_tuple=True)  # of spans by width, then start
    place = (sentence * n_cells + cell) * n_symbols + symbol
    items = Items(
        sentence, cell, symbol, starts[cell], widths[cell] + 1, chart.inside.flatten()[place], chart.log_scale[sentence, cell]
    )  # fmt: skip
    number = torch.full((size * n_cells * n_symbols,), -1, dtype=torch.int32, device=cell.device)
    number[place] = torch.arange(len(place), dtype=torch.int32, device=cell.device)
    is_top = items.width == chart.lengths[sentence]
    root_share = torch.where(is_top, chart.root_share[sentence, symbol], 0)
    bounds = torch.tensor([first_cell(n, width) for width in range(1, n + 2)], device=cell.device)
    level = [0, *(len(tags) + torch.searchsorted(phrases[:, 0].contiguous(), bounds)).tolist()]
    if has_kernels(posterior):
        from gramian.chart.gpu.batch_forest_gpu import likely_edges

        edges = likely_edges(grammar.by_parent, chart, items, number, len(tags), pruning.edge)
    else:
        edges = _edges(grammar, chart, items, number, len(tags), pruning)
    own = items[:5]
    return BatchForest(n, *own, posterior.flatten()[place], root_share, level, *edges)


def expanded(first: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which row each of ``count.sum()`` numbers belongs to, and ``first[row], first[row] + 1, ...`` of each row."""
    row = torch.repeat_interleave(torch.arange(len(count), device=count.device), count)
    begin = first - (count.cumsum(0) - count)
    return row, begin[row] + torch.arange(len(row), device=count.device)


def _edges(
    g: CoarseTensors, chart: DenseChart, items: Items, number: torch.Tensor, n_tags: int, pruning: Pruning
) -> tuple[torch.Tensor, ...]:
    """Return parents, left and right children, rules, shares and posteriors of likely edges, by parent."""
    n, (_, n_cells, n_symbols) = chart.n_words, chart.inside.shape
    order = torch.argsort(items.sentence * (n + 1) + items.start, stable=True)
    starts_at = (items.sentence * (n + 1) + items.start)[order]
    ends_at = items.sentence * (n + 1) + items.start + items.width
    first = torch.searchsorted(starts_at, ends_at)
    left, place = expanded(first, torch.searchsorted(starts_at, ends_at, right=True) - first)
    right = order[place]
    pair = items.symbol[left] * n_symbols + items.symbol[right]
    first = g.pair_first[pair]
    row, rule = expanded(first, g.pair_first[pair + 1] - first)
    left, right = left[row], right[row]
    width = items.width[left] + items.width[right]
    cell = (width - 1) * (2 * n - width + 2) // 2 + items.start[left]
    span = items.sentence[left] * n_cells + cell
    place = span * n_symbols + g.rule_parent[rule]
    parent = number[place]
    there = (parent >= 0).nonzero()[:, 0]
    left, right, rule, span, place, parent = (one[there] for one in (left, right, rule, span, place, parent))
    scale = items.scale[left] + items.scale[right] - chart.log_scale.flatten()[span]
    mass = g.rule_weight[rule] * items.inside[left] * items.inside[right] * scale.exp()
    binary = left, right, g.rule[rule], place, parent, mass

    first = g.unary_first[items.symbol[:n_tags] - g.n_phrases]
    left, rule = expanded(first, g.unary_first[items.symbol[:n_tags] - g.n_phrases + 1] - first)
    span = items.sentence[left] * n_cells + items.cell[left]
    place = span * n_symbols + g.unary_parent[rule]
    mass = g.unary_weight[rule] * items.inside[left]
    unary = left, torch.full_like(left, len(items.symbol)), g.unary_rule[rule], place, number[place], mass

    left, right, rule, place, parent, mass = map(torch.cat, zip(unary, binary, strict=True))
    posterior = mass * chart.outside.flatten()[place]
    likely = ((parent >= 0) & (posterior >= pruning.edge)).nonzero()[:, 0]
    likely = likely[torch.argsort(parent[likely], stable=True)]
    share = mass[likely] / chart.inside.flatten()[place[likely]]
    return parent[likely].long(), left[likely], right[likely], rule[likely], share, posterior[likely]
