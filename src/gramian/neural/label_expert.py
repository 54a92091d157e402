"""A neural expert beside grammars: what it says about labels over spans, in the order of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import numpy as np

from gramian.chart.combine import in_order_of, label_numbers
from gramian.chart.forest import Forest
from gramian.chart.label_table import label_table
from gramian.grammar import LPCFG
from gramian.neural.neural_model import NeuralModel
from gramian.threads import one_blas_thread

AnySentence = TypeVar("AnySentence")

NEURAL_WEIGHT = 0.5
"""What it says counts for this share, all others' say for the rest, if it knows all words; chosen on trees held out from training."""
_FEW = 8  # sentences that are read at once
_LONGEST = 100  # words of these: longer ones gain nothing, and may be parsed in parts


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

    def read_ahead(
        self, sentences: Sequence[AnySentence], words: Callable[[AnySentence], Sequence[str]]
    ) -> Iterator[AnySentence]:
        """Yield sentences whose words are `words` of them; the net begins with a few at a time, which is quicker than one by one."""
        with one_blas_thread():
            for first in range(0, len(sentences), _FEW):
                few, read = sentences[first : first + _FEW], []
                for one in few:
                    with suppress(Exception):  # whoever parses it says what is wrong
                        read.append(words(one))
                if short := [one for one in read if 0 < len(one) <= _LONGEST]:
                    self.model.read_ahead(short)
                yield from few

    def known_share(self, words: Sequence[str]) -> float:
        """Return the share of the words that have a vector of their own."""
        return self.model.known_share(words)

    def forest(self, words: Sequence[str], forest: Forest) -> Forest:
        """Return the forest with this model's probabilities of labels over spans."""
        return replace(forest, labels_over_spans=in_order_of(self._place, self.model.labels(words)))
