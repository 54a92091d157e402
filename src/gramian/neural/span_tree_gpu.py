"""The sums of :mod:`gramian.neural.span_tree_crf` as two Triton kernels: one program a sentence, one launch a batch.

Charts are (n_sentences, n + 1, n + 1), by start and end. A barrier between widths lets all threads of a program see the narrower spans.
Outside values are pulled from wider spans, not pushed to narrower ones, so that nothing is added by two threads at once.
"""

# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "n_cells"])
def _inside_kernel(scores, chart, split, lengths, n, n_cells, STARTS: tl.constexpr, WAYS: tl.constexpr):
    row = tl.program_id(0)
    size = tl.load(lengths + row).to(tl.int32)
    side = n + 1
    chart += row * side * side
    split += row * side * side
    scores += row * n_cells
    first = 0
    for width in range(1, size + 1):
        for low in range(0, size - width + 1, STARTS):
            start = low + tl.arange(0, STARTS)
            is_span = start + width <= size
            most = tl.full([STARTS], float("-inf"), tl.float32)
            total = tl.zeros([STARTS], tl.float32)
            for step in range(1, width, WAYS):
                left = step + tl.arange(0, WAYS)
                fits = is_span[:, None] & (left < width)[None, :]
                middle = start[:, None] + left[None, :]
                way = tl.load(chart + start[:, None] * side + middle, fits, other=float("-inf"))
                way += tl.load(chart + middle * side + (start + width)[:, None], fits, other=0.0)
                higher = tl.maximum(most, tl.max(way, 1))
                safe = tl.where(higher == float("-inf"), 0.0, higher)
                total = total * tl.exp(most - safe) + tl.sum(tl.exp(way - safe[:, None]), 1)
                most = higher
            ways = tl.where(width == 1, 0.0, most + tl.log(total))
            cell = start * side + start + width
            tl.store(split + cell, ways, is_span)
            tl.store(chart + cell, ways + tl.load(scores + first + start, is_span, other=0.0), is_span)
        first += n - width + 1
        tl.debug_barrier()


@triton.jit(do_not_specialize=["n", "n_cells"])
def _outside_kernel(
    chart, split, posterior, seed, out, lengths, n, n_cells, STARTS: tl.constexpr, WAYS: tl.constexpr
):
    row = tl.program_id(0)
    size = tl.load(lengths + row).to(tl.int32)
    side = n + 1
    chart += row * side * side
    split += row * side * side
    posterior += row * side * side
    out += row * n_cells
    whole = tl.load(seed + row)
    for step_width in range(size):
        width = size - step_width
        first = (width - 1) * (2 * n - width + 2) // 2
        for low in range(0, size - width + 1, STARTS):
            start = low + tl.arange(0, STARTS)
            end = start + width
            is_span = end <= size
            inside_value = tl.load(chart + start * side + end, is_span, other=0.0)
            total = tl.where(is_span & (width == size), whole, 0.0)
            for step in range(1, size - width + 1, WAYS):
                more = step + tl.arange(0, WAYS)
                # A parent that begins here and ends further on, beside a sibling behind this span.
                far = end[:, None] + more[None, :]
                fits = is_span[:, None] & (far <= size)
                parent = start[:, None] * side + far
                way = tl.load(chart + end[:, None] * side + far, fits, other=0.0) + inside_value[:, None]
                way -= tl.load(split + parent, fits, other=0.0)
                total += tl.sum(
                    tl.where(fits, tl.load(posterior + parent, fits, other=0.0) * tl.exp(way), 0.0), 1
                )
                # A parent that ends here and begins before.
                near = start[:, None] - more[None, :]
                fits = is_span[:, None] & (near >= 0)
                parent = near * side + end[:, None]
                way = tl.load(chart + near * side + start[:, None], fits, other=0.0) + inside_value[:, None]
                way -= tl.load(split + parent, fits, other=0.0)
                total += tl.sum(
                    tl.where(fits, tl.load(posterior + parent, fits, other=0.0) * tl.exp(way), 0.0), 1
                )
            tl.store(posterior + start * side + end, total, is_span)
            tl.store(out + first + start, total, is_span)
        tl.debug_barrier()


def inside(scores: torch.Tensor, lengths: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inside values and, of each span, the sum over its splits; both by start and end."""
    chart = scores.new_zeros(len(scores), n + 1, n + 1)
    split = torch.zeros_like(chart)
    starts, ways = _blocks(n)
    _inside_kernel[(len(scores),)](
        scores.contiguous(), chart, split, lengths, n, scores.shape[1], starts, ways
    )
    return chart, split


def marginals(
    chart: torch.Tensor, split: torch.Tensor, lengths: torch.Tensor, seed: torch.Tensor
) -> torch.Tensor:
    """Return the probability of each span being in the tree, times `seed` of its sentence, shape (n_sentences, n_cells)."""
    n = chart.shape[1] - 1
    out = chart.new_zeros(len(chart), n * (n + 1) // 2)
    starts, ways = _blocks(n)
    _outside_kernel[(len(chart),)](
        chart, split, torch.zeros_like(chart), seed.contiguous(), out, lengths, n, out.shape[1], starts, ways
    )
    return out


def _blocks(n: int) -> tuple[int, int]:
    """Return how many starts and splits are done at a time; few sizes, since each is compiled."""
    return (32, 16) if n <= 32 else (64, 16)
