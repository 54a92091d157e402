"""Estimators of grammars from head-modifier sequences: one automaton for each head symbol and direction.

Deterministic baselines, EM and the spectral method of Balle, Carreras, Luque & Quattoni (2014, section 7.1). Unseen heads get an automaton
of their direction that is trained on the sequences of all heads.
"""

import logging
from typing import Literal

import numpy as np

from gramian.automata import PNFAEM, WFA, BasisOptions, Sequences, SpectralWFA
from gramian.automata.sequences import Symbol
from gramian.automata.weighted_automaton import Statistic
from gramian.dependency.head_sequences import HeadSequences
from gramian.dependency.split_head_automata import LEFT, RIGHT, SHAG
from gramian.progress import tell_progress
from gramian.value_types import Number, OneOf, Whole, check_options, option, options

_log = logging.getLogger(__name__)


@options
class HeadBasis:
    """The basis of the spectral method for the automata of heads.

    Parameters
    ----------
    kind : "extended" or "symbols"
        The most frequent substrings of modifiers, or the modifiers and the empty string.
    cut_factor : float
        Size of the extended basis, as a multiple of the number of modifiers.
    max_length : int
        The longest string of the extended basis.
    statistic : "substring", "prefix" or "string"
        What is counted.
    mass : float
        Drop dimensions whose singular value is a smaller share of their sum.

    Examples
    --------
    >>> from gramian.dependency import SHAGParser
    >>> SHAGParser(basis=HeadBasis("symbols")).basis.kind
    'symbols'
    """

    kind: Literal["extended", "symbols"] = option(OneOf("extended", "symbols"), default="extended")
    cut_factor: float = option(Number(above=0), default=10.0)
    max_length: int = option(Whole(1), default=4)
    statistic: Statistic = option(OneOf("substring", "prefix", "string"), default="substring")
    mass: float = option(Number(0, below=1), default=0.0)


def deterministic(sequences: HeadSequences, *, first: bool = False) -> SHAG:
    """Estimate DET, or DET+F: one state, or one for the first modifier and one for the others (figure 7)."""
    automata = {head: _deterministic(sample, first) for head, sample in sequences.samples.items()}
    return SHAG.from_automata(sequences.symbols, automata, _defaults(sequences))


def backoff(sequences: HeadSequences, smoothing: float = 0.01) -> SHAG:
    """Estimate a smoothed DET+F grammar, which gives every projective tree a positive weight."""
    return deterministic(sequences, first=True).smoothed(smoothing)


def spectral(sequences: HeadSequences, *, n_states: int, basis: HeadBasis = HeadBasis()) -> SHAG:
    """Train each automaton by the spectral method; an automaton has at most as many states as modifiers."""
    check_options(basis)
    automata = {}
    for head, sample in sequences.samples.items():
        size = len(sample.alphabet)
        if basis.kind == "extended":
            options = BasisOptions("frequent", 1 + round(basis.cut_factor * size), basis.max_length)
        else:
            options = BasisOptions("symbols")
        learner = SpectralWFA(
            min(n_states, size),
            basis=options,
            statistic=basis.statistic,
            minimum_mass=basis.mass,
            repair=None,
        )
        automata[head] = learner.fit(sample).model_ if size else _deterministic(sample, False)
    return SHAG.from_automata(sequences.symbols, automata, _defaults(sequences))


def expectation_maximisation(
    sequences: HeadSequences,
    *,
    n_states: int,
    max_iter: int = 40,
    start: Literal["random", "spectral"] | SHAG = "random",
    random_state: int = 0,
) -> SHAG:
    """Train each automaton by EM, starting from another grammar if `start` is one.

    From random starts all automata have `n_states`, also those of fewer modifiers; a spectral start has at most as many as modifiers.
    """
    automata = {}
    learner = PNFAEM(max_iter=max_iter, tolerance=0.0)
    by_name = sorted(sequences.samples.items(), key=lambda item: (item[0][0] or "", item[0][1]))
    for number, (head, sample) in enumerate(by_name):
        tell_progress(_log, "automata", number, len(by_name))
        size = len(sample.alphabet)
        first_model = start.automaton(*head) if isinstance(start, SHAG) else start
        states = min(n_states, size) if start == "spectral" else n_states
        learner.set_params(start=first_model, n_states=states, random_state=random_state + number)
        automata[head] = learner.fit(sample).model_ if size else _deterministic(sample, False)
    tell_progress(_log, "automata", len(by_name), len(by_name))
    return SHAG.from_automata(sequences.symbols, automata, _defaults(sequences))


def _deterministic(sample: Sequences, first: bool) -> WFA:
    """Return relative frequencies of modifiers and STOP, with a separate state for the first modifier if `first`."""
    n, lengths = 2 if first else 1, sample.lengths
    state = np.full(len(sample.symbols), n - 1)
    state[sample.offsets[:-1][lengths > 0]] = 0
    transitions = np.zeros((len(sample.alphabet), n, n))
    np.add.at(transitions[:, :, n - 1], (sample.symbols, state), 1.0)
    final = np.bincount(np.where(lengths > 0, n - 1, 0), minlength=n)
    total = final + transitions.sum(axis=(0, 2))
    final, total = np.where(total > 0, final, 1.0), np.where(total > 0, total, 1.0)
    return WFA(np.eye(n)[0], final / total, transitions / total[:, None], sample.alphabet)


def _defaults(sequences: HeadSequences) -> dict[int, WFA]:
    """Return a DET+F automaton for each direction, estimated from all heads but the root."""
    pooled: dict[int, list[tuple[Symbol, ...]]] = {LEFT: [], RIGHT: []}
    for (head, side), sample in sequences.samples.items():
        pooled[side] += sample if head is not None else ()
    return {side: _deterministic(Sequences.from_strings(rows), True) for side, rows in pooled.items()}
