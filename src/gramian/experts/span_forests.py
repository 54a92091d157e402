"""The trees a sentence may have: what the coarse chart leaves, with the right tree put in where it is known."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart.forest import Forest
from gramian.experts import span_kernels as state_kernels
from gramian.treebank import Treebank
from gramian.trees.labels import is_intermediate, split_chain

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.int64]


class Skeleton(NamedTuple):
    """Items and edges of a forest, children before parents."""

    item_symbol: Ints  # (n_items,)
    item_begin: Ints  # (n_items,): first word
    item_end: Ints  # (n_items,): position after the last word
    is_root: Bools  # (n_items,): whether a tree may end here
    edge_first: Ints  # (n_items + 1,): an item's edges
    edge_left: Ints  # (n_edges,): child items
    edge_right: Ints  # (n_edges,): -1 for a phrase over a tag


class States(NamedTuple):
    """The items of a forest, split by context: the label of the phrase above; of an intermediate item, the symbol beside it."""

    first_state: Ints  # (n_items,): an item's first state, -1 for none
    next_state: Ints  # (n_states,): the next state of the same item, -1 after the last
    context: Ints  # (n_states,): 0 at the root
    left_state: Ints  # (n_edges,): the children's states under an edge, -1 where there is no child
    right_state: Ints  # (n_edges,)
    state_pair: Ints  # (n_states + 1,): where the pairs of a state with each of its item's edges begin


class Contexts:
    """Splits the items of forests by context, given the symbols of the binarised treebank."""

    def __init__(self, symbols: Sequence[str]) -> None:
        lowest = [split_chain(symbol.removeprefix("@").partition("[")[0])[-1] for symbol in symbols]
        numbers = {label: number for number, label in enumerate(dict.fromkeys(lowest))}
        self._label = np.array([numbers[label] for label in lowest], np.int32)
        self._is_intermediate = np.array([is_intermediate(symbol) for symbol in symbols], np.bool_)

    def states(self, forest: Skeleton) -> States:
        """Return the states of a forest whose symbols are numbered as those given."""
        return States(*state_kernels.find_states(forest, self._label, self._is_intermediate))


def skeleton(forest: Forest) -> Skeleton:
    """Return what a CRF sees of a chart's forest; items and edges keep their order."""
    items = forest.item_symbol, forest.item_first_word, forest.item_end, forest.root_posterior != 0
    return Skeleton(*items, forest.edge_first, forest.edge_left, forest.edge_right)


def likely_part(forest: Forest, least: float) -> tuple[Skeleton, Keys, Keys]:
    """Return the part of a forest with posteriors of at least `least`, and the numbers that its items and edges have in the whole."""
    whole = skeleton(forest)
    alive = np.abs(forest.item_posterior) >= least
    parent = np.repeat(np.arange(len(alive)), np.diff(whole.edge_first))
    kept = (np.abs(forest.edge_posterior) >= least) & alive[parent] & alive[whole.edge_left]
    kept &= alive[whole.edge_right] | (whole.edge_right < 0)
    items, edges = np.flatnonzero(alive), np.flatnonzero(kept)
    number = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    first = np.concatenate([[0], np.cumsum(kept)])[whole.edge_first]
    right = whole.edge_right[edges]
    part = Skeleton(
        whole.item_symbol[items],
        whole.item_begin[items],
        whole.item_end[items],
        whole.is_root[items],
        np.append(first[items], first[-1]).astype(np.int32),
        number[whole.edge_left[edges]],
        np.where(right >= 0, number[right], np.int32(-1)),
    )
    return part, items, edges


def gold_forest(forest: Skeleton | None, bank: Treebank, tree: int) -> tuple[Skeleton, Ints, Ints]:
    """Put a tree of a treebank into a forest with the same symbols, or into none; return it, and the tree's items and edges."""
    first, last = int(bank.tree_start[tree]), int(bank.tree_start[tree + 1])
    label, begin, end = bank.label[first:last], bank.start[first:last], bank.end[first:last]
    inner = bank.word[first:last] < 0
    left, right = bank.left[first:last][inner] - first, bank.right[first:last][inner] - first
    n_phrases = bank.n_phrases

    def keys(symbol: Ints, begin: Ints, end: Ints) -> Keys:
        """Order by width, tags before phrases, then by place and symbol."""
        width = end.astype(np.int64) - begin
        return (((width * 2 + (symbol < n_phrases)) << 16 | begin) << 16) | symbol

    tree_keys = keys(label, begin, end)
    old = np.empty(0, np.int64) if forest is None else keys(*forest[:3])
    items = np.union1d(old, tree_keys)
    tree_place = np.searchsorted(items, tree_keys)
    tree_edges = _columns(
        tree_place[inner], tree_place[left], np.where(right >= 0, tree_place[np.maximum(right, 0)], -1)
    )
    edges = np.sort(tree_edges)
    roots = np.zeros(len(items), np.bool_)
    if forest is not None:
        item_index = np.searchsorted(items, old)
        parent = np.repeat(item_index, np.diff(forest.edge_first))
        below = np.where(forest.edge_right >= 0, item_index[forest.edge_right], -1)
        edges = np.union1d(_columns(parent, item_index[forest.edge_left], below), tree_edges)
        roots[item_index] = forest.is_root
    roots[tree_place[-1]] = True
    edge_parent, edge_left, edge_right = edges >> 42, (edges >> 21) & 0x1FFFFF, (edges & 0x1FFFFF) - 1
    symbol = (items & 0xFFFF).astype(np.int32)
    start = ((items >> 16) & 0xFFFF).astype(np.int32)
    end, edge_first = start + (items >> 33), np.searchsorted(edge_parent, np.arange(len(items) + 1))
    rest = (part.astype(np.int32) for part in (edge_first, edge_left, edge_right))
    merged = Skeleton(symbol, start, end.astype(np.int32), roots, *rest)
    return merged, tree_place.astype(np.int32), np.searchsorted(edges, tree_edges).astype(np.int32)


def _columns(parent: Keys, left: Keys, right: Keys) -> Keys:
    return (parent << 42) | (left << 21) | (right + 1)
