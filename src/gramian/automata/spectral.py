"""Spectral learning of weighted automata from Hankel blocks (Balle et al. 2014, section 4).

With the rank-n decomposition ``H ≈ U Λ V'`` the automaton is ``initial = h_S V``, ``final = (H V)⁺ h_P`` and ``A_s = (H V)⁺ H_s V``;
automata of smaller rank are its leading sub-blocks. Rows and columns may first be divided by the square root of their frequency. What
comes out of a sample is a function, not yet a distribution: see :mod:`gramian.automata.repair`.
"""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, Self

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import svds

from gramian.automata.basis import Basis, BasisOptions
from gramian.automata.completion import Completion, completed_blocks
from gramian.automata.hankel import HankelBlocks, hankel_blocks
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Array, Sequences
from gramian.automata.weighted_automaton import WFA, DivergenceError, Statistic
from gramian.base import estimator
from gramian.value_types import Boolean, Either, InstanceOf, Number, OneOf, Whole, option

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SpectralDiagnostics:
    """What to look at before trusting a spectral automaton."""

    n_states: int  # the rank taken
    basis_shape: tuple[int, int]  # number of prefixes and suffixes
    singular_values: Array  # of the (scaled) Hankel block, largest first, as many as were computed
    spectral_radius: float  # of the summed transitions; sums over all strings converge below one
    total_mass: float  # sum of the function over all strings; NaN where it diverges
    negative_share: float  # share of the training strings with a negative score

    @classmethod
    def of(cls, raw: WFA, factors: SpectralFactors, sample: Sequences) -> Self:
        """Look at an automaton that was cut from `factors`."""
        try:
            mass = raw.total_mass()
        except DivergenceError:
            mass = float("nan")
        distinct, weights = sample.distinct()
        negative = float(weights @ (raw.score(distinct) < 0.0) / weights.sum())
        values = factors.singular_values
        return cls(raw.n_states, factors.basis_shape, values, raw.spectral_radius, mass, negative)


@dataclass(frozen=True, eq=False)
class SpectralFactors:
    """A decomposed Hankel block: automata of every rank up to that of `wfa` are cut from it."""

    wfa: WFA
    singular_values: Array
    basis_shape: tuple[int, int]

    def truncated(self, n_states: int) -> WFA:
        """Return the automaton of a smaller rank."""
        n, full = n_states, self.wfa
        return WFA(full.initial[:n], full.final[:n], full.transitions[:, :n, :n], full.alphabet)


def spectral_factors(
    blocks: HankelBlocks, rank: int, *, scaled: bool = False, seed: int = 0
) -> SpectralFactors:
    """Decompose Hankel blocks up to a rank; the automaton computes the function of the blocks' statistic."""
    matrix, stacked = blocks.matrix, blocks.stacked
    prefix_values, suffix_values = blocks.prefix_values, blocks.suffix_values
    p, s = matrix.shape
    if scaled:
        rows, columns = (
            np.where(values > 0, 1.0 / np.sqrt(np.maximum(values, 1e-300)), 0.0)
            for values in (prefix_values, suffix_values)
        )
        matrix = matrix.multiply(rows[:, None]).multiply(columns).tocsr()
        stacked = (
            stacked.multiply(np.tile(rows, len(blocks.basis.alphabet))[:, None]).multiply(columns).tocsr()
        )
        prefix_values, suffix_values = rows * prefix_values, columns * suffix_values
    left, values, right = _svd(matrix, min(rank, p, s), seed)
    kept = values > 1e-14 * values[0] if len(values) else np.zeros(0, bool)
    left, values, right = left[:, kept], values[kept], right[:, kept]
    inverse = left.T / values[:, None]
    moved = (stacked @ right).reshape(-1, p, len(values))
    wfa = WFA(suffix_values @ right, inverse @ prefix_values, inverse @ moved, blocks.basis.alphabet)
    return SpectralFactors(wfa, values, blocks.basis.shape)


