"""Inside and outside without states, for a batch of sentences at once and all symbols over all spans.

Both ways a span of a width sums products of two values over other spans: on the way up those of two children over the split points, for
all pairs of children that have rules; on the way down those of a parent and a sister over all parents. One matrix product with the
weights of rules then gives all symbols. Values are scaled to a maximum of one a span, and outside values so that their product with inside
values is the posterior.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from gramian.chart.gpu.grammar_tensors import CoarseTensors
from gramian.torch_device import has_kernels, rough_products

MOST = 1e30  # of an outside value


class DenseChart(NamedTuple):
    """Values without states of all symbols over all spans, ordered by width, then start, of the longest sentence."""

    n_words: int  # of the longest sentence
    lengths: torch.Tensor  # (n_sentences,)
    inside: (
        torch.Tensor
    )  # (n_sentences, n_cells, n_columns), at most 1; behind the symbols are columns of zeros
    outside: torch.Tensor  # the same shape; times `inside` it is the posterior
    log_scale: torch.Tensor  # (n_sentences, n_cells)
    log_total: torch.Tensor  # (n_sentences,): -inf where there is no tree
    root_share: torch.Tensor  # (n_sentences, n_columns): posterior of each symbol as the root


def first_cell(n_words: int, width: int) -> int:
    """Return the number of the first span of a width."""
    return (width - 1) * (2 * n_words - width + 2) // 2


def fill_chart(
    grammar: CoarseTensors, emission: torch.Tensor, lengths: torch.Tensor, least: float = 0.0
) -> DenseChart:
    """Fill the charts of a batch.

    Parameters
    ----------
    emission : Tensor, shape (n_sentences, n_words, n_tags)
        Scores of the tags of each word; zero behind the end of a sentence.
    lengths : Tensor of int64, shape (n_sentences,)
    least : float
        Posterior of a span's likeliest symbol, below which nothing comes down from it.
    """
    with rough_products():
        charts = (_KernelCharts if has_kernels(emission) else _Charts)(grammar, emission, lengths, least)
        for width in range(2, charts.n + 1):
            charts.fill_inside(width)
        charts.find_roots()
        for width in range(charts.n, 0, -1):
            charts.fill_outside(width)
        over_words = charts.outside[:, : charts.n]  # to tags comes what phrases over them give
        over_words[..., grammar.n_phrases : grammar.n_symbols] += (
            over_words[..., : grammar.n_phrases] @ grammar.unary.T
        )
    return DenseChart(
        charts.n, lengths, charts.inside, charts.outside, charts.scale, charts.log_total, charts.root_share
    )


class _Charts:
    """Inside and outside values by span."""

    def __init__(
        self, grammar: CoarseTensors, emission: torch.Tensor, lengths: torch.Tensor, least: float
    ) -> None:
        g, (size, n, _) = grammar, emission.shape
        self.g, self.n, self.lengths, self.least = g, n, lengths, least
        self.inside, self.outside = emission.new_zeros(2, size, n * (n + 1) // 2, len(g.root))
        # Scales of spans, and on the way down of those from which something comes.
        self.scale, self.parent_scale = emission.new_full((2, size, self.inside.shape[1]), -torch.inf)
        words = torch.cat([emission @ g.unary, emission], -1)
        self._put(1, words, emission.new_zeros(size, n))

    def cells(self, width: int) -> slice:
        """Return the spans of a width."""
        return slice(first_cell(self.n, width), first_cell(self.n, width + 1))

    def fill_inside(self, width: int) -> None:
        """Fill the inside values of all spans of a width."""
        n, count = self.n, self.n - width + 1
        starts = torch.arange(count, device=self.scale.device)
        splits = torch.arange(1, width, device=self.scale.device)[:, None]
        left = (splits - 1) * (2 * n - splits + 2) // 2 + starts  # (n_splits, n_spans)
        right = (width - splits - 1) * (2 * n - width + splits + 2) // 2 + starts + splits
        scale = self.scale[:, left] + self.scale[:, right]
        most = scale.amax(1)
        reference = torch.where(most > -torch.inf, most, 0)
        share = (scale - reference.unsqueeze(1)).exp()
        total = self.scale.new_zeros(len(scale), count, len(self.g.up.one))
        for one, other, part in zip(left, right, share.unbind(1), strict=True):
            first, second = (
                self.inside[:, one][..., self.g.up.one],
                self.inside[:, other][..., self.g.up.other],
            )
            total += part.unsqueeze(-1) * first * second
        self._put(width, total @ self.g.up.weight, reference)

    def _put(self, width: int, values: torch.Tensor, scale: torch.Tensor) -> None:
        """Set the inside values of all spans of a width."""
        most = values.amax(-1)
        values = values / torch.where(most > 0, most, 1).unsqueeze(-1)
        self.inside[:, self.cells(width), : values.shape[-1]] = values
        self.scale[:, self.cells(width)] = scale + most.log()

    def find_roots(self) -> None:
        """Find the probability of each sentence, and set the outside values of roots."""
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        top = (self.lengths - 1) * (2 * self.n - self.lengths + 2) // 2
        mass = self.inside[rows, top] * self.g.root
        total = mass.sum(-1)
        self.log_total = self.scale[rows, top] + total.log()
        safe = torch.where(total > 0, total, 1).unsqueeze(-1)
        self.root_share = mass / safe
        self.outside[rows, top] = self.g.root / safe

    def fill_outside(self, width: int) -> None:
        """Fill the outside values of all spans of a width."""
        g, n, count = self.g, self.n, self.n - width + 1
        own = self.scale[:, self.cells(width)]
        total = own.new_zeros(*own.shape, len(g.down.one))
        parts = (slice(g.n_left_sums), True), (slice(g.n_left_sums, None), False)
        for wider in range(width + 1, n + 1):
            more = n - wider + 1  # parents of this width, and where they begin
            parent = self.cells(wider)
            for columns, is_left in parts:
                # As left children, spans begin with their parents; as right ones, they end with them.
                child = slice(more) if is_left else slice(wider - width, count)
                sister = first_cell(n, wider - width) + (width if is_left else 0)
                beside = slice(sister, sister + more)
                above = self.parent_scale[:, parent]
                share = (own[:, child] + self.scale[:, beside] - above).exp().clamp(max=MOST)
                share = torch.where((above > -torch.inf) & (own[:, child] > -torch.inf), share, 0)
                first = self.outside[:, parent][..., g.down.one[columns]]
                second = self.inside[:, beside][..., g.down.other[columns]]
                total[:, child, columns] += share.unsqueeze(-1) * first * second
        out = self.outside[:, self.cells(width)]
        out += total @ g.down.weight
        out.clamp_(max=MOST)
        likely = (out * self.inside[:, self.cells(width)]).amax(-1) >= self.least
        self.parent_scale[:, self.cells(width)] = torch.where(likely, own, -torch.inf)


class _KernelCharts(_Charts):
    """The same by Triton kernels and one matrix product for each width."""

    def fill_inside(self, width: int) -> None:
        from gramian.chart.gpu.dense_chart_gpu import child_sums, put_inside

        total, scale = child_sums(self.inside, self.scale, self.g.up.one, self.g.up.other, self.n, width)
        put_inside(total @ self.g.up.weight, scale, self.inside, self.scale, self.n, width)

    def fill_outside(self, width: int) -> None:
        from gramian.chart.gpu.dense_chart_gpu import add_outside, parent_sums

        g, n = self.g, self.n
        tables = self.inside, self.outside, self.scale, self.parent_scale
        total = parent_sums(*tables, g.down.one, g.down.other, g.n_left_sums, n, width)
        add_outside(total @ g.down.weight, *tables, MOST, self.least, n, width)
