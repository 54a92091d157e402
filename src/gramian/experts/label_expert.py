"""A neural expert beside grammars: its probabilities of labels over spans, in the order of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gramian.chart.combine import ExpertPosterior, in_order_of, label_numbers, sentence_weight
from gramian.chart.forest import Forest
from gramian.chart.label_table import label_table
from gramian.experts.expert_part import EXPERT_KINDS
from gramian.grammar import LPCFG
from gramian.neural.neural_model import NeuralModel
from gramian.threads import one_blas_thread

Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]


class LabelExpert:
    """A net beside one grammar, whose rules it leaves as they are; safe to share between threads.

    Parameters
    ----------
    model : NeuralModel
    grammar : LPCFG
        Learnt from the same treebank; labels that the net does not know have probability 0.
    weight : float
        Beside grammars; see :class:`gramian.chart.combine.Expert`.
    """

    name = "neural"

    def __init__(
        self, model: NeuralModel, grammar: LPCFG, weight: float = EXPERT_KINDS["neural"].weight
    ) -> None:
        self.model, self.weight = model, weight
        table = label_table(grammar.symbols, grammar.n_phrases)
        known = label_numbers(model.label_names, model.n_phrase_labels)
        self._column = np.array(
            [known.get(label, -1) for label in label_numbers(table.names, table.n_phrase_labels)]
        )
        self._n_phrase_labels = table.n_phrase_labels

    @cached_property
    def _membership(self) -> Floats:
        """Which of the net's chains has which of the grammar's labels of phrases, shape (n_chains, n_phrase_labels)."""
        column = self._column[: self._n_phrase_labels]
        return np.ascontiguousarray(in_order_of(column, self.model.inventory.membership))

    @cached_property
    def _tags(self) -> tuple[Longs, Longs]:
        """The columns of the grammar's tags that the net knows, and the net's numbers of them."""
        known = self._column[self._n_phrase_labels :] >= 0
        columns = self._n_phrase_labels + np.flatnonzero(known)
        return columns, self._column[columns] - self.model.n_phrase_labels

    def posterior(self, words: Sequence[str], forest: Forest) -> ExpertPosterior:
        """Return the forest with this model's probabilities of labels over spans."""
        labels, known_share = self.model.labels_and_known_share(words)
        judged = replace(forest, labels_over_spans=in_order_of(self._column, labels))
        return ExpertPosterior(judged, sentence_weight(self.weight, known_share))

    def fill(self, sentences: Sequence[Sequence[str]], table: Floats, first: Sequence[int]) -> list[float]:
        """Set the probabilities of labels over the spans of sentences; see :meth:`gramian.chart.combine.SpanExpert.fill`."""
        weights, (columns, tags) = [], self._tags
        with one_blas_thread():
            for sentence, start, end in zip(self.model.read(sentences), first, first[1:], strict=False):
                phrases = table[start:end, : self._n_phrase_labels]
                np.matmul(sentence.chances, self._membership, out=phrases)
                phrases *= sentence.factor[:, None]
                table[start : start + len(sentence.tags), columns] = sentence.tags[:, tags]
                weights.append(sentence_weight(self.weight, sentence.known_share))
        return weights
