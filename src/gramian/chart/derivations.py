"""Trees with states: the most probable derivation, random trees, and the probability of a tree.

These need the rule tensors, whereas other decoders need posteriors only. A derivation's weight is a product along the
edges of the forest, so that what pruning left out has no probability.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gramian.chart import derivation_kernels as kernels
from gramian.chart.inference import ChartParser, Forest
from gramian.chart.readout import Decoded

Ints = npt.NDArray[np.int32]

__all__ = ["log_posteriors", "sample", "viterbi"]


def viterbi(chart: ChartParser, forest: Forest) -> Decoded | None:
    """Return the most probable derivation with its states; its score is its log-posterior given the sentence.

    None if no derivation has a probability.
    """
    weights = _weights(chart, forest)
    best, scale, root, root_state, score = kernels.best_states(
        chart.grammar.n_phrases, forest.item_symbol, forest.item_start, forest.inside, forest.root_posterior,
        forest.edge_first, forest.edge_left, forest.edge_right, forest.edge_rule, weights, chart.arrays,
    )  # fmt: skip
    if root < 0:
        return None
    items, edges, states = _unfold(chart, forest, weights, root, root_state, best, scale, np.empty(0))
    return Decoded(items, edges, score, states)


def sample(
    chart: ChartParser, forest: Forest, size: int, random_state: int | np.random.Generator
) -> list[Decoded]:
    """Draw trees from their posterior given the sentence, with states.

    A sample's score is the log-posterior of its tree, summed over states. Of models with negative weights the absolute
    values are drawn from.

    Parameters
    ----------
    chart : ChartParser
    forest : Forest
    size : int
        How many; equal trees may come more than once.
    random_state : int or numpy.random.Generator
    """
    rng = np.random.default_rng(random_state)
    weights = _weights(chart, forest)
    values, flat = forest.inside.astype(np.float64), np.zeros(len(forest.item_symbol))
    drawn = []
    for _ in range(size):
        uniforms = rng.random(3 * forest.n_words + 1)
        root, state = kernels.sampled_root(
            uniforms[-1],
            forest.item_symbol,
            forest.item_start,
            forest.inside,
            forest.root_posterior,
            chart.arrays,
        )
        items, edges, states = _unfold(chart, forest, weights, root, state, values, flat, uniforms)
        drawn.append(Decoded(items, edges, _log_posterior(chart, forest, weights, items, edges), states))
    return drawn


def log_posteriors(chart: ChartParser, forest: Forest, trees: Iterable[Decoded]) -> list[float]:
    """Return the log-posterior of each tree given the sentence, summed over its states.

    Added to :attr:`Forest.log_ratio` it is the log-probability of the tree with its words, up to the words' own.
    """
    weights = _weights(chart, forest)
    return [_log_posterior(chart, forest, weights, tree.items, tree.edges) for tree in trees]


def _weights(chart: ChartParser, forest: Forest) -> npt.NDArray[np.float64]:
    weights: npt.NDArray[np.float64] = kernels.edge_weights(
        forest.item_posterior, forest.item_start, forest.inside, forest.outside, forest.edge_first,
        forest.edge_left, forest.edge_right, forest.edge_rule, forest.edge_posterior, chart.arrays,
    )  # fmt: skip
    return weights


def _unfold(
    chart: ChartParser, forest: Forest, weights: npt.NDArray[np.float64], root: int, state: int,
    values: npt.NDArray[np.float64], scale: npt.NDArray[np.float64], uniforms: npt.NDArray[np.float64],
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    items, edges, states = kernels.unfold(
        forest.n_words, root, state, values, scale, uniforms, forest.item_start, forest.edge_first,
        forest.edge_left, forest.edge_right, forest.edge_rule, weights, chart.arrays,
    )  # fmt: skip
    return items, edges, states


def _log_posterior(
    chart: ChartParser, forest: Forest, weights: npt.NDArray[np.float64], items: Ints, edges: Ints
) -> float:
    value: float = kernels.tree_log_posterior(
        items, edges, forest.item_symbol, forest.item_start, forest.inside, forest.root_posterior,
        forest.edge_left, forest.edge_right, forest.edge_rule, weights, chart.arrays,
    )  # fmt: skip
    return value
