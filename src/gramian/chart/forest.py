"""What a chart leaves of a sentence: a :class:`Forest`, which knows the grammar it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels
from gramian.chart.grammar_arrays import GrammarArrays
from gramian.chart.label_table import LabelTable, label_table
from gramian.grammar import LPCFG

__all__ = ["Allowed", "Forest", "Pruning", "cell_number"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


def cell_number(start: int, end: int, n_words: int) -> int:
    """Return the number of a span among all spans of a sentence, by width, then start."""
    width = end - start
    return (width - 1) * (n_words + 1) - width * (width - 1) // 2 + start


@dataclass(frozen=True)
class Pruning:
    """What the chart leaves out.

    Attributes
    ----------
    beam : float
        In the coarse chart, phrases whose guessed posterior is below this share of their span's best are dropped. The guess takes
        the words around for a chain of tags (Caraballo & Charniak 1998). 0 keeps all.
    item, edge : float
        Coarse posterior below which an item or an edge does not reach the fine pass.
    fine : float
        Fine posterior below which an item or an edge counts as impossible on the way down.
    guess : float
        In the coarse chart, phrases and tags whose guessed posterior is below this are dropped, whatever else their span holds; of
        spans of more than twenty words, whose guesses are worse, only those below a smaller bound. 0 keeps all, and so does no beam.
    split : float
        If more than 0, a pass with two states for each symbol comes between, and what has a lower posterior there does not reach the
        fine pass. Of grammars with probabilities only.
    """

    beam: float = 1e-3
    item: float = 5e-5
    edge: float = 1e-5
    fine: float = 1e-6
    guess: float = 2e-7
    split: float = 0.0


class Allowed(NamedTuple):
    """Which symbols each span may hold.

    Attributes
    ----------
    row : ndarray of int32, shape (n (n + 1) / 2,)
        For each span, by width, then start, its row of `symbols`.
    symbols : ndarray of bool, shape (n_rows, n_phrases + 1)
        The phrases, and in the last column whether a tag may stand without a phrase over it. Row 0 allows all.
    """

    row: Ints
    symbols: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Forest:
    """The items and edges of a sentence that survived pruning, with their posteriors under the grammar.

    Items come children before parents. A leaf is an item whose symbol is a tag; any other item without edges is a dead end.

    Attributes
    ----------
    grammar : LPCFG
        The one whose symbols, rules and states these are.
    arrays : GrammarArrays
        The same as kernels want it.
    n_words : int
    log_ratio : float
        Log-probability of the sentence, less the words' own log-probabilities.
    item_symbol, item_cell : ndarray of int32
        Symbol and span number (by width, then start) of each item.
    item_posterior : ndarray of float32
    item_start : ndarray of int64, shape (n_items + 1,)
        Where each item's states lie in `inside` and `outside`.
    inside, outside : ndarray of float32
        State vectors; their product, state by state, is proportional to the posterior of the state.
    edge_first : ndarray of int32, shape (n_items + 1,)
        An item's edges.
    edge_left, edge_right, edge_rule : ndarray of int32
        Child items (`edge_right` is -1 for a phrase over a tag) and rule number in the order of `arrays`.
    edge_weight : ndarray of float32
        The inside vector of an item is the sum over its edges of weight times T(left vector, right vector), T the rule's tensor.
    edge_posterior, root_posterior : ndarray of float32
        Posterior of each edge, and of each item as the root.
    labels_over_spans : ndarray of float32, shape (n_cells, n_labels), optional
        Posterior of each label over each span, where it comes from more than this forest's items.
    members : tuple of Forest
        The forests of single grammars that this one combines; those with its own rules have the same items and edges.
    """

    grammar: LPCFG
    arrays: GrammarArrays
    n_words: int
    log_ratio: float
    item_symbol: Ints
    item_cell: Ints
    item_posterior: Floats
    item_start: Longs
    inside: Floats
    outside: Floats
    edge_first: Ints
    edge_left: Ints
    edge_right: Ints
    edge_rule: Ints
    edge_weight: Floats
    edge_posterior: Floats
    root_posterior: Floats
    labels_over_spans: Floats | None = None
    members: tuple[Forest, ...] = ()

    @cached_property
    def cell_spans(self) -> tuple[Ints, Ints]:
        """First word of each span, and the position after its last; see :func:`cell_number`."""
        n = self.n_words
        widths = np.repeat(np.arange(1, n + 1), np.arange(n, 0, -1))
        starts = np.concatenate([np.arange(n - width + 1) for width in range(1, n + 1)])
        return starts.astype(np.int32), (starts + widths).astype(np.int32)

    @cached_property
    def item_first_word(self) -> Ints:
        """First word of each item."""
        return self.cell_spans[0][self.item_cell]

    @cached_property
    def item_end(self) -> Ints:
        """Position after the last word of each item."""
        return self.cell_spans[1][self.item_cell]

    @cached_property
    def labels(self) -> LabelTable:
        """The treebank's labels in the grammar's symbols."""
        return label_table(self.grammar.symbols, self.grammar.n_phrases)

    @cached_property
    def label_posterior(self) -> Floats:
        """Posterior of every label over every span, shape (n_cells, n_labels).

        Spans come by width, then start; labels in the order of :attr:`LabelTable.names`. A label inside a chain counts as the label of
        its span; intermediate symbols count for nothing.
        """
        if self.labels_over_spans is not None:
            return self.labels_over_spans
        n_cells = self.n_words * (self.n_words + 1) // 2
        table: Floats = decode_kernels.label_posteriors(
            self.item_symbol, self.item_cell, self.item_posterior, self.labels.arrays, n_cells
        )
        return table
