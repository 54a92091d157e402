"""Word error rate against the number of states: the data of figures 3 to 5 of Balle et al. (2014).

Figure 3 has bases of symbols, as published without the empty string, and of frequent substrings beside the n-gram baselines; figure 4
EM, against states and against iterations; figure 5 the best of each; for twelve and for 45 tags. Every function takes the strings to
learn from and the strings to predict, and returns the points of a curve.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import process_time
from typing import Any, Literal, NamedTuple

from gramian.automata.baselines import NGram
from gramian.automata.basis import Basis
from gramian.automata.hankel import hankel_blocks
from gramian.automata.pdfa import PDFA
from gramian.automata.pnfa_em import PNFAEM
from gramian.automata.repair import cluster_to_pnfa, refine
from gramian.automata.spectral import spectral_factors
from gramian.automata.strings import Sequences
from gramian.automata.weighted_automaton import WFA
from gramian.evaluate.sequence_scores import next_symbol_scores


class CurvePoint(NamedTuple):
    """One learnt model on a curve; points of a spectral curve share one decomposition, and each bears its whole time."""

    curve: str  # what was varied beside the number of states, in words
    n_states: int
    word_error_rate: float  # wrong next-symbol predictions in percent, STOP included
    seconds: float  # of the processor, for learning


def baseline_points(train: Sequences, test: Sequences) -> list[CurvePoint]:
    """Return the error of unigram, bigram and trigram; the longest context seen decides (back-off)."""
    points = []
    for order, name in enumerate(("unigram", "bigram", "trigram"), 1):
        began = process_time()
        model = NGram(order, smoothing="none").fit(train).model_
        points.append(_point(name, model, test, process_time() - began))
    return points


def spectral_curve(
    train: Sequences,
    test: Sequences,
    states: Iterable[int],
    *,
    basis_size: int | Literal["symbols", "symbols and empty"] = 500,
    max_length: int = 4,
    scaled: bool = False,
    repair: Literal["em"] | None = None,
    random_state: int = 0,
) -> list[CurvePoint]:
    """Return the error of spectral automata of several ranks, cut from one decomposition; higher ranks than it has are left out.

    The basis is of so many frequent substrings, or of the symbols, as published, or of these and the empty string; `repair` makes
    automata into distributions by clustering and EM.

    Examples
    --------
    >>> strings = Sequences.from_strings(["ab" * (i % 4) for i in range(40)])
    >>> [(point.n_states, point.word_error_rate) for point in spectral_curve(strings, strings, [1, 5])]
    [(1, 62.5), (5, 18.75)]
    """
    began = process_time()
    ranks = sorted(set(states))
    name: str
    if isinstance(basis_size, str):
        name, basis = basis_size, Basis.symbols(train.alphabet, empty=basis_size != "symbols")
    else:
        name, basis = f"{basis_size} substrings", Basis.frequent(train, basis_size, max_length=max_length)
    name = f"spectral, {name}{', scaled' if scaled else ''}{', EM' if repair else ''}"
    factors = spectral_factors(hankel_blocks(train, basis), ranks[-1], scaled=scaled, seed=random_state)
    shared = process_time() - began
    points = []
    for rank in (rank for rank in ranks if rank <= len(factors.singular_values)):
        began = process_time()
        model = factors.truncated(rank).convert("substring", "string")
        if repair is not None:
            clustered = cluster_to_pnfa(model, train, random_state=random_state)
            model = refine(clustered, train, random_state=random_state)
        points.append(_point(name, model, test, shared + process_time() - began))
    return points


def em_curve(
    train: Sequences,
    test: Sequences,
    states: Iterable[int],
    *,
    max_iter: int = 100,
    n_restarts: int = 1,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> list[CurvePoint]:
    """Return the error of EM from random starts."""
    options: dict[str, Any] = {"n_restarts": n_restarts, "max_iter": max_iter}
    options |= {"n_jobs": n_jobs, "random_state": random_state}
    points = []
    for n in sorted(set(states)):
        began = process_time()
        model = PNFAEM(n, pseudo_count=1e-3, **options).fit(train).model_
        points.append(_point(f"EM, {max_iter} iterations", model, test, process_time() - began))
    return points


def em_convergence(
    train: Sequences,
    test: Sequences,
    n_states: int,
    steps: Iterable[int],
    *,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> dict[int, float]:
    """Return the word error rate after each of some numbers of EM iterations from one random start.

    Examples
    --------
    >>> strings = Sequences.from_strings(["ab" * (i % 4) for i in range(40)])
    >>> list(em_convergence(strings, strings, 4, [1, 10, 5], random_state=1))
    [1, 5, 10]
    """
    found: dict[int, float] = {}
    learner = PNFAEM(n_states, pseudo_count=1e-3, tolerance=0.0, n_jobs=n_jobs, random_state=random_state)
    done = 0
    for step in sorted(set(steps)):
        model = learner.set_params(max_iter=step - done).fit(train).model_
        found[step] = next_symbol_scores(model, test).word_error_rate
        learner.set_params(start=model)
        done = step
    return found


def _point(curve: str, model: WFA | PDFA, test: Sequences, seconds: float) -> CurvePoint:
    return CurvePoint(curve, model.n_states, next_symbol_scores(model, test).word_error_rate, seconds)
