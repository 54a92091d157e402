"""Automata of black boxes: functions of strings that answer queries, such as neural networks (the setting of TAYSIR, ICGI 2023).

:func:`extract` learns weighted automata by the spectral method. Its basis grows: where automaton and function differ most on probes, the
prefixes and suffixes of that string join the basis. :func:`extract_acceptor` learns the smallest deterministic automaton of a language
exactly, by Angluin's L* with the counterexamples of Rivest and Schapire (1993); probes stand for the equivalence query.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.automata.basis import Basis
from gramian.automata.hankel import hankel_blocks_of, queries_of
from gramian.automata.sequences import Array, Sequences, Strings, Symbol
from gramian.automata.spectral import spectral_factors
from gramian.automata.weighted_automaton import WFA, Statistic
from gramian.errors import OptionError
from gramian.progress import tell_progress

BlackBox = Callable[[Sequence[tuple[Symbol, ...]]], npt.ArrayLike]
"""Takes a list of strings (tuples of symbols) and returns one number for each."""

_log = logging.getLogger(__name__)
_WORST = 4  # probes whose prefixes and suffixes join the basis in a round
_RANKS = 30  # tried in a round
_NOISE = 1e-12  # share of the largest singular value below which the others are rounding errors


@dataclass(frozen=True, eq=False)
class Extraction:
    """An automaton, and how near it comes to the black box that it was learnt from.

    Examples
    --------
    >>> extraction = extract(lambda strings: [0.5 ** len(x) for x in strings], "a")
    >>> extraction.model.n_states, extraction.disagreements
    (1, 0.0)
    """

    model: WFA
    queries: int  #: different strings that the black box was asked about to learn
    #: mean_error, largest_error: of absolute differences, on strings that were not used to learn
    mean_error: float
    largest_error: float
    disagreements: float  #: share of these strings of which one says more than 0.5 and the other does not

    def __str__(self) -> str:
        error = f"mean error {self.mean_error:.3g}, largest {self.largest_error:.3g}"
        return f"{self.model.n_states} states from {self.queries:,} queries; on other strings {error}"


class _Memory:
    """A black box that is asked about each string once."""

    def __init__(self, score: BlackBox, max_queries: int) -> None:
        self.score, self.max_queries = score, max_queries
        self.values: dict[tuple[Symbol, ...], float] = {}

    def __call__(self, strings: Sequence[tuple[Symbol, ...]]) -> Array:
        new = [string for string in dict.fromkeys(strings) if string not in self.values]
        if new:
            answers = np.asarray(self.score(new), np.float64)
            if answers.shape != (len(new),) or not np.isfinite(answers).all():
                problem = f"black box: {answers.shape} for {len(new)} strings, or not finite"
                raise OptionError(f"{problem}; try: one number for each string")
            self.values.update(zip(new, answers.tolist(), strict=True))
        return np.array([self.values[string] for string in strings])

    def affords(self, strings: Iterable[tuple[Symbol, ...]]) -> bool:
        """Whether there may be so many queries more."""
        return len(self.values.keys() | set(strings)) <= self.max_queries


def random_strings(
    alphabet: Sequence[Symbol], n_strings: int, max_length: int, rng: np.random.Generator
) -> list[tuple[Symbol, ...]]:
    """Return strings of random symbols, all lengths up to a largest equally likely."""
    lengths = rng.integers(0, max_length + 1, n_strings)
    return [tuple(alphabet[i] for i in rng.integers(0, len(alphabet), length)) for length in lengths.tolist()]


def _probes(
    alphabet: Sequence[Symbol], strings: Strings | None, n_probes: int, max_length: int, seed: int
) -> tuple[list[tuple[Symbol, ...]], list[tuple[Symbol, ...]]]:
    """Return distinct strings to learn from and others to measure by: half of them random, the rest of `strings`, if there are any."""
    rng = np.random.default_rng(seed)
    drawn = random_strings(alphabet, n_probes, max_length, rng)
    if strings is not None:
        given = [string for string in dict.fromkeys(map(tuple, strings)) if set(string) <= set(alphabet)]
        if not given:
            raise OptionError(
                "strings: none is made of symbols of the alphabet; try: the alphabet of the black box"
            )
        chosen = rng.permutation(len(given))[: n_probes // 2]
        drawn = drawn[: n_probes - len(chosen)] + [given[i] for i in chosen.tolist()]
    distinct = list(dict.fromkeys(drawn))
    order = rng.permutation(len(distinct)).tolist()
    half = (len(order) + 1) // 2
    return [distinct[i] for i in order[:half]], [distinct[i] for i in order[half:] or order]


def extract(
    score: BlackBox,
    alphabet: Sequence[Symbol],
    *,
    n_states: int | None = None,
    strings: Strings | None = None,
    tolerance: float = 1e-6,
    max_queries: int = 20_000,
    n_probes: int = 1000,
    max_length: int = 12,
    statistic: Statistic = "string",
    random_state: int = 0,
) -> Extraction:
    """Learn a weighted automaton from a black box that scores strings.

    Parameters
    ----------
    score : callable
        Takes a list of strings (tuples of symbols) and returns one number for each.
    alphabet : sequence of str or int
    n_states : int, optional
        The largest rank; without it, the one with the least error on probes.
    strings : Sequences or iterable, optional
        Strings that matter: half of the probes are drawn from them, the others at random.
    tolerance : float
        Stop when no probe differs by more than this share of the largest score.
    max_queries : int
        Stop before more strings are asked about.
    n_probes : int
        Half of them show where the basis must grow, the others measure the error.
    max_length : int
        Maximum length of random test strings.
    statistic : {"string", "prefix", "substring"}
        What `score` computes; the result computes string weights.
    random_state : int

    Examples
    --------
    >>> def black_box(strings):
    ...     return [0.2 * 0.5 ** x.count("a") * 0.3 ** x.count("b") for x in strings]
    >>> extracted = extract(black_box, "ab")
    >>> extracted.model.n_states, bool(extracted.largest_error < 1e-12)
    (1, True)
    """
    memory = _Memory(score, max_queries)
    probes, others = _probes(alphabet, strings, n_probes, max_length, random_state)
    truth = memory(probes)
    prefixes: dict[tuple[Symbol, ...], None] = {(): None}
    suffixes = dict(prefixes)
    best = WFA(np.zeros(1), np.zeros(1), np.zeros((len(alphabet), 1, 1)), tuple(alphabet))
    best_errors = np.abs(truth)
    while best_errors.max() > tolerance * np.abs(truth).max():
        basis = Basis.of_strings(prefixes, suffixes, alphabet)
        if not memory.affords(queries_of(basis)):
            _log.info("the next basis, %d by %d, needs more than %d queries", *basis.shape, max_queries)
            break
        for candidate in _candidates(memory, basis, statistic, n_states):
            errors = np.abs(candidate.score(probes) - truth)
            if errors.mean() < best_errors.mean():  # not so where it is not finite
                best, best_errors = candidate, errors
        tell_progress(_log, "queries", len(memory.values), max_queries)
        _log.info(
            "basis %d by %d: %d states, mean error %.3g", *basis.shape, best.n_states, best_errors.mean()
        )
        size = len(prefixes) + len(suffixes)
        for number in np.argsort(-best_errors, kind="stable")[:_WORST].tolist():
            string = probes[number]
            prefixes |= dict.fromkeys(string[:cut] for cut in range(len(string) + 1))
            suffixes |= dict.fromkeys(string[cut:] for cut in range(len(string) + 1))
        if len(prefixes) + len(suffixes) == size:
            break
    return _measured(best.convert(statistic, "string"), best, memory, others)


def _candidates(memory: _Memory, basis: Basis, statistic: Statistic, n_states: int | None) -> list[WFA]:
    """Return the automata of several ranks that compute the black box on a basis."""
    factors = spectral_factors(hankel_blocks_of(memory, basis, statistic), min(basis.shape))
    values = factors.singular_values
    largest = min(int(np.count_nonzero(values > _NOISE * values.max(initial=0.0))), n_states or len(values))
    ranks = np.unique(np.linspace(min(1, largest), largest, _RANKS).astype(int)).tolist()
    return [factors.truncated(rank) for rank in ranks if rank]


def extract_acceptor(
    accepts: BlackBox,
    alphabet: Sequence[Symbol],
    *,
    strings: Strings | None = None,
    max_states: int = 200,
    n_probes: int = 2000,
    max_length: int = 12,
    random_state: int = 0,
) -> Extraction:
    """Learn the minimal deterministic automaton of a language from a black box that says which strings are in it.

    Parameters
    ----------
    accepts : callable
        Takes a list of strings; a number above 0.5 says that a string is in the language.
    max_states : int
        Stop with so many states; a language that is not regular has no end.
    alphabet, strings, n_probes, max_length, random_state
        As for :func:`extract`; the automaton agrees with the black box on the first half of the probes.

    Returns
    -------
    Extraction
        Its model weighs strings of the language 1 and others 0; each transition leads to one state.

    Examples
    --------
    >>> even = extract_acceptor(lambda strings: [x.count("a") % 2 == 0 for x in strings], "ab")
    >>> even.model.n_states, even.disagreements, even.model.score(["aba", "a"]).tolist()
    (2, 0.0, [1.0, 0.0])
    """
    memory = _Memory(lambda asked: np.asarray(accepts(asked), np.float64) > 0.5, max_queries=0)
    probes, others = _probes(alphabet, strings, n_probes, max_length, random_state)
    truth = memory(probes)
    access: list[tuple[Symbol, ...]] = [()]
    suffixes: list[tuple[Symbol, ...]] = [()]
    while True:
        model = _closed(memory, alphabet, access, suffixes, max_states)
        tell_progress(_log, "states", min(len(access), max_states), max_states)
        wrong = np.flatnonzero(model.score(probes) != truth)
        if not len(wrong) or len(access) >= max_states:
            return _measured(model, model, memory, others)
        suffixes.append(_distinguishing(memory, model, access, min((probes[i] for i in wrong), key=len)))


def _closed(
    memory: _Memory,
    alphabet: Sequence[Symbol],
    access: list[tuple[Symbol, ...]],
    suffixes: list[tuple[Symbol, ...]],
    max_states: int,
) -> WFA:
    """Add access strings until every successor has the answers of one of them; return the automaton of the table."""

    def row(string: tuple[Symbol, ...]) -> bytes:
        return memory([string + suffix for suffix in suffixes]).tobytes()

    state_of = {row(string): state for state, string in enumerate(access)}
    targets: list[list[int]] = []
    for string in access:  # which grows
        successors = [(*string, symbol) for symbol in alphabet]
        memory([successor + suffix for successor in successors for suffix in suffixes])  # all at once
        targets.append([])
        for successor in successors:
            answers = row(successor)
            if answers not in state_of and len(access) < max_states:
                state_of[answers] = len(access)
                access.append(successor)
            targets[-1].append(state_of.get(answers, 0))
    n = len(access)
    transitions = np.eye(n)[np.array(targets).reshape(n, -1)].transpose(1, 0, 2)
    return WFA(np.eye(n)[0], memory(access), transitions, tuple(alphabet))


def _distinguishing(
    memory: _Memory, model: WFA, access: list[tuple[Symbol, ...]], wrong: tuple[Symbol, ...]
) -> tuple[Symbol, ...]:
    """Return the suffix of a string on which model and black box differ that tells two strings of one state apart, by bisection."""
    symbols, states = Sequences.from_strings([wrong], model.alphabet).symbols.tolist(), [0]
    for symbol in symbols:
        states.append(int(model.transitions[symbol, states[-1]].argmax()))

    def answer(cut: int) -> float:
        """Ask about the string with its first symbols replaced by the access string of the state that they lead to."""
        return float(memory([access[states[cut]] + wrong[cut:]])[0])

    low, high = 0, len(wrong)
    truth = answer(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if answer(middle) == truth else (low, middle)
    return wrong[high:]


def _measured(model: WFA, computed: WFA, memory: _Memory, others: list[tuple[Symbol, ...]]) -> Extraction:
    """Compare an automaton with the black box on strings that it was not learnt from."""
    queries = len(memory.values)
    truth, values = memory(others), computed.score(others)
    errors = np.abs(values - truth)
    disagreements = float(((values > 0.5) != (truth > 0.5)).mean())
    return Extraction(model, queries, float(errors.mean()), float(errors.max()), disagreements)
