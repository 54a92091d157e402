"""The arguments and results of the coarse chart's kernels: arrays by name."""

from __future__ import annotations

from typing import Any, NamedTuple

BLOCK = 4
"""Rules with the same children are stored in blocks of this many; the last block is filled up with rules of weight 0."""


class Tags(NamedTuple):
    """The tags of each word: where a word's begin, `start` (n + 1,), their `symbol` numbers and emission `score` float64."""

    start: Any
    symbol: Any
    score: Any


class AllowedRows(NamedTuple):
    """The :class:`gramian.chart.forest.Allowed` of several sentences; `has_phrase` (n_rows,) tells rows that allow any phrase."""

    row: Any
    symbols: Any
    has_phrase: Any


class Words(NamedTuple):
    """The words of several sentences, one after the other.

    `first` (n_sentences + 1,) says where a sentence's words begin. Tags are those of all words, with their scores for all states of all
    grammars in `states`, float32; `allowed` are :class:`AllowedRows` with the spans of all sentences.
    """

    first: Any
    tags: Tags
    states: Any
    allowed: Any


class Thresholds(NamedTuple):
    """Floats; see :class:`gramian.chart.forest.Pruning`."""

    beam: float
    guess: float
    item: float
    edge: float
    split: float


class Guesses(NamedTuple):
    """What stands around a symbol: `before`, `after` (n + 1, n_symbols) float64 where it begins and ends, their scales logarithmic."""

    before: Any
    after: Any
    before_scale: Any
    after_scale: Any


class Cells(NamedTuple):
    """The coarse chart: its items, and those of them that can be right children once more, together."""

    symbol: Any  # int32, of items
    inside: Any  # float64, scaled per cell
    first: Any  # (n_cells + 1,) int32: a cell's items
    child_first: Any  # (n_cells,) int32: its first that can stand beside another
    right: Any  # (n_cells + 1,) int32: where a cell's right children begin
    right_symbol: Any  # int32
    right_inside: Any
    right_item: Any  # int32
    scale: Any  # (n_cells,) int64: which power of two a cell's values were divided by


class EdgeList(NamedTuple):
    """Of each edge: its parent, left and right item (-1: unary), rule, share of the parent's inside value, and posterior."""

    parent: Any
    left: Any
    right: Any
    rule: Any
    share: Any
    posterior: Any


class CoarseForest(NamedTuple):
    """What coarse pass and pruning leave of a sentence, without states; names as in :class:`gramian.chart.forest.Forest`.

    `log_probability` is less the words' own, -inf if there is no tree; shares (float32) are those of edges and roots in their items' and
    the sentence's inside values.
    """

    log_probability: Any  # a float, or of several sentences each one's
    item_symbol: Any
    item_cell: Any
    item_posterior: Any
    root_share: Any
    edge_first: Any
    edge_left: Any
    edge_right: Any
    edge_rule: Any
    edge_share: Any
    edge_posterior: Any


class CoarseForests(NamedTuple):
    """The same of several sentences, one after the other, items and edges numbered through; spans too, in `item_cell`."""

    first_item: Any  # (n_sentences + 1,): where the items of a sentence begin
    first_cell: Any  # (n_sentences + 1,): and its spans
    forest: CoarseForest
