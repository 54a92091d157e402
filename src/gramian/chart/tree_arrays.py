"""Trees of several sentences as arrays, and the one place where arrays become trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.trees import Tree
from gramian.trees.tree import phrase, preterminal

_leaf = lru_cache(maxsize=1 << 17)(preterminal)


class TreeArrays(NamedTuple):
    """Trees of a batch: their nodes one after the other, parents before children, left before right."""

    first: npt.NDArray[np.int32]  # (n_trees + 1,): a tree's nodes
    label: npt.NDArray[np.int32]  # of each node, in the order of the grammar's labels
    parent: npt.NDArray[np.int32]  # the node above each, -1 above roots
    posterior: npt.NDArray[np.float32]
    log_prob: npt.NDArray[np.float64]  # (n_trees,); where it is -inf, or nodes are none, there is no tree

    @property
    def n_children(self) -> npt.NDArray[np.int64]:
        """How many children each node has; tags have none."""
        return np.bincount(self.parent + 1, minlength=len(self.parent) + 1)[1:]


class TreeBuilder:
    """Builds the trees of arrays one by one as they are asked for, so that few are held at a time.

    Nodes are put in an order in which the children of each lie side by side, behind it; so a tree is built from its end.

    Parameters
    ----------
    found : TreeArrays
    words : sequence of sequence of str
        Of each tree, as :attr:`gramian.trees.Tree.word` holds them; they are not checked.
    names : sequence of str
        The grammar's labels.
    """

    def __init__(self, found: TreeArrays, words: Sequence[Sequence[str]], names: Sequence[str]) -> None:
        self._first, parent, n_children = found.first.tolist(), found.parent, found.n_children
        nodes, is_root, is_tag = np.arange(len(parent)), parent < 0, n_children == 0
        order = np.argsort(np.where(is_root, 2 * nodes, 2 * parent + 1), kind="stable")
        has_tree = (np.diff(found.first) > 0).tolist()
        leaf_words = chain.from_iterable(own for own, known in zip(words, has_tree, strict=True) if known)
        leaves = list(map(_leaf, map(names.__getitem__, found.label[is_tag].tolist()), leaf_words))
        place = np.where(is_tag, np.cumsum(is_tag) - 1, len(leaves))[order]
        unbuilt = phrase("", ())
        self._nodes = list(map([*leaves, unbuilt].__getitem__, place.tolist()))
        # Phrases from the last to the first: labels, their own places and those of their children.
        spot = np.flatnonzero(~is_tag[order])[::-1]
        node, start = order[spot], np.repeat(found.first[:-1], np.diff(found.first))[spot]
        begin = (np.cumsum(is_root) + np.cumsum(n_children) - n_children)[node] - start
        self._label = list(map(names.__getitem__, found.label[node].tolist()))
        places = spot - start, begin, begin + n_children[node]
        self._spot, self._begin, self._end = (one.tolist() for one in places)
        self._phrases = (len(spot) - np.searchsorted(spot[::-1], found.first)).tolist()

    def tree(self, place: int) -> Tree | None:
        """Return one of the trees, None if it has no nodes."""
        first, last = self._first[place : place + 2]
        if first == last:
            return None
        nodes = self._nodes[first:last]
        here = slice(self._phrases[place + 1], self._phrases[place])
        for label, spot, begin, end in zip(
            self._label[here], self._spot[here], self._begin[here], self._end[here], strict=True
        ):
            nodes[spot] = phrase(label, tuple(nodes[begin:end]))
        return nodes[0]
