"""The experts that a model may hold: how each kind is stored, its weight, and how a neural one is set beside a grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.chart.combine import Expert, ExpertPosterior, in_order_of, label_numbers, sentence_weight
from gramian.chart.forest import Forest
from gramian.chart.label_table import label_table
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.threads import one_blas_thread

if TYPE_CHECKING:
    from gramian.experts.span_model import SpanModel
    from gramian.neural import NeuralModel

    ExpertModel: TypeAlias = SpanModel | NeuralModel


class ExpertKind(NamedTuple):
    """What holds for all experts of a kind."""

    stored_as: str  # in model files
    version: int  # the first one of the format that has it
    weight: float  # unless it was tuned; chosen on held-out trees
    tried_weights: tuple[float, ...]  # when it is tuned


EXPERT_KINDS = {
    "crf": ExpertKind("expert", 2, 0.45, (0.25, 0.35, 0.45, 0.55, 0.65)),
    "neural": ExpertKind("neural", 4, 0.5, (0.3, 0.4, 0.5, 0.6, 0.7)),
}
"""The kinds of experts, in the order in which they are combined with the grammars."""


@dataclass(frozen=True)
class ExpertPart:
    """An expert as a part of a model.

    Examples
    --------
    >>> import gramian
    >>> [part] = gramian.load().model.experts
    >>> part.kind, part.weight
    ('neural', 0.7)
    """

    kind: str  #: a span CRF, or a neural span scorer
    model: ExpertModel
    weight: float | None = None  #: its weight beside the grammars, if that was tuned; else that of its kind

    def __post_init__(self) -> None:
        if self.kind not in EXPERT_KINDS:
            raise OptionError(f"an expert is one of {', '.join(EXPERT_KINDS)}, got {self.kind!r}")
        weight = self.weight
        if weight is not None and not (type(weight) in (int, float) and 0 <= weight <= 1):
            raise OptionError(f"the weight of an expert must be between 0 and 1, got {weight!r}")

    def beside(self, grammar: LPCFG) -> Expert:
        """Return the expert as it reads the sentences and forests of a grammar."""
        weight = EXPERT_KINDS[self.kind].weight if self.weight is None else self.weight
        if self.kind == "crf":
            from gramian.experts.span_model import CRFExpert

            return CRFExpert(self.model, grammar, weight)  # type: ignore[arg-type]
        return LabelExpert(self.model, grammar, weight)  # type: ignore[arg-type]


Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]


class LabelExpert:
    """A net beside one grammar, whose rules it leaves as they are; safe to share between threads.

    Parameters
    ----------
    grammar : LPCFG
        Learnt from the same treebank; labels that the net does not know have probability 0.
    weight : float
        Beside grammars; see :class:`gramian.chart.combine.Expert`.

    Examples
    --------
    >>> import gramian
    >>> model = gramian.load().model
    >>> LabelExpert(model.experts[0].model, model.grammar, weight=0.7).name
    'neural'
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

    def fill(
        self, sentences: Sequence[Sequence[str]], table: Floats, first: Sequence[int], spans: Floats
    ) -> list[float]:
        """Set the probabilities of labels over the spans of sentences; see :meth:`gramian.chart.combine.SpanExpert.fill`."""
        weights, (columns, tags) = [], self._tags
        with one_blas_thread():
            for sentence, start, end in zip(self.model.read(sentences), first, first[1:], strict=False):
                phrases = table[start:end, : self._n_phrase_labels]
                np.matmul(sentence.chances, self._membership, out=phrases)
                phrases *= sentence.factor[:, None]
                spans[start:end] = sentence.spans
                table[start : start + len(sentence.tags), columns] = sentence.tags[:, tags]
                weights.append(sentence_weight(self.weight, sentence.known_share))
        return weights
