"""Sums over all binary trees of a sentence, batched, by width of spans (Zhang, Zhou and Li 2020), in torch.

A tree's score is the sum of the scores of its spans, so that all that is needed of a span is one number. Inside values are kept twice,
by the start and by the end of spans, in such an order that what is summed for spans of one width are two slices; the outside pass runs
over the same slices backwards and gives the marginals, which are the gradient of the logarithm of the sum.
:mod:`gramian.neural.span_tree_reference` says the same in plain Python, :mod:`gramian.neural.net_kernels` runs one sentence
without torch.
"""

from importlib.util import find_spec
from typing import Any

import torch

from gramian.neural.span_inventory import cell

_HAS_TRITON = find_spec("triton") is not None


def log_partition(scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the sum over all binary trees of their exponentiated scores.

    `scores` (n_sentences, n_cells) are those of the spans of the longest sentence, by width, then start; the gradient by them is the
    probability that a span is in the tree.
    """
    result: torch.Tensor = _LogPartition.apply(scores, lengths)
    return result


class _LogPartition(torch.autograd.Function):  # type: ignore[misc]
    """In one launch on a GPU where Triton is there, width by width elsewhere."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        n = int((2 * scores.shape[1]) ** 0.5)
        rows = torch.arange(len(lengths), device=lengths.device)
        ctx.fused = scores.is_cuda and scores.dtype == torch.float32 and _HAS_TRITON
        if ctx.fused:
            from gramian.neural.span_tree_gpu import inside

            chart, split = inside(scores, lengths, n)
            ctx.save_for_backward(chart, split, lengths)
            return chart[rows, 0, lengths]
        by_start, by_end, ctx.splits = _inside(scores, n)
        ctx.save_for_backward(by_start, by_end, lengths)
        return by_start[rows, 0, lengths]

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        inside, splits, lengths = ctx.saved_tensors
        if ctx.fused:
            from gramian.neural.span_tree_gpu import marginals

            return marginals(inside, splits, lengths, gradients[0]), None
        return _marginals(inside, splits, ctx.splits, lengths, gradients[0]), None


def _inside(scores: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    """Return inside values by (start, width) and by (end, n - width), and the sums over splits of each width from 2."""
    by_start = scores.new_zeros(len(scores), n, n + 1)
    by_end = scores.new_zeros(len(scores), n + 1, n + 1)
    splits = []
    for width in range(1, n + 1):
        first = cell(n, 0, width)
        value = scores[:, first : first + n - width + 1]
        if width > 1:
            ways = by_start[:, : n - width + 1, 1:width] + by_end[:, width:, n - width + 1 : n]
            splits.append(torch.logsumexp(ways, -1))
            value = value + splits[-1]
        by_start[:, : n - width + 1, width] = value
        by_end[:, width:, n - width] = value
    return by_start, by_end, splits


def _marginals(
    by_start: torch.Tensor,
    by_end: torch.Tensor,
    splits: list[torch.Tensor],
    lengths: torch.Tensor,
    seed: torch.Tensor,
) -> torch.Tensor:
    """Return the probability of each span being in the tree, times `seed` of its sentence."""
    n = by_start.shape[1]
    from_start, from_end = torch.zeros_like(by_start), torch.zeros_like(by_end)
    from_start[torch.arange(len(lengths), device=lengths.device), 0, lengths] = seed
    rows = []
    for width in range(n, 0, -1):
        marginal = from_start[:, : n - width + 1, width] + from_end[:, width:, n - width]
        rows.append(marginal)
        if width > 1:
            left, right = by_start[:, : n - width + 1, 1:width], by_end[:, width:, n - width + 1 : n]
            share = torch.exp(left + right - splits[width - 2].unsqueeze(-1)) * marginal.unsqueeze(-1)
            from_start[:, : n - width + 1, 1:width] += share
            from_end[:, width:, n - width + 1 : n] += share
    return torch.cat(rows[::-1], 1)
