"""The passes of :mod:`gramian.chart.gpu.state_pass` as Triton kernels: one program an item, one launch a width."""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

_RANK = 16  # products that are worked at together


@triton.jit(do_not_specialize=["first_item"])
def _up_kernel(
    first_item, edge_first, left, right, rule, place_first, product_first, u, v, w,
    vectors, scale, weight, of_left, of_right, n_states, RANK: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    item = first_item + tl.program_id(0)
    state = tl.arange(0, STATES)
    held = state < n_states
    begin, end = tl.load(edge_first + item), tl.load(edge_first + item + 1)
    highest = float("-inf")
    for edge in range(begin, end):
        below = tl.load(scale + tl.load(left + edge)) + tl.load(scale + tl.load(right + edge))
        highest = tl.maximum(highest, below)
    total = tl.zeros([STATES], tl.float32)
    for edge in range(begin, end):
        one, other, number = tl.load(left + edge), tl.load(right + edge), tl.load(rule + edge)
        heavy = tl.load(weight + edge) * tl.exp(tl.load(scale + one) + tl.load(scale + other) - highest)
        a = tl.load(vectors + one * n_states + state, mask=held, other=0.0)
        b = tl.load(vectors + other * n_states + state, mask=held, other=0.0)
        product, last, place = (
            tl.load(product_first + number),
            tl.load(product_first + number + 1),
            tl.load(place_first + edge),
        )
        for low in range(0, last - product, RANK):
            q = low + tl.arange(0, RANK)
            there = q < last - product
            cells = (product + q)[:, None] * n_states + state[None, :]
            mask = there[:, None] & held[None, :]
            y = tl.sum(tl.load(v + cells, mask=mask, other=0.0) * a[None, :], 1)
            z = tl.sum(tl.load(w + cells, mask=mask, other=0.0) * b[None, :], 1)
            tl.store(of_left + place + q, y, mask=there)
            tl.store(of_right + place + q, z, mask=there)
            total += tl.sum(tl.load(u + cells, mask=mask, other=0.0) * (heavy * y * z)[:, None], 0)
    most = tl.max(total, 0)
    if most <= 0:
        most = 1.0
    if highest == float("-inf"):
        highest = 0.0
    tl.store(vectors + item * n_states + state, total / most, mask=held)
    tl.store(scale + item, highest + tl.log(most))
    # Each scale that `highest` was taken from belongs to a narrower item, so that all are as they were above.
    for edge in range(begin, end):
        below = tl.load(scale + tl.load(left + edge)) + tl.load(scale + tl.load(right + edge))
        tl.store(weight + edge, tl.load(weight + edge) * tl.exp(below - highest) / most)


@triton.jit
def _from_uses(
    item, out, use_first, use_edge, table, of_sister, parent, rule, place_first, product_first,
    posterior, weight, of_parent, n_states, RANK: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    """Add to an outside vector what the edges give of which the item is the child on one side."""
    state = tl.arange(0, STATES)
    held = state < n_states
    own = tl.load(posterior + item)
    for use in range(tl.load(use_first + item), tl.load(use_first + item + 1)):
        edge = tl.load(use_edge + use)
        number, place = tl.load(rule + edge), tl.load(place_first + edge)
        share = tl.load(posterior + tl.load(parent + edge)) * tl.load(weight + edge) / own
        product, last = tl.load(product_first + number), tl.load(product_first + number + 1)
        for low in range(0, last - product, RANK):
            q = low + tl.arange(0, RANK)
            there = q < last - product
            cells = (product + q)[:, None] * n_states + state[None, :]
            x = tl.load(of_parent + place + q, mask=there, other=0.0)
            y = tl.load(of_sister + place + q, mask=there, other=0.0)
            rows = tl.load(table + cells, mask=there[:, None] & held[None, :], other=0.0)
            out += tl.sum(rows * (share * x * y)[:, None], 0)
    return out


@triton.jit(do_not_specialize=["first_item"])
def _down_kernel(
    first_item, edge_first, left_first, left_edge, right_first, right_edge, parent, rule, place_first, product_first, u, v, w,
    posterior, weight, of_left, of_right, of_parent, outside, edge_posterior, n_states, RANK: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    item = first_item + tl.program_id(0)
    state = tl.arange(0, STATES)
    held = state < n_states
    own = tl.load(posterior + item)
    out = tl.load(outside + item * n_states + state, mask=held, other=0.0)
    out = _from_uses(
        item, out, left_first, left_edge, v, of_right, parent, rule, place_first, product_first,
        posterior, weight, of_parent, n_states, RANK, STATES,
    )  # fmt: skip
    out = _from_uses(
        item, out, right_first, right_edge, w, of_left, parent, rule, place_first, product_first,
        posterior, weight, of_parent, n_states, RANK, STATES,
    )  # fmt: skip
    tl.store(outside + item * n_states + state, out, mask=held)
    for edge in range(tl.load(edge_first + item), tl.load(edge_first + item + 1)):
        number, place = tl.load(rule + edge), tl.load(place_first + edge)
        product, last = tl.load(product_first + number), tl.load(product_first + number + 1)
        mass = 0.0
        for low in range(0, last - product, RANK):
            q = low + tl.arange(0, RANK)
            there = q < last - product
            cells = (product + q)[:, None] * n_states + state[None, :]
            rows = tl.load(u + cells, mask=there[:, None] & held[None, :], other=0.0)
            x = tl.sum(rows * out[None, :], 1)
            tl.store(of_parent + place + q, x, mask=there)
            y, z = (
                tl.load(of_left + place + q, mask=there, other=0.0),
                tl.load(of_right + place + q, mask=there, other=0.0),
            )
            mass += tl.sum(x * y * z, 0)
        tl.store(edge_posterior + edge, own * tl.load(weight + edge) * mass)


def upwards(items: slice, *given: torch.Tensor) -> None:
    """Fill the vectors of the items of a level; the arguments are those of the kernel."""
    n_states = given[8].shape[1]
    if items.start < items.stop:
        grid = (items.stop - items.start,)
        _up_kernel[grid](
            items.start, *given, n_states, RANK=_RANK, STATES=triton.next_power_of_2(n_states), num_warps=1
        )


def downwards(items: slice, *given: torch.Tensor) -> None:
    """Fill the outside vectors of the items of a level, and the posteriors of their edges."""
    n_states = given[9].shape[1]
    if items.start < items.stop:
        grid = (items.stop - items.start,)
        _down_kernel[grid](
            items.start, *given, n_states, RANK=_RANK, STATES=triton.next_power_of_2(n_states), num_warps=1
        )
