"""From items of a forest to trees in the shape of the treebank, with the posterior of every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels
from gramian.chart.forest import Forest
from gramian.trees import Tree
from gramian.trees.tree import phrase, preterminal

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Decoded:
    """A binarised tree as items and edges of its forest, parents before children, left before right."""

    items: Ints
    edges: Ints  # the edge taken at each item, -1 at tags
    score: float  # what the decoder maximised; the log-posterior of a sample
    states: Ints | None = None  # of each item, if the decoder chose states


def to_tree(forest: Forest, decoded: Decoded, words: Sequence[str]) -> Tree:
    """Return a decoded tree in the shape of the treebank; words are as :attr:`gramian.trees.Tree.word` holds them, and not checked."""
    labels_of = forest.labels.bottom_up
    symbols = forest.item_symbol[decoded.items].tolist()
    is_leaf = (decoded.edges < 0).tolist()
    is_binary = (forest.edge_right[decoded.edges[decoded.edges >= 0]] >= 0).tolist()  # of the phrases
    position = len(words)
    built: list[list[Tree]] = []  # the last entries are the parts of what comes next, the leftmost on top
    for place in range(len(symbols) - 1, -1, -1):
        labels = labels_of[symbols[place]]
        if is_leaf[place]:
            position -= 1
            node = preterminal(labels[0], words[position])
        else:
            children = built.pop()
            if is_binary.pop():
                children += built.pop()
            if not labels:
                built.append(children)
                continue
            node = phrase(labels[0], tuple(children))
        for label in labels[1:]:
            node = phrase(label, (node,))
        built.append([node])
    [[tree]] = built
    return tree


def tree_labels(forest: Forest, decoded: Decoded) -> npt.NDArray[np.float32]:
    """Return a table like :attr:`Forest.label_posterior`: one where the tree has a label, zero elsewhere."""
    inside = np.zeros(len(forest.item_symbol), np.float32)
    inside[decoded.items] = 1
    return replace(forest, item_posterior=inside, labels_over_spans=None).label_posterior


def confidences(forest: Forest, decoded: Decoded) -> npt.NDArray[np.float64]:
    """Return the posterior of every label of a decoded tree over its span, in the order of the subtrees that :func:`to_tree` makes."""
    values: npt.NDArray[np.float64] = decode_kernels.node_confidences(
        decoded.items, forest.item_symbol, forest.item_cell, forest.labels.arrays, forest.label_posterior
    )
    return values


def state_posterior(forest: Forest, item: int) -> npt.NDArray[np.float64]:
    """Return the posterior of each state of an item, given that the item is in the tree."""
    place = slice(forest.item_start[item], forest.item_start[item + 1])
    product = forest.inside[place].astype(np.float64) * forest.outside[place]
    return product / product.sum()
