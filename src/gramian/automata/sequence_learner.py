"""What the learners of sequence models share: parameters declared as fields, training strings in, ``model_`` out, and a score."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from gramian.automata.sequence_model import SequenceModel
from gramian.automata.sequences import Sequences, Strings, Symbol
from gramian.base import Estimator
from gramian.errors import OptionError
from gramian.value_types import Constraint, Each, Either, InstanceOf, Number, Whole, or_none

_LONGEST = 100_000  # symbols of a string


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceLearner(Estimator):
    """Base of the learners of sequence models."""

    _constraints: ClassVar[dict[str, Constraint]] = {
        "held_out": Number(above=0, below=1),
        "random_state": Whole(0, 2**32 - 1),
        "alphabet": or_none(Each(Either(InstanceOf(str), Whole()))),
    }
    held_out: float = 0.1
    """Share of the strings on which "auto" chooses; :class:`gramian.automata.BestModel` takes at most 4,000 of them."""
    alphabet: tuple[Symbol, ...] | None = None
    """The symbols; without it, those of the training strings."""
    n_jobs: int | None = None
    """Threads; -1 for one a processor. The result does not depend on it."""
    verbose: bool = False
    """Show progress."""
    random_state: int = 0
    """The same number gives the same model."""
    model_: Any = field(init=False)

    def fit(self, strings: Strings, y: None = None) -> Self:
        """Learn from `strings`."""
        with self._fitting():
            sample = Sequences.of(strings, self.alphabet).to_learn_from()
            longest = int(sample.lengths.max())
            if longest > _LONGEST:
                problem = f"a string has {longest:,} symbols, and the most to learn from is {_LONGEST:,}"
                raise OptionError(f"{problem}; try: cutting it")
            self.model_ = self._learn(sample)
        return self

    def score(self, strings: Strings, y: None = None) -> float:
        """Return the mean log-probability of a string."""
        return float(self.model_.log_score(strings).mean())

    @abstractmethod
    def _learn(self, sample: Sequences) -> SequenceModel:
        """Return the model of a sample."""
