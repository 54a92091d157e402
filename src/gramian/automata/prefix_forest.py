"""Training strings as prefix trees: equal prefixes are computed once, with the weight of all strings below.

A :class:`PrefixForest` cuts the sorted distinct strings into many small trees. The cut depends on the data alone, and the trees are added
up in a fixed number of lanes, so that results are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.linalg.cython_blas  # noqa: F401 - what the kernels call is loaded before anyone limits its threads

from gramian.automata import automata_kernels as kernels
from gramian.automata.automata_kernels import AutomatonWeights, PrefixTree, Workspace
from gramian.automata.pnfa import MoveCounts
from gramian.automata.sequences import Sequences, Symbol
from gramian.automata.weighted_automaton import WFA

_T = TypeVar("_T")
_LANES = 8
_TREE_SIZE = 1 << 15  # symbols: bounds the memory of a pass, and leaves room for large matrix products


@dataclass(frozen=True, eq=False)
class PrefixForest:
    """Weighted training strings, ready for expected or sampled counts of a PNFA's moves."""

    trees: tuple[PrefixTree, ...]
    alphabet: tuple[Symbol, ...]
    n_strings: int

    @classmethod
    def from_sample(cls, sample: Sequences) -> PrefixForest:
        """Merge equal strings and equal prefixes of `sample`."""
        distinct, weights = sample.to_learn_from().distinct()
        trees = tuple(_tree(distinct.take(block), weights[block]) for block in distinct.blocks(_TREE_SIZE))
        return cls(trees, sample.alphabet, len(sample))

    @property
    def n_nodes(self) -> int:
        """Number of nodes: what one pass costs, times the square of the states."""
        return sum(len(tree.parent) for tree in self.trees)

    def expected_counts(
        self, model: WFA, n_jobs: int = 1, *, single: bool = False
    ) -> tuple[float, MoveCounts]:
        """Return the log-likelihood under `model`, and the expected counts of its moves (the E step).

        With `single`, state vectors have single precision, which takes half the time.
        """
        precision = np.float32 if single else np.float64
        weights = _weights(model, precision)

        def lane(first: int) -> tuple[float, MoveCounts]:
            trees = self.trees[first::_LANES]
            work = _workspace(trees, model.n_states, precision)
            counts = MoveCounts.zeros(model.n_symbols, model.n_states)
            return sum(kernels.expectations(weights, tree, work, counts) for tree in trees), counts

        values, counts = zip(*self._run(lane, n_jobs), strict=True)
        initial, final, products = _summed(counts)
        return sum(values), MoveCounts(initial, final, products * model.transitions)

    def sampled_counts(self, model: WFA, rng: np.random.Generator, n_jobs: int = 1) -> MoveCounts:
        """Draw a state path for every string from its posterior under `model`; return the counts of moves."""
        # Single precision is enough to draw from, and twice as fast.
        weights = _weights(model, np.float32)
        uniforms = [rng.random(tree.n_path_states) for tree in self.trees]

        def lane(first: int) -> MoveCounts:
            trees = self.trees[first::_LANES]
            work = _workspace(trees, model.n_states, np.float32)
            counts = MoveCounts.zeros(model.n_symbols, model.n_states)
            for tree, numbers in zip(trees, uniforms[first::_LANES], strict=True):
                kernels.sample_paths(weights, tree, work, numbers, counts)
            # Drawn by the state that a move leads to.
            return counts._replace(transitions=counts.transitions.transpose(0, 2, 1))

        return _summed(self._run(lane, n_jobs))

    def _run(self, lane: Callable[[int], _T], n_jobs: int) -> list[_T]:
        lanes = range(min(_LANES, len(self.trees)))
        if n_jobs == 1:
            return [lane(first) for first in lanes]
        with ThreadPoolExecutor(n_jobs) as pool:
            return list(pool.map(lane, lanes))


def _weights(model: WFA, dtype: type[np.floating[Any]]) -> AutomatonWeights:
    transitions = model.transitions.astype(dtype)
    transposed = np.ascontiguousarray(transitions.transpose(0, 2, 1))
    return AutomatonWeights(model.initial.astype(dtype), model.final.astype(dtype), transitions, transposed)


def _workspace(trees: tuple[PrefixTree, ...], n_states: int, dtype: type[np.floating[Any]]) -> Workspace:
    """Room for the largest of the trees."""
    rows = max(len(tree.parent) for tree in trees), n_states
    group = max(int(np.diff(tree.group_bounds).max()) for tree in trees), n_states
    block, forward, backward = (np.empty(shape, dtype) for shape in (group, rows, rows))
    return Workspace(block, forward, backward, np.empty(rows[0], dtype), np.empty(rows[0]))


def _summed(counts: Iterable[MoveCounts]) -> MoveCounts:
    return MoveCounts(*(sum(parts) for parts in zip(*counts, strict=True)))


def _tree(strings: Sequences, weights: npt.NDArray[np.float64]) -> PrefixTree:
    size = len(strings.symbols) + 1
    (parent, symbol, depth), weight = np.empty((3, size), np.int32), np.empty(size)
    nodes = kernels.trie_nodes(strings.symbols, strings.offsets, weights, parent, symbol, weight, depth)
    order = np.lexsort((symbol[:nodes], depth[:nodes]))
    rank = np.empty(nodes, np.int32)
    rank[order] = np.arange(nodes)
    symbol, depth = symbol[order], depth[order]
    firsts = np.flatnonzero(np.diff(depth, prepend=-1) | np.diff(symbol, prepend=-2))
    return PrefixTree(
        parent=np.where(order == 0, -1, rank[parent[order]]).astype(np.int32),
        symbol=symbol,
        weight=weight[order],
        group_symbol=symbol[firsts],
        group_bounds=np.append(firsts, nodes).astype(np.int64),
        n_path_states=int(weights @ (strings.lengths + 1)),
    )
