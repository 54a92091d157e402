"""Inner products of rows that two lists of numbers name, as one Triton kernel: nothing is copied on the way."""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

_ROWS = 64


@triton.jit(do_not_specialize=["n"])
def _dots_kernel(one, one_row, other, other_row, out, n, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = place < n
    column = tl.arange(0, WIDTH)
    held = there[:, None] & (column < width)[None, :]
    first = tl.load(one_row + place, mask=there, other=0)[:, None] * width + column[None, :]
    second = tl.load(other_row + place, mask=there, other=0)[:, None] * width + column[None, :]
    product = tl.load(one + first, mask=held, other=0.0) * tl.load(other + second, mask=held, other=0.0)
    tl.store(out + place, tl.sum(product, 1), mask=there)


def dots(
    one: torch.Tensor, one_row: torch.Tensor, other: torch.Tensor, other_row: torch.Tensor
) -> torch.Tensor:
    """Return ``(one[one_row] * other[other_row]).sum(1)``."""
    n, width = len(one_row), one.shape[1]
    out = one.new_empty(n)
    if n:
        grid = (triton.cdiv(n, _ROWS),)
        given = (
            one.contiguous(),
            one_row.contiguous(),
            other.contiguous(),
            other_row.contiguous(),
            out,
            n,
            width,
        )
        _dots_kernel[grid](*given, ROWS=_ROWS, WIDTH=triton.next_power_of_2(width))
    return out
