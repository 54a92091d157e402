"""Log-linear models of arcs: factors that multiply the weights of a split head-automata grammar, and relations.

With factors w(h, m), the weight of a tree is the product of the factors of its arcs and of the automata's weights of its head-modifier
sequences. The factors are exp(weights · features) of the arc in its sentence, trained by stochastic gradient ascent on the conditional
log-likelihood of the training trees; the gradient of an arc is its presence in the tree minus its marginal. The automata do not change.
Relations come from a classifier of arcs, trained on the gold trees.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.dependency import arc_kernels as kernels
from gramian.dependency.arc_templates import ALL_TEMPLATES, ARCS, RELATIONS
from gramian.dependency.arc_tokens import Tokens, TokenTable
from gramian.dependency.half_constituents import marginals
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.loglinear.adagrad import ascend, new_tables
from gramian.loglinear.hashing import Templates, selected

Weights = npt.NDArray[np.float32]
Starts: TypeAlias = npt.NDArray[np.int64]
_Example: TypeAlias = tuple[Tokens, Symbols, npt.NDArray[Any]]

_WORD_DROPOUT = 0.5
_BATCH = 4
_MIN_LOG_FACTOR = -300.0
_NONZERO_SHARE = 0.08  # of the weights of a feature for each relation; most never differ from zero


@dataclass(frozen=True, eq=False)
class ArcScorer:
    """Scores arcs; `weights` holds a power of two of hashed features."""

    weights: Weights
    kept: tuple[int, ...] = ALL_TEMPLATES.arcs  # positions of its templates

    def factors(self, tokens: Tokens) -> Array:
        """Return the factor of each arc, scaled so that the largest of each modifier is one, which changes no marginal."""
        size = tokens.shape[1] - 4
        factors = np.empty((size, size))
        kernels.arc_factors(self._templates, tokens, self.weights, _MIN_LOG_FACTOR, factors)
        return factors

    @cached_property
    def _templates(self) -> Templates:
        return selected(ARCS, self.kept)


@dataclass(frozen=True, eq=False)
class Labeller:
    """Classifies the relations of arcs; `weights` holds a power of two of hashed features."""

    relations: tuple[str, ...]
    weights: Weights
    root_only: tuple[bool, ...]  # whether all training arcs of a relation come from the root
    kept: tuple[int, ...] = ALL_TEMPLATES.relations  # positions of its templates

    def label(self, tokens: Tokens, heads: Symbols, more: Array | None = None) -> list[str]:
        """Return the relation of each word to its head.

        `heads` starts with -1, the head of the root. `more` (N, L) is added to the logarithms of the probabilities of relations.
        Relations of the root are for words attached to it, the others for all other words.
        """
        scores = self.scores(tokens, heads)
        if more is not None:
            scores += more
        at_root = np.asarray(self.root_only)
        if at_root.any() and not at_root.all():
            scores[at_root != (heads[1:, None] == 0)] = -np.inf
        return [self.relations[number] for number in scores.argmax(axis=1).tolist()]

    def scores(self, tokens: Tokens, heads: Symbols) -> Array:
        """Return the score of each relation of each word to its head, shape (N, L)."""
        scores = np.empty((len(heads), len(self.relations)))
        size = len(self.weights)
        starts = kernels.relation_starts(self._templates, tokens, heads, len(self.relations), size)
        kernels.score_relations(starts, self.weights, scores)
        return scores[1:]

    @cached_property
    def _templates(self) -> Templates:
        return selected(RELATIONS, self.kept)


def table_size(words: int, share: float = 1.0) -> int:
    """Return the size of a table of hashed weights, large enough for few collisions."""
    return 1 << min(23, max(12, math.ceil(math.log2(max(1.0, 160.0 * words * share)))))


def fit_arc_scorer(
    grammar: SHAG,
    table: TokenTable,
    tokens: Sequence[Tokens],
    symbols: Sequence[Symbols],
    trees: Sequence[Symbols],
    *,
    kept: tuple[int, ...] = ALL_TEMPLATES.arcs,
    max_iter: int,
    random_state: int,
    n_jobs: int = 1,
) -> ArcScorer:
    """Train factors for the arcs of `grammar`, which must give every projective tree a positive weight.

    Parameters
    ----------
    grammar : SHAG
    table : TokenTable
    tokens : sequence of arrays
        Sentences as `table` encodes them.
    symbols : sequence of arrays
        Sentences as `grammar` encodes them.
    trees : sequence of arrays
        Heads of projective trees, starting with -1 for the root.
    kept : tuple of int
        Positions of the templates to read.
    max_iter : int
        Epochs. The weights are the mean over all steps.
    random_state : int
    n_jobs : int
        Number of threads; the result is the same.
    """
    tables = new_tables(table_size(sum(len(sentence) - 1 for sentence in symbols)), 0.05, smallest=0.02)
    scorer, rates = ArcScorer(tables.weights, kept), table.dropout_rates(_WORD_DROPOUT)
    arc_templates = selected(ARCS, kept)

    def gradient(views: Tokens, example: _Example) -> Array:
        _, sentence, tree = example
        arcs = marginals(grammar, sentence, scorer.factors(views)).arcs
        arcs *= -1.0
        arcs[tree[1:], np.arange(1, len(tree))] += 1.0
        return arcs

    def update(views: Tokens, _: _Example, gradient: Array, step: float) -> None:
        kernels.update_arcs(arc_templates, views, gradient, step, tables)

    weights = ascend(
        tables,
        list(zip(tokens, symbols, trees, strict=True)),
        drop_words=lambda example, rng: table.drop_words(example[0], rates, rng),
        gradient=gradient,
        update=update,
        max_iter=max_iter,
        random_state=random_state,
        batch=_BATCH,
        n_jobs=n_jobs,
    )
    return ArcScorer(weights, kept)


def fit_labeller(
    table: TokenTable,
    tokens: Sequence[Tokens],
    trees: Sequence[Symbols],
    relations: Sequence[Sequence[str]],
    *,
    names: Sequence[str] = (),
    kept: tuple[int, ...] = ALL_TEMPLATES.relations,
    max_iter: int,
    random_state: int,
) -> Labeller:
    """Train the classifier of relations; parameters as of :func:`fit_arc_scorer`. `names` are by default those of the trees."""
    names = names or sorted({name for sentence in relations for name in sentence})
    numbers = {name: number for number, name in enumerate(names)}
    inner_relations = {
        name
        for names, tree in zip(relations, trees, strict=True)
        for name, head in zip(names, tree[1:], strict=True)
        if head > 0
    }
    root_only = tuple(name not in inner_relations for name in names)
    size = table_size(sum(len(tree) - 1 for tree in trees), _NONZERO_SHARE * len(names))
    tables = new_tables(size, 0.1, smallest=0.005)
    if len(names) == 1:
        return Labeller(tuple(names), tables.weights[:1], root_only, kept)
    relation_templates = selected(RELATIONS, kept)
    rates = table.dropout_rates(_WORD_DROPOUT)

    def drop_words(example: _Example, rng: np.random.Generator) -> Starts:
        """Return the slots of an example, with some forms replaced by the unknown form."""
        tokens, heads, _ = example
        size, views = len(tables.weights), table.drop_words(tokens, rates, rng)
        starts: Starts = kernels.relation_starts(relation_templates, views, heads, len(names), size)
        return starts

    def gradient(starts: Starts, example: _Example) -> Array:
        _, heads, targets = example
        scores = np.empty((len(heads), len(names)))
        kernels.score_relations(starts, tables.weights, scores)
        probabilities = np.exp(scores[1:] - scores[1:].max(axis=1, keepdims=True))
        scores[1:] = -probabilities / probabilities.sum(axis=1, keepdims=True)
        scores[np.arange(1, len(heads)), targets] += 1.0
        return scores

    def update(starts: Starts, _: _Example, gradient: Array, step: float) -> None:
        kernels.update_relations(starts, gradient, step, tables)

    targets = [np.asarray([numbers[name] for name in sentence]) for sentence in relations]
    weights = ascend(
        tables,
        list(zip(tokens, trees, targets, strict=True)),
        drop_words=drop_words,
        gradient=gradient,
        update=update,
        max_iter=max_iter,
        random_state=random_state,
    )
    return Labeller(tuple(names), weights, root_only, kept)
