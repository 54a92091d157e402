"""Inside-outside over observed trees: posteriors of states and expected counts (Matsuzaki et al. 2005).

The trees are known and only the states are hidden, so one pass costs the number of nodes times the cube of the states.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gramian.corpus import Treebank
from gramian.corpus.productions import Productions
from gramian.learn import tree_inference_kernels as kernels
from gramian.learn.tables import LatentTables

__all__ = ["Expectation", "TreeInference"]

_SMALL_JOB = 1_000_000  # products of states; less than that is not worth a thread


@dataclass(frozen=True)
class Expectation:
    """What one expectation step finds.

    Attributes
    ----------
    counts : LatentTables
    log_likelihood : ndarray of float64, shape (n_trees,)
        Per tree; ``-inf`` where the tables give a tree no mass.
    """

    counts: LatentTables
    log_likelihood: npt.NDArray[np.float64]


class TreeInference:
    """Inside-outside over the observed trees of a treebank, for tables of any number of states.

    Parameters
    ----------
    bank : Treebank
    productions : Productions
    jobs : int
        Threads. The result does not depend on it.
    """

    def __init__(self, bank: Treebank, productions: Productions, jobs: int = 1) -> None:
        self.bank, self.productions, self.jobs = bank, productions, jobs
        height = _heights(bank)
        kind = np.where(
            bank.word >= 0, kernels.LEAF, np.where(bank.right >= 0, kernels.BINARY, kernels.UNARY)
        )
        self._order = np.lexsort((productions.node_production, kind, height)).astype(np.int32)
        self._groups = _Groups.of(self._order, productions.node_production, kind, height)
        self._rule_order = np.lexsort((productions.node_production, kind)).astype(np.int32)
        self._rule_groups = _Groups.of(
            self._rule_order, productions.node_production, kind, np.zeros_like(height)
        )
        self._roots = bank.tree_start[1:] - 1
        self._tree_of = np.repeat(np.arange(bank.n_trees), np.diff(bank.tree_start))
        self._weight = np.ones(len(bank.label), np.float32)

    def posteriors(
        self, tables: LatentTables
    ) -> tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.floating],
        npt.NDArray[np.floating],
        npt.NDArray[np.floating],
        npt.NDArray[np.float64],
    ]:
        """Return node offsets, inside, outside, scales and the log-likelihood of each tree."""
        layout, bank = tables.layout, self.bank
        states = layout.n_states[bank.label].astype(np.int64)
        offset = np.concatenate([[0], np.cumsum(states)])[:-1]
        inside = np.zeros(int(states.sum()), tables.binary.dtype)
        outside = np.zeros_like(inside)
        scale = np.zeros(len(bank.label), inside.dtype)
        groups = self._groups
        shape = groups.shapes(self.productions, layout.n_states)
        common = (
            groups.kind,
            groups.production,
            groups.start,
            self._order,
            bank.left,
            bank.right,
            offset,
            shape,
        )
        self._over_levels(
            kernels.inside_groups, common,
            (tables.lexical, layout.lexical_start, tables.unary, layout.unary_start, tables.binary, layout.binary_start, inside, scale),
            shape, upwards=True,
        )  # fmt: skip
        roots, label = self._roots, bank.label[self._roots]
        root_mass = np.zeros(bank.n_trees)
        for symbol in np.unique(label):
            trees = np.flatnonzero(label == symbol)
            cells = offset[roots[trees]][:, None] + np.arange(layout.n_states[symbol])
            prior = tables.root[layout.root_start[symbol] : layout.root_start[symbol + 1]]
            mass = inside[cells] @ prior
            root_mass[trees] = mass
            outside[cells] = np.divide(
                prior,
                mass[:, None],
                where=mass[:, None] > 0,
                out=np.zeros((len(trees), len(prior)), inside.dtype),
            )
        self._over_levels(
            kernels.outside_groups, common,
            (tables.unary, layout.unary_start, tables.binary, layout.binary_start, inside, scale, outside),
            shape, upwards=False,
        )  # fmt: skip
        with np.errstate(divide="ignore"):
            node_log = np.log(scale.astype(np.float64))
            log_likelihood = np.add.reduceat(node_log, bank.tree_start[:-1]) + np.log(root_mass)
        return offset, inside, outside, scale, log_likelihood

    def expect(self, tables: LatentTables) -> Expectation:
        """Return expected counts of all productions and states under `tables`."""
        layout, bank = tables.layout, self.bank
        offset, inside, outside, scale, log_likelihood = self.posteriors(tables)
        counts = layout.zeros(tables.binary.dtype)
        self._count(tables, offset, inside, outside, scale, counts)
        roots = self._roots
        for symbol in np.unique(bank.label[roots]):
            nodes = roots[bank.label[roots] == symbol]
            cells = offset[nodes][:, None] + np.arange(layout.n_states[symbol])
            counts.root[layout.root_start[symbol] : layout.root_start[symbol + 1]] = (
                inside[cells] * outside[cells]
            ).sum(axis=0)
        return Expectation(counts, log_likelihood)

    def outer_counts(
        self, ones: LatentTables, offset: npt.NDArray[np.int64], weights: npt.NDArray[np.float32]
    ) -> LatentTables:
        """Count rules when every node's states have given, independent weights; words and roots are left at zero."""
        counts = ones.layout.zeros(weights.dtype)
        self._count(ones, offset, weights, weights, np.ones(len(self.bank.label), weights.dtype), counts)
        counts.lexical[:] = 0
        return counts

    def _count(self, tables, offset, inside, outside, scale, counts) -> None:  # type: ignore[no-untyped-def]
        layout, bank, groups = tables.layout, self.bank, self._rule_groups
        shape = groups.shapes(self.productions, layout.n_states)
        slices = _balanced(groups.work(shape), 0, len(groups.kind), self.jobs)
        common = (
            groups.kind,
            groups.production,
            groups.start,
            self._rule_order,
            bank.left,
            bank.right,
            offset,
            shape,
            self._weight,
        )
        rest = (
            tables.unary, layout.unary_start, tables.binary, layout.binary_start, inside, scale, outside,
            counts.lexical, layout.lexical_start, counts.unary, counts.binary,
        )  # fmt: skip
        self._in_threads(kernels.count_groups, slices, common, rest)

    def _over_levels(self, kernel, common, rest, shape, *, upwards: bool) -> None:  # type: ignore[no-untyped-def]
        work = self._groups.work(shape)
        levels = self._groups.level_start
        numbers = range(len(levels) - 1)
        for level in numbers if upwards else reversed(numbers):
            self._in_threads(
                kernel, _balanced(work, levels[level], levels[level + 1], self.jobs), common, rest
            )

    def _in_threads(self, kernel, slices, common, rest) -> None:  # type: ignore[no-untyped-def]
        if len(slices) == 1:
            kernel(*slices[0], *common, *rest)
            return
        with ThreadPoolExecutor(len(slices)) as pool:
            for future in [pool.submit(kernel, *part, *common, *rest) for part in slices]:
                future.result()


