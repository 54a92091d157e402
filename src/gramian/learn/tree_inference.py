"""Inside-outside over observed trees: posteriors of states and expected counts (Matsuzaki et al. 2005).

The trees are known and only the states are hidden, so one pass costs the number of nodes times the cube of the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.corpus import Treebank
from gramian.corpus.productions import Productions
from gramian.learn import tree_inference_kernels as kernels
from gramian.learn.tables import LatentTables, Layout

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
class Posteriors:
    """Vectors of all nodes, flat: node i's begin at ``offset[i]``, and its posteriors are the products of inside and outside."""

    offset: npt.NDArray[np.int64]  # (n_nodes,)
    inside: npt.NDArray[np.floating]
    outside: npt.NDArray[np.floating]
    scale: npt.NDArray[np.floating]  # (n_nodes,)
    log_likelihood: npt.NDArray[np.float64]  # (n_trees,)


class TreeInference:
    """Inside-outside over the observed trees of a treebank, for tables of any number of states. Results do not depend on threads."""

    def __init__(self, bank: Treebank, productions: Productions) -> None:
        self.bank, self.productions = bank, productions
        height = heights(bank)
        self._by_height, self._levels = _grouped(bank, productions, height)
        self._by_rule, _ = _grouped(bank, productions, np.zeros_like(height))
        roots = bank.tree_start[1:] - 1
        self._trees_by_root = {
            symbol: (trees := np.flatnonzero(bank.label[roots] == symbol), roots[trees])
            for symbol in np.unique(bank.label[roots]).tolist()
        }

    def posteriors(self, tables: LatentTables, n_jobs: int = 1) -> Posteriors:
        """Return inside and outside vectors and the log-likelihood of each tree."""
        layout, bank = tables.layout, self.bank
        states = layout.n_states[bank.label[self._by_height.order]].astype(np.int64)
        ends = np.cumsum(states)
        offset = np.empty_like(ends)
        offset[self._by_height.order] = ends - states  # vectors lie in the order in which they are visited
        inside = np.zeros(int(ends[-1]), tables.binary.dtype)
        outside = np.zeros_like(inside)
        scale = np.zeros(len(bank.label), inside.dtype)
        groups = _laid_out(self._by_height, layout, offset)
        work = _work(groups)
        slices = [_balanced(work, first, last, n_jobs) for first, last in pairwise(self._levels)]
        for level in slices:
            _in_threads(kernels.inside_groups, level, groups, _rules(tables), inside, scale)
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
            _in_threads(kernels.outside_groups, level, groups, _rules(tables), inside, scale, outside)
        with np.errstate(divide="ignore"):
            node_log = np.log(scale.astype(np.float64))
            log_likelihood = np.add.reduceat(node_log, bank.tree_start[:-1]) + np.log(root_mass)
        return Posteriors(offset, inside, outside, scale, log_likelihood)

    def expect(self, tables: LatentTables, n_jobs: int = 1, *, spent: bool = False) -> Expectation:
        """Return expected counts of all productions and states under `tables`; if these are `spent`, the counts take their place."""
        found = self.posteriors(tables, n_jobs)
        counts = self._counted(tables, found, n_jobs, tables if spent else None)
        for symbol, (_, roots) in self._trees_by_root.items():
            cells = found.offset[roots][:, None] + np.arange(tables.layout.n_states[symbol])
            counts.root_block(symbol)[:] = (found.inside[cells] * found.outside[cells]).sum(axis=0)
        return Expectation(counts, found.log_likelihood, self.bank.weight)

    def outer_counts(
        self,
        layout: Layout,
        offset: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float32],
        heavy: npt.NDArray[np.float32],
        n_jobs: int = 1,
    ) -> LatentTables:
        """Count rules when every node's states have given, independent weights; words and roots are left at zero.

        In `heavy` they are times the weight of the node's tree.
        """
        ones = layout.zeros(weights.dtype)
        ones.binary[:] = 1
        ones.unary[:] = 1
        scale = np.ones(len(self.bank.label), weights.dtype)
        counts = self._counted(ones, Posteriors(offset, weights, heavy, scale, np.zeros(0)), n_jobs)
        counts.lexical[:] = 0
        return counts

    def _counted(
        self, tables: LatentTables, vectors: Posteriors, n_jobs: int, counts: LatentTables | None = None
    ) -> LatentTables:
        """Count into new tables, or into `counts`, which may be `tables`; these have no production that no node has."""
        if counts is None:
            counts = tables.layout.zeros(vectors.inside.dtype)
        counts.lexical[:], counts.root[:] = 0, 0
        groups = _laid_out(self._by_rule, tables.layout, vectors.offset)
        slices = _balanced(_work(groups), 0, len(groups.kind), n_jobs)
        given = groups, _rules(tables), vectors.inside, vectors.scale, vectors.outside
        _in_threads(kernels.count_groups, slices, *given, _rules(counts))
        return counts


def _rules(tables: LatentTables) -> kernels.Rules:
    layout = tables.layout
    return kernels.Rules(
        tables.unary, layout.unary_start, tables.binary, layout.binary_start, tables.lexical, layout.lexical_start
    )  # fmt: skip


def _grouped(
    bank: Treebank, productions: Productions, height: npt.NDArray[np.int32]
) -> tuple[kernels.Groups, npt.NDArray[np.int64]]:
    """Return runs of nodes that share height, kind and production, not yet laid out, and the first run of each height."""
    inner = np.where(bank.right >= 0, kernels.BINARY, kernels.UNARY)
    keys = productions.node_production, np.where(bank.word >= 0, kernels.LEAF, inner), height
    below = productions.node_production[
        bank.left
    ]  # what left children are: where their vectors lie, more or less
    order = np.lexsort((below, *keys)).astype(np.int32)
    production, kind, height = (key[order] for key in keys)
    change = (np.diff(production) != 0) | (np.diff(kind) != 0) | (np.diff(height) != 0)
    first = np.concatenate([[0], np.flatnonzero(change) + 1])
    level_start = np.concatenate([[0], np.flatnonzero(np.diff(height[first])) + 1, [len(first)]])
    runs = kind[first].astype(np.int32), production[first], np.append(first, len(order)), order
    return kernels.Groups(*runs, bank.left, bank.right, None, None), level_start


def _laid_out(groups: kernels.Groups, layout: Layout, offset: npt.NDArray[np.int64]) -> kernels.Groups:
    shape = np.ones((len(groups.kind), 3), np.int64)
    for kind, table in (
        (kernels.LEAF, layout.productions.lexical[:, :1]),
        (kernels.UNARY, layout.productions.unary),
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
    height = np.zeros(len(bank.label), np.int32)
    level, frontier = 0, np.flatnonzero(bank.word >= 0)
    while len(frontier):
        parents = bank.parent[frontier]
        frontier = np.unique(parents[parents >= 0]).astype(np.int64)
        level += 1
        height[frontier] = level
    return height
