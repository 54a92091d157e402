"""Inside-outside over observed trees: posteriors of states and expected counts (Matsuzaki et al. 2005).

The trees are known and only the states are hidden, so one pass costs the number of nodes times the cube of the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.learn import tree_inference_kernels as kernels
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions

_SMALL_JOB = 1_000_000  # products of states; less than that is not worth a thread


@dataclass(frozen=True)
class Expectation:
    """What one expectation step finds: counts, and the log-likelihood of each tree, -inf where the tables give it no mass."""

    counts: LatentTables
    log_likelihood: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64] | None = None  # of each tree

    @property
    def total(self) -> float:
        """The log-likelihood of all trees, each as often as it counts."""
        return float(self.log_likelihood.sum() if self.weight is None else self.log_likelihood @ self.weight)

    def with_further(self, others: Iterable[Expectation]) -> Expectation:
        """Return what was found in these and other trees."""
        logs = [self.log_likelihood]
        weights = [np.ones(len(logs[0])) if self.weight is None else self.weight]
        total = self.counts
        for other in others:
            names = ("binary", "unary", "lexical", "root")
            total = replace(
                total, **{name: getattr(total, name) + getattr(other.counts, name) for name in names}
            )
            logs.append(other.log_likelihood)
            weights.append(np.ones(len(logs[-1])) if other.weight is None else other.weight)
        return Expectation(total, np.concatenate(logs), np.concatenate(weights))


@dataclass(frozen=True)
class NodeVectors:
    """Vectors of all nodes, flat: node i's begin at ``offset[i]``, and its posteriors are the products of inside and outside."""

    offset: npt.NDArray[np.int64]  # (n_nodes,)
    inside: npt.NDArray[np.floating]
    outside: npt.NDArray[np.floating]
    scale: npt.NDArray[np.floating]  # (n_nodes,)
    log_likelihood: npt.NDArray[np.float64]  # (n_trees,)


class _Visits(NamedTuple):
    """In which order nodes are visited: groups by height, the first of each height, and groups by rule alone; none is laid out yet."""

    by_height: kernels.Groups
    levels: npt.NDArray[np.int64]
    by_rule: kernels.Groups
    absorbed: AbsorbedLeaves


