"""The passes of :mod:`gramian.chart.gpu.tree_choice` as Triton kernels, one launch a width: up, the best edges; down, what is in trees."""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

_EDGES = 32  # that are compared at a time
_ITEMS = 256  # of a program on the way down


@triton.jit(do_not_specialize=["first_item", "n_edges"])
def _choice_kernel(
    first_item, edge_first, left, right, possible, total, choice, n_edges, EDGES: tl.constexpr
):
    item = first_item + tl.program_id(0)
    begin, end = tl.load(edge_first + item), tl.load(edge_first + item + 1)
    none = begin * 0 + n_edges
    best, chosen = float("-inf"), none
    for low in range(begin, end, EDGES):
        edge = low + tl.arange(0, EDGES)
        there = edge < end
        one, other = tl.load(left + edge, mask=there, other=0), tl.load(right + edge, mask=there, other=0)
        there = there & (tl.load(possible + edge, mask=there, other=0) != 0)
        value = tl.where(there, tl.load(total + one) + tl.load(total + other), float("-inf"))
        most = tl.max(value, 0)
        first = tl.min(tl.where(there & (value == most), edge, none), 0)
        chosen = tl.where(most > best, first, chosen)
        best = tl.maximum(best, most)
    tl.store(choice + item, chosen)
    tl.store(total + item, tl.load(total + item) + best)


@triton.jit(do_not_specialize=["first_item", "end", "n_items", "n_edges"])
def _walk_kernel(
    first_item, end, choice, left, right, labelled, above, n_items, n_edges, ITEMS: tl.constexpr
):
    item = first_item + tl.program_id(0) * ITEMS + tl.arange(0, ITEMS)
    there = item < end
    own = tl.load(above + item, mask=there, other=-1)
    edge = tl.load(choice + item, mask=there, other=0)
    there = there & (own >= 0) & (edge < n_edges)
    own = tl.where(tl.load(labelled + item, mask=there, other=0) != 0, item, own)
    one, other = tl.load(left + edge, mask=there, other=0), tl.load(right + edge, mask=there, other=0)
    tl.store(above + one, own, mask=there)
    tl.store(above + other, own, mask=there & (other < n_items))


def choose(items: slice, edge_first: torch.Tensor, *given: torch.Tensor) -> None:
    """Choose the best edge of the items of a level; `total` has their own scores, and leaves with those of all below."""
    n_edges = len(given[0])
    if items.start < items.stop:
        _choice_kernel[(items.stop - items.start,)](
            items.start, edge_first, *given, n_edges, EDGES=_EDGES, num_warps=1
        )


def walk(
    items: slice, choice: torch.Tensor, left: torch.Tensor, right: torch.Tensor, labelled: torch.Tensor, above: torch.Tensor
) -> None:  # fmt: skip
    """Tell the children of those items of a level that are in trees what they stand under."""
    if items.start < items.stop:
        _walk_kernel[(triton.cdiv(items.stop - items.start, _ITEMS),)](
            items.start,
            items.stop,
            choice,
            left,
            right,
            labelled,
            above,
            len(choice),
            len(left),
            ITEMS=_ITEMS,
        )
