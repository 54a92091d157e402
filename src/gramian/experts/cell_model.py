"""A classifier of chart cells: it closes those that constituents are unlikely to fill, before a chart is filled.

Roark & Hollingshead (2008) close the words where constituents of several words are unlikely to begin or end, Bodenstab et al. (2011) single
cells, from the words and tags around both ends. This is the latter: a log-linear model with hashed features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.chart.cell_closing import Bits
from gramian.chart.combine import OOV_EXPONENT
from gramian.experts import cell_kernels as kernels
from gramian.experts.span_templates import TAGGER
from gramian.io import model_files
from gramian.io.array_table import validate
from gramian.io.tensors import Tensors, pack_strings, pack_weights, unpack_strings, unpack_weights
from gramian.loglinear.hashing import templates
from gramian.loglinear.word_views import PADDING, VIEWS, WordForms

Floats = npt.NDArray[np.float32]

# Word i is in column i + 2: a cell's first word is at its start a, its last one before its end b.
CELLS = kernels.CellTemplates(
    start=templates(
        "ta | ta-1 | ta-1 ta | ta ta+1 | ta-2 ta-1 | ta-1 ta ta+1 | ta-2 ta-1 ta | wa | wa-1",
        first=1, views=VIEWS, places={"a": (0, 0)},
    ),
    end=templates(
        "tb | tb-1 | tb-1 tb | tb tb+1 | tb-2 tb-1 | tb-1 tb tb+1 | tb-2 tb-1 tb | wb | wb-1",
        first=20, views=VIEWS, places={"b": (0, 0)},
    ),
    both=templates(
        """
        width | width ta tb-1 | width ta-1 tb | ta-1 ta tb-1 tb | width ta-1 ta | width tb-1 tb
        | width ta-1 ta tb-1 tb | ta ta+1 tb-1 tb | ta-1 ta tb tb+1 | ta-1 ta tb-2 tb-1
        """,
        first=40, views=VIEWS, places={"a": (0, 0), "b": (1, 0)}, small={"width": range(kernels.LENGTHS)},
    ),
)  # fmt: skip
_PADDING = [0] * len(VIEWS) * PADDING


@dataclass(frozen=True, eq=False, repr=False)
class CellModel:
    """Weights of features of the words around both ends of a cell.

    Attributes
    ----------
    frequent : tuple of str
        Lower-cased words that have features of their own; others are known by their form.
    n_tags : int
    tag_weights : ndarray of float32
        Of the tagger whose guesses the features see.
    weights : ndarray of float32
        Their number is a power of two.
    threshold : float
        A cell is closed if all kinds of symbols in it are less probable than this.

    Examples
    --------
    >>> CellModel(("the",), 2, np.zeros(4, np.float32), np.zeros(4, np.float32), threshold=0.001).threshold
    0.001
    """

    frequent: tuple[str, ...]
    n_tags: int
    tag_weights: Floats
    weights: Floats
    threshold: float = 0.0

    def __repr__(self) -> str:
        return f"<CellModel: {len(self.frequent):,} frequent words, threshold {self.threshold:g}>"

    @cached_property
    def _forms(self) -> WordForms:
        return WordForms(self.frequent)

    def batch(self, sentences: Sequence[Sequence[str]]) -> kernels.CellBatch:
        """Return sentences as the kernels read them, without tags."""
        numbers = self._forms.numbers
        values: list[int] = []
        for words in sentences:
            values += _PADDING
            for word in words:
                values += numbers[word]
                values.append(0)
            values += _PADDING
        columns = (len(words) + 2 * PADDING for words in sentences)
        table = np.array(values, np.int64).reshape(-1, len(VIEWS))
        cells = (len(words) * (len(words) + 1) // 2 for words in sentences)
        first_column = np.array([0, *accumulate(columns)], np.int64)
        first_cell = np.array([0, *accumulate(cells)], np.int64)
        return kernels.CellBatch(np.ascontiguousarray(table.T), first_column, first_cell)

    def open_cells(self, sentences: Sequence[Sequence[str]], close: float = 1.0) -> Bits:
        """Return what cells are open for; see :meth:`gramian.chart.cell_closing.CellCloser.open_cells`.

        The odds of the threshold fall with the fourth power of the share of frequent words.
        """
        batch = self.batch(sentences)
        is_frequent = batch.views[0] != batch.views[1]
        lengths = np.maximum(1, np.diff(batch.first_column) - 2 * PADDING)
        share = np.add.reduceat(is_frequent, batch.first_column[:-1], dtype=np.float64) / lengths
        odds = close * self.threshold / (1 - self.threshold) * share**OOV_EXPONENT
        with np.errstate(divide="ignore"):
            least = np.log(odds).astype(np.float32)
        found: Bits = kernels.open_cells(
            CELLS, TAGGER, batch, self.n_tags, self.tag_weights, self.weights, least
        )
        return found


def _pack(model: CellModel) -> tuple[dict[str, object], Tensors]:
    tensors: Tensors = {
        "n_tags": np.array([model.n_tags], np.int32),
        "frequent": pack_strings(model.frequent),
        "threshold": np.array([model.threshold], np.float32),
    }
    tensors |= pack_weights("tag_weights", model.tag_weights) | pack_weights("weights", model.weights)
    return {"gramian": __version__}, tensors


def _unpack(_: dict[str, object], tensors: Tensors) -> CellModel:
    (n_tags,), (threshold,) = tensors["n_tags"].tolist(), tensors["threshold"].tolist()
    if type(n_tags) is not int or n_tags < 1 or not 0 <= threshold < 1:
        raise ValueError(f"{n_tags} tags, threshold {threshold}")
    tables = {name: unpack_weights(tensors, name) for name in ("tag_weights", "weights")}
    validate("expert", tables, tags=n_tags)
    return CellModel(unpack_strings(tensors["frequent"]), n_tags, **tables, threshold=threshold)


model_files.register("cells", model_files.GRAMMAR, _pack, _unpack)