class TreeInference:
    """Inside-outside over the observed trees of a treebank, for tables of any number of states. Results do not depend on threads."""

    def __init__(self, bank: Treebank, productions: Productions) -> None:
        self.bank, self.productions = bank, productions
        roots = bank.tree_start[1:] - 1
        self._trees_by_root = {
            symbol: (trees := np.flatnonzero(bank.label[roots] == symbol), roots[trees])
            for symbol in np.unique(bank.label[roots]).tolist()
        }

    @cached_property
    def _kind(self) -> npt.NDArray[np.int64]:
        inner = np.where(self.bank.right >= 0, kernels.BINARY, kernels.UNARY)
        return np.where(self.bank.word >= 0, kernels.LEAF, inner)

    @cached_property
    def _all_nodes(self) -> _Visits:
        """Visits of all nodes, for vectors of each."""
        bank = self.bank
        everything = np.arange(len(bank.label))
        production = self.productions.node_production
        return _visits(
            everything, heights(bank), self._kind, production, bank.left, bank.right, AbsorbedLeaves.none()
        )

    @cached_property
    def _but_absorbed(self) -> _Visits:
        """Visits of all nodes but absorbed leaves, for counts."""
        bank, absorbed = self.bank, AbsorbedLeaves.of(self.bank, self.productions)
        kind, production = self._kind.copy(), self.productions.node_production.copy()
        left, right = bank.left.copy(), bank.right.copy()
        kind[absorbed.node], production[absorbed.node] = kernels.ABSORBED, absorbed.number
        left[absorbed.node], right[absorbed.node] = absorbed.other, -1
        rest = np.ones(len(bank.label), np.bool_)
        rest[absorbed.leaf] = False
        return _visits(np.flatnonzero(rest), heights(bank), kind, production, left, right, absorbed)

    def posteriors(self, tables: LatentTables, n_jobs: int = 1) -> NodeVectors:
        """Return inside and outside vectors and the log-likelihood of each tree."""
        rules = _rules(tables, self._all_nodes.absorbed.laid_out(tables))
        scale = np.zeros(len(self.bank.label), tables.binary.dtype)
        return self._vectors(tables, self._all_nodes, rules, scale, n_jobs)

    def _vectors(
        self,
        tables: LatentTables,
        visits: _Visits,
        rules: kernels.Rules,
        scale: npt.NDArray[np.floating],
        n_jobs: int,
    ) -> NodeVectors:
        """Fill vectors of the nodes that are visited; others have their `scale` already."""
        layout, bank, order = tables.layout, self.bank, visits.by_height.order
        states = layout.n_states[bank.label[order]].astype(np.int64)
        ends = np.cumsum(states)
        offset = np.zeros(len(bank.label), np.int64)
        offset[order] = ends - states  # vectors lie in the order in which they are visited
        inside = np.zeros(int(ends[-1]), tables.binary.dtype)
        outside = np.zeros_like(inside)
        groups = _laid_out(visits.by_height, layout, offset, visits.absorbed)
        work = _work(groups)
        slices = [_balanced(work, first, last, n_jobs) for first, last in pairwise(visits.levels)]
        for level in slices:
            _in_threads(kernels.inside_groups, level, groups, rules, inside, scale)
        root_mass = np.zeros(bank.n_trees)
        for symbol, (trees, roots) in self._trees_by_root.items():
            cells = offset[roots][:, None] + np.arange(layout.n_states[symbol])
            prior = tables.root_block(symbol)
            mass = inside[cells] @ prior
            root_mass[trees] = mass
            share = np.zeros((len(trees), len(prior)), inside.dtype)
            outside[cells] = np.divide(prior, mass[:, None], where=mass[:, None] > 0, out=share)
            if bank.weight is not None:  # what is counted is linear in the outside of the root
                outside[cells] *= bank.weight[trees][:, None]
        for level in reversed(slices):
            _in_threads(kernels.outside_groups, level, groups, rules, inside, scale, outside)
        with np.errstate(divide="ignore"):
            node_log = np.log(scale.astype(np.float64))
            log_likelihood = np.add.reduceat(node_log, bank.tree_start[:-1]) + np.log(root_mass)
        return NodeVectors(offset, inside, outside, scale, log_likelihood)

    def expect(self, tables: LatentTables, n_jobs: int = 1, *, spent: bool = False) -> Expectation:
        """Return expected counts of all productions and states under `tables`; if these are `spent`, the counts take their place."""
        visits, layout = self._but_absorbed, tables.layout
        absorbed = visits.absorbed.laid_out(tables)
        rules = _rules(tables, absorbed)
        kernels.absorb_leaves(layout.n_states[self.productions.binary], absorbed.leaves, rules)
        scale = np.zeros(len(self.bank.label), tables.binary.dtype)
        scale[visits.absorbed.leaf] = absorbed.scale[visits.absorbed.number]
        vectors = self._vectors(tables, visits, rules, scale, n_jobs)
        counts = tables if spent else layout.zeros(tables.binary.dtype)
        self._count(visits, tables, vectors, absorbed, counts, n_jobs)
        absorbed.count_words(counts)
        for symbol, (_, roots) in self._trees_by_root.items():
            cells = vectors.offset[roots][:, None] + np.arange(layout.n_states[symbol])
            counts.root_block(symbol)[:] = (vectors.inside[cells] * vectors.outside[cells]).sum(axis=0)
        return Expectation(counts, vectors.log_likelihood, self.bank.weight)

    def _count(
        self,
        visits: _Visits,
        tables: LatentTables,
        vectors: NodeVectors,
        absorbed: LaidOutLeaves,
        counts: LatentTables,
        n_jobs: int,
    ) -> None:
        """Count into `counts`, which may be `tables`; these have no production that no node has."""
        counts.lexical[:], counts.root[:] = 0, 0
        groups = _laid_out(visits.by_rule, tables.layout, vectors.offset, visits.absorbed)
        work, n_groups = _work(groups), len(groups.kind)
        binary = int(np.searchsorted(groups.kind, kernels.BINARY))  # these need what the others count
        arguments = (
            groups,
            absorbed.leaves,
            _rules(tables, absorbed),
            vectors.inside,
            vectors.scale,
            vectors.outside,
        )
        for first, last in ((0, binary), (binary, n_groups)):
            if first < last:
                slices = _balanced(work, first, last, n_jobs)
                _in_threads(kernels.count_groups, slices, *arguments, _rules(counts, absorbed))


