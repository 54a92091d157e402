"""Relations of arcs: a log-linear classifier over the arcs of a tree, trained on the right trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.dependency import arc_kernels as kernels
from gramian.dependency.arc_scorer import table_size
from gramian.dependency.arc_tokens import Tokens, TokenTable
from gramian.dependency.shag import Symbols

__all__ = ["Labeller", "fit_labeller"]

_RATE = 0.1
_SMALLEST = 0.005
_FORGETTING = 0.5
_SHARE = 0.08  # a feature has a weight for each relation, but most of them never differ from zero


@dataclass(frozen=True, eq=False)
class Labeller:
    """Weights of hashed features of relations.

    Attributes
    ----------
    relations : tuple of str
    weights : float32 array of shape (a power of two,)
    root_only : tuple of bool
        For each relation, whether training had it on arcs from the root only.
    """

    relations: tuple[str, ...]
    weights: npt.NDArray[np.float32]
    root_only: tuple[bool, ...]

    def label(self, tokens: Tokens, heads: Symbols) -> list[str]:
        """Return the relation of each word to its head; `heads` starts with -1 for the root.

        A relation that training had on arcs from the root only goes there and nowhere else.
        """
        best = np.zeros(len(heads) - 1, np.int64)
        kernels.best_relations(tokens, heads, self.weights, self._root_only, len(self.relations), best)
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
    epochs: int,
    random_state: int,
) -> Labeller:
    """Learn the relations of training trees.

    Parameters
    ----------
    table : TokenTable
    tokens, trees
        Each sentence as `table` encodes it, and its tree, with -1 as head of the root.
    relations : sequences of str
        The relation of each word.
    epochs, random_state : int
    """
    names = sorted({name for sentence in relations for name in sentence})
    numbers = {name: number for number, name in enumerate(names)}
    below = {
        name
        for names, tree in zip(relations, trees, strict=True)
        for name, head in zip(names, tree[1:], strict=True)
        if head > 0
    }
    targets = [np.asarray([numbers[name] for name in sentence]) for sentence in relations]
    root_only = tuple(name not in below for name in names)
    size = table_size(sum(len(tree) - 1 for tree in trees), _SHARE * len(names))
    weights, squares, drift = np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size)
    if len(names) == 1:
        return Labeller(tuple(names), weights[:1], root_only)
    rng = np.random.default_rng(random_state)
    rates = table.forgetting(_FORGETTING)
    step = 0
    for _ in range(epochs):
        for number in rng.permutation(len(tokens)):
            step += 1
            views, heads = table.forget(tokens[number], rates, rng), trees[number]
            scores = np.empty((len(heads), len(names)))
            kernels.score_relations(views, heads, weights, scores)
            shares = np.exp(scores[1:] - scores[1:].max(axis=1, keepdims=True))
            gradient = np.zeros_like(scores)
            gradient[1:] = -shares / shares.sum(axis=1, keepdims=True)
            gradient[np.arange(1, len(heads)), targets[number]] += 1.0
            kernels.climb_relations(
                views, heads, gradient, _RATE, _SMALLEST, float(step), weights, squares, drift
            )
    return Labeller(tuple(names), (weights - drift / (step + 1)).astype(np.float32), root_only)
