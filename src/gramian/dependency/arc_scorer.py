"""Factors on arcs: a log-linear model that a split head-automata grammar is multiplied with.

With factors w(h, m), the weight of a tree becomes the product of its arcs' factors and of what the automata give
to its head-modifier sequences. The factors are exp(weights · features) of the arc in its sentence, learnt by
climbing the conditional log-likelihood of the training trees; the gradient of an arc is its presence in the tree
minus its marginal, so that inside-outside is all that training needs. The automata stay as they were learnt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.dependency import arc_kernels as kernels
from gramian.dependency.arc_templates import ARCS
from gramian.dependency.arc_tokens import Tokens, TokenTable
from gramian.dependency.half_constituents import marginals
from gramian.dependency.shag import SHAG, Array, Symbols
from gramian.loglinear.adagrad import ascend, new_tables

__all__ = ["ArcScorer", "fit_arc_scorer", "table_size"]

_Example: TypeAlias = tuple[Tokens, Symbols, Symbols]

_RATE = 0.05
_SMALLEST = 0.02
_FORGETTING = 0.5
_BATCH = 4
_LOWEST = -300.0


@dataclass(frozen=True, eq=False)
class ArcScorer:
    """Weights of hashed features of arcs, a power of two of them."""

    weights: npt.NDArray[np.float32]

    def factors(self, tokens: Tokens) -> Array:
        """Return the factor of each arc; the largest factor of each modifier is one.

        Every tree has one arc to each modifier, so a factor that is common to all of them changes no marginal.
        """
        size = tokens.shape[1] - 4
        factors = np.empty((size, size))
        kernels.arc_factors(ARCS, tokens, self.weights, _LOWEST, factors)
        return factors


def table_size(words: int, share: float = 1.0) -> int:
    """Return how many slots a table of hashed weights gets: enough for about forty features of a word."""
    return 1 << min(22, max(12, math.ceil(math.log2(max(1.0, 40.0 * words * share)))))


def fit_arc_scorer(
    grammar: SHAG,
    table: TokenTable,
    tokens: Sequence[Tokens],
    symbols: Sequence[Symbols],
    trees: Sequence[Symbols],
    *,
    max_iter: int,
    random_state: int,
    n_jobs: int = 1,
) -> ArcScorer:
    """Learn factors for the arcs of `grammar`, which gives every projective tree a positive weight.

    Sentences come as `table` and `grammar` encode them, with their projective trees, -1 the head of the root. The weights are the mean over
    all steps of `max_iter` passes; they do not depend on `n_jobs`.
    """
    tables = new_tables(table_size(sum(len(sentence) - 1 for sentence in symbols)), _RATE, smallest=_SMALLEST)
    scorer, rates = ArcScorer(tables.weights), table.forgetting(_FORGETTING)

    def gradient(views: Tokens, example: _Example) -> Array:
        _, sentence, tree = example
        arcs = marginals(grammar, sentence, scorer.factors(views)).arcs
        arcs *= -1.0
        arcs[tree[1:], np.arange(1, len(tree))] += 1.0
        return arcs

    def climb(views: Tokens, _: _Example, gradient: Array, step: float) -> None:
        kernels.climb_arcs(ARCS, views, gradient, step, tables)

    weights = ascend(
        tables,
        list(zip(tokens, symbols, trees, strict=True)),
        forget=lambda example, rng: table.forget(example[0], rates, rng),
        gradient=gradient,
        climb=climb,
        max_iter=max_iter,
        random_state=random_state,
        batch=_BATCH,
        n_jobs=n_jobs,
    )
    return ArcScorer(weights)