@dataclass(frozen=True)
class _Groups:
    """Runs of nodes that share height, kind and production."""

    kind: npt.NDArray[np.int32]
    production: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    level_start: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls,
        order: npt.NDArray[np.int32],
        production: npt.NDArray[np.int32],
        kind: npt.NDArray[np.int64],
        height: npt.NDArray[np.int32],
    ) -> _Groups:
        production, kind, height = production[order], kind[order], height[order]
        change = (np.diff(production) != 0) | (np.diff(kind) != 0) | (np.diff(height) != 0)
        first = np.concatenate([[0], np.flatnonzero(change) + 1])
        levels = height[first]
        level_start = np.concatenate([[0], np.flatnonzero(np.diff(levels)) + 1, [len(first)]])
        return cls(kind[first].astype(np.int32), production[first], np.append(first, len(order)), level_start)

    def shapes(self, productions: Productions, n_states: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return the numbers of states of parent, left and right child of each group, 1 where there is no child."""
        shape = np.ones((len(self.kind), 3), np.int64)
        for kind, table in (
            (kernels.LEAF, productions.lexical[:, :1]),
            (kernels.UNARY, productions.unary),
            (kernels.BINARY, productions.binary),
        ):
            rows = self.kind == kind
            shape[rows, : table.shape[1]] = n_states[table[self.production[rows]]]
        return shape

    def work(self, shape: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.diff(self.start) * shape.prod(axis=1)


def _balanced(work: npt.NDArray[np.int64], first: int, last: int, parts: int) -> list[tuple[int, int]]:
    """Cut ``first .. last`` into at most `parts` runs of about equal work; small jobs stay whole."""
    total = np.cumsum(work[first:last])
    if parts == 1 or last - first < 2 or total[-1] < _SMALL_JOB:
        return [(first, last)]
    cuts = first + np.searchsorted(total, total[-1] * np.arange(1, parts) / parts, side="left") + 1
    edges = np.unique(np.concatenate([[first], np.minimum(cuts, last), [last]]))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def _heights(bank: Treebank) -> npt.NDArray[np.int32]:
    """Return the height of every node, 0 for leaves."""
    height = np.zeros(len(bank.label), np.int32)
    level, frontier = 0, np.flatnonzero(bank.word >= 0)
    while len(frontier):
        parents = bank.parent[frontier]
        frontier = np.unique(parents[parents >= 0]).astype(np.int64)
        level += 1
        height[frontier] = level
    return height
