"""The states of a symbol as points in the plane: near means alike in what they hold and where they stand.

A state is the distribution of its rules (or words), and of the places it stands in; square roots of probabilities make
distances those of Hellinger, and the two directions of largest variance, states weighted by their share, make the map.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.grammar.describe import Describer
from gramian.grammar.lpcfg import LPCFG

Doubles = npt.NDArray[np.float64]

_NEAREST = 3


class StateMap(NamedTuple):
    """Places of the states of a symbol, by number, the share of the variance that the plane keeps, and the states most alike to each.

    Similarity is measured by the whole distance, not by that in the plane.
    """

    points: list[tuple[float, float]]
    explained: float
    nearest: list[list[int]]


def state_map(grammar: LPCFG, symbol: int, describer: Describer | None = None) -> StateMap:
    """Lay out the states of a symbol, given by its number in ``grammar.symbols``; a `describer` of the grammar saves reading it again.

    Examples
    --------
    >>> from gramian.treebank import Treebank
    >>> from gramian.learn import PCFG
    >>> from gramian.trees import Tree
    >>> grammar = PCFG().fit(Treebank.from_trees([Tree.parse("(S (NN dogs) (VBP bark))")])).model_
    >>> state_map(grammar, grammar.symbols.index("S"))
    StateMap(points=[(0.0, 0.0)], explained=1.0, nearest=[[]])
    """
    known = describer or Describer(grammar)
    parts = [_normalised(known.within(symbol)), _normalised(known.around(symbol))]
    vectors = np.sqrt(np.hstack(parts) / 2)
    share = grammar.prior(symbol).astype(np.float64)
    share = share / share.sum()
    centred = vectors - share @ vectors
    weight = np.sqrt(share)[:, None]
    # There are far fewer states than rules or words: the directions come from the products of states.
    values, columns = np.linalg.eigh((centred * weight) @ (centred * weight).T)
    values, columns = np.maximum(values[::-1], 0.0), columns[:, ::-1]
    points = np.zeros((len(vectors), 2))
    variance = float(values.sum())
    for axis in range(min(2, len(values)) if variance > 1e-12 else 0):
        if values[axis] > 1e-12 * variance:
            direction = (columns[:, axis] @ (centred * weight)) / np.sqrt(values[axis])
            points[:, axis] = centred @ (direction if direction.sum() >= 0 else -direction)
    explained = 1.0 if variance < 1e-12 else float(values[:2].sum()) / variance
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -np.inf)
    nearest = [
        row[: min(_NEAREST, len(row) - 1)].tolist() for row in np.argsort(-alike, axis=1, kind="stable")
    ]
    return StateMap([(float(x), float(y)) for x, y in points], explained, nearest)


def _normalised(counts: Doubles) -> Doubles:
    counts = np.maximum(counts, 0.0)  # rules of low rank may lie slightly below zero
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
