"""From derivations to trees in the shape of the treebank (binarisation undone), with the posterior of every label.

Derivations, binarised trees of a chart, become the nodes of the treebank as arrays, and these become trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart.decode_kernels import labelled_nodes
from gramian.chart.forest import Forest, Posteriors
from gramian.trees import Tree
from gramian.trees.tree import phrase, preterminal

Ints = npt.NDArray[np.int32]

_leaf = lru_cache(maxsize=1 << 17)(preterminal)


@dataclass(frozen=True)
class Decoded:
    """A binarised tree as items and edges of its forest, parents before children, left before right."""

    items: Ints
    edges: Ints  # the edge taken at each item, -1 at tags
    score: float  # what the decoder maximised; the log-posterior of a sample
    states: Ints | None = None  # of each item, if the decoder chose states


class Derivations(NamedTuple):
    """Binarised trees of several sentences, the nodes of each as in :class:`Decoded`, one tree after the other."""

    first: Ints  # (n_trees + 1,): a tree's nodes; none if a sentence has no tree
    items: Ints
    edges: Ints
    sentence: Ints  # (n_trees,): whose tree each is
    score: npt.NDArray[np.float64]  # (n_trees,)


class TreeArrays(NamedTuple):
    """Trees of a batch: their nodes one after the other, parents before children, left before right."""

    first: Ints  # (n_trees + 1,): a tree's nodes
    label: Ints  # of each node, in the order of the grammar's labels
    parent: Ints  # the node above each, -1 above roots
    posterior: npt.NDArray[np.float32]
    log_prob: npt.NDArray[np.float64]  # (n_trees,); where it is -inf, or nodes are none, there is no tree

    @property
    def n_children(self) -> npt.NDArray[np.int64]:
        """How many children each node has; tags have none."""
        return np.bincount(self.parent + 1, minlength=len(self.parent) + 1)[1:]


class TreeBuilder:
    """Builds the trees of arrays one by one as they are asked for, so that few are held at a time.

    Nodes are put in an order in which the children of each lie side by side, behind it; so a tree is built from its end. Words are as
    :attr:`gramian.trees.Tree.word` holds them, and not checked.
    """

    def __init__(self, trees: TreeArrays, words: Sequence[Sequence[str]], names: Sequence[str]) -> None:
        self._first, parent, n_children = trees.first.tolist(), trees.parent, trees.n_children
        nodes, is_root, is_tag = np.arange(len(parent)), parent < 0, n_children == 0
        order = np.argsort(np.where(is_root, 2 * nodes, 2 * parent + 1), kind="stable")
        has_tree = (np.diff(trees.first) > 0).tolist()
        leaf_words = chain.from_iterable(words[index] for index, known in enumerate(has_tree) if known)
        leaves = list(map(_leaf, map(names.__getitem__, trees.label[is_tag].tolist()), leaf_words))
        leaf_number = np.where(is_tag, np.cumsum(is_tag) - 1, len(leaves))[order]
        unbuilt = phrase("", ())
        self._nodes = list(map([*leaves, unbuilt].__getitem__, leaf_number.tolist()))
        # Phrases from the last to the first: labels, their own positions in `order` and those of their children.
        position = np.flatnonzero(~is_tag[order])[::-1]
        node, start = order[position], np.repeat(trees.first[:-1], np.diff(trees.first))[position]
        begin = (np.cumsum(is_root) + np.cumsum(n_children) - n_children)[node] - start
        self._label = list(map(names.__getitem__, trees.label[node].tolist()))
        self._position, self._begin = (position - start).tolist(), begin.tolist()
        self._end = (begin + n_children[node]).tolist()
        self._phrases = (len(position) - np.searchsorted(position[::-1], trees.first)).tolist()

    def tree(self, index: int) -> Tree | None:
        """Return one of the trees, None if it has no nodes."""
        first, last = self._first[index : index + 2]
        if first == last:
            return None
        nodes = self._nodes[first:last]
        phrases = slice(self._phrases[index + 1], self._phrases[index])
        for label, position, begin, end in zip(
            self._label[phrases],
            self._position[phrases],
            self._begin[phrases],
            self._end[phrases],
            strict=True,
        ):
            nodes[position] = phrase(label, tuple(nodes[begin:end]))
        return nodes[0]


def tree_arrays(posteriors: Posteriors, trees: Derivations) -> TreeArrays:
    """Return trees in the shape of the treebank, with the posterior of every label over its span."""
    p = posteriors
    first, label, parent, posterior = labelled_nodes(
        trees, p.item_symbol, p.item_cell, p.edge_right, p.labels.arrays, p.label_posteriors
    )
    return TreeArrays(first, label, parent, posterior, p.log_prob[trees.sentence])


def forest_trees(forest: Forest, trees: Sequence[Decoded]) -> TreeArrays:
    """Return trees of one forest, one at the least, in the shape of the treebank."""
    first = np.cumsum([0, *(len(tree.items) for tree in trees)]).astype(np.int32)
    items, edges = (np.concatenate([getattr(tree, name) for tree in trees]) for name in ("items", "edges"))
    score, sentence = np.array([tree.score for tree in trees]), np.zeros(len(trees), np.int32)
    return tree_arrays(forest.posteriors, Derivations(first, items, edges, sentence, score))


def to_tree(forest: Forest, decoded: Decoded, words: Sequence[str]) -> Tree:
    """Return a decoded tree in the shape of the treebank; words are as :attr:`gramian.trees.Tree.word` holds them, and not checked."""
    tree = TreeBuilder(forest_trees(forest, [decoded]), [words], forest.labels.names).tree(0)
    assert tree is not None
    return tree


def confidences(forest: Forest, decoded: Decoded) -> npt.NDArray[np.float64]:
    """Return the posterior of every label of a decoded tree over its span, in the order of its subtrees."""
    return forest_trees(forest, [decoded]).posterior.astype(np.float64)


def tree_labels(forest: Forest, decoded: Decoded | None) -> npt.NDArray[np.float32]:
    """Return a table like :attr:`Forest.label_posterior`: one where the tree, if there is one, has a label, zero elsewhere."""
    is_in_tree = np.zeros(len(forest.item_symbol), np.float32)
    if decoded is not None:
        is_in_tree[decoded.items] = 1
    return replace(forest, item_posterior=is_in_tree, labels_over_spans=None).label_posterior


def state_posterior(forest: Forest, item: int) -> npt.NDArray[np.float64]:
    """Return the posterior of each state of an item, given that the item is in the tree."""
    states = slice(forest.item_start[item], forest.item_start[item + 1])
    product = forest.inside[states].astype(np.float64) * forest.outside[states]
    return product / product.sum()
