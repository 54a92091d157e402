"""Trees with states: the most probable derivation, random trees, and the probability of a tree.

These need the rule tensors, whereas other decoders need posteriors only. A derivation's weight is a product
along the edges of the forest, so that what pruning left out has no probability.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gramian.chart import derivation_kernels as kernels
from gramian.chart.chart_parser import ChartParser, Forest
from gramian.chart.readout import Decoded

__all__ = ["log_posteriors", "sample", "viterbi"]


def viterbi(chart: ChartParser, forest: Forest) -> Decoded | None:
    """Return the most probable derivation with its states; its score is its log-posterior given the sentence.

    None if no derivation has a probability.
    """
    edges = _edges(forest)
    best, scale, root, state, score = kernels.best_states(chart.grammar.n_phrases, edges, chart.arrays)
    if root < 0:
        return None
    nodes = kernels.unfold(forest.n_words, root, state, best, scale, np.empty(0), edges, chart.arrays)
    return Decoded(nodes[0], nodes[1], score, nodes[2])


def sample(
    chart: ChartParser, forest: Forest, size: int, random_state: int | np.random.Generator
) -> list[Decoded]:
    """Draw trees from their posterior given the sentence, with states.

    A sample's score is the log-posterior of its tree, summed over states. Of models with negative weights the
    absolute values are drawn from.

    Parameters
    ----------
    chart : ChartParser
    forest : Forest
    size : int
        How many; equal trees may come more than once.
    random_state : int or numpy.random.Generator
    """
    rng = np.random.default_rng(random_state)
    edges = _edges(forest)
    values, scale = forest.inside.astype(np.float64), np.zeros(len(forest.item_symbol))
    drawn = []
    for _ in range(size):
        uniforms = rng.random(3 * forest.n_words + 1)
        root, state = kernels.sampled_root(uniforms[-1], edges, chart.arrays)
        nodes = kernels.unfold(forest.n_words, root, state, values, scale, uniforms, edges, chart.arrays)
        score = kernels.tree_log_posterior(nodes[0], nodes[1], edges, chart.arrays)
        drawn.append(Decoded(nodes[0], nodes[1], score, nodes[2]))
    return drawn


def log_posteriors(chart: ChartParser, forest: Forest, trees: Iterable[Decoded]) -> list[float]:
    """Return the log-posterior of each tree given the sentence, summed over its states.

    Added to :attr:`Forest.log_ratio` it is the log-probability of the tree with its words, up to the words' own.
    """
    edges = _edges(forest)
    return [kernels.tree_log_posterior(tree.items, tree.edges, edges, chart.arrays) for tree in trees]


def _edges(forest: Forest) -> kernels.Edges:
    return kernels.Edges(
        forest.item_symbol, forest.item_start, forest.inside, forest.root_posterior, forest.edge_first,
        forest.edge_left, forest.edge_right, forest.edge_rule, forest.edge_weight,
    )  # fmt: skip
