"""From head-modifier sequences to grammars: one automaton for each head symbol and direction.

Deterministic baselines, EM and the spectral method of Balle, Carreras, Luque & Quattoni (2014, section 7.1). Heads that
were never seen get an automaton of their direction, learnt from the sequences of all heads.
"""

from __future__ import annotations

import numpy as np

from gramian.automata import WFA, Sequences
from gramian.dependency.modifiers import HeadSequences
from gramian.dependency.shag import LEFT, RIGHT, SHAG
from gramian.errors import OptionError

__all__ = ["backoff", "deterministic", "expectation_maximisation", "spectral"]


def deterministic(sequences: HeadSequences, *, first: bool = False) -> SHAG:
    """Estimate DET, or DET+F: one state, or one for the first modifier and one for the others (figure 7).

    Examples
    --------
    >>> from gramian.dependency.modifiers import head_sequences
    >>> trees = head_sequences(("D", "N"), [["D", "N"], ["N"]], [[2, 0], [0]])
    >>> grammar = deterministic(trees, first=True)
    >>> grammar.tree_weight(["D", "N"], [2, 0])
    0.5
    """
    automata = {head: _deterministic(sample, first) for head, sample in sequences.samples.items()}
    return SHAG.from_automata(sequences.symbols, automata, _defaults(sequences))


def backoff(sequences: HeadSequences, smoothing: float = 0.01) -> SHAG:
    """Estimate a smoothed DET+F grammar, which gives every projective tree a positive weight."""
    return deterministic(sequences, first=True).smoothed(smoothing)


def spectral(
    sequences: HeadSequences,
    *,
    states: int,
    basis: str = "extended",
    cut_factor: float = 10.0,
    mass: float = 0.0,
) -> SHAG:
    """Learn each automaton by the spectral method, from expected counts of substrings.

    Parameters
    ----------
    sequences : HeadSequences
    states : int
        Largest number of states; an automaton has no more states than modifiers.
    basis : "extended" or "symbols"
        The most frequent substrings of up to four modifiers, or the modifiers and the empty string.
    cut_factor : float
        Size of the extended basis, as a multiple of the number of modifiers.
    mass : float
        Directions are dropped whose singular value is a smaller share of the sum of those kept at first.
    """
    from gramian.automata.spectral import SpectralWFA

    if basis not in ("extended", "symbols"):
        raise OptionError(f"basis: got {basis!r}; try one of: extended, symbols")
    if not cut_factor > 0.0:
        raise OptionError(f"cut_factor: got {cut_factor}; try a number above 0, such as 10")
    automata = {}
    for head, sample in sequences.samples.items():
        size = len(sample.alphabet)
        learner = SpectralWFA(
            min(states, size),
            basis="frequent" if basis == "extended" else "symbols",
            basis_size=1 + round(cut_factor * size),
            minimum_mass=mass,
            repair=None,
        )
        automata[head] = learner.fit(sample).wfa_ if size else _deterministic(sample, False)
    return SHAG.from_automata(sequences.symbols, automata, _defaults(sequences))


def expectation_maximisation(
    sequences: HeadSequences,
    *,
    states: int,
    iterations: int = 40,
    start: str = "random",
    random_state: int = 0,
) -> SHAG:
    """Climb the likelihood of each automaton's sequences from a random or spectral start.

    Parameters
    ----------
    sequences : HeadSequences
    states : int
        Largest number of states; an automaton has no more states than modifiers.
    iterations : int
    start : "random" or "spectral"
    random_state : int
    """
    from gramian.automata.pnfa_em import PNFAEM

    automata = {}
    for number, (head, sample) in enumerate(sorted(sequences.samples.items(), key=_by_name)):
        if not sample.alphabet:
            automata[head] = _deterministic(sample, False)
            continue
        learner = PNFAEM(
            min(states, len(sample.alphabet)),
            start=start,
            max_iterations=iterations,
            tolerance=0.0,
            n_jobs=1,
            random_state=random_state + number,
        )
        automata[head] = learner.fit(sample).wfa_
    return SHAG.from_automata(sequences.symbols, automata, _defaults(sequences))


def _by_name(item: tuple[tuple[str | None, int], Sequences]) -> tuple[str, int]:
    (head, direction), _ = item
    return head or "", direction


def _deterministic(sample: Sequences, first: bool) -> WFA:
    size = len(sample.alphabet)
    lengths = sample.lengths
    starts = np.zeros(len(sample.symbols), bool)
    starts[sample.offsets[:-1][lengths > 0]] = True
    counts = [
        np.bincount(sample.symbols[starts], minlength=size),
        np.bincount(sample.symbols[~starts], minlength=size),
    ]
    stops = [np.sum(lengths == 0), np.sum(lengths > 0)]
    if not first:
        counts, stops = [counts[0] + counts[1]], [stops[0] + stops[1]]
    n = len(stops)
    transitions = np.zeros((size, n, n))
    final = np.ones(n)
    for state in range(n):
        total = float(counts[state].sum() + stops[state])
        if total > 0.0:
            transitions[:, state, n - 1] = counts[state] / total
            final[state] = stops[state] / total
    return WFA(np.eye(n)[0], final, transitions, sample.alphabet)


def _defaults(sequences: HeadSequences) -> dict[int, WFA]:
    """One DET+F automaton for each direction, of all heads but the root."""
    pooled: dict[int, WFA] = {}
    for direction in (LEFT, RIGHT):
        rows = [
            [str(symbol) for symbol in row]
            for (head, side), sample in sequences.samples.items()
            if side == direction and head is not None
            for row in sample
        ]
        pooled[direction] = _deterministic(Sequences.from_strings(rows), True)
    return pooled
