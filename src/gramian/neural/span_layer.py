"""The layer over spans while learning: sums of two fenceposts, normalised, cut at 0, some units left out."""

from functools import lru_cache
from typing import Any

import torch
from torch import nn
from torch.nn.functional import dropout, layer_norm

from gramian.neural import net_kernels as kernels


def span_layer(left: torch.Tensor, right: torch.Tensor, norm: nn.LayerNorm, share: float) -> torch.Tensor:
    """Return what the layer says about each span, by width, then start, shape (n_sentences, n_cells, hidden).

    `left` and `right` (n_sentences, n + 1, hidden) are those of fenceposts; `share` of the units are left out, on a CPU rounded to a
    256th.
    """
    if left.device.type == "cpu" and left.dtype == torch.float32:
        spans: torch.Tensor = _OnCpu.apply(left, right, norm.weight, norm.bias, round(256 * share))
        return spans
    # All pairs of fenceposts, then those that are spans: sums go back to fenceposts in a fixed order.
    n = left.shape[1] - 1
    pairs = (left.unsqueeze(2) + right.unsqueeze(1)).flatten(1, 2)
    chosen = pairs.index_select(1, _span_pairs(n).to(pairs.device))
    normal = layer_norm(chosen, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    return dropout(normal.relu(), share, share > 0)


class _OnCpu(torch.autograd.Function):  # type: ignore[misc]
    """The same in one kernel each way; 64 bits of chance are drawn for eight units at a time."""

    @staticmethod
    def forward(
        ctx: Any,
        left: torch.Tensor,
        right: torch.Tensor,
        scale: torch.Tensor,
        shift: torch.Tensor,
        limit: int,
    ) -> torch.Tensor:
        n_sentences, posts, hidden = left.shape
        size = (n_sentences, posts * (posts - 1) // 2, hidden) if limit else (0, 0, 0)
        random_bits = torch.empty(-(-size[0] * size[1] * size[2] // 8), dtype=torch.int64).random_(
            -(2**63), None
        )
        noise = random_bits.view(torch.uint8)[: size[0] * size[1] * size[2]].view(size)
        inputs = [tensor.detach().contiguous() for tensor in (left, right, scale, shift)]
        outputs = kernels.span_layer_forward(*(tensor.numpy() for tensor in (*inputs, noise)), limit)
        out, moments = map(torch.from_numpy, outputs)
        ctx.save_for_backward(out, moments, *inputs[:3])
        ctx.limit = limit
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        tables = (gradients[0].contiguous(), *ctx.saved_tensors)
        input_gradients = kernels.span_layer_backward(*(tensor.numpy() for tensor in tables), ctx.limit)
        return (*map(torch.from_numpy, input_gradients), None)


@lru_cache(maxsize=512)
def _span_pairs(n: int) -> torch.Tensor:
    """Return where the spans of `n` words lie in a table of pairs of fenceposts, by width, then start."""
    start = torch.cat([torch.arange(n - width + 1) for width in range(1, n + 1)])
    width = torch.repeat_interleave(torch.arange(1, n + 1), torch.arange(n, 0, -1))
    return start * (n + 1) + start + width
