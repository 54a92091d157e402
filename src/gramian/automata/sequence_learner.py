"""What the learners of sequence models share: training strings in, `model_` out, and a score."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

from gramian.automata.sequence_model import SequenceModel
from gramian.automata.strings import Sequences, Strings, Symbol
from gramian.base import Estimator
from gramian.value_types import Constraint, Each, Either, InstanceOf, Number, OneOf, Whole, or_none


class SequenceLearner(Estimator):
    """Base of the learners; `model_` is what was learnt."""

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_states": Either(Whole(1), OneOf("auto")),
        "held_out": Number(above=0, below=1),
        "alphabet": or_none(Each(Either(InstanceOf(str), Whole()))),
    }
    alphabet: tuple[Symbol, ...] | None
    model_: SequenceModel

    def fit(self, strings: Strings, y: None = None) -> Self:
        """Learn from `strings`."""
        with self._fitting():
            self.model_ = self._learn(Sequences.of(strings, self.alphabet).to_learn_from())
        return self

    def score(self, strings: Strings, y: None = None) -> float:
        """Return the mean log-probability of a string."""
        return float(self.model_.log_score(strings).mean())

    @abstractmethod
    def _learn(self, sample: Sequences) -> SequenceModel:
        """Return the model of a sample."""