def _rules(tables: LatentTables, absorbed: LaidOutLeaves) -> kernels.Rules:
    layout = tables.layout
    return kernels.Rules(
        tables.unary, layout.unary_start, tables.binary, layout.binary_start, tables.lexical, layout.lexical_start,
        absorbed.matrices, absorbed.start,
    )  # fmt: skip


def _visits(
    nodes: npt.NDArray[np.int64],
    height: npt.NDArray[np.int32],
    kind: npt.NDArray[np.int64],
    production: npt.NDArray[np.int32],
    left: npt.NDArray[np.int32],
    right: npt.NDArray[np.int32],
    absorbed: AbsorbedLeaves,
) -> _Visits:
    def grouped(level: npt.NDArray[np.int32]) -> tuple[kernels.Groups, npt.NDArray[np.int64]]:
        """Return runs of nodes that share level, kind and production, and the first run of each level."""
        # Within a run, by what left children are: that is where their vectors lie, more or less.
        key = level[nodes].astype(np.int64)
        for part in (kind, production, production[left]):
            key = key * (int(part.max(initial=0)) + 1) + part[nodes]
        order = nodes[np.argsort(key, kind="stable")].astype(np.int32)
        change = np.zeros(max(len(order) - 1, 0), np.bool_)
        for part in (level, kind, production):
            change |= np.diff(part[order]) != 0
        first = np.concatenate([[0], np.flatnonzero(change) + 1])
        level_start = np.concatenate([[0], np.flatnonzero(np.diff(level[order[first]])) + 1, [len(first)]])
        runs = (
            kind[order[first]].astype(np.int32),
            production[order[first]],
            np.append(first, len(order)),
            order,
        )
        return kernels.Groups(*runs, left, right, None, None), level_start

    by_height, levels = grouped(height)
    by_rule, _ = grouped(np.zeros_like(height))
    # Rules all of whose nodes absorb a leaf are counted as well: their groups are empty.
    others = np.setdiff1d(absorbed.rule, by_rule.production[by_rule.kind == kernels.BINARY])
    by_rule = by_rule._replace(
        kind=np.append(by_rule.kind, np.full(len(others), kernels.BINARY, np.int32)),
        production=np.append(by_rule.production, others.astype(np.int32)),
        start=np.append(by_rule.start, np.full(len(others), len(nodes))),
    )
    return _Visits(by_height, levels, by_rule, absorbed)


def _laid_out(
    groups: kernels.Groups, layout: Layout, offset: npt.NDArray[np.int64], absorbed: AbsorbedLeaves
) -> kernels.Groups:
    shape = np.ones((len(groups.kind), 3), np.int64)
    for kind, table in (
        (kernels.LEAF, layout.productions.lexical[:, :1]),
        (kernels.UNARY, layout.productions.unary),
        (kernels.ABSORBED, absorbed.symbols(layout.productions)),
        (kernels.BINARY, layout.productions.binary),
    ):
        rows = groups.kind == kind
        shape[rows, : table.shape[1]] = layout.n_states[table[groups.production[rows]]]
    return groups._replace(offset=offset, shape=shape)


def _work(groups: kernels.Groups) -> npt.NDArray[np.int64]:
    """Return the products of states that each group takes."""
    return np.diff(groups.start) * groups.shape.prod(axis=1)


def _in_threads(kernel: Callable[..., None], slices: list[tuple[int, int]], *arguments: Any) -> None:
    if len(slices) == 1:
        kernel(*slices[0], *arguments)
        return
    with ThreadPoolExecutor(len(slices)) as pool:
        for future in [pool.submit(kernel, *part, *arguments) for part in slices]:
            future.result()


def _balanced(work: npt.NDArray[np.int64], first: int, last: int, parts: int) -> list[tuple[int, int]]:
    """Cut ``first .. last`` into at most `parts` runs of about equal work; small jobs stay whole."""
    total = np.cumsum(work[first:last])
    if parts == 1 or last - first < 2 or total[-1] < _SMALL_JOB:
        return [(first, last)]
    cuts = first + np.searchsorted(total, total[-1] * np.arange(1, parts) / parts, side="left") + 1
    edges = np.unique(np.concatenate([[first], np.minimum(cuts, last), [last]]))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def heights(bank: Treebank) -> npt.NDArray[np.int32]:
    """Return the height of every node, 0 for leaves."""
    height = np.empty(len(bank.label), np.int32)
    kernels.measure_heights(bank.left, bank.right, height)
    return height


