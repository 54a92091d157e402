"""Weighted mixtures of sequence models: the average of several distributions is a distribution.

A mixture of PNFAs is the PNFA with their states side by side (:meth:`Mixture.to_wfa`); kept apart, its parts
score strings in a fraction of the time.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gramian.automata.pdfa import PDFA
from gramian.automata.sequence_model import SequenceModel, check_weights
from gramian.automata.sequences import Array, Sequences, Strings, Symbol
from gramian.automata.weighted_automaton import WFA
from gramian.errors import OptionError


@dataclass(frozen=True, eq=False)
class Mixture(SequenceModel):
    """A convex combination of distributions over strings.

    Examples
    --------
    >>> short, long = (WFA([1.0], [stop], [[[1.0 - stop]]], ("a",)) for stop in (0.5, 0.1))
    >>> both = Mixture((short, long), [0.5, 0.5])
    >>> np.exp(both.log_score([[]])).round(3), both.to_wfa().score([[]]).round(3)
    (array([0.3]), array([0.3]))
    """

    kind: ClassVar[str] = "mixture"
    parts: tuple[WFA | PDFA, ...]  #: distributions over one alphabet
    weights: Array  #: shape (n_parts,); positive, summing to one
    alphabet: tuple[Symbol, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "weights", np.asarray(self.weights, np.float64))
        if not self.parts or self.weights.shape != (len(self.parts),):
            raise OptionError("Mixture: needs one weight for every part, and at least one part")
        if len({part.alphabet for part in self.parts}) > 1:
            raise OptionError("Mixture: the parts have different alphabets; try: training them with one")
        if not (self.weights > 0).all() or abs(self.weights.sum() - 1.0) > 1e-9:
            raise OptionError("Mixture: weights must be positive and sum to 1; try: weights / weights.sum()")
        object.__setattr__(self, "alphabet", self.parts[0].alphabet)

    @property
    def n_states(self) -> int:
        """Number of states of all parts together."""
        return sum(part.n_states for part in self.parts)

    def log_score(self, strings: Strings) -> Array:
        """Return the log-probability of every string."""
        sample = Sequences.of(strings, self.alphabet)
        scores = [part.log_score(sample) for part in self.parts]
        return np.asarray(np.logaddexp.reduce(np.log(self.weights)[:, None] + scores, axis=0))

    def next_scores(self, strings: Strings) -> Array:
        """Return the conditional probabilities of what follows each prefix; see `SequenceModel`."""
        sample = Sequences.of(strings, self.alphabet)
        predictions = np.stack([part.next_scores(sample) for part in self.parts])
        logs = np.log(self.weights)[:, None] + [prefix_logs(sample, scores) for scores in predictions]
        with np.errstate(invalid="ignore"):
            share = np.exp(logs - np.logaddexp.reduce(logs, axis=0))
        share = np.where(np.isnan(share), self.weights[:, None], share)  # no part can produce the prefix
        return np.asarray(np.einsum("me,mes->es", share, predictions))

    def sample(self, n_strings: int, *, random_state: int = 0, max_length: int = 10_000) -> Sequences:
        """Draw strings, each from a part chosen by its weight."""
        rng = np.random.default_rng(random_state)
        sizes = rng.multinomial(n_strings, self.weights)
        seeds = rng.integers(1 << 62, size=len(self.parts)).tolist()
        drawn = [
            part.sample(size, random_state=seed, max_length=max_length)
            for part, size, seed in zip(self.parts, sizes.tolist(), seeds, strict=True)
            if size
        ]
        lengths = np.concatenate([np.empty(0, np.int64), *(sample.lengths for sample in drawn)])
        symbols = np.concatenate([np.empty(0, np.int32), *(sample.symbols for sample in drawn)])
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Sequences(symbols, offsets, self.alphabet).take(rng.permutation(len(lengths)))

    def to_wfa(self) -> WFA:
        """Return the automaton with the states of all parts side by side."""
        n = self.n_states
        check_weights(n, len(self.alphabet))
        parts = [part.to_wfa() for part in self.parts]
        transitions = np.zeros((len(self.alphabet), n, n))
        start = 0
        for part in parts:
            inside = slice(start, start + part.n_states)
            transitions[:, inside, inside] = part.transitions
            start += part.n_states
        initial = np.concatenate([w * part.initial for w, part in zip(self.weights, parts, strict=True)])
        return WFA(initial, np.concatenate([part.final for part in parts]), transitions, self.alphabet)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, as a model file holds them."""
        named = {
            f"{number}.{name}": array
            for number, part in enumerate(self.parts)
            for name, array in part.arrays().items()
        }
        return {"weights": self.weights, **named}

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "parts": [part.kind for part in self.parts]}

    @classmethod
    def _from_parts(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        kinds: dict[str, type[WFA | PDFA]] = {WFA.kind: WFA, PDFA.kind: PDFA}
        arrays_of_part: list[dict[str, npt.NDArray[Any]]] = [{} for _ in header["parts"]]
        for name, array in arrays.items():
            number, dot, part = name.partition(".")
            if dot:
                arrays_of_part[int(number)][part] = array
        parts = [
            kinds[kind]._from_parts(header, part_arrays)
            for kind, part_arrays in zip(header["parts"], arrays_of_part, strict=True)
        ]
        return cls(tuple(parts), arrays["weights"])


def prefix_logs(sample: Sequences, predictions: Array) -> Array:
    """Return the log-probability of every prefix, given the conditional probabilities of what follows it."""
    inner = sample.inner_cuts
    step_logs = np.zeros(len(predictions))
    with np.errstate(divide="ignore"):
        # Symbol -1, outside the alphabet, would read the STOP column; such a step says nothing.
        step_scores = predictions[inner, sample.symbols]
        step_logs[inner + 1] = np.where(sample.symbols < 0, 0.0, np.log(np.maximum(step_scores, 0.0)))
    running = np.cumsum(np.where(np.isneginf(step_logs), -1e9, step_logs))
    logs = running - np.repeat(running[sample.first_cuts], sample.lengths + 1)
    return np.where(logs < -1e8, -np.inf, logs)


def mixture_weights(log_scores: Array, max_iter: int = 200) -> Array:
    """Return the convex weights of models that give a sample its highest likelihood, by ``log_scores[model, string]``."""
    weights = np.full(len(log_scores), 1.0 / len(log_scores))
    possible = np.isfinite(log_scores).any(axis=0)
    if not possible.any():
        return weights
    likelihoods = np.exp(log_scores[:, possible] - log_scores[:, possible].max(axis=0))
    for _ in range(max_iter):
        joint = weights[:, None] * likelihoods
        weights = (joint / joint.sum(axis=0)).mean(axis=1)
    return weights
