"""What a chart leaves of a sentence: a :class:`Forest`, which knows the grammar it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels
from gramian.chart.grammar_arrays import GrammarArrays
from gramian.chart.label_table import LabelTable
from gramian.grammar import LPCFG
from gramian.value_types import Number, option, options

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


def cell_number(start: int, end: int, n_words: int) -> int:
    """Return the number of a span among all spans of a sentence, by width, then start."""
    width = end - start
    return (width - 1) * (n_words + 1) - width * (width - 1) // 2 + start


@lru_cache(maxsize=32)
def cell_spans(n_words: int) -> tuple[Ints, Ints]:
    """Return the first word of each span of a sentence, and the position after its last; see :func:`cell_number`."""
    numbers = np.arange(n_words)
    wider, starts = np.nonzero(np.add.outer(numbers, numbers) < n_words)
    return starts.astype(np.int32), (starts + wider + 1).astype(np.int32)


@options
class Pruning:
    """What the chart leaves out."""

    beam: float = option(Number(0), default=1e-3)
    """In the coarse chart, phrases whose guessed posterior is below this share of their span's best are dropped. The guess takes the words
    around for a chain of tags (Caraballo & Charniak 1998). 0 keeps all."""
    item: float = option(Number(0), default=1e-4)
    """Coarse posterior below which an item does not reach the fine pass."""
    edge: float = option(Number(0), default=2e-5)
    """Coarse posterior below which an edge does not reach the fine pass."""
    fine: float = option(Number(0), default=1e-6)
    """Fine posterior below which an item or an edge counts as impossible on the way down."""
    guess: float = option(Number(0), default=2e-7)
    """In the coarse chart, phrases and tags whose guessed posterior is below this are dropped, whatever else their span holds; of spans of
    more than twenty words, whose guesses are worse, only those below a smaller bound. 0 keeps all, and so does no beam."""
    split: float = option(Number(0), default=5e-5)
    """Between coarse and fine comes a pass with two states for each symbol; what has a lower posterior there does not reach the fine pass;
    where experts have a say, a twentieth of it counts. 0 goes without. Of grammars with probabilities only."""
    close: float = option(Number(0), default=1.0)
    """Multiplies the odds of a span below which an expert or classifier closes its cell before the chart is filled. 0 closes none."""


class Posteriors(NamedTuple):
    """The items and edges of some sentences with their posteriors under all grammars and experts: what decoders need.

    Items and edges of the sentences follow each other and are numbered through, children before parents; so are spans.
    """

    n_phrases: int
    first_item: Longs  # (n_sentences + 1,): where the items of a sentence begin
    item_symbol: Ints
    item_cell: Ints  # the row of the tables of `label_posteriors`
    edge_first: Ints  # (n_items + 1,): an item's edges
    edge_left: Ints
    edge_right: Ints  # -1 for a phrase over a tag
    item: Floats
    edge: Floats
    root: Floats
    labels: LabelTable
    label_posteriors: decode_kernels.LabelPosteriors
    log_prob: Doubles  # (n_sentences,): log-probability, less the words' own; -inf if a grammar has none


class Allowed(NamedTuple):
    """Which symbols each span may hold: `row` (n (n + 1) / 2,) has for each span, by width, then start, its row of `symbols`.

    `symbols` (n_rows, n_phrases + 1) has the phrases, and in the last column whether a tag may stand without a phrase over it; row 0
    allows all.
    """

    row: Ints
    symbols: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Forest:
    """The items and edges of a sentence that survived pruning, with their posteriors under the grammar.

    Items come children before parents. A leaf is an item whose symbol is a tag; any other item without edges is a dead end. An item's
    inside vector is the sum over its edges of weight times T(left vector, right vector), T the rule's tensor.
    """

    grammar: LPCFG  # the one whose symbols, rules and states these are
    arrays: GrammarArrays  # the same as kernels want it
    labels: LabelTable  # the treebank's labels in its symbols
    n_words: int
    log_ratio: float  # log-probability of the sentence, less the words' own log-probabilities
    item_symbol: Ints
    item_cell: Ints  # span number, by width, then start
    item_posterior: Floats
    item_start: Longs  # (n_items + 1,): where each item's states lie in `inside` and `outside`
    inside: Floats
    outside: Floats  # state by state, its product with `inside` is proportional to the state's posterior
    edge_first: Ints  # (n_items + 1,): an item's edges
    edge_left: Ints
    edge_right: Ints  # -1 for a phrase over a tag
    edge_rule: Ints  # in the order of `arrays`
    edge_weight: Floats
    edge_posterior: Floats
    root_posterior: Floats  # of each item as the root
    labels_over_spans: Floats | None = None  # (n_cells, n_labels), if from more than this forest's items
    members: tuple[Forest, ...] = ()  # of single grammars; those of the same rules have these items and edges

    @cached_property
    def item_first_word(self) -> Ints:
        """First word of each item."""
        return cell_spans(self.n_words)[0][self.item_cell]

    @cached_property
    def item_end(self) -> Ints:
        """Position after the last word of each item."""
        return cell_spans(self.n_words)[1][self.item_cell]

    @cached_property
    def posteriors(self) -> Posteriors:
        """The same for decoders, as those of a batch of one sentence."""
        return Posteriors(
            self.grammar.n_phrases, np.array([0, len(self.item_symbol)]), self.item_symbol, self.item_cell, self.edge_first,
            self.edge_left, self.edge_right, self.item_posterior, self.edge_posterior, self.root_posterior, self.labels,
            decode_kernels.LabelPosteriors(self.label_posterior[None], np.ones((1, 1), np.float32)), np.array([self.log_ratio]),
        )  # fmt: skip

    @cached_property
    def label_posterior(self) -> Floats:
        """Posterior of every label over every span, shape (n_cells, n_labels), in the order of :attr:`LabelTable.names`.

        A label inside a chain counts as the label of its span; intermediate symbols count for nothing.
        """
        if self.labels_over_spans is not None:
            return self.labels_over_spans
        n_cells = self.n_words * (self.n_words + 1) // 2
        table = np.zeros((n_cells, self.labels.arrays.n_labels), np.float32)
        decode_kernels.add_posteriors(
            self.item_symbol, self.item_cell, self.item_posterior, self.labels.arrays, table
        )
        return table
