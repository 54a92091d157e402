"""Numba kernels of the classifier of chart cells: which cells stay open, and steps of learning.

Cells, of all sentences of a batch, are numbered by width, then start, as in :mod:`gramian.chart.coarse_kernels`. Each has three scores:
for a complete constituent, and for an intermediate symbol of right and of left binarisation.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.experts.span_kernels import tag_sentence
from gramian.kernels import helper_kernel, kernel
from gramian.loglinear.hashing_kernels import length_class, mix, parts_at_places, take_step

KINDS = 3
_EXACT, _BOUNDS = 6, (8, 12, 18, 26, 40)
LENGTHS = _EXACT + len(_BOUNDS) + 2  # classes of widths
_PADDING = 2


class CellTemplates(NamedTuple):
    """Templates of what is at a cell's start, at its end, and at both."""

    start: Any
    end: Any
    both: Any


class CellBatch(NamedTuple):
    """Sentences side by side."""

    views: Any  # int64 (8, n_columns): see :mod:`gramian.loglinear.word_views`, with padding around each sentence
    first_column: Any  # int64 (n_sentences + 1,)
    first_cell: Any  # int64 (n_sentences + 1,)


class GoldCells(NamedTuple):
    """The cells of several words that hold something in each tree, from `first` (n_trees + 1,) on."""

    first: Any
    cell: Any  # int64
    kind: Any  # int64: which of the three scores it is for


class Parts(NamedTuple):
    """The features of a sentence: sums of templates at each column, uint64 (n_columns, n_templates)."""

    start: Any
    end: Any
    both_start: Any
    both_end: Any
    width: Any  # (n_classes, n_templates)


@helper_kernel
def _parts(templates, views):
    both = parts_at_places(views, templates.both)[0]
    return Parts(
        parts_at_places(views, templates.start)[0, 0], parts_at_places(views, templates.end)[0, 0], both[0], both[1],
        templates.both.small[0],
    )  # fmt: skip


@helper_kernel
def _mask(weights):
    """Return the bits of a hash that choose four weights side by side, one for each score."""
    return np.uint64(weights.shape[0] - 1) & ~np.uint64(3)


@helper_kernel
def _boundary_scores(parts, weights):
    """Return the sums of the weights of the features at each column, float32 (n_columns, 3)."""
    scores, mask = np.zeros((parts.shape[0], KINDS), np.float32), _mask(weights)
    for column in range(parts.shape[0]):
        for template in range(parts.shape[1]):
            slot = mix(parts[column, template], np.uint64(0)) & mask
            for kind in range(KINDS):
                scores[column, kind] += weights[slot + np.uint64(kind)]
    return scores


@kernel
def cell_scores(parts, n, weights):
    """Return the scores of all cells, float32 (n_cells, 3); those of single words and of the whole sentence are 0."""
    mask = _mask(weights)
    start_scores, end_scores = _boundary_scores(parts.start, weights), _boundary_scores(parts.end, weights)
    scores, cell = np.zeros((n * (n + 1) // 2, KINDS), np.float32), n
    for width in range(2, n):
        length = length_class(width, _EXACT, _BOUNDS)
        for start in range(n - width + 1):
            a, b = start + _PADDING, start + width + _PADDING
            for kind in range(KINDS):
                scores[cell, kind] = start_scores[a, kind] + end_scores[b, kind]
            for template in range(parts.width.shape[1]):
                total = parts.both_start[a, template] + parts.both_end[b, template]
                slot = mix(total + parts.width[length, template], np.uint64(0)) & mask
                for kind in range(KINDS):
                    scores[cell, kind] += weights[slot + np.uint64(kind)]
            cell += 1
    return scores


@kernel
def open_cells(templates, tagger, batch, n_tags, tag_weights, weights, least):
    """Return which cells have a score that is at least `least` of their sentence, uint8 (n_cells,): all bits, or none.

    The rows of tags of the views are filled. Cells of one word and of a whole sentence have all bits.
    """
    result = np.full(batch.first_cell[-1], (1 << KINDS) - 1, np.uint8)
    for sentence in range(batch.first_cell.shape[0] - 1):
        first, last = batch.first_column[sentence], batch.first_column[sentence + 1]
        views, n, begin = batch.views[:, first:last], last - first - 2 * _PADDING, batch.first_cell[sentence]
        tag_sentence(tagger, views, n_tags, tag_weights)
        scores = cell_scores(_parts(templates, views), n, weights)
        for cell in range(n, scores.shape[0] - 1):
            is_open = False
            for kind in range(KINDS):
                is_open = is_open or scores[cell, kind] >= least[sentence]
            if not is_open:
                result[begin + cell] = 0
    return result


@helper_kernel
def _step_boundary(parts, tables, gradient, time):
    """Move the weights of the features at each column along their gradients (n_columns, 3)."""
    mask = _mask(tables.weights)
    for column in range(gradient.shape[0]):
        for kind in range(KINDS):
            if gradient[column, kind] != 0:
                for template in range(parts.shape[1]):
                    slot = mix(parts[column, template], np.uint64(0)) & mask
                    take_step(tables, slot + np.uint64(kind), gradient[column, kind], time)


@kernel
def learn_cells(templates, batch, gold, order, tables, time):
    """Pass once over sentences, with a step for each; return the time after the last. `tables` are changed.

    The gradient of the log-likelihood by a score is 1 or 0, as the tree fills the cell or not, less its probability.
    """
    mask = _mask(tables.weights)
    for sentence in order:
        time += 1.0
        first, last = batch.first_column[sentence], batch.first_column[sentence + 1]
        n = last - first - 2 * _PADDING
        parts = _parts(templates, batch.views[:, first:last])
        gradients = cell_scores(parts, n, tables.weights)
        for cell in range(n, gradients.shape[0] - 1):
            for kind in range(KINDS):
                gradients[cell, kind] = -1 / (1 + np.exp(-gradients[cell, kind]))
        for index in range(gold.first[sentence], gold.first[sentence + 1]):
            gradients[gold.cell[index], gold.kind[index]] += 1
        to_start = np.zeros((last - first, KINDS), np.float32)
        to_end, cell = np.zeros_like(to_start), n
        for width in range(2, n):
            length = length_class(width, _EXACT, _BOUNDS)
            for start in range(n - width + 1):
                a, b = start + _PADDING, start + width + _PADDING
                for kind in range(KINDS):
                    gradient = gradients[cell, kind]
                    if abs(gradient) >= tables.smallest:
                        to_start[a, kind] += gradient
                        to_end[b, kind] += gradient
                        for template in range(parts.width.shape[1]):
                            total = parts.both_start[a, template] + parts.both_end[b, template]
                            slot = mix(total + parts.width[length, template], np.uint64(0)) & mask
                            take_step(tables, slot + np.uint64(kind), gradient, time)
                cell += 1
        _step_boundary(parts.start, tables, to_start, time)
        _step_boundary(parts.end, tables, to_end, time)
    return time
