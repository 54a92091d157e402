"""Spectral learning of weighted automata from Hankel blocks (Balle et al. 2014, section 4).

With the rank-n decomposition ``H ≈ U Λ V'`` the automaton is ``initial = h_S V``, ``final = (H V)⁺ h_P`` and
``A_s = (H V)⁺ H_s V``; automata of smaller rank are its leading sub-blocks. Rows and columns may first be
divided by the square root of their frequency. What comes out of a sample is a function, not yet a
distribution: see :mod:`gramian.automata.repair`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from gramian.automata.basis import Basis
from gramian.automata.hankel import HankelBlocks, hankel_blocks, hankel_blocks_of
from gramian.automata.strings import Sequences, Strings, Symbol
from gramian.automata.wfa import WFA, DivergenceError, Statistic
from gramian.errors import OptionError

__all__ = ["SpectralDiagnostics", "SpectralWFA", "extract_wfa", "spectral_factors"]

Array = npt.NDArray[np.float64]
Solver = Literal["auto", "dense", "sparse", "randomised"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SpectralDiagnostics:
    """What to look at before trusting a spectral automaton.

    Attributes
    ----------
    n_states : int
        The rank taken.
    basis_shape : tuple of int
        Number of prefixes and suffixes.
    singular_values : array
        Of the (scaled) Hankel block, largest first, as many as were computed.
    spectral_radius : float
        Of the summed transitions; sums over all strings converge below one.
    total_mass : float
        Sum of the function over all strings; NaN where it diverges.
    negative_share : float
        Share of the training strings with a negative score.
    """

    n_states: int
    basis_shape: tuple[int, int]
    singular_values: Array
    spectral_radius: float
    total_mass: float
    negative_share: float


@dataclass(frozen=True, eq=False)
class SpectralFactors:
    """A decomposed Hankel block: automata of every rank up to that of `wfa` are cut from it."""

    wfa: WFA
    singular_values: Array

    def truncated(self, n_states: int) -> WFA:
        """Return the automaton of a smaller rank."""
        n = n_states
        full = self.wfa
        return WFA(full.initial[:n], full.final[:n], full.transitions[:, :n, :n], full.alphabet)


def spectral_factors(
    blocks: HankelBlocks, rank: int, *, scaled: bool = False, solver: Solver = "auto", seed: int = 0
) -> SpectralFactors:
    """Decompose Hankel blocks up to a rank; the automaton computes the function of the blocks' statistic."""
    matrix, stacked = blocks.matrix, blocks.stacked
    prefix_values, suffix_values = blocks.prefix_values, blocks.suffix_values
    p, s = matrix.shape
    if scaled:
        rows, columns = _inverse_roots(prefix_values), _inverse_roots(suffix_values)
        matrix = matrix.multiply(rows[:, None]).multiply(columns).tocsr()
        stacked = (
            stacked.multiply(np.tile(rows, len(blocks.basis.alphabet))[:, None]).multiply(columns).tocsr()
        )
        prefix_values, suffix_values = rows * prefix_values, columns * suffix_values
    left, values, right = _svd(matrix, min(rank, p, s), solver, seed)
    kept = values > 1e-14 * values[0] if len(values) else np.zeros(0, bool)
    left, values, right = left[:, kept], values[kept], right[:, kept]
    inverse = left.T / values[:, None]
    moved = (stacked @ right).reshape(-1, p, len(values))
    return SpectralFactors(
        WFA(suffix_values @ right, inverse @ prefix_values, inverse @ moved, blocks.basis.alphabet), values
    )


