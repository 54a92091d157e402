"""Inside and outside without states, for a batch of sentences at once and all symbols over all spans.

At each width the split points of all spans are summed by one batched matrix product, which gives each pair of a left and a right child
its mass, and the rules by another. Charts are kept twice, by start and by end, so that the children of all spans of a width are slices; the
widths of right children run backwards. Values are scaled to a maximum of one a span, and outside values so that their product with
inside values is the posterior.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from gramian.device.grammar_tensors import CoarseTensors
from gramian.torch_device import has_kernels, rough_products

_MOST = 1e30  # of an outside value


class DenseChart(NamedTuple):
    """Values without states of all symbols over all spans, ordered by width, then start, of the longest sentence."""

    n_words: int  # of the longest sentence
    lengths: torch.Tensor  # (n_sentences,)
    inside: torch.Tensor  # (n_sentences, n_cells, n_symbols), at most 1
    outside: torch.Tensor  # the same shape; times `inside` it is the posterior
    log_scale: torch.Tensor  # (n_sentences, n_cells)
    log_total: torch.Tensor  # (n_sentences,): -inf where there is no tree
    root_share: torch.Tensor  # (n_sentences, n_symbols): posterior of each symbol as the root

    def scale_at(self, sentence: torch.Tensor, cell: torch.Tensor) -> torch.Tensor:
        """Return the scales of some spans."""
        return self.log_scale.flatten()[sentence * self.log_scale.shape[1] + cell]


def first_cell(n_words: int, width: int) -> int:
    """Return the number of the first span of a width."""
    return (width - 1) * (2 * n_words - width + 2) // 2


def fill_chart(grammar: CoarseTensors, emission: torch.Tensor, lengths: torch.Tensor) -> DenseChart:
    """Fill the charts of a batch.

    Parameters
    ----------
    grammar : CoarseTensors
    emission : Tensor, shape (n_sentences, n_words, n_tags)
        Scores of the tags of each word; zero behind the end of a sentence.
    lengths : Tensor of int64, shape (n_sentences,)
    """
    with rough_products():
        kind = _KernelCharts if has_kernels(emission) else _Charts
        charts = kind(grammar, emission, lengths)
        for width in range(2, charts.n + 1):
            charts.fill_inside(width)
        charts.find_roots()
        for width in range(charts.n, 0, -1):
            charts.fill_outside(width)
    return DenseChart(
        charts.n, lengths, charts.inside, charts.outside, charts.scale, charts.log_total, charts.root_share
    )


class _ChartTables:
    """Inside and outside values by span; how split points are summed is left open."""

    def __init__(self, grammar: CoarseTensors, emission: torch.Tensor, lengths: torch.Tensor) -> None:
        g, (size, n, _) = grammar, emission.shape
        self.g, self.n, self.lengths = g, n, lengths
        self.inside, self.outside = emission.new_zeros(2, size, n * (n + 1) // 2, g.n_symbols)
        self.scale = emission.new_full((size, self.inside.shape[1]), -torch.inf)
        self.begin()
        self.put(1, torch.cat([emission @ g.unary, emission], -1), emission.new_zeros(size, n))

    def begin(self) -> None:
        """Make what else is needed."""

    def fill_inside(self, width: int) -> None:
        """Fill the inside values of all spans of a width."""
        raise NotImplementedError

    def fill_outside(self, width: int) -> None:
        """Fill the outside values of all spans of a width."""
        raise NotImplementedError

    def cells(self, width: int) -> slice:
        """Return the spans of a width."""
        return slice(first_cell(self.n, width), first_cell(self.n, width + 1))

    def put(self, width: int, values: torch.Tensor, scale: torch.Tensor) -> None:
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

    def finish_words(self, out: torch.Tensor) -> None:
        """Add to the outside values of tags what phrases over them give."""
        out[..., self.g.n_phrases :] += out[..., : self.g.n_phrases] @ self.g.unary.T


class _KernelCharts(_ChartTables):
    """Split points are summed by Triton kernels, for pairs that have rules; each span pulls what its parents give."""

    def begin(self) -> None:
        size, n_cells, _ = self.inside.shape
        self.pairs = self.inside.new_empty(size, n_cells, len(self.g.pair_left))

    def fill_inside(self, width: int) -> None:
        from gramian.device.dense_chart_gpu import pair_sums

        pairs, scale = pair_sums(self.inside, self.scale, self.g.pair_left, self.g.pair_right, self.n, width)
        self.put(width, pairs @ self.g.pair_weight, scale)

    def fill_outside(self, width: int) -> None:
        from gramian.device.dense_chart_gpu import parent_sums

        g, out = self.g, self.outside[:, self.cells(width)]
        for sister, member, as_left in (
            (g.pair_right, g.pair_is_left, True),
            (g.pair_left, g.pair_is_right, False),
        ):
            out += parent_sums(self.inside, self.scale, self.pairs, sister, self.n, width, as_left) @ member
        out.clamp_(max=_MOST)
        if width == 1:
            self.finish_words(out)
        else:
            self.pairs[:, self.cells(width)] = out[..., : g.n_phrases] @ g.pair_weight.T


class _Charts(_ChartTables):
    """Split points are summed by matrix products, for all pairs of symbols; each span pushes to its children.

    Charts are kept twice, left children by start and width, right children by end and missing width.
    """

    def begin(self) -> None:
        size, n, new = len(self.inside), self.n, self.inside.new_zeros
        self.left, self.left_out = new(2, size, n, n, len(self.g.lefts))
        self.right, self.right_out = new(2, size, n, n, len(self.g.rights))
        self.left_scale, self.right_scale = self.inside.new_full((2, size, n, n), -torch.inf)

    def put(self, width: int, values: torch.Tensor, scale: torch.Tensor) -> None:
        super().put(width, values, scale)
        n, count = self.n, self.n - width + 1
        full, scale = self.inside[:, self.cells(width)], self.scale[:, self.cells(width)]
        self.left[:, :count, width - 1] = full[..., self.g.lefts]
        self.right[:, width - 1 :, n - width] = full[..., self.g.rights]
        self.left_scale[:, :count, width - 1] = scale
        self.right_scale[:, width - 1 :, n - width] = scale

    def _children(self, width: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return left and right children of the spans of a width by split point, and the sums of their scales."""
        n, count = self.n, self.n - width + 1
        by_start = (slice(None), slice(count), slice(width - 1))
        by_end = (slice(None), slice(width - 1, n), slice(count, n))
        return self.left[by_start], self.right[by_end], self.left_scale[by_start] + self.right_scale[by_end]

    def fill_inside(self, width: int) -> None:
        left, right, scale = self._children(width)
        most = scale.amax(-1)
        reference = torch.where(most > -torch.inf, most, 0)
        share = (scale - reference.unsqueeze(-1)).exp().unsqueeze(-1)
        pairs = (left * share).transpose(-1, -2) @ right
        self.put(width, pairs.flatten(2) @ self.g.weight, reference)

    def fill_outside(self, width: int) -> None:
        g, n, count = self.g, self.n, self.n - width + 1
        out = self.outside[:, self.cells(width)]
        out[..., g.lefts] += self.left_out[:, :count, width - 1]
        out[..., g.rights] += self.right_out[:, width - 1 :, n - width]
        out.clamp_(max=_MOST)
        if width == 1:
            self.finish_words(out)
            return
        left, right, scale = self._children(width)
        own = self.scale[:, self.cells(width)].unsqueeze(-1)
        share = torch.where((scale > -torch.inf) & (own > -torch.inf), scale - own, -torch.inf)
        share = share.exp().clamp(max=_MOST).unsqueeze(-1)
        pairs = (out[..., : g.n_phrases] @ g.weight.T).unflatten(-1, (len(g.lefts), len(g.rights)))
        self.left_out[:, :count, : width - 1] += (right * share) @ pairs.transpose(-1, -2)
        self.right_out[:, width - 1 :, count:] += (left * share) @ pairs