_OFTEN = 4  # nodes, from which a product pays that serves all of them

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class AbsorbedLeaves:
    """Which nodes absorb a leaf, and which kinds of leaves there are: a pair of tag and word at one side below one rule, in its order."""

    node: Integers  # that absorbs
    leaf: Integers  # that it absorbs
    other: Integers  # its other child
    number: Integers  # of its kind of leaf
    rule: Integers  # of each kind
    pair: Integers
    is_left: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, bank: Treebank, productions: Productions) -> AbsorbedLeaves:
        """Find binary nodes over a leaf that their rule has there often: of two such, the one that it has more often."""
        nodes = np.flatnonzero(bank.right >= 0)
        rule, n_pairs = productions.node_production[nodes].astype(np.int64), max(1, len(productions.lexical))
        times, key = (np.zeros((2, len(nodes)), np.int64) for _ in range(2))
        for side, child in enumerate((bank.right[nodes], bank.left[nodes])):
            over = np.flatnonzero(bank.word[child] >= 0)
            pair = productions.node_production[child[over]]
            key[side, over] = (2 * rule[over] + side) * n_pairs + pair
            _, kind, count = np.unique(key[side, over], return_inverse=True, return_counts=True)
            times[side, over] = count[kind]
        is_left = times[1] > times[0]
        used = np.flatnonzero(times.max(axis=0) >= _OFTEN)
        chosen = is_left[used].astype(np.int64)
        kinds, number = np.unique(key[chosen, used], return_inverse=True)
        children = np.stack([bank.right[nodes[used]], bank.left[nodes[used]]]).astype(np.int64)
        columns = np.arange(len(used))
        return cls(
            node=nodes[used],
            leaf=children[chosen, columns],
            other=children[1 - chosen, columns],
            number=number.astype(np.int64),
            rule=kinds // n_pairs // 2,
            pair=kinds % n_pairs,
            is_left=kinds // n_pairs % 2 == 1,
        )

    @classmethod
    def none(cls) -> AbsorbedLeaves:
        """Return that no leaf is absorbed."""
        nothing = np.empty(0, np.int64)
        return cls(*(nothing,) * 6, nothing > 0)

    def symbols(self, productions: Productions) -> npt.NDArray[np.int32]:
        """Return parent and other child of each kind, shape (n_kinds, 2)."""
        parent, left, right = productions.binary[self.rule].T
        return np.stack([parent, np.where(self.is_left, right, left)], axis=1)

    def laid_out(self, tables: LatentTables) -> LaidOutLeaves:
        """Return their vectors under `tables`, and room for what follows from them."""
        layout, dtype = tables.layout, tables.binary.dtype
        sizes = layout.n_states[layout.productions.lexical[self.pair, 0]].astype(np.int64)
        start = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.repeat(layout.lexical_start[self.pair] - start[:-1], sizes) + np.arange(start[-1])
        vectors = tables.lexical[cells]
        scale = np.add.reduceat(vectors, start[:-1]) if len(sizes) else np.empty(0, dtype)
        vectors = vectors / np.repeat(np.where(scale > 0, scale, 1), sizes)
        first = np.searchsorted(self.rule, np.arange(len(layout.productions.binary) + 1))
        matrix = layout.n_states[self.symbols(layout.productions)].astype(np.int64).prod(axis=1)
        ends = np.concatenate([[0], np.cumsum(matrix)])
        leaves = kernels.Leaves(first, self.is_left, start, vectors, np.zeros_like(vectors))
        return LaidOutLeaves(leaves, scale, np.zeros(int(ends[-1]), dtype), ends, cells)


@dataclass(frozen=True)
class LaidOutLeaves:
    """Vectors of absorbed leaves, with their sums before they were scaled to one, and the matrices of the rules that absorbed them."""

    leaves: kernels.Leaves
    scale: Floats
    matrices: Floats
    start: Integers  # of each matrix
    cells: Integers  # of the vectors' numbers among those of all pairs

    def count_words(self, counts: LatentTables) -> None:
        """Add how often these leaves had each state."""
        np.add.at(counts.lexical, self.cells, self.leaves.inside * self.leaves.outside)
