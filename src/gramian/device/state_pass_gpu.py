"""The passes of :mod:`gramian.device.state_pass` as Triton kernels: one program an item, some places at a time, one launch a width."""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

_PLACES = 16  # that are worked at together
_EDGES = 32
_WARPS = 1


@triton.jit(do_not_specialize=["first_item"])
def _up_kernel(
    first_item, edge_first, place_first, left, right, place_edge, place_product, u, v, w,
    vectors, scale, weight, of_left, of_right, n_states,
    PLACES: tl.constexpr, EDGES: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    item = first_item + tl.program_id(0)
    state = tl.arange(0, STATES)
    held = state < n_states
    begin, end = tl.load(edge_first + item), tl.load(edge_first + item + 1)
    highest = float("-inf")
    for low in range(begin, end, EDGES):
        edge = low + tl.arange(0, EDGES)
        there = edge < end
        one, other = tl.load(left + edge, mask=there, other=0), tl.load(right + edge, mask=there, other=0)
        below = tl.where(there, tl.load(scale + one) + tl.load(scale + other), float("-inf"))
        highest = tl.maximum(highest, tl.max(below, 0))
    total = tl.zeros([PLACES, STATES], tl.float32)
    last = tl.load(place_first + end)
    for low in range(tl.load(place_first + begin), last, PLACES):
        place = low + tl.arange(0, PLACES)
        there = place < last
        edge, product = (
            tl.load(place_edge + place, mask=there, other=0),
            tl.load(place_product + place, mask=there, other=0),
        )
        one, other = tl.load(left + edge), tl.load(right + edge)
        heavy = tl.load(weight + edge) * tl.exp(tl.load(scale + one) + tl.load(scale + other) - highest)
        mask = there[:, None] & held[None, :]
        rows = product[:, None] * n_states + state[None, :]
        a = tl.load(vectors + one[:, None] * n_states + state[None, :], mask=mask, other=0.0)
        b = tl.load(vectors + other[:, None] * n_states + state[None, :], mask=mask, other=0.0)
        y = tl.sum(tl.load(v + rows, mask=mask, other=0.0) * a, 1)
        z = tl.sum(tl.load(w + rows, mask=mask, other=0.0) * b, 1)
        tl.store(of_left + place, y, mask=there)
        tl.store(of_right + place, z, mask=there)
        heavy = tl.where(there, heavy * y * z, 0.0)
        total += tl.load(u + rows, mask=mask, other=0.0) * heavy[:, None]
    found = tl.sum(total, 0)
    most = tl.max(found, 0)
    if most <= 0:
        most = 1.0
    if highest == float("-inf"):
        highest = 0.0
    tl.store(vectors + item * n_states + state, found / most, mask=held)
    tl.store(scale + item, highest + tl.log(most))
    # Each scale that `highest` was taken from belongs to a narrower item, so that all are as they were above.
    for low in range(begin, end, EDGES):
        edge = low + tl.arange(0, EDGES)
        there = edge < end
        one, other = tl.load(left + edge, mask=there, other=0), tl.load(right + edge, mask=there, other=0)
        share = tl.exp(tl.load(scale + one) + tl.load(scale + other) - highest) / most
        tl.store(weight + edge, tl.load(weight + edge, mask=there, other=0.0) * share, mask=there)


@triton.jit
def _from_uses(
    item, total, use_first, use_place, table, of_sister, parent, place_edge, place_product,
    posterior, weight, of_parent, n_states, PLACES: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    """Add to an outside vector what the edges give of which the item is the child on one side."""
    state = tl.arange(0, STATES)
    held = state < n_states
    last = tl.load(use_first + item + 1)
    for low in range(tl.load(use_first + item), last, PLACES):
        use = low + tl.arange(0, PLACES)
        there = use < last
        place = tl.load(use_place + use, mask=there, other=0)
        edge, product = tl.load(place_edge + place), tl.load(place_product + place)
        given = tl.load(posterior + tl.load(parent + edge)) * tl.load(weight + edge)
        given *= tl.load(of_parent + place, mask=there, other=0.0)
        given *= tl.load(of_sister + place, mask=there, other=0.0)
        rows = product[:, None] * n_states + state[None, :]
        values = tl.load(table + rows, mask=there[:, None] & held[None, :], other=0.0)
        total += values * tl.where(there, given, 0.0)[:, None]
    return total


@triton.jit(do_not_specialize=["first_item"])
def _down_kernel(
    first_item, edge_first, place_first, left_place, left_first, right_place, right_first, parent, place_edge, place_product,
    u, v, w, posterior, weight, of_left, of_right, of_parent, outside, mass, n_states, PLACES: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    item = first_item + tl.program_id(0)
    state = tl.arange(0, STATES)
    held = state < n_states
    total = tl.zeros([PLACES, STATES], tl.float32)
    total = _from_uses(
        item, total, left_first, left_place, v, of_right, parent, place_edge, place_product,
        posterior, weight, of_parent, n_states, PLACES, STATES,
    )  # fmt: skip
    total = _from_uses(
        item, total, right_first, right_place, w, of_left, parent, place_edge, place_product,
        posterior, weight, of_parent, n_states, PLACES, STATES,
    )  # fmt: skip
    out = tl.load(outside + item * n_states + state, mask=held, other=0.0)
    out += tl.sum(total, 0) / tl.load(posterior + item)
    tl.store(outside + item * n_states + state, out, mask=held)
    last = tl.load(place_first + tl.load(edge_first + item + 1))
    for low in range(tl.load(place_first + tl.load(edge_first + item)), last, PLACES):
        place = low + tl.arange(0, PLACES)
        there = place < last
        product = tl.load(place_product + place, mask=there, other=0)
        rows = product[:, None] * n_states + state[None, :]
        x = tl.sum(tl.load(u + rows, mask=there[:, None] & held[None, :], other=0.0) * out[None, :], 1)
        tl.store(of_parent + place, x, mask=there)
        x *= tl.load(of_left + place, mask=there, other=0.0)
        tl.store(mass + place, x * tl.load(of_right + place, mask=there, other=0.0), mask=there)


def upwards(items: slice, *given: torch.Tensor) -> None:
    """Fill the vectors of the items of a level; the arguments are those of the kernel."""
    _launched(_up_kernel, items, given, given[6].shape[1], EDGES=_EDGES)


def downwards(items: slice, *given: torch.Tensor) -> None:
    """Fill the outside vectors of the items of a level, and the mass of their products."""
    _launched(_down_kernel, items, given, given[9].shape[1])


def _launched(kernel, items, given, n_states, **sizes) -> None:
    if items.start < items.stop:
        sizes |= {"PLACES": _PLACES, "STATES": triton.next_power_of_2(n_states)}
        kernel[(items.stop - items.start,)](items.start, *given, n_states, **sizes, num_warps=_WARPS)
