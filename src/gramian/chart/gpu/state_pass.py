"""Inside and outside with states over the forest of a batch, width by width.

Vectors are relative to the values without states, as in :mod:`gramian.chart.fine_kernels`: an edge weighs its share of its parent's
value, times its rule with states over the rule without. A rule is a sum of products (:mod:`gramian.chart.gpu.grammar_tensors`), so an edge
is a run of places, one a product; what a child's vector gives at a place is kept for the way down. Sums over the places of an item are
taken in their order, so that the same batch gives the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn.functional import embedding_bag

from gramian.chart.gpu.batch_forest import BatchForest, expanded
from gramian.chart.gpu.grammar_tensors import ProductTensors
from gramian.torch_device import has_kernels


class StatePosteriors(NamedTuple):
    """What a grammar says about a forest."""

    item: torch.Tensor  # (n_items,)
    edge: torch.Tensor  # (n_edges,)
    root: torch.Tensor  # (n_items,): of being the root
    log_ratio: (
        torch.Tensor
    )  # (n_sentences,): log of the probability over that without states; -inf if there is none
    inside: (
        torch.Tensor
    )  # (n_items, n_states), as `outside` and `weight` in the sense of :class:`gramian.chart.forest.Forest`
    outside: torch.Tensor
    weight: torch.Tensor  # (n_edges,)


class _Places(NamedTuple):
    """Products of edges, one after the other."""

    first: torch.Tensor  # (n_edges + 1,)
    bound: list[int]  # (n_words + 2,): the first of each level of parents
    edge: torch.Tensor
    product: torch.Tensor


class _Uses(NamedTuple):
    """Places ordered by the child on one side."""

    place: torch.Tensor
    first: torch.Tensor  # (n_items + 2,): an item's
    bound: list[int]  # the first of each level of children


def state_posteriors(
    grammar: ProductTensors, forest: BatchForest, tag_vectors: torch.Tensor, n_sentences: int
) -> StatePosteriors:
    """Return the posteriors of items and edges with states.

    Parameters
    ----------
    tag_vectors : Tensor, shape (n_tags, n_states)
        Scores of the states of the forest's tags, its first items.
    """
    f, n_items = forest, forest.n_items
    if not len(f.edge_parent):  # sentences of one word whose tag is the root
        return _only_tags(grammar, f, tag_vectors, n_sentences)
    vectors = tag_vectors.new_zeros(n_items + 1, grammar.n_states)
    vectors[: len(tag_vectors)] = tag_vectors
    vectors[n_items, 0] = 1  # nothing, the right child of phrases over tags
    scale = tag_vectors.new_zeros(n_items + 1)
    weight = f.edge_share * grammar.ratio[f.edge_rule]
    if has_kernels(tag_vectors):
        return _by_kernels(grammar, f, vectors, scale, weight, n_sentences)
    u, v, w = grammar.tables
    places = _places(grammar, f)
    of_left, of_right = tag_vectors.new_empty(2, len(places.edge))
    left, right = f.edge_left[places.edge], f.edge_right[places.edge]
    numbers = torch.arange(n_items, device=left.device)
    first_place = places.first[torch.searchsorted(f.edge_parent, numbers)]
    edge_level = f.edge_level()
    for level in range(1, f.n_words + 1):
        items, edges = _part(f.level, level), _part(edge_level, level)
        if edges.start == edges.stop:
            continue
        here = _part(places.bound, level)
        product = places.product[here]
        of_left[here] = _dots(v, product, vectors, left[here])
        of_right[here] = _dots(w, product, vectors, right[here])
        parent = f.edge_parent[edges] - items.start
        below = scale[f.edge_left[edges]] + scale[f.edge_right[edges]]
        highest = below.new_full((items.stop - items.start,), -torch.inf)
        highest.scatter_reduce_(0, parent, below, "amax")
        weight[edges] *= (below - highest[parent]).exp()
        heavy = weight[places.edge[here]] * of_left[here] * of_right[here]
        found = embedding_bag(
            product, u, first_place[items] - here.start, mode="sum", per_sample_weights=heavy
        )
        most = found.amax(1)
        most = torch.where(most > 0, most, 1)
        vectors[items] = found / most[:, None]
        scale[items] = torch.where(highest > -torch.inf, highest, 0) + most.log()
        weight[edges] /= most[parent]
    return _downwards(grammar, f, places, (of_left, of_right), weight, vectors[:-1], scale[:-1], n_sentences)


def _downwards(
    grammar: ProductTensors, f: BatchForest, places: _Places, of_children: tuple[torch.Tensor, torch.Tensor],
    weight: torch.Tensor, vectors: torch.Tensor, scale: torch.Tensor, n_sentences: int,
) -> StatePosteriors:  # fmt: skip
    u, v, w = grammar.tables
    outside, root, log_ratio = _roots(grammar, f, vectors, scale, n_sentences)
    of_left, of_right = of_children
    of_parent = torch.zeros_like(of_left)
    left_uses, right_uses = (_uses(f, places, child) for child in (f.edge_left, f.edge_right))
    edge = f.posterior[f.edge_parent] * weight  # posterior of an edge, without what its vectors give
    to_left = edge / f.posterior[f.edge_left]
    to_right = edge / f.posterior[f.edge_right.clamp(max=f.n_items - 1)]
    parent = f.edge_parent[places.edge]
    for level in range(f.n_words, -1, -1):
        items = _part(f.level, level)
        if items.start == items.stop:
            continue
        for uses, table, other, share in (
            (left_uses, v, of_right, to_left),
            (right_uses, w, of_left, to_right),
        ):
            here = _part(uses.bound, level)
            if here.start == here.stop:
                continue
            at = uses.place[here]
            given = of_parent[at] * other[at] * share[places.edge[at]]
            first = uses.first[items] - here.start
            outside[items] += embedding_bag(
                places.product[at], table, first, mode="sum", per_sample_weights=given
            )
        here = _part(places.bound, level)
        if level and here.start < here.stop:
            of_parent[here] = _dots(u, places.product[here], outside, parent[here])
    item = f.posterior * (vectors * outside).sum(1)
    mass = (of_parent * of_left * of_right)[None].T.contiguous()
    everything = torch.arange(len(mass), device=mass.device)
    summed = embedding_bag(everything, mass, places.first[:-1], mode="sum")[:, 0]
    return StatePosteriors(item, edge * summed, root, log_ratio, vectors, outside, weight)


def _by_kernels(
    grammar: ProductTensors, f: BatchForest, vectors: torch.Tensor, scale: torch.Tensor, weight: torch.Tensor, n_sentences: int
) -> StatePosteriors:  # fmt: skip
    """Do the same by Triton kernels."""
    from gramian.chart.gpu.dense_chart_gpu import downwards, upwards

    n_items = f.n_items
    edge_first = torch.searchsorted(f.edge_parent, torch.arange(n_items + 1, device=f.edge_parent.device))
    first = grammar.first[f.edge_rule]
    place_first = (grammar.first[f.edge_rule + 1] - first).cumsum(0)
    n_places = int(place_first[-1])
    place_first -= grammar.first[f.edge_rule + 1] - first
    of_left, of_right, of_parent = vectors.new_empty(3, n_places)
    rules = f.edge_rule, place_first, grammar.first, *grammar.tables
    for level in range(1, f.n_words + 1):
        given = edge_first, f.edge_left, f.edge_right, *rules, vectors, scale, weight, of_left, of_right
        upwards(_part(f.level, level), *given)
    inside = vectors[:-1]
    outside, root, log_ratio = _roots(grammar, f, inside, scale[:-1], n_sentences)
    numbers = torch.arange(n_items + 2, device=edge_first.device)
    uses: list[torch.Tensor] = []
    for child in (f.edge_left, f.edge_right):
        order = torch.argsort(child.to(torch.int32), stable=True)
        uses += [torch.searchsorted(child[order], numbers), order]
    edge = torch.empty_like(weight)
    for level in range(f.n_words, -1, -1):
        values = f.posterior, weight, of_left, of_right, of_parent, outside, edge
        downwards(_part(f.level, level), edge_first, *uses, f.edge_parent, *rules, *values)
    item = f.posterior * (inside * outside).sum(1)
    return StatePosteriors(item, edge, root, log_ratio, inside, outside, weight)


def _roots(
    grammar: ProductTensors, f: BatchForest, vectors: torch.Tensor, scale: torch.Tensor, n_sentences: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return outside vectors of roots, zero elsewhere; posteriors of being the root; and the log of the probability of sentences."""
    outside = torch.zeros_like(vectors)
    posterior = torch.zeros_like(scale)
    tops = (f.root_share > 0).nonzero()[:, 0]
    tops = tops[torch.argsort(f.sentence[tops], stable=True)]
    sentence, ratio = f.sentence[tops], grammar.root_ratio[f.symbol[tops]]
    highest = scale.new_full((n_sentences,), -torch.inf).scatter_reduce_(0, sentence, scale[tops], "amax")
    share = f.root_share[tops] * (scale[tops] - highest[sentence]).exp()
    mass = share * (ratio * vectors[tops]).sum(1)
    first = torch.searchsorted(sentence, torch.arange(n_sentences, device=sentence.device))
    everything = torch.arange(len(tops), device=sentence.device)
    total = embedding_bag(everything, mass[:, None], first, mode="sum")[:, 0]
    safe = torch.where(total > 0, total, 1)[sentence]
    outside[tops] = ratio * (share / f.posterior[tops] / safe)[:, None]
    posterior[tops] = mass / safe
    return outside, posterior, total.log() + highest


