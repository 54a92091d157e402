"""Weighted finite automata: ``f(x) = initial · A_{x1} ··· A_{xt} · final`` (Balle et al. 2014, sections 2-3).

A :class:`WFA` holds its weights and computes with them: scores of strings and prefixes, the three observable
functions of Lemma 1 (string, prefix, substring), change of basis, minimisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gramian.automata import automata_kernels as kernels
from gramian.automata.sequence_model import SequenceModel, random_walks
from gramian.automata.sequences import Array, Sequences, Strings, Symbol
from gramian.errors import GramianError, OptionError

Statistic = Literal["string", "prefix", "substring"]


class DivergenceError(GramianError):
    """A sum over all strings that diverges: the summed transitions have a spectral radius of one or more.

    Examples
    --------
    >>> from gramian.automata import WFA
    >>> issubclass(DivergenceError, Exception)
    True
    """


@dataclass(frozen=True, eq=False)
class WFA(SequenceModel):
    """A weighted finite automaton with real weights.

    Examples
    --------
    A coin that says ``a`` and continues with probability one half:

    >>> coin = WFA([1.0], [0.5], [[[0.5]]], ("a",))
    >>> coin.score([[], ["a"], ["a", "a"], ["b"]])
    array([0.5  , 0.25 , 0.125, 0.   ])
    >>> coin.prefix_score([[], ["a"]])
    array([1. , 0.5])
    >>> coin.is_probabilistic()
    True
    """

    kind: ClassVar[str] = "wfa"
    initial: Array  #: shape (n_states,)
    final: Array  #: shape (n_states,)
    #: shape (n_symbols, n_states, n_states); ``transitions[s, i, j]`` is the weight of going from state ``i`` to ``j`` with symbol ``s``
    transitions: Array
    alphabet: tuple[Symbol, ...]  #: the symbols, in the order of `transitions`

    def __post_init__(self) -> None:
        for name in ("initial", "final", "transitions"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "alphabet", tuple(self.alphabet))
        n, k = len(self.initial), len(self.alphabet)
        if self.initial.shape != (n,) or self.final.shape != (n,) or self.transitions.shape != (k, n, n):
            raise OptionError(
                f"WFA: {self.initial.shape}, {self.final.shape}, {self.transitions.shape} for {k} symbols; "
                f"try: initial (n,), final (n,), transitions (n_symbols, n, n)"
            )
        if len(set(self.alphabet)) != k:
            raise OptionError("WFA: duplicate symbol in the alphabet; try: naming each symbol once")

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return len(self.alphabet)

    @property
    def spectral_radius(self) -> float:
        """Largest absolute eigenvalue of the summed transitions; sums over all strings need it below one."""
        if self.n_states == 0 or self.n_symbols == 0:
            return 0.0
        summed = self.transitions.sum(axis=0)
        return float(np.abs(np.linalg.eigvals(summed)).max()) if np.isfinite(summed).all() else float("inf")

    def score(self, strings: Strings) -> Array:
        """Return f(x) for every string x; a string with a symbol outside the alphabet scores 0."""
        log_abs, sign = self.signed_log_score(strings)
        return sign * np.exp(log_abs)

    def log_score(self, strings: Strings) -> Array:
        """Return log f(x) for every string x, safe for long strings; -inf where f(x) is not positive."""
        log_abs, sign = self.signed_log_score(strings)
        return np.where(sign > 0, log_abs, -np.inf)

    def prefix_score(self, strings: Strings) -> Array:
        """Return f_p(x), the total weight of the strings that begin with x."""
        return self.convert("string", "prefix").score(strings)

    def next_scores(self, strings: Strings) -> Array:
        """Return scores of what follows each prefix: ``a·A_s·ã`` for symbols, ``a·final`` for STOP.

        One row a prefix, a string of length t having t + 1; one column a symbol, then STOP. The state row ``a`` is normalised by its
        prefix weight ``a·ã``, with ``ã = (I - A)^-1 final``. Where that is not positive, which in a distribution means that the prefix
        cannot be, the history before its last symbol is forgotten: ``a`` is the average state of all positions, moved by that symbol, or
        not moved if the symbol is unknown. If the sum over all strings diverges, ``ã`` is still the solution of the same equation, or
        `final` if there is none.
        """
        readout = np.column_stack([(self.transitions @ self.prefix_weights()).T, self.final])
        return np.asarray(self.state_vectors(strings) @ readout)

    def state_vectors(self, strings: Strings) -> Array:
        """Return the normalised state row of each prefix of each string, as :meth:`next_scores` describes."""
        sample = Sequences.of(strings, self.alphabet)
        total = self.prefix_weights()
        average = np.linalg.lstsq(
            np.eye(self.n_states) - self.transitions.sum(axis=0).T, self.initial, rcond=None
        )[0]
        restarts = np.vstack([average @ self.transitions, average])
        mass = restarts @ total
        restarts /= np.where(mass > 0, mass, 1.0)[:, None]
        restarts[mass <= 0] = restarts[-1] if mass[-1] > 0 else self.initial
        vectors = np.empty((sample.n_cuts, self.n_states))
        kernels.state_vectors(
            self.initial, total, restarts, self.transitions, sample.symbols, sample.offsets, vectors
        )
        return vectors

    def prefix_weights(self) -> Array:
        """Return ``ã = (I - A)^-1 final``, the weight of all that follows each state; `final` if there is none."""
        matrix = np.eye(self.n_states) - self.transitions.sum(axis=0)
        try:
            return np.asarray(np.linalg.solve(matrix, self.final))
        except np.linalg.LinAlgError:
            return self.final

    def signed_log_score(self, strings: Strings) -> tuple[Array, Array]:
        """Return log|f(x)| and the sign of f(x) for every string x, safe for long strings."""
        sample = Sequences.of(strings, self.alphabet)
        log_abs, sign = np.empty(len(sample)), np.empty(len(sample))
        kernels.score_strings(
            self.initial, self.final, self.transitions, sample.symbols, sample.offsets, log_abs, sign
        )
        return log_abs, sign

    def total_mass(self) -> float:
        """Return the sum of f over all strings; DivergenceError where it does not converge."""
        return float(self.initial @ self._resolvent(self.final))

    def convert(self, source: Statistic, target: Statistic) -> WFA:
        """Return the automaton of one observable function of f, given that of another (Lemma 1).

        Parameters
        ----------
        source, target : {"string", "prefix", "substring"}
            What this automaton computes, and what the result shall compute: the weight of a string, the
            weight of all strings that begin with it, or its expected number of occurrences.

        Raises
        ------
        DivergenceError
            Where a sum over all strings is needed and does not converge.

        Examples
        --------
        >>> coin = WFA([1.0], [0.5], [[[0.5]]], ("a",))
        >>> coin.convert("string", "substring").score([[]])  # expected length plus one
        array([2.])
        """
        order: tuple[Statistic, ...] = ("string", "prefix", "substring")
        for value in (source, target):
            if value not in order:
                raise OptionError(f"statistic must be one of {', '.join(order)}, got {value!r}")
        initial, final, summed = self.initial, self.final, self.transitions.sum(axis=0)
        if source == "substring" != target:
            initial = initial - initial @ summed
        elif source != "substring" == target:
            initial = self._resolvent(initial, transposed=True)
        if source == "string" != target:
            final = self._resolvent(final)
        elif source != "string" == target:
            final = final - summed @ final
        return WFA(initial, final, self.transitions, self.alphabet)

    def _resolvent(self, vector: Array, *, transposed: bool = False) -> Array:
        """(I - A)^-1 vector, where the series of powers of A converges."""
        radius = self.spectral_radius
        if not radius < 1.0:
            raise DivergenceError(
                f"the sum over all strings diverges: spectral radius {radius:.4g}, not below 1; "
                "try: fewer states, a larger basis, prefix statistics, or repair"
            )
        matrix = np.eye(self.n_states) - self.transitions.sum(axis=0)
        return np.asarray(np.linalg.solve(matrix.T if transposed else matrix, vector))

    def is_probabilistic(self, tolerance: float = 1e-9) -> bool:
        """Tell whether this is a PNFA: weights >= 0; the initial and each state's leaving ones sum to 1."""
        leaving = self.final + self.transitions.sum(axis=(0, 2))
        smallest = min(self.initial.min(), self.final.min(), self.transitions.min(initial=0.0))
        return bool(
            smallest >= 0.0
            and abs(self.initial.sum() - 1.0) <= tolerance
            and np.abs(leaving - 1.0).max() <= tolerance
        )

    def change_basis(self, matrix: npt.ArrayLike) -> WFA:
        """Return the automaton ``(Mᵀ initial, M⁻¹ final, M⁻¹ A M)``, which computes the same function."""
        basis = np.asarray(matrix, dtype=np.float64)
        return WFA(
            self.initial @ basis,
            np.asarray(np.linalg.solve(basis, self.final), np.float64),
            np.asarray(np.linalg.solve(basis, self.transitions @ basis), np.float64),
            self.alphabet,
        )

    def minimise(self, tolerance: float = 1e-10) -> WFA:
        """Return an automaton with the fewest states that computes the same function (Schützenberger 1961).

        Projects on the space that the forward vectors span, then on the one that the backward vectors span;
        directions with a relative singular value below `tolerance` are dropped.

        Examples
        --------
        >>> double = WFA([0.5, 0.5], [0.5, 0.5], [[[0.5, 0], [0, 0.5]]], ("a",))
        >>> double.minimise().n_states
        1
        """
        half = self.projected(_reachable(self.initial, self.transitions, tolerance))
        return half.projected(_reachable(half.final, half.transitions.transpose(0, 2, 1), tolerance))

    def projected(self, basis: Array) -> WFA:
        """Return the automaton on the space that orthonormal columns span."""
        operators = basis.T @ self.transitions @ basis
        return WFA(self.initial @ basis, basis.T @ self.final, operators, self.alphabet)

    def sample(self, n_strings: int, *, random_state: int = 0, max_length: int = 10_000) -> Sequences:
        """Draw strings; the automaton must be a PNFA."""
        if not self.is_probabilistic(1e-6):
            raise OptionError("sampling: this automaton is not a distribution; try: learning it with repair")
        n, k = self.n_states, self.n_symbols
        moves = self.transitions.transpose(1, 0, 2).reshape(n, k * n)
        return random_walks(
            self.initial,
            np.column_stack([moves, self.final]),
            np.repeat(np.arange(k, dtype=np.int32), n),
            np.broadcast_to(np.tile(np.arange(n, dtype=np.int32), k), (n, k * n)),
            self.alphabet,
            n_strings,
            np.random.default_rng(random_state),
            max_length,
        )

    def to_wfa(self) -> WFA:
        """Return this automaton."""
        return self


def _reachable(start: Array, transitions: Array, tolerance: float) -> Array:
    """Orthonormal columns that span start, start A_s, start A_s A_t, ..."""
    n = len(start)
    norm = float(np.linalg.norm(start))
    if norm == 0.0:
        return np.zeros((n, 0))
    # Symbols differ in weight by orders of magnitude; unit operators make one tolerance fit all.
    scale = np.maximum(np.linalg.norm(transitions, axis=(1, 2), keepdims=True), np.finfo(float).tiny)
    unit = transitions / scale
    basis = (start / norm)[:, None]
    new_directions = basis
    while new_directions.shape[1] and basis.shape[1] < n:
        images = (new_directions.T @ unit).reshape(-1, n).T
        images = images - basis @ (basis.T @ images)
        images = images - basis @ (basis.T @ images)  # twice is enough
        left, values, _ = np.linalg.svd(images, full_matrices=False)
        new_directions = left[:, values > tolerance]
        basis = np.hstack([basis, new_directions])
    return basis
