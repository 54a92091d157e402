"""Relations of arcs: a log-linear classifier over the arcs of a tree, trained on the right trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.dependency import arc_kernels as kernels
from gramian.dependency.arc_scorer import table_size
from gramian.dependency.arc_templates import RELATIONS
from gramian.dependency.arc_tokens import Tokens, TokenTable
from gramian.dependency.shag import Array, Symbols
from gramian.loglinear.adagrad import ascend, new_tables

__all__ = ["Labeller", "fit_labeller"]

_Example: TypeAlias = tuple[Tokens, Symbols, npt.NDArray[Any]]

_RATE = 0.1
_SMALLEST = 0.005
_FORGETTING = 0.5
_SHARE = 0.08  # a feature has a weight for each relation, but most of them never differ from zero


@dataclass(frozen=True, eq=False)
class Labeller:
    """Weights of hashed features of relations, a power of two of them."""

    relations: tuple[str, ...]
    weights: npt.NDArray[np.float32]
    root_only: tuple[bool, ...]  # for each relation, whether training had it on arcs from the root only

    def label(self, tokens: Tokens, heads: Symbols) -> list[str]:
        """Return the relation of each word to its head; `heads` starts with -1 for the root.

        A relation that training had on arcs from the root only goes there and nowhere else.
        """
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
    tables = new_tables(
        table_size(sum(len(tree) - 1 for tree in trees), _SHARE * len(names)), _RATE, smallest=_SMALLEST
    )
    if len(names) == 1:
        return Labeller(tuple(names), tables.weights[:1], root_only)
    rates = table.forgetting(_FORGETTING)

    def gradient(views: Tokens, example: _Example) -> Array:
        _, heads, targets = example
        scores = np.empty((len(heads), len(names)))
        kernels.score_relations(RELATIONS, views, heads, tables.weights, scores)
        shares = np.exp(scores[1:] - scores[1:].max(axis=1, keepdims=True))
        scores[1:] = -shares / shares.sum(axis=1, keepdims=True)
        scores[np.arange(1, len(heads)), targets] += 1.0
        return scores

    def climb(views: Tokens, example: _Example, gradient: Array, step: float) -> None:
        kernels.climb_relations(RELATIONS, views, example[1], gradient, step, tables)

    targets = [np.asarray([numbers[name] for name in sentence]) for sentence in relations]
    weights = ascend(
        tables,
        list(zip(tokens, trees, targets, strict=True)),
        forget=lambda example, rng: table.forget(example[0], rates, rng),
        gradient=gradient,
        climb=climb,
        max_iter=max_iter,
        random_state=random_state,
    )
    return Labeller(tuple(names), weights, root_only)