class SpectralWFA(BaseEstimator):  # type: ignore[misc]
    """A weighted automaton by spectral learning.

    Parameters
    ----------
    n_states : int or "auto"
        The rank; "auto" takes the one that gives held-out strings the highest likelihood.
    statistic : "substring", "prefix" or "string"
        What is counted; long strings and short basis strings want substrings.
    basis : "frequent", "ends", "symbols", "matching" or Basis
        The most frequent substrings; the most frequent beginnings and endings; the symbols and the empty
        string; a maximum matching of frequent strings; or any basis.
    basis_size : int or "auto"
        Number of prefixes and of suffixes; "auto" tries several if `n_states` is "auto" too, and is 500
        otherwise.
    max_length : int
        The longest string of the basis.
    scaled : bool
        Divide rows and columns by the square root of their frequency; helps next-symbol prediction.
    minimum_mass : float
        Drop directions whose singular value is a smaller share of the sum of those computed.
    repair : "em", "cluster", "clip" or None
        How to make a true distribution of the result: by clustering its state vectors and EM from there; by
        clustering alone; by clipping negative weights in a suitable basis; or not at all.
    solver : "auto", "dense", "sparse" or "randomised"
        Which singular value decomposition.
    held_out : float
        Share of the strings on which "auto" chooses.
    alphabet : sequence of str or int, optional
        The symbols; without it, those of the training strings.
    n_jobs : int, optional
        Threads of repair by EM.
    random_state : int

    Attributes
    ----------
    wfa_ : WFA
        The automaton learnt, computing string weights whatever was counted.
    diagnostics_ : SpectralDiagnostics
        Of the automaton before repair.

    Examples
    --------
    >>> strings = ["ab" * (i % 3) for i in range(30)]
    >>> raw = SpectralWFA(5, basis_size=10, repair=None).fit(strings)
    >>> raw.wfa_.score(["", "ab", "ba"]).round(2)
    array([0.33, 0.33, 0.  ])
    >>> SpectralWFA(5, basis_size=10).fit(strings).wfa_.is_probabilistic()
    True
    """

    def __init__(
        self,
        n_states: int | Literal["auto"] = "auto",
        *,
        statistic: Statistic = "substring",
        basis: str | Basis = "frequent",
        basis_size: int | Literal["auto"] = "auto",
        max_length: int = 4,
        scaled: bool = False,
        minimum_mass: float = 0.0,
        repair: Literal["clip", "cluster", "em"] | None = "em",
        solver: Solver = "auto",
        held_out: float = 0.1,
        alphabet: tuple[Symbol, ...] | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_states = n_states
        self.statistic = statistic
        self.basis = basis
        self.basis_size = basis_size
        self.max_length = max_length
        self.scaled = scaled
        self.minimum_mass = minimum_mass
        self.repair = repair
        self.solver = solver
        self.held_out = held_out
        self.alphabet = alphabet
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, strings: Strings, y: None = None) -> Self:
        """Learn from `strings`."""
        self._check()
        sample = Sequences.of(strings, self.alphabet)
        if sample.symbols.min(initial=0) < 0:
            raise OptionError(
                "training strings: a symbol is not in the alphabet; try: adding it to the alphabet"
            )
        size, rank = self._choose(sample)
        factors = self._factors(sample, size, rank)
        values = factors.singular_values
        heavy = int(np.count_nonzero(values >= self.minimum_mass * values.sum()))
        counted = factors.truncated(max(1, min(rank, heavy, len(values))))
        raw = counted.convert(self.statistic, "string")
        self.diagnostics_ = _diagnostics(raw, values, factors, self._basis(sample, size).shape, sample)
        self.wfa_ = self._repaired(raw, sample)
        return self

    def _check(self) -> None:
        if self.n_states != "auto" and not (
            isinstance(self.n_states, int | np.integer) and self.n_states >= 1
        ):
            raise OptionError(f"n_states: got {self.n_states!r}; try: a number from 1, or 'auto'")
        if self.basis_size != "auto" and self.basis_size < 1:
            raise OptionError(f"basis_size: got {self.basis_size!r}; try: a number from 1, or 'auto'")
        if self.repair not in (None, "clip", "cluster", "em"):
            raise OptionError(f"repair: got {self.repair!r}; try one of: None, clip, cluster, em")

    def _basis(self, sample: Sequences, size: int) -> Basis:
        if isinstance(self.basis, Basis):
            return self.basis
        if self.basis == "symbols":
            return Basis.symbols(sample.alphabet)
        if self.basis == "frequent":
            return Basis.frequent(sample, size, max_length=self.max_length)
        if self.basis == "ends":
            return Basis.frequent(sample, size, max_length=self.max_length, place="ends")
        if self.basis == "matching":
            return Basis.matching(sample, size, statistic=self.statistic, max_length=self.max_length)
        raise OptionError(
            f"basis: got {self.basis!r}; try one of: frequent, ends, symbols, matching, or a Basis"
        )

    def _factors(self, sample: Sequences, size: int, rank: int) -> SpectralFactors:
        blocks = hankel_blocks(sample, self._basis(sample, size), self.statistic)
        return spectral_factors(blocks, rank, scaled=self.scaled, solver=self.solver, seed=self.random_state)

    def _choose(self, sample: Sequences) -> tuple[int, int]:
        """Return the basis size and the rank, chosen on a slice of the sample where they are "auto".

        Sizes are compared by their best automata before repair, which take a second; ranks after it.
        """
        size = 500 if self.basis_size == "auto" else self.basis_size
        if self.n_states != "auto":
            return size, int(self.n_states)
        kept, judges = sample.split(self.held_out, seed=self.random_state)
        several = self.basis_size == "auto" and self.basis in ("frequent", "ends", "matching")
        tried = {size: self._factors(kept, size, _RANKS[-1]) for size in (_SIZES if several else (size,))}
        if several or self.repair is None:
            found = [
                (_likelihood(raw, judges), size, raw.n_states)
                for size, factors in tried.items()
                for raw in self._cut(factors, _RANKS)
            ]
            _, size, rank = max(found, key=lambda trial: trial[0])
        if self.repair is not None:
            automata = self._cut(tried[size], _REPAIRED_RANKS)
            values = [_likelihood(self._repaired(raw, kept), judges) for raw in automata]
            rank = automata[int(np.argmax(values))].n_states
        _log.info("chosen on held-out strings: a basis of %d, %d states", size, rank)
        return size, rank

    def _cut(self, factors: SpectralFactors, ranks: tuple[int, ...]) -> list[WFA]:
        """Return automata of several ranks, at least one."""
        most = max(len(factors.singular_values), ranks[0])
        return [factors.truncated(rank).convert(self.statistic, "string") for rank in ranks if rank <= most]

    def _repaired(self, raw: WFA, sample: Sequences) -> WFA:
        if self.repair is None:
            return raw
        from gramian.automata.repair import clip_to_pnfa, cluster_to_pnfa, refine

        if self.repair == "clip":
            return clip_to_pnfa(raw, sample, random_state=self.random_state)
        clustered = cluster_to_pnfa(raw, sample, random_state=self.random_state)
        if self.repair == "cluster":
            return clustered
        return refine(clustered, sample, random_state=self.random_state, n_jobs=self.n_jobs)


