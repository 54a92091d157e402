"""The sums of :mod:`gramian.chart.gpu.dense_chart` and the passes of :mod:`gramian.chart.gpu.state_pass` as Triton kernels."""

# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl

from gramian.chart.gpu.grammar_tensors import SUMS_TOGETHER

_SPANS = 2  # that are summed together, at most
_NUMBERS = ["n", "width", "n_cells"]


@triton.jit
def _cell(n, width, start):
    return (width - 1) * (2 * n - width + 2) // 2 + start


@triton.jit(do_not_specialize=_NUMBERS)
def _child_kernel(
    inside, scale, one, other, out, out_scale, n, width, n_cells, n_symbols,
    COLUMNS: tl.constexpr, SPANS: tl.constexpr,
):  # fmt: skip
    count = n - width + 1
    row = tl.program_id(0)
    sentence, start = (row // count).to(tl.int64), row % count
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside += sentence * n_cells * n_symbols
    scale += sentence * n_cells
    highest = float("-inf")
    for low in range(1, width, 64):
        split = low + tl.arange(0, 64)
        there = split < width
        both = tl.load(scale + _cell(n, split, start), mask=there, other=float("-inf"))
        both += tl.load(scale + _cell(n, width - split, start + split), mask=there, other=float("-inf"))
        highest = tl.maximum(highest, tl.max(both, 0))
    total = tl.zeros([SPANS, COLUMNS], tl.float32)
    if highest > float("-inf"):
        first = tl.load(one + column).to(tl.int32)[None, :]
        second = tl.load(other + column).to(tl.int32)[None, :]
        for low in range(1, width, SPANS):
            split = low + tl.arange(0, SPANS)
            there = split < width
            left, right = _cell(n, split, start), _cell(n, width - split, start + split)
            both = tl.load(scale + left, mask=there, other=float("-inf"))
            both += tl.load(scale + right, mask=there, other=float("-inf"))
            used = (there & (both > float("-inf")))[:, None]
            a = tl.load(inside + left[:, None] * n_symbols + first, mask=used, other=0.0)
            b = tl.load(inside + right[:, None] * n_symbols + second, mask=used, other=0.0)
            total += tl.exp(both - highest)[:, None] * a * b
    else:
        highest = 0.0
    tl.store(out + row.to(tl.int64) * tl.num_programs(1) * COLUMNS + column, tl.sum(total, 0))
    if tl.program_id(1) == 0:
        tl.store(out_scale + row, highest)


@triton.jit(do_not_specialize=_NUMBERS)
def _parent_kernel(
    inside, outside, scale, parent_scale, one, other, out, n, width, n_cells, n_symbols, n_left_blocks,
    COLUMNS: tl.constexpr, SPANS: tl.constexpr,
):  # fmt: skip
    count = n - width + 1
    row = tl.program_id(0)
    sentence, start = (row // count).to(tl.int64), row % count
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside += sentence * n_cells * n_symbols
    outside += sentence * n_cells * n_symbols
    scale += sentence * n_cells
    parent_scale += sentence * n_cells
    own = tl.load(scale + _cell(n, width, start))
    total = tl.zeros([SPANS, COLUMNS], tl.float32)
    if own > float("-inf"):
        is_left = tl.program_id(1) < n_left_blocks
        # As a left child, the span begins with its parents, before its sisters; as a right one, it ends with them.
        more = tl.where(is_left, n - start - width, start)
        first = tl.load(one + column).to(tl.int32)[None, :]
        second = tl.load(other + column).to(tl.int32)[None, :]
        for low in range(1, more + 1, SPANS):
            further = low + tl.arange(0, SPANS)
            there = further <= more
            begin = tl.where(is_left, start, start - further)
            parent = _cell(n, width + further, begin)
            sister = _cell(n, further, tl.where(is_left, start + width, begin))
            above = tl.load(parent_scale + parent, mask=there, other=float("-inf"))
            beside = tl.load(scale + sister, mask=there, other=float("-inf"))
            used = there & (above > float("-inf")) & (beside > float("-inf"))
            if tl.max(used.to(tl.int32), 0) > 0:
                share = tl.where(used, tl.minimum(tl.exp(own + beside - above), 1e30), 0.0)
                a = tl.load(outside + parent[:, None] * n_symbols + first, mask=used[:, None], other=0.0)
                b = tl.load(inside + sister[:, None] * n_symbols + second, mask=used[:, None], other=0.0)
                total += share[:, None] * a * b
    tl.store(out + row.to(tl.int64) * tl.num_programs(1) * COLUMNS + column, tl.sum(total, 0))


@triton.jit(do_not_specialize=_NUMBERS)
def _put_kernel(
    values, scale, inside, inside_scale, n, width, n_cells, n_symbols, n_values, SYMBOLS: tl.constexpr
):
    count = n - width + 1
    row = tl.program_id(0)
    place = (row // count).to(tl.int64) * n_cells + _cell(n, width, row % count)
    symbol = tl.arange(0, SYMBOLS)
    there = symbol < n_values
    value = tl.load(values + row.to(tl.int64) * n_values + symbol, mask=there, other=0.0)
    most = tl.max(value, 0)
    safe = tl.where(most > 0, most, 1.0)
    tl.store(inside + place * n_symbols + symbol, value / safe, mask=there)
    tl.store(inside_scale + place, tl.where(most > 0, tl.load(scale + row) + tl.log(safe), float("-inf")))


@triton.jit(do_not_specialize=_NUMBERS)
def _add_kernel(
    values, inside, outside, scale, parent_scale, least, n, width, n_cells, n_symbols,
    MOST: tl.constexpr, SYMBOLS: tl.constexpr,
):  # fmt: skip
    count = n - width + 1
    row = tl.program_id(0)
    place = (row // count).to(tl.int64) * n_cells + _cell(n, width, row % count)
    symbol = tl.arange(0, SYMBOLS)
    there = symbol < n_symbols
    value = tl.load(values + row.to(tl.int64) * n_symbols + symbol, mask=there, other=0.0)
    value += tl.load(outside + place * n_symbols + symbol, mask=there, other=0.0)
    value = tl.minimum(value, MOST)
    tl.store(outside + place * n_symbols + symbol, value, mask=there)
    most = tl.max(value * tl.load(inside + place * n_symbols + symbol, mask=there, other=0.0), 0)
    tl.store(parent_scale + place, tl.where(most >= least, tl.load(scale + place), float("-inf")))


def child_sums(
    inside: torch.Tensor, scale: torch.Tensor, one: torch.Tensor, other: torch.Tensor, n: int, width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mass of each pair of children over the spans of a width, summed over split points, and its scale."""
    size, n_cells, n_symbols = inside.shape
    rows, spans = size * (n - width + 1), _at_once(width - 1)
    out, out_scale = inside.new_empty(rows, len(one)), inside.new_empty(rows)
    given = inside, scale, one, other, out, out_scale, n, width, n_cells, n_symbols
    _child_kernel[(rows, len(one) // SUMS_TOGETHER)](*given, COLUMNS=SUMS_TOGETHER, SPANS=spans, num_warps=4)
    return out, out_scale


def parent_sums(
    inside: torch.Tensor, outside: torch.Tensor, scale: torch.Tensor, parent_scale: torch.Tensor, one: torch.Tensor,
    other: torch.Tensor, n_left: int, n: int, width: int,
) -> torch.Tensor:  # fmt: skip
    """Return the mass of each pair of a parent and a sister of the spans of a width; the first `n_left` are those of left children."""
    size, n_cells, n_symbols = inside.shape
    rows, spans = size * (n - width + 1), _at_once(n - width)
    out = inside.new_empty(rows, len(one))
    given = (
        inside,
        outside,
        scale,
        parent_scale,
        one,
        other,
        out,
        n,
        width,
        n_cells,
        n_symbols,
        n_left // SUMS_TOGETHER,
    )
    _parent_kernel[(rows, len(one) // SUMS_TOGETHER)](*given, COLUMNS=SUMS_TOGETHER, SPANS=spans, num_warps=4)
    return out


def _at_once(most: int) -> int:
    """Return how many spans to sum at a time where there are at most so many."""
    return min(_SPANS, triton.next_power_of_2(max(1, most)))


def put_inside(
    values: torch.Tensor, scale: torch.Tensor, inside: torch.Tensor, inside_scale: torch.Tensor, n: int, width: int
) -> None:  # fmt: skip
    """Set the inside values of all spans of a width, and their scales."""
    _, n_cells, n_symbols = inside.shape
    given = values, scale, inside, inside_scale, n, width, n_cells, n_symbols, values.shape[1]
    _put_kernel[(len(values),)](*given, SYMBOLS=triton.next_power_of_2(values.shape[1]), num_warps=1)


def add_outside(
    values: torch.Tensor, inside: torch.Tensor, outside: torch.Tensor, scale: torch.Tensor, parent_scale: torch.Tensor,
    most: float, least: float, n: int, width: int,
) -> None:  # fmt: skip
    """Add to the outside values of all spans of a width, which stay below `most`, and say which of them count as parents."""
    _, n_cells, n_symbols = outside.shape
    given = values, inside, outside, scale, parent_scale, least, n, width, n_cells, n_symbols
    _add_kernel[(len(values),)](*given, MOST=most, SYMBOLS=triton.next_power_of_2(n_symbols), num_warps=1)


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
