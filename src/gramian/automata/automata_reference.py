"""The automata's dynamic programmes in plain Python: slow, readable, what the kernels are tested against."""

from collections.abc import Sequence

import numpy as np

from gramian.automata.pnfa import MoveCounts
from gramian.automata.sequences import Symbol
from gramian.automata.weighted_automaton import WFA, Statistic


def score(model: WFA, string: Sequence[Symbol]) -> float:
    """Return f(string), the product of initial vector, transitions and final vector."""
    vector = model.initial
    for symbol in string:
        if symbol not in model.alphabet:
            return 0.0
        vector = vector @ model.transitions[model.alphabet.index(symbol)]
    return float(vector @ model.final)


def expected_counts(model: WFA, strings: Sequence[Sequence[Symbol]]) -> tuple[float, MoveCounts]:
    """Return the log-likelihood of `strings`, and the expected counts of the moves of a PNFA (forward-backward)."""
    counts = MoveCounts.zeros(model.n_symbols, model.n_states)
    log_likelihood = 0.0
    for string in strings:
        word = [model.alphabet.index(symbol) for symbol in string]
        forward = [model.initial]
        for symbol in word:
            forward.append(forward[-1] @ model.transitions[symbol])
        backward = [model.final]
        for symbol in reversed(word):
            backward.insert(0, model.transitions[symbol] @ backward[0])
        probability = float(forward[-1] @ model.final)
        log_likelihood += float(np.log(probability))
        counts.initial[...] += model.initial * backward[0] / probability
        counts.final[...] += forward[-1] * model.final / probability
        for position, symbol in enumerate(word):
            paths = np.outer(forward[position], backward[position + 1]) * model.transitions[symbol]
            counts.transitions[symbol] += paths / probability
    return log_likelihood, counts


def occurrences(string: Sequence[Symbol], piece: Sequence[Symbol], statistic: Statistic) -> int:
    """Return how often `piece` is the whole string, its beginning, or any part of it."""
    text, part = tuple(string), tuple(piece)
    if statistic == "string":
        return int(text == part)
    if statistic == "prefix":
        return int(text[: len(part)] == part)
    return sum(text[i : i + len(part)] == part for i in range(len(text) - len(part) + 1))
