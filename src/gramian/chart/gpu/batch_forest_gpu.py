"""The likely edges of :mod:`gramian.chart.gpu.batch_forest` and the choices of :mod:`gramian.chart.gpu.tree_choice` as Triton kernels.

For edges, one program an item tries all its rules, twice: the first time edges are counted, the second time each is put in its place.
Trees take one launch a width: up, the best edges; down, what is in trees.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from gramian.chart.gpu.batch_forest import Items
    from gramian.chart.gpu.dense_chart import DenseChart
    from gramian.chart.gpu.grammar_tensors import RuleRows


_RULES = 64  # that are looked at together


@triton.jit
def _likely(
    rule, end, one, other, child_scale, parent, mass_scale, number, inside, outside, lefts, rights, weights,
    least, n_symbols, UNARY: tl.constexpr,
):  # fmt: skip
    """Return which rules make likely edges, their children, and their mass as a share of the parent's, and as a posterior."""
    there = rule < end
    left = tl.load(lefts + rule, mask=there, other=0).to(tl.int32)
    first = tl.load(number + one * n_symbols + left, mask=there, other=-1)
    there = there & (first >= 0)
    mass = tl.load(weights + rule, mask=there, other=0.0)
    mass *= tl.load(inside + one * n_symbols + left, mask=there, other=0.0)
    second = first
    if not UNARY:
        right = tl.load(rights + rule, mask=there, other=0).to(tl.int32)
        second = tl.load(number + other * n_symbols + right, mask=there, other=-1)
        there = there & (second >= 0)
        mass *= tl.load(inside + other * n_symbols + right, mask=there, other=0.0)
        mass *= tl.exp(child_scale - mass_scale)
    posterior = mass * tl.load(outside + parent)
    there = there & (posterior >= least)
    return there, first, second, mass / tl.load(inside + parent), posterior


@triton.jit
def _put(
    found, item, there, first, second, rule, share, posterior,
    rules, out_parent, out_left, out_right, out_rule, out_share, out_posterior, FILL: tl.constexpr,
):  # fmt: skip
    """Put likely edges behind those that were found, unless they are only counted; return how many there are now."""
    if FILL:
        place = found + tl.cumsum(there.to(tl.int32), 0) - 1
        tl.store(out_parent + place, item + tl.zeros_like(first), mask=there)
        tl.store(out_left + place, first, mask=there)
        tl.store(out_right + place, second, mask=there)
        tl.store(out_rule + place, tl.load(rules + rule, mask=there, other=0), mask=there)
        tl.store(out_share + place, share, mask=there)
        tl.store(out_posterior + place, posterior, mask=there)
    return found + tl.sum(there.to(tl.int32), 0)


@triton.jit(do_not_specialize=["n_tags", "n_items", "n", "n_cells"])
def _edge_kernel(
    sentence, cell, symbol, start, width, number, inside, outside, scale,
    rule_first, unary_first, lefts, rights, weights, rules, edge_first,
    out_parent, out_left, out_right, out_rule, out_share, out_posterior,
    least, n_tags, n_items, n, n_cells, n_symbols, FILL: tl.constexpr, RULES: tl.constexpr,
):  # fmt: skip
    item = n_tags + tl.program_id(0)
    row = tl.load(sentence + item)
    number += row * n_cells * n_symbols
    inside += row * n_cells * n_symbols
    outside += row * n_cells * n_symbols
    scale += row * n_cells
    own, label = tl.load(cell + item).to(tl.int32), tl.load(symbol + item).to(tl.int32)
    begin, wide = tl.load(start + item).to(tl.int32), tl.load(width + item).to(tl.int32)
    parent, own_scale = own * n_symbols + label, tl.load(scale + own)
    found = tl.program_id(0) * 0
    if FILL:
        found = tl.load(edge_first + item)
    if wide == 1:
        last = tl.load(unary_first + label + 1)
        for low in range(tl.load(unary_first + label), last, RULES):
            rule = low + tl.arange(0, RULES)
            there, first, second, share, posterior = _likely(
                rule, last, own, own, own_scale, parent, own_scale, number, inside, outside, lefts, rights, weights,
                least, n_symbols, True,
            )  # fmt: skip
            found = _put(
                found, item, there, first, n_items + tl.zeros_like(first), rule, share, posterior,
                rules, out_parent, out_left, out_right, out_rule, out_share, out_posterior, FILL,
            )  # fmt: skip
    else:
        last = tl.load(rule_first + label + 1)
        for split in range(1, wide):
            rest = wide - split
            one = (split - 1) * (2 * n - split + 2) // 2 + begin
            other = (rest - 1) * (2 * n - rest + 2) // 2 + begin + split
            below = tl.load(scale + one) + tl.load(scale + other)
            if below > float("-inf"):
                for low in range(tl.load(rule_first + label), last, RULES):
                    rule = low + tl.arange(0, RULES)
                    there, first, second, share, posterior = _likely(
                        rule, last, one, other, below, parent, own_scale, number, inside, outside, lefts, rights, weights,
                        least, n_symbols, False,
                    )  # fmt: skip
                    found = _put(
                        found, item, there, first, second, rule, share, posterior,
                        rules, out_parent, out_left, out_right, out_rule, out_share, out_posterior, FILL,
                    )  # fmt: skip
    if not FILL:
        tl.store(edge_first + item, found)


def likely_edges(
    rules: RuleRows, chart: DenseChart, items: Items, number: torch.Tensor, n_tags: int, least: float
) -> tuple[torch.Tensor, ...]:
    """Return parents, left and right children, rules, shares and posteriors of edges, by parent."""
    n, (_, n_cells, n_symbols), n_items = chart.n_words, chart.inside.shape, len(items.symbol)
    first = torch.zeros(n_items + 1, dtype=torch.int64, device=number.device)
    where = items.sentence, items.cell, items.symbol, items.start, items.width
    scale = torch.full_like(chart.log_scale, -torch.inf)  # only of spans that have items
    scale[items.sentence, items.cell] = items.scale
    given = *where, number, chart.inside, chart.outside, scale, *rules, first
    sizes = least, n_tags, n_items, n, n_cells, n_symbols
    out: tuple[torch.Tensor, ...] = (first,) * 6
    for fill in (False, True):
        if fill:
            count = first.cumsum(0)
            n_edges = int(count[-1])
            first.copy_(count - first)
            whole = [first.new_empty(n_edges) for _ in range(4)]
            out = (*whole, *chart.inside.new_empty(2, n_edges))
        if n_items > n_tags:
            _edge_kernel[(n_items - n_tags,)](*given, *out, *sizes, FILL=fill, RULES=_RULES, num_warps=1)
    return out


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
