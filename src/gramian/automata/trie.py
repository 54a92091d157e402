"""Training strings as prefix trees: equal prefixes are computed once, with the weight of all strings below.

A :class:`PrefixForest` cuts the sorted distinct strings into many small trees. The cut depends on the data
alone, and the trees are added up in a fixed number of lanes, so that results are the same for any number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from gramian.automata import automata_kernels as kernels
from gramian.automata.pnfa import MoveCounts
from gramian.automata.strings import Sequences, Symbol
from gramian.automata.wfa import WFA

__all__ = ["PrefixForest", "PrefixTree", "single_threaded_products"]

_T = TypeVar("_T")
_LANES = 8
_TREE_SIZE = 1 << 15  # symbols: bounds the memory of a pass, and leaves room for large matrix products


@dataclass(frozen=True, eq=False)
class PrefixTree:
    """The distinct prefixes of some strings, by length and then by last symbol; node 0 is the empty prefix.

    Attributes
    ----------
    parent, symbol : int32 array of shape (n_nodes,)
        The prefix without its last symbol, and that symbol (-1 at the root).
    weight : float64 array of shape (n_nodes,)
        How many strings end at the node.
    group_symbol : int32 array of shape (n_groups,)
    group_bounds : int64 array of shape (n_groups + 1,)
        Nodes ``group_bounds[g]:group_bounds[g + 1]`` have one length and the last symbol ``group_symbol[g]``.
    n_path_states : int
        States on the paths of all strings: their lengths, each plus one, summed.
    """

    parent: npt.NDArray[np.int32]
    symbol: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    group_symbol: npt.NDArray[np.int32]
    group_bounds: npt.NDArray[np.int64]
    n_path_states: int

    @property
    def largest_group(self) -> int:
        """Number of nodes in the largest group."""
        return int(np.diff(self.group_bounds).max())


@dataclass(frozen=True, eq=False)
class PrefixForest:
    """Weighted training strings, ready for expected or sampled counts of a PNFA's moves.

    Examples
    --------
    >>> forest = PrefixForest.from_sample(Sequences.from_strings(["ab", "ab", "a", ""]))
    >>> forest.n_strings, forest.n_nodes
    (4, 3)
    """

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

    def expected_counts(self, model: WFA, n_jobs: int = 1) -> tuple[float, MoveCounts]:
        """Return the log-likelihood under `model`, and the expected counts of its moves (the E step)."""
        transposed = np.ascontiguousarray(model.transitions.transpose(0, 2, 1))

        def lane(first: int) -> tuple[float, MoveCounts]:
            trees = self.trees[first::_LANES]
            counts = _no_counts(model)
            block, forward, scale = _workspace(trees, model.n_states, np.float64)
            backward, log_scale = np.empty_like(forward), np.empty_like(scale)
            total = 0.0
            for tree in trees:
                total += kernels.expectations(
                    model.initial, model.final, model.transitions, transposed,
                    tree.parent, tree.group_symbol, tree.group_bounds, tree.weight,
                    block, forward, backward, scale, log_scale,
                    counts.initial, counts.final, counts.transitions,
                )  # fmt: skip
            return total, counts

        results = self._run(lane, n_jobs)
        counts = _summed([counts for _, counts in results])
        counts = MoveCounts(counts.initial, counts.final, counts.transitions * model.transitions)
        return sum(total for total, _ in results), counts

    def sampled_counts(self, model: WFA, rng: np.random.Generator, n_jobs: int = 1) -> MoveCounts:
        """Draw a state path for every string from its posterior under `model`; return the counts of moves."""
        # Single precision is enough to draw from, and twice as fast.
        initial, final, transitions = (
            array.astype(np.float32) for array in (model.initial, model.final, model.transitions)
        )
        transposed = np.ascontiguousarray(transitions.transpose(0, 2, 1))
        uniforms = [rng.random(tree.n_path_states) for tree in self.trees]

        def lane(first: int) -> MoveCounts:
            trees = self.trees[first::_LANES]
            counts = _no_counts(model)
            workspace = _workspace(trees, model.n_states, np.float32)
            for tree, numbers in zip(trees, uniforms[first::_LANES], strict=True):
                kernels.sample_paths(
                    initial, final, transitions, transposed,
                    tree.parent, tree.group_symbol, tree.group_bounds, tree.weight, tree.symbol, numbers,
                    *workspace, counts.initial, counts.final, counts.transitions,
                )  # fmt: skip
            return counts

        return _summed(self._run(lane, n_jobs))

    def _run(self, lane: Callable[[int], _T], n_jobs: int) -> list[_T]:
        lanes = range(min(_LANES, len(self.trees)))
        if n_jobs == 1:
            return [lane(first) for first in lanes]
        with ThreadPoolExecutor(n_jobs) as pool:
            return list(pool.map(lane, lanes))


@contextmanager
def single_threaded_products() -> Iterator[None]:
    """Keep matrix products on the thread that asks for them.

    Strings are the parallel part here, and products that are not split sum in one order on every machine.
    Enter it once, before starting threads.
    """
    import scipy.linalg.cython_blas  # noqa: F401 - the library that the kernels call must be loaded to be limited

    with threadpool_limits(1, "blas"):
        yield


def _workspace(
    trees: tuple[PrefixTree, ...], n_states: int, dtype: type[np.floating[Any]]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Rows for the largest group and for the largest tree, and a number for each of its nodes."""
    size = max(len(tree.parent) for tree in trees)
    block = np.empty((max(tree.largest_group for tree in trees), n_states), dtype)
    return block, np.empty((size, n_states), dtype), np.empty(size, dtype)


def _no_counts(model: WFA) -> MoveCounts:
    n = model.n_states
    return MoveCounts(np.zeros(n), np.zeros(n), np.zeros_like(model.transitions))


def _summed(counts: list[MoveCounts]) -> MoveCounts:
    total = counts[0]
    for more in counts[1:]:
        total.initial[...] += more.initial
        total.final[...] += more.final
        total.transitions[...] += more.transitions
    return total


def _tree(strings: Sequences, weights: npt.NDArray[np.float64]) -> PrefixTree:
    size = len(strings.symbols) + 1
    parent, symbol, weight = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size)
    nodes = kernels.trie_nodes(strings.symbols, strings.offsets, weights, parent, symbol, weight)
    parent, symbol, weight = parent[:nodes], symbol[:nodes], weight[:nodes]
    depth = np.zeros(nodes, np.int32)
    kernels.node_depths(parent, depth)
    order = np.lexsort((symbol, depth))
    place = np.empty(nodes, np.int32)
    place[order] = np.arange(nodes)
    symbol, depth = symbol[order], depth[order]
    firsts = np.flatnonzero(np.diff(depth, prepend=-1) | np.diff(symbol, prepend=-2))
    return PrefixTree(
        parent=np.where(order == 0, -1, place[parent[order]]).astype(np.int32),
        symbol=symbol,
        weight=weight[order],
        group_symbol=symbol[firsts],
        group_bounds=np.append(firsts, nodes).astype(np.int64),
        n_path_states=int(weights @ (strings.lengths + 1)),
    )