_SIZES = (50, 150, 500, 1500)
_RANKS = (*range(1, 21), *range(22, 41, 2), *range(44, 65, 4))
_REPAIRED_RANKS = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # each costs a run of EM


def _likelihood(model: WFA, judges: Sequences, least: float = 1e-4) -> float:
    """Return the log-probability of strings under a distribution, or under next-symbol scores made into one.

    Scores of a raw spectral automaton are raised to `least` and normalised; their own product would reward
    large errors of either sign.
    """
    if model.is_probabilistic():
        return float(model.log_score(judges).sum())
    scores = np.maximum(model.next_scores(judges), least)
    scores /= scores.sum(axis=1, keepdims=True)
    return float(np.log(scores[np.arange(len(scores)), judges.events()]).sum())


def extract_wfa(
    score: Callable[[Sequence[tuple[Symbol, ...]]], npt.ArrayLike],
    alphabet: Sequence[Symbol],
    basis: Basis | None = None,
    *,
    n_states: int | None = None,
    tolerance: float = 1e-9,
    statistic: Statistic = "string",
) -> WFA:
    """Learn a weighted automaton from a black box that scores strings.

    Parameters
    ----------
    score : callable
        Takes a list of strings (tuples of symbols) and returns one number for each.
    alphabet : sequence of str or int
    basis : Basis, optional
        Which strings are asked about; without it, all strings of up to two symbols.
    n_states : int, optional
        The rank; without it, the number of singular values above `tolerance` times the largest.
    statistic : {"string", "prefix", "substring"}
        What `score` computes; the result computes string weights.

    Examples
    --------
    >>> def black_box(strings):
    ...     return [0.2 * 0.5 ** x.count("a") * 0.3 ** x.count("b") for x in strings]
    >>> extract_wfa(black_box, "ab").score(["abba", ""]).round(6)
    array([0.0045, 0.2   ])
    """
    if basis is None:
        short = [(), *((a,) for a in alphabet), *((a, b) for a in alphabet for b in alphabet)]
        basis = Basis.of_strings(short, short, alphabet)
    blocks = hankel_blocks_of(score, basis, statistic)
    factors = spectral_factors(blocks, n_states or min(basis.shape), solver="dense")
    values = factors.singular_values
    if n_states is None:
        n_states = int(np.count_nonzero(values > tolerance * values.max(initial=0.0)))
    return factors.truncated(min(n_states, len(values))).convert(statistic, "string")


def _diagnostics(
    raw: WFA, values: Array, factors: SpectralFactors, shape: tuple[int, int], sample: Sequences
) -> SpectralDiagnostics:
    try:
        mass = raw.total_mass()
    except DivergenceError:
        mass = float("nan")
    distinct, weights = sample.distinct()
    negative = float(weights @ (raw.score(distinct) < 0.0) / weights.sum())
    return SpectralDiagnostics(raw.n_states, shape, values, raw.spectral_radius, mass, negative)


def _inverse_roots(values: Array) -> Array:
    return np.asarray(np.where(values > 0, 1.0 / np.sqrt(np.maximum(values, 1e-300)), 0.0))


def _svd(matrix: object, rank: int, solver: Solver, seed: int) -> tuple[Array, Array, Array]:
    """Return the leading left vectors, singular values (largest first) and right vectors of a sparse matrix."""
    from scipy import linalg
    from scipy.sparse.linalg import svds

    smaller = min(matrix.shape)  # type: ignore[attr-defined]
    if solver == "auto":
        solver = "dense" if smaller <= 600 or rank > smaller // 3 else "sparse"
    if solver == "randomised":
        from sklearn.utils.extmath import randomized_svd

        left, values, right = randomized_svd(matrix, rank, n_iter=7, random_state=seed)
    elif solver == "dense" or rank >= smaller:
        left, values, right = linalg.svd(matrix.toarray(), full_matrices=False)  # type: ignore[attr-defined]
    elif solver == "sparse":
        start = np.random.default_rng(seed).standard_normal(smaller)
        left, values, right = svds(matrix, rank, v0=start)
        left, values, right = left[:, ::-1], values[::-1], right[::-1]
    else:
        raise OptionError(f"solver: got {solver!r}; try one of: auto, dense, sparse, randomised")
    return left[:, :rank], values[:rank], right[:rank].T
