"""Cells that are closed before charts are filled (Roark & Hollingshead 2008; Bodenstab et al. 2011), by an expert or a classifier.

A cell of several words is open or closed for complete constituents, and for intermediate symbols of binarisation. Cells of one word and of
a whole sentence are always open. A sentence that a grammar cannot derive with its open cells is parsed with all cells open.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gramian.chart.forest import Allowed
from gramian.grammar import LPCFG
from gramian.trees.labels import is_intermediate

Bits = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

COMPLETE, RIGHT, LEFT = 1, 2, 4
"""What a cell is open for: complete constituents, intermediate symbols of right and of left binarisation."""
PARTIAL = RIGHT | LEFT
_LEAST_DECODED = 0.4  # probability of the least likely bracket that decoders add
_GRAMMARS_AT_MOST = 0.999  # probability that grammars give a bracket that an expert thinks unlikely
_PARTIAL_SHARE = 0.1  # the least probability of spans in a binary tree, as a share of that of brackets
_LEAST_LOGIT = -60.0


class CellCloser(Protocol):
    """Tells from the words of sentences which cells are open, such as :class:`gramian.experts.CellModel`."""

    def open_cells(self, sentences: Sequence[Sequence[str]], close: float) -> Bits:
        """Return what each cell of each sentence is open for; `close` multiplies the odds below which cells are closed."""


class ClosingTable:
    """The symbols of a grammar, by what a cell is open for."""

    def __init__(self, grammar: LPCFG) -> None:
        phrases = grammar.symbols[: grammar.n_phrases]
        partial = np.array([is_intermediate(symbol) for symbol in phrases], np.bool_)
        is_partial = np.append(partial, np.zeros(grammar.n_symbols - grammar.n_phrases, np.bool_))
        _, left, right = grammar.binary_rules.T
        # Right binarisation has intermediate symbols as left children, left binarisation as right ones, that from heads as both.
        direction = (RIGHT if is_partial[left].any() else 0) | (LEFT if is_partial[right].any() else 0)
        bits = np.arange(8)
        rows = np.where(bits & COMPLETE, 0, 2) + np.where(bits & direction, 0, 1)
        self._row = rows.astype(np.int32)  # of the symbols: all, complete ones, intermediate ones, none
        self._symbols = np.ones((4, grammar.n_phrases + 1), np.bool_)
        self._symbols[1, :-1], self._symbols[2, :-1], self._symbols[3, :-1] = ~partial, partial, False

    def allowed(self, cells: Bits) -> Allowed:
        """Return which symbols the cells of a sentence may hold."""
        return Allowed(self._row[cells], self._symbols)


def open_cells(
    brackets: Floats, spans: Floats, first: Sequence[int], weights: Sequence[float], close: float
) -> Bits:
    """Return what the cells of sentences are open for.

    A decoder adds a bracket if w logit(p) + (1 - w) logit(q) > logit(0.4), where p is the probability of the expert, w its weight for the
    sentence, and q the probability of the grammars. Cells are closed where this does not hold even for q = 0.999. `brackets` and `spans`
    (n_cells,) are the expert's probabilities that a span is a bracket, and that it is in a binary tree, with or without a label; the
    cells of each sentence begin at `first`.
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
