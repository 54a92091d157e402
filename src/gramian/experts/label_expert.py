"""A neural expert beside grammars: what it says about labels over spans, in the order of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.chart.combine import in_order_of, label_numbers
from gramian.chart.forest import Forest
from gramian.chart.label_table import label_table
from gramian.grammar import LPCFG
from gramian.neural.neural_model import NeuralModel
from gramian.threads import one_blas_thread

Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]


class LabelExpert:
    """A net that judges the forests of one grammar, whose rules it leaves as they are; safe to share between threads.

    Parameters
    ----------
    model : NeuralModel
    grammar : LPCFG
        Learnt from the same treebank; labels that the net does not know have probability 0.
    """

    def __init__(self, model: NeuralModel, grammar: LPCFG) -> None:
        self.model = model
        table = label_table(grammar.symbols, grammar.n_phrases)
        known = label_numbers(model.label_names, model.n_phrase_labels)
        self._place = np.array(
            [known.get(label, -1) for label in label_numbers(table.names, table.n_phrase_labels)]
        )
        self._n_phrase_labels = table.n_phrase_labels

    @cached_property
    def _membership(self) -> Floats:
        """Which of the net's chains has which of the grammar's labels of phrases."""
        # What is not known, at -1, has zeros.
        chains = np.pad(self.model.inventory.membership, ((0, 0), (0, 1)))
        return np.ascontiguousarray(chains[:, self._place[: self._n_phrase_labels]])

    @cached_property
    def _tags(self) -> tuple[Longs, Longs]:
        """The columns of the grammar's tags that the net knows, and the numbers that it has for them."""
        known = self._place[self._n_phrase_labels :] >= 0
        columns = self._n_phrase_labels + np.flatnonzero(known)
        return columns, self._place[columns] - self.model.n_phrase_labels

    def known_share(self, words: Sequence[str]) -> float:
        """Return the share of the words that have a vector of their own."""
        return self.model.known_share(words)

    def forest(self, words: Sequence[str], forest: Forest) -> Forest:
        """Return the forest with this model's probabilities of labels over spans."""
        return replace(forest, labels_over_spans=in_order_of(self._place, self.model.labels(words)))

    def fill(self, sentences: Sequence[Sequence[str]], table: Floats, first: Sequence[int]) -> list[float]:
        """Set the probabilities of labels over the spans of sentences; see :meth:`gramian.chart.combine.SpanExpert.fill`."""
        shares, (columns, tags) = [], self._tags
        with one_blas_thread():
            for one, begin, end in zip(self.model.read(sentences), first, first[1:], strict=False):
                phrases = table[begin:end, : self._n_phrase_labels]
                np.matmul(one.chances, self._membership, out=phrases)
                phrases *= one.factor[:, None]
                table[begin : begin + len(one.tags), columns] = one.tags[:, tags]
                shares.append(one.known_share)
        return shares