def _only_tags(
    grammar: ProductTensors, f: BatchForest, tag_vectors: torch.Tensor, n_sentences: int
) -> StatePosteriors:
    outside, root, log_ratio = _roots(grammar, f, tag_vectors, tag_vectors.new_zeros(f.n_items), n_sentences)
    item = f.posterior * (tag_vectors * outside).sum(1)
    none = item.new_zeros(0)
    return StatePosteriors(item, none, root, log_ratio, tag_vectors, outside, none)


def _part(bounds: list[int], level: int) -> slice:
    return slice(bounds[level], bounds[level + 1])


def _dots(
    table: torch.Tensor, product: torch.Tensor, vectors: torch.Tensor, item: torch.Tensor
) -> torch.Tensor:
    """Return the inner product of a row of a table and a vector at each place."""
    return (table[product] * vectors[item]).sum(1)


def _places(grammar: ProductTensors, f: BatchForest) -> _Places:
    first = grammar.first[f.edge_rule]
    count = grammar.first[f.edge_rule + 1] - first
    edge, product = expanded(first, count)
    begin = torch.cat([count.new_zeros(1), count.cumsum(0)])
    return _Places(begin, begin[torch.tensor(f.edge_level(), device=begin.device)].tolist(), edge, product)


def _uses(f: BatchForest, places: _Places, child: torch.Tensor) -> _Uses:
    order = torch.argsort(child, stable=True)
    count = (places.first[1:] - places.first[:-1])[order]
    _, place = expanded(places.first[:-1][order], count)
    begin = torch.cat([count.new_zeros(1), count.cumsum(0)])
    edges = torch.searchsorted(child[order], torch.arange(f.n_items + 2, device=child.device))
    first = begin[edges]
    return _Uses(place, first, first[torch.tensor(f.level, device=first.device)].tolist())
