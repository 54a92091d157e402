"""From derivations to trees in the shape of the treebank (binarisation undone), with the posterior of every label and state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart.decode_kernels import labelled_nodes
from gramian.chart.forest import Forest, Posteriors
from gramian.chart.tree_arrays import TreeArrays, TreeBuilder
from gramian.trees import Tree

Ints = npt.NDArray[np.int32]


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


def tree_arrays(posteriors: Posteriors, trees: Derivations) -> TreeArrays:
    """Return trees in the shape of the treebank, with the posterior of every label over its span."""
    p = posteriors
    first, label, parent, posterior = labelled_nodes(
        trees, p.item_symbol, p.item_cell, p.edge_right, p.labels.arrays, p.votes
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


def tree_labels(forest: Forest, decoded: Decoded) -> npt.NDArray[np.float32]:
    """Return a table like :attr:`Forest.label_posterior`: one where the tree has a label, zero elsewhere."""
    inside = np.zeros(len(forest.item_symbol), np.float32)
    inside[decoded.items] = 1
    return replace(forest, item_posterior=inside, labels_over_spans=None).label_posterior


def state_posterior(forest: Forest, item: int) -> npt.NDArray[np.float64]:
    """Return the posterior of each state of an item, given that the item is in the tree."""
    place = slice(forest.item_start[item], forest.item_start[item + 1])
    product = forest.inside[place].astype(np.float64) * forest.outside[place]
    return product / product.sum()
