"""Factors on arcs: a log-linear model that a split head-automata grammar is multiplied with.

With factors w(h, m), the weight of a tree becomes the product of its arcs' factors and of what the automata give
to its head-modifier sequences. The factors are exp(weights · features) of the arc in its sentence, learnt by
climbing the conditional log-likelihood of the training trees; the slope of an arc is its presence in the tree
minus its marginal, so that inside-outside is all that training needs. The automata stay as they were learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.dependency import arc_kernels as kernels
from gramian.dependency.arc_tokens import Tokens, TokenTable
from gramian.dependency.half_constituents import marginals
from gramian.dependency.shag import SHAG, Array, Symbols

__all__ = ["ArcScorer", "fit_arc_scorer", "table_size"]

_RATE = 0.05
_SMALLEST = 0.02  # slopes below this are left alone: they cost time and fill the table
_FORGETTING = 0.5
_BATCH = 4
_LOWEST = -300.0


@dataclass(frozen=True, eq=False)
class ArcScorer:
    """Weights of hashed features of arcs.

    Attributes
    ----------
    weights : float32 array of shape (a power of two,)
    """

    weights: npt.NDArray[np.float32]

    def scores(self, tokens: Tokens) -> Array:
        """Return the score of each arc ``[head, modifier]`` of a sentence; -inf where no arc can be."""
        size = tokens.shape[1] - 4
        scores = np.empty((size, size))
        kernels.score_arcs(tokens, self.weights, scores)
        return scores

    def factors(self, tokens: Tokens) -> Array:
        """Return the factor of each arc; the largest factor of each modifier is one.

        Every tree has one arc to each modifier, so a factor that is common to all of them changes no marginal.
        """
        size = tokens.shape[1] - 4
        factors = np.empty((size, size))
        kernels.arc_factors(tokens, self.weights, _LOWEST, factors)
        return factors


def table_size(words: int, share: float = 1.0) -> int:
    """Return how many slots a table of hashed weights gets: enough for about forty features of a word.

    Examples
    --------
    >>> table_size(1_000), table_size(10**9)
    (65536, 4194304)
    """
    return 1 << min(22, max(12, math.ceil(math.log2(max(1.0, 40.0 * words * share)))))


def fit_arc_scorer(
    grammar: SHAG,
    table: TokenTable,
    tokens: Sequence[Tokens],
    symbols: Sequence[Symbols],
    trees: Sequence[Symbols],
    *,
    epochs: int,
    random_state: int,
    n_jobs: int = 1,
    on_epoch: Callable[[int], None] | None = None,
) -> ArcScorer:
    """Learn factors for the arcs of `grammar`.

    Parameters
    ----------
    grammar : SHAG
        Must give every projective tree a positive weight.
    table : TokenTable
    tokens, symbols, trees
        Each training sentence as `table` and `grammar` encode it, and its projective tree, with -1 as head of the
        root.
    epochs : int
        Passes over the sentences, each in a new order. The weights returned are the mean over all steps.
    random_state : int
    n_jobs : int
        Threads; the result does not depend on it.
    on_epoch : callable, optional
        Called with the number of each finished pass.
    """
    rng = np.random.default_rng(random_state)
    size = table_size(sum(len(sentence) - 1 for sentence in symbols))
    weights, squares, drift = np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size)
    scorer = ArcScorer(weights)
    rates = table.forgetting(_FORGETTING)

    def slopes(views: Tokens, sentence: Symbols, tree: Symbols) -> Array:
        arcs = marginals(grammar, sentence, scorer.factors(views)).arcs
        arcs *= -1.0
        arcs[tree[1:], np.arange(1, len(tree))] += 1.0
        return arcs

    step = 0
    with ThreadPoolExecutor(n_jobs) as pool:
        apply = pool.map if n_jobs > 1 else map
        for epoch in range(1, epochs + 1):
            order = rng.permutation(len(tokens))
            for start in range(0, len(order), _BATCH):
                batch = order[start : start + _BATCH]
                views = [table.forget(tokens[number], rates, rng) for number in batch]
                gradients = apply(
                    slopes, views, [symbols[number] for number in batch], [trees[number] for number in batch]
                )
                # All slopes of a batch are known before the first weight changes.
                for view, gradient in zip(views, list(gradients), strict=True):
                    step += 1
                    kernels.climb_arcs(view, gradient, _RATE, _SMALLEST, float(step), weights, squares, drift)
            if on_epoch is not None:
                on_epoch(epoch)
    return ArcScorer((weights - drift / (step + 1)).astype(np.float32))