@estimator
class SpectralWFA(SequenceLearner):
    """A weighted automaton by spectral learning.

    Examples
    --------
    >>> strings = ["ab" * (i % 3) for i in range(30)]
    >>> raw = SpectralWFA(5, basis=BasisOptions(size=10), repair=None).fit(strings)
    >>> raw.model_.score(["", "ab", "ba"]).round(2)
    array([0.33, 0.33, 0.  ])
    >>> SpectralWFA(5).fit(strings).model_.is_probabilistic()
    True
    """

    n_states: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default="auto")
    """The rank; "auto" takes the one that gives held-out strings the highest likelihood."""
    _: KW_ONLY
    statistic: Statistic = option(OneOf("substring", "prefix", "string"), default="substring")
    """What is counted; long strings and short basis strings want substrings."""
    basis: BasisOptions | Basis = option(
        Either(InstanceOf(BasisOptions), InstanceOf(Basis)), default=BasisOptions()
    )
    """How the basis is chosen; or any basis."""
    completion: Completion = option(InstanceOf(Completion), default=Completion())
    """Fill in what was seen too rarely so that the blocks are nearly of low rank; see :mod:`gramian.automata.completion`."""
    scaled: bool = option(Boolean(), default=False)
    """Divide rows and columns by the square root of their frequency; helps next-symbol prediction."""
    minimum_mass: float = option(Number(0, 1), default=0.0)
    """Drop directions whose singular value is a smaller share of the sum of those computed."""
    repair: Literal["clip", "cluster", "em"] | None = option(
        OneOf("em", "cluster", "clip", None), default="em"
    )
    """How to make a true distribution of the result: by clustering its state vectors and EM from there; by clustering alone; by clipping
    negative weights in a suitable basis; or not at all."""
    diagnostics_: SpectralDiagnostics = field(init=False)
    """Of the automaton before repair."""
    model_: WFA = field(init=False)
    """The automaton learnt, computing string weights whatever was counted."""

    def _learn(self, sample: Sequences) -> WFA:
        size, rank = self._choose(sample)
        factors = self._factors(sample, size, rank)
        values = factors.singular_values
        heavy = int(np.count_nonzero(values >= self.minimum_mass * values.sum()))
        counted = factors.truncated(max(1, min(rank, heavy, len(values))))
        raw = counted.convert(self.statistic, "string")
        self.diagnostics_ = diagnostics = SpectralDiagnostics.of(raw, factors, sample)
        if self.repair is None:
            _log.info("%d states; total mass %.4f", diagnostics.n_states, diagnostics.total_mass)
            _log.info("%.1f %% of the training strings score below zero", 100 * diagnostics.negative_share)
        return self._repaired(raw, sample)

    def _factors(self, sample: Sequences, size: int, rank: int) -> SpectralFactors:
        basis = (
            self.basis if isinstance(self.basis, Basis) else self.basis.choose(sample, size, self.statistic)
        )
        blocks = completed_blocks(hankel_blocks(sample, basis, self.statistic), len(sample), self.completion)
        return spectral_factors(blocks, rank, scaled=self.scaled, seed=self.random_state)

    def _choose(self, sample: Sequences) -> tuple[int, int]:
        """Return what "auto" chooses on held-out strings: the basis size before repair, which takes a second, and the rank after it."""
        options = self.basis if isinstance(self.basis, BasisOptions) else BasisOptions("symbols")
        completes = self.completion.least is not None  # which works on whole matrices
        default_size = _SIZES[0] if completes else 500
        size = default_size if options.size == "auto" else options.size
        if self.n_states != "auto":
            return size, int(self.n_states)
        training, held_out = sample.split(self.held_out, seed=self.random_state)
        choose_size = options.size == "auto" and options.kind not in ("symbols", "all") and not completes
        factors_by_size = {
            size: self._factors(training, size, _RANKS[-1]) for size in (_SIZES if choose_size else (size,))
        }
        if choose_size or self.repair is None:
            trials = [
                (held_out_likelihood(raw, held_out), size, raw.n_states)
                for size, factors in factors_by_size.items()
                for raw in self._cut(factors, _RANKS)
            ]
            _, size, rank = max(trials, key=lambda trial: trial[0])
        if self.repair is not None:
            automata = self._cut(factors_by_size[size], _REPAIRED_RANKS)
            values = [held_out_likelihood(self._repaired(raw, training), held_out) for raw in automata]
            rank = automata[int(np.argmax(values))].n_states
        _log.info("chosen on held-out strings: a basis of %d, %d states", size, rank)
        return size, rank

    def _cut(self, factors: SpectralFactors, ranks: tuple[int, ...]) -> list[WFA]:
        """Return automata of several ranks, at least one."""
        max_rank = max(len(factors.singular_values), ranks[0])
        return [
            factors.truncated(rank).convert(self.statistic, "string") for rank in ranks if rank <= max_rank
        ]

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


def held_out_likelihood(model: WFA, held_out: Sequences, least: float = 1e-4) -> float:
    """Return the log-probability of strings under a distribution, or under next-symbol scores made into one.

    Scores of a raw spectral automaton are raised to `least` and normalised; their own product would reward large errors of either sign.
    """
    if model.is_probabilistic():
        return float(model.log_score(held_out).sum())
    scores = np.maximum(model.next_scores(held_out), least)
    scores /= scores.sum(axis=1, keepdims=True)
    return float(np.log(scores[np.arange(len(scores)), held_out.events()]).sum())


def _svd(matrix: sparse.csr_array, rank: int, seed: int) -> tuple[Array, Array, Array]:
    """Return the leading left vectors, singular values (largest first) and right vectors of a sparse matrix."""
    max_rank = min(matrix.shape)
    if max_rank <= 600 or rank > max_rank // 3:
        left, values, right = linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        start = np.random.default_rng(seed).standard_normal(max_rank)
        left, values, right = svds(matrix, rank, v0=start)
        left, values, right = left[:, ::-1], values[::-1], right[::-1]
    return left[:, :rank], values[:rank], right[:rank].T
