"""Log-linear models of arcs: factors that a split head-automata grammar is multiplied with, and relations.

With factors w(h, m), the weight of a tree becomes the product of its arcs' factors and of what the automata give to its head-modifier
sequences. The factors are exp(weights · features) of the arc in its sentence, learnt by climbing the conditional log-likelihood of the
training trees; the gradient of an arc is its presence in the tree minus its marginal, so that inside-outside is all that training needs.
The automata stay as they were learnt. Relations come from a classifier over the arcs of a tree, trained on the right trees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.dependency import arc_kernels as kernels
from gramian.dependency.arc_templates import ARCS, RELATIONS
from gramian.dependency.arc_tokens import Tokens, TokenTable
from gramian.dependency.half_constituents import marginals
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.loglinear.adagrad import ascend, new_tables

Weights = npt.NDArray[np.float32]
Starts: TypeAlias = npt.NDArray[np.int64]
_Example: TypeAlias = tuple[Tokens, Symbols, npt.NDArray[Any]]

_WORD_DROPOUT = 0.5
_BATCH = 4
_LOWEST = -300.0
_SHARE = 0.08  # a feature has a weight for each relation, but most of them never differ from zero


@dataclass(frozen=True, eq=False)
class ArcScorer:
    """Weights of hashed features of arcs, a power of two of them."""

    weights: Weights

    def factors(self, tokens: Tokens) -> Array:
        """Return the factor of each arc, the largest of each modifier one: a factor common to a modifier's arcs changes no marginal."""
        size = tokens.shape[1] - 4
        factors = np.empty((size, size))
        kernels.arc_factors(ARCS, tokens, self.weights, _LOWEST, factors)
        return factors


@dataclass(frozen=True, eq=False)
class Labeller:
    """Weights of hashed features of relations, a power of two of them."""

    relations: tuple[str, ...]
    weights: Weights
    root_only: tuple[bool, ...]  # for each relation, whether training had it on arcs from the root only

    def label(self, tokens: Tokens, heads: Symbols) -> list[str]:
        """Return each word's relation to its head (`heads` begins with -1); those that training had at the root only go there alone."""
        best = np.zeros(len(heads) - 1, np.int64)
        kernels.best_relations(
            RELATIONS, tokens, heads, self.weights, self._root_only, len(self.relations), best
        )
        return [self.relations[number] for number in best.tolist()]

    @cached_property
    def _root_only(self) -> npt.NDArray[np.bool_]:
        """`root_only` where it tells relations apart, else nothing."""
        told = np.asarray(self.root_only)
        return told if told.any() and not told.all() else np.zeros(0, bool)


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
    tables = new_tables(table_size(sum(len(sentence) - 1 for sentence in symbols)), 0.05, smallest=0.02)
    scorer, rates = ArcScorer(tables.weights), table.dropout_rates(_WORD_DROPOUT)

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
        drop_words=lambda example, rng: table.drop_words(example[0], rates, rng),
        gradient=gradient,
        climb=climb,
        max_iter=max_iter,
        random_state=random_state,
        batch=_BATCH,
        n_jobs=n_jobs,
    )
    return ArcScorer(weights)


def fit_labeller(
    table: TokenTable,
    tokens: Sequence[Tokens],
    trees: Sequence[Symbols],
    relations: Sequence[Sequence[str]],
    *,
    max_iter: int,
    random_state: int,
) -> Labeller:
    """Learn the relations of trees, -1 the head of the root, whose sentences come as `table` encodes them."""
    names = sorted({name for sentence in relations for name in sentence})
    numbers = {name: number for number, name in enumerate(names)}
    below = {
        name
        for names, tree in zip(relations, trees, strict=True)
        for name, head in zip(names, tree[1:], strict=True)
        if head > 0
    }
    root_only = tuple(name not in below for name in names)
    size = table_size(sum(len(tree) - 1 for tree in trees), _SHARE * len(names))
    tables = new_tables(size, 0.1, smallest=0.005)
    if len(names) == 1:
        return Labeller(tuple(names), tables.weights[:1], root_only)
    rates = table.dropout_rates(_WORD_DROPOUT)

    def drop_words(example: _Example, rng: np.random.Generator) -> Starts:
        """Return where the weights of an example's features are, some forms made unknown."""
        tokens, heads, _ = example
        size, views = len(tables.weights), table.drop_words(tokens, rates, rng)
        starts: Starts = kernels.relation_starts(RELATIONS, views, heads, len(names), size)
        return starts

    def gradient(starts: Starts, example: _Example) -> Array:
        _, heads, targets = example
        scores = np.empty((len(heads), len(names)))
        kernels.score_relations(starts, tables.weights, scores)
        shares = np.exp(scores[1:] - scores[1:].max(axis=1, keepdims=True))
        scores[1:] = -shares / shares.sum(axis=1, keepdims=True)
        scores[np.arange(1, len(heads)), targets] += 1.0
        return scores

    def climb(starts: Starts, _: _Example, gradient: Array, step: float) -> None:
        kernels.climb_relations(starts, gradient, step, tables)

    targets = [np.asarray([numbers[name] for name in sentence]) for sentence in relations]
    weights = ascend(
        tables,
        list(zip(tokens, trees, targets, strict=True)),
        drop_words=drop_words,
        gradient=gradient,
        climb=climb,
        max_iter=max_iter,
        random_state=random_state,
    )
    return Labeller(tuple(names), weights, root_only)
