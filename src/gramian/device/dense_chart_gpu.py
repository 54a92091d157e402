"""The sums over split points of :mod:`gramian.device.dense_chart` as Triton kernels, for pairs of symbols that have rules.

One program has a span and some of the pairs. On the way up it adds the products of two children over the split points; on the way down,
for a span as a child, the products of its parents' and its sisters' values over all parents.
"""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

_PAIRS = 256


@triton.jit
def _cell(n, width, start):
    return (width - 1) * (2 * n - width + 2) // 2 + start


@triton.jit(do_not_specialize=["n", "width", "n_cells"])
def _up_kernel(
    inside, scale, lefts, rights, out, out_scale, n, width, n_cells, n_symbols, n_pairs, PAIRS: tl.constexpr
):
    count = n - width + 1
    row = tl.program_id(0)
    sentence, start = (row // count).to(tl.int64), row % count
    pair = tl.program_id(1) * PAIRS + tl.arange(0, PAIRS)
    there = pair < n_pairs
    left, right = tl.load(lefts + pair, mask=there, other=0), tl.load(rights + pair, mask=there, other=0)
    inside += sentence * n_cells * n_symbols
    scale += sentence * n_cells
    highest = float("-inf")
    for split in range(1, width):
        one = tl.load(scale + _cell(n, split, start))
        other = tl.load(scale + _cell(n, width - split, start + split))
        highest = tl.maximum(highest, one + other)
    total = tl.zeros([PAIRS], tl.float32)
    if highest > float("-inf"):
        for split in range(1, width):
            one, other = _cell(n, split, start), _cell(n, width - split, start + split)
            share = tl.exp(tl.load(scale + one) + tl.load(scale + other) - highest)
            a = tl.load(inside + one * n_symbols + left, mask=there, other=0.0)
            b = tl.load(inside + other * n_symbols + right, mask=there, other=0.0)
            total += share * a * b
    else:
        highest = 0.0
    tl.store(out + row.to(tl.int64) * n_pairs + pair, total, mask=there)
    if tl.program_id(1) == 0:
        tl.store(out_scale + row, highest)


@triton.jit(do_not_specialize=["n", "width", "n_cells"])
def _down_kernel(
    inside,
    scale,
    pairs,
    sisters,
    out,
    n,
    width,
    n_cells,
    n_symbols,
    n_pairs,
    AS_LEFT: tl.constexpr,
    PAIRS: tl.constexpr,
):
    count = n - width + 1
    row = tl.program_id(0)
    sentence, start = (row // count).to(tl.int64), row % count
    pair = tl.program_id(1) * PAIRS + tl.arange(0, PAIRS)
    there = pair < n_pairs
    sister = tl.load(sisters + pair, mask=there, other=0)
    inside += sentence * n_cells * n_symbols
    scale += sentence * n_cells
    pairs += sentence * n_cells * n_pairs
    own = tl.load(scale + _cell(n, width, start))
    widest = start + width
    if AS_LEFT:
        widest = n - start
    total = tl.zeros([PAIRS], tl.float32)
    if own > float("-inf"):
        for wider in range(width + 1, widest + 1):
            if AS_LEFT:
                parent, other = _cell(n, wider, start), _cell(n, wider - width, start + width)
            else:
                parent = _cell(n, wider, start + width - wider)
                other = _cell(n, wider - width, start + width - wider)
            above, beside = tl.load(scale + parent), tl.load(scale + other)
            if above > float("-inf"):
                share = tl.minimum(tl.exp(own + beside - above), 1e30)
                a = tl.load(pairs + parent.to(tl.int64) * n_pairs + pair, mask=there, other=0.0)
                b = tl.load(inside + other * n_symbols + sister, mask=there, other=0.0)
                total += share * a * b
    tl.store(out + row.to(tl.int64) * n_pairs + pair, total, mask=there)


def pair_sums(
    inside: torch.Tensor, scale: torch.Tensor, lefts: torch.Tensor, rights: torch.Tensor, n: int, width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mass of each pair over the spans of a width, summed over split points, and its scale."""
    size, n_cells, n_symbols = inside.shape
    count, n_pairs = n - width + 1, len(lefts)
    out = inside.new_empty(size, count, n_pairs)
    out_scale = inside.new_empty(size, count)
    grid = (size * count, triton.cdiv(n_pairs, _PAIRS))
    given = inside, scale, lefts, rights, out, out_scale, n, width, n_cells, n_symbols, n_pairs
    _up_kernel[grid](*given, PAIRS=_PAIRS, num_warps=4)
    return out, out_scale


def parent_sums(
    inside: torch.Tensor, scale: torch.Tensor, pairs: torch.Tensor, sisters: torch.Tensor, n: int, width: int, as_left: bool
) -> torch.Tensor:  # fmt: skip
    """Return what the parents of the spans of a width give each pair of which they are the left, or the right child."""
    size, n_cells, n_symbols = inside.shape
    count, n_pairs = n - width + 1, len(sisters)
    out = inside.new_empty(size, count, n_pairs)
    grid = (size * count, triton.cdiv(n_pairs, _PAIRS))
    given = inside, scale, pairs, sisters, out, n, width, n_cells, n_symbols, n_pairs
    _down_kernel[grid](*given, AS_LEFT=as_left, PAIRS=_PAIRS, num_warps=4)
    return out
