"""Decoders as their definitions have them: plain Python over a chart of :mod:`gramian.chart.chart_reference`, the oracle of the kernels.

The score of a binarised tree is a sum over its items and edges and its root; what is maximised differs by decoder only in these terms.
With P(item), P(edge), P(root) and P(label over span) the posteriors given the sentence:

====================  ==========================================  ===================  =================
decoder               of an item                                  of an edge           of the root
====================  ==========================================  ===================  =================
``max-recall``        sum of P(label) - penalty over its phrase   0                    0
                      labels, and P(tag)
``max-marginal-sum``  P(item)                                     0                    0
``max-rule-product``  log P(item) if a tag                        log P(edge)          log P(root)
``max-rule-sum``      P(item) if a tag                            P(edge)              P(root)
``variational``       0                                           log P(edge | item)   log P(root)
====================  ==========================================  ===================  =================
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, log
from typing import TypeAlias

from gramian.chart.chart_reference import Chart, Edge, Item, edge_posteriors, state_posteriors
from gramian.grammar import LPCFG
from gramian.trees.labels import is_intermediate, split_chain

Label: TypeAlias = tuple[bool, str, int, int]
"""Whether a label is a tag, its name, and its span."""


@dataclass(frozen=True)
class Terms:
    """What a decoder adds up."""

    item: Callable[[Item], float]
    edge: Callable[[Edge], float]
    root: Callable[[Item], float]


def labels_of(grammar: LPCFG, item: Item) -> list[Label]:
    """Return the labels of the treebank that an item stands for, top-down: none if it is intermediate, several if it is a chain."""
    symbol, start, end = item
    name = grammar.symbols[symbol]
    names = [] if is_intermediate(name) else split_chain(name)
    is_tag = symbol >= grammar.n_phrases
    return [(is_tag and level == len(names) - 1, name, start, end) for level, name in enumerate(names)]


def label_posteriors(grammar: LPCFG, items: Mapping[Item, float]) -> dict[Label, float]:
    """Return the posterior of every label over every span; an item counts once for a label that its chain has twice."""
    posteriors: dict[Label, float] = {}
    for item, posterior in items.items():
        for label in set(labels_of(grammar, item)):
            posteriors[label] = posteriors.get(label, 0.0) + posterior
    return posteriors


def terms(grammar: LPCFG, chart: Chart, decoder: str, recall_penalty: float) -> Terms:
    """Return what a decoder adds up over a tree of a chart."""
    items = {item: float(states.sum()) for item, states in state_posteriors(chart).items()}
    edges = edge_posteriors(chart)
    semiring = chart.semiring
    roots = {
        item: float(semiring.share(semiring.contract(vector, [chart.inside[item]], keep=None), chart.total))
        for item, vector in chart.roots.items()
    }

    def is_tag(item: Item) -> bool:
        return item[0] >= grammar.n_phrases

    def bar(posterior: float) -> float:
        return 0.0 if posterior > 0 else -inf

    if decoder == "max-recall":
        labels = label_posteriors(grammar, items)

        def recall(item: Item) -> float:
            return sum(
                labels[label] - (0.0 if label[0] else recall_penalty) for label in labels_of(grammar, item)
            )

        return Terms(recall, lambda edge: bar(edges[edge]), lambda item: bar(roots[item]))
    if decoder == "max-marginal-sum":
        return Terms(items.__getitem__, lambda edge: bar(edges[edge]), lambda item: bar(roots[item]))
    if decoder == "max-rule-sum":
        return Terms(
            lambda item: items[item] if is_tag(item) else 0.0,
            lambda edge: edges[edge] + bar(edges[edge]),
            lambda item: roots[item] + bar(roots[item]),
        )
    if decoder == "max-rule-product":
        return Terms(
            lambda item: _log(items[item]) if is_tag(item) else 0.0,
            lambda edge: _log(edges[edge]),
            lambda item: _log(roots[item]),
        )
    assert decoder == "variational"
    return Terms(
        lambda item: 0.0,
        lambda edge: _log(edges[edge]) - _log(items[edge[0]]),
        lambda item: _log(roots[item]),
    )


def best_tree(
    grammar: LPCFG, chart: Chart, decoder: str, *, recall_penalty: float = 0.5
) -> tuple[float, tuple[Item, ...]] | None:
    """Return the highest score of a tree and its items, parents before children, left before right; None if there is no tree."""
    added = terms(grammar, chart, decoder, recall_penalty)
    below: dict[Item, tuple[float, Edge | None]] = {
        item: (added.item(item), None) for item in chart.inside if item[0] >= grammar.n_phrases
    }
    for _, edge in chart.edges:  # children before parents
        parent, *children = edge
        if all(child in below for child in children):
            value = added.item(parent) + added.edge(edge) + sum(below[child][0] for child in children)
            if value > below.get(parent, (-inf, None))[0]:
                below[parent] = value, edge
    tops = {item: below[item][0] + added.root(item) for item in chart.roots if item in below}
    root = max(tops, key=tops.__getitem__, default=None)
    if root is None or tops[root] == -inf:
        return None
    nodes, waiting = [], [root]
    while waiting:
        item = waiting.pop()
        nodes.append(item)
        best_edge = below[item][1]
        waiting += reversed(best_edge[1:] if best_edge else ())
    return tops[root], tuple(nodes)


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf
