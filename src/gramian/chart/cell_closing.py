"""Cells that an expert closes before charts are filled (cf. Roark & Hollingshead 2008; Bodenstab et al. 2011).

A cell of several words is open or closed for complete constituents, and for intermediate symbols of binarisation. Cells of one word and of
a whole sentence are always open. A sentence that a grammar cannot derive with its open cells is parsed with all cells open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gramian.chart.forest import Allowed
from gramian.grammar import LPCFG
from gramian.trees.labels import is_intermediate

Bits = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

COMPLETE, PARTIAL = 1, 2
"""What a cell is open for: complete constituents, intermediate symbols."""
_ROW = np.array([3, 1, 2, 0], np.int32)  # of the symbols: all, complete ones, intermediate ones, none
_LEAST_DECODED = 0.4  # probability of the least likely bracket that decoders add
_GRAMMARS_AT_MOST = 0.999  # probability that grammars give a bracket that an expert thinks unlikely
_PARTIAL_SHARE = 0.1  # the least probability of spans in a binary tree, as a share of that of brackets
_LEAST_LOGIT = -60.0


class ClosingTable:
    """The symbols of a grammar, by what a cell is open for."""

    def __init__(self, grammar: LPCFG) -> None:
        phrases = grammar.symbols[: grammar.n_phrases]
        partial = np.array([is_intermediate(symbol) for symbol in phrases], np.bool_)
        self._symbols = np.ones((4, grammar.n_phrases + 1), np.bool_)
        self._symbols[1, :-1], self._symbols[2, :-1], self._symbols[3, :-1] = ~partial, partial, False

    def allowed(self, cells: Bits) -> Allowed:
        """Return which symbols the cells of a sentence may hold."""
        return Allowed(_ROW[cells], self._symbols)


def open_cells(
    brackets: Floats, spans: Floats, first: Sequence[int], weights: Sequence[float], close: float
) -> Bits:
    """Return what the cells of sentences are open for.

    A decoder adds a bracket if w logit(p) + (1 - w) logit(q) > logit(0.4), where p is the probability of the expert, w its weight for the
    sentence, and q the probability of the grammars. Cells are closed where this does not hold even for q = 0.999.

    Parameters
    ----------
    brackets, spans : ndarray of float32, shape (n_cells,)
        Probabilities of the expert that a span is a bracket, and that it is in a binary tree, with or without a label.
    first : sequence of int
        Where the cells of each sentence begin, and where the last one's end.
    weights : sequence of float
        Of the expert, for each sentence.
    close : float
        Multiplies the odds below which cells are closed.

    Examples
    --------
    >>> p = np.array([1, 1, 1, 1, 1, 0.5, 0.03, 0.01, 0.001, 1], np.float32)
    >>> open_cells(p, p, [0, 10], [0.7], 1.0).tolist()  # of four words
    [3, 3, 3, 3, 3, 3, 3, 2, 0, 3]
    >>> open_cells(p, p, [0, 10], [0.7], 0.1).tolist()
    [3, 3, 3, 3, 3, 3, 3, 3, 2, 3]
    """
    weight = np.maximum(weights, 1e-3)
    decoded = np.log(_LEAST_DECODED / (1 - _LEAST_DECODED))
    grammars = np.log(_GRAMMARS_AT_MOST / (1 - _GRAMMARS_AT_MOST))
    logit = np.maximum((decoded - (1 - weight) * grammars) / weight, _LEAST_LOGIT) + np.log(close)
    least = np.repeat(1 / (1 + np.exp(-logit)), np.diff(first)).astype(np.float32)
    is_partial = spans >= np.float32(_PARTIAL_SHARE) * least
    cells: Bits = np.where(is_partial, np.uint8(PARTIAL), np.uint8(0))
    cells[brackets >= least] |= COMPLETE
    for start, end in pairwise(first):
        n_words = int(np.sqrt(2 * (end - start)))  # n (n + 1) / 2 cells
        cells[start : start + n_words] = cells[end - 1] = COMPLETE | PARTIAL
    return cells
