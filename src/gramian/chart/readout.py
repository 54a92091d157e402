"""From items of a forest to trees in the shape of the treebank, with the posterior of every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels
from gramian.chart.chart_parser import ChartParser, Forest
from gramian.trees import Tree
from gramian.trees.labels import is_intermediate, split_chain
from gramian.trees.tree import phrase, preterminal

__all__ = [
    "Decoded",
    "LabelTable",
    "confidences",
    "label_posteriors",
    "label_table",
    "state_posterior",
    "to_tree",
    "tree_labels",
]

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Decoded:
    """A binarised tree as items and edges of its forest.

    Attributes
    ----------
    items : ndarray of int32
        Parents before children, left before right.
    edges : ndarray of int32
        The edge taken at each item, -1 at tags.
    score : float
        What the decoder maximised; the log-posterior of a sample.
    states : ndarray of int32 or None
        The state of each item, if the decoder chose states.
    """

    items: Ints
    edges: Ints
    score: float
    states: Ints | None = None


@dataclass(frozen=True)
class LabelTable:
    """The treebank's labels in the symbols of a binarised grammar.

    Attributes
    ----------
    names : tuple of str
        Labels of phrases, then tags; a name may occur as both.
    n_phrase_labels : int
        How many of `names` are phrases'.
    first : ndarray of int32, shape (n_symbols + 1,)
        Where each symbol's labels lie in `number`.
    number : ndarray of int32
        Labels of each symbol, top-down; intermediate symbols have none.
    bottom_up : tuple of tuple of str
        The same as names, for each symbol, from its lowest label.
    """

    names: tuple[str, ...]
    n_phrase_labels: int
    first: Ints
    number: Ints
    bottom_up: tuple[tuple[str, ...], ...]


@lru_cache(maxsize=16)
def label_table(symbols: tuple[str, ...], n_phrases: int) -> LabelTable:
    """Take the symbols of a grammar apart.

    Examples
    --------
    >>> table = label_table(("@S", "S", "S|VP", "NN"), 3)
    >>> table.names, table.bottom_up
    (('S', 'VP', 'NN'), ((), ('S',), ('VP', 'S'), ('NN',)))
    """
    keys = []
    for place, symbol in enumerate(symbols):
        labels = [] if is_intermediate(symbol) else split_chain(symbol)
        kinds = ["phrase"] * len(labels)
        if place >= n_phrases:
            kinds[-1] = "tag"
        keys.append(list(zip(kinds, labels, strict=True)))
    distinct = sorted({key for row in keys for key in row})  # phrases before tags
    number = {key: place for place, key in enumerate(distinct)}
    return LabelTable(
        names=tuple(label for _, label in distinct),
        n_phrase_labels=sum(kind == "phrase" for kind, _ in distinct),
        first=np.cumsum([0, *map(len, keys)]).astype(np.int32),
        number=np.array([number[key] for row in keys for key in row], np.int32),
        bottom_up=tuple(tuple(label for _, label in reversed(row)) for row in keys),
    )


def to_tree(chart: ChartParser, forest: Forest, decoded: Decoded, words: Sequence[str]) -> Tree:
    """Return a decoded tree in the shape of the treebank.

    Parameters
    ----------
    chart : ChartParser
    forest : Forest
    decoded : Decoded
    words : sequence of str
        As :attr:`gramian.trees.Tree.word` holds them; they are not checked.
    """
    labels_of = label_table(chart.grammar.symbols, chart.grammar.n_phrases).bottom_up
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


def label_posteriors(chart: ChartParser, forest: Forest) -> npt.NDArray[np.float32]:
    """Return the posterior of every label over every span.

    A label inside a chain counts as the label of its span; intermediate symbols count for nothing.

    Returns
    -------
    ndarray of float32, shape (n_cells, n_labels)
        Spans by width, then start; labels in the order of :attr:`LabelTable.names`.
    """
    if forest.label_posterior is not None:
        return forest.label_posterior
    table = label_table(chart.grammar.symbols, chart.grammar.n_phrases)
    n_cells = forest.n_words * (forest.n_words + 1) // 2
    posteriors: npt.NDArray[np.float32] = decode_kernels.label_posteriors(
        forest.item_symbol, forest.item_cell, forest.item_posterior, table.first, table.number, n_cells,
        len(table.names),
    )  # fmt: skip
    return posteriors


def tree_labels(chart: ChartParser, forest: Forest, decoded: Decoded) -> npt.NDArray[np.float32]:
    """Return a table like that of :func:`label_posteriors`: one where the tree has a label, zero elsewhere."""
    inside = np.zeros(len(forest.item_symbol), np.float32)
    inside[decoded.items] = 1
    return label_posteriors(chart, replace(forest, item_posterior=inside, label_posterior=None))


def confidences(chart: ChartParser, forest: Forest, decoded: Decoded) -> npt.NDArray[np.float64]:
    """Return the posterior of every label of a decoded tree over its span.

    Returns
    -------
    ndarray of float64
        One a node of the tree that :func:`to_tree` returns, in the order of :meth:`gramian.trees.Tree.subtrees`.
    """
    table = label_table(chart.grammar.symbols, chart.grammar.n_phrases)
    values: npt.NDArray[np.float64] = decode_kernels.node_confidences(
        decoded.items, forest.item_symbol, forest.item_cell, table.first, table.number,
        label_posteriors(chart, forest),
    )  # fmt: skip
    return values


def state_posterior(forest: Forest, item: int) -> npt.NDArray[np.float64]:
    """Return the posterior of each state of an item, given that the item is in the tree."""
    place = slice(forest.item_start[item], forest.item_start[item + 1])
    product = forest.inside[place].astype(np.float64) * forest.outside[place]
    return product / product.sum()
