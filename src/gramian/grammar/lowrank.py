"""Rule tensors of low rank, for parsing in time linear in the number of states (Cohen and Collins 2012).

A rule's tensor becomes a sum of few products, ``T[h1, h2, h3] = sum over q of U[q, h1] V[q, h2] W[q, h3]``, so that contracting it with two
vectors costs rank times the number of states instead of its cube. By default the factors are probabilities, fitted by maximum likelihood
to the tensor weighted by the shares of the parent's states: the result is again a grammar whose rules sum to one. Signed
factors by alternating least squares are what the paper has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar.factors import Factors
from gramian.grammar.lpcfg import LPCFG

__all__ = ["RANKS", "Compression", "Guarantee", "compress", "expected_uses", "guarantee"]

Floats = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]
Triple = tuple[Floats, Floats, Floats]

RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The ranks that are tried one after the other."""

_LIGHT = 5e-4  # share of a tensor's mass whose cells are not looked at one by one
_STEPS, _TOLERANCE = 60, 1e-3  # of expectation-maximisation at each rank
_LEAST_WEIGHT = 1e-7  # of a state, however rare
_NEGLIGIBLE = 1e-6  # error at which a rule needs no more products
_RIDGE = 1e-9
_NEW = 0.01  # uses in a sentence that every rule is granted: new text uses what training hardly saw
_OVERHEAD = 1000  # multiplications that take as long as what an edge costs anyway


@dataclass(frozen=True)
class Guarantee:
    """How large a tree or a sentence may be so that its probability is off by at most `epsilon` (Theorem 4.2).

    Attributes
    ----------
    epsilon : float
    depth : int
        Of a tree, for its probability.
    length : int
        Of a sentence, for the inside-outside values of its spans. 0 means that nothing is guaranteed: the bound is very loose.
    """

    epsilon: float
    depth: int
    length: int


def guarantee(gamma: float, states: int, symbols: int, epsilon: float = 1e-3) -> Guarantee:
    """Return what Theorem 4.2 of Cohen and Collins (2012) guarantees.

    Parameters
    ----------
    gamma : float
        The largest Frobenius norm of the error of a rule's tensor.
    states : int
        The most states a symbol has.
    symbols : int
    epsilon : float

    Examples
    --------
    >>> guarantee(1e-12, states=8, symbols=50).depth
    6
    """
    if gamma <= 0:
        raise OptionError("an exact grammar needs no guarantee: gamma is 0")
    root = np.sqrt(states)
    per_level = np.log(2 * (root + 1)) + np.log(gamma + root)
    most = (np.log(1 / gamma) + 1) / per_level
    room = np.log(1 / gamma) - np.log(states / epsilon)
    depth = min(room / per_level, most)
    length = min(room / (2 * np.log(4 * symbols) + per_level), most)
    return Guarantee(epsilon, max(int(depth), 0), max(int(length), 0))


@dataclass(frozen=True)
class Compression:
    """A grammar with rules of low rank, and how far it is from the one it came from.

    Attributes
    ----------
    grammar : LPCFG
    uses : ndarray of float64, shape (R,)
        How often each binary rule is used in an average sentence of the grammar.
    divergence : ndarray of float64, shape (R,)
        Of probabilities, how many nats of log-likelihood one use of each rule costs; of signed factors, the squared
        error relative to the squared norm, both weighted by the shares of the parent's states.
    frobenius : ndarray of float64, shape (R,)
        Norm of the error of each rule's tensor.
    numbers : tuple of int
        Parameters of the binary rules before and after.
    speed : float
        How many times faster the state vectors of an average sentence's own rules are computed, as far as
        counting multiplications can tell.
    """

    grammar: LPCFG
    uses: Reals
    divergence: Reals
    frobenius: Reals
    numbers: tuple[int, int]
    speed: float

    @property
    def loss(self) -> float:
        """What an average sentence loses: of probabilities, nats of log-likelihood."""
        return float(self.uses @ self.divergence)

    @property
    def gamma(self) -> float:
        """The largest error of a rule's tensor, which :func:`guarantee` takes."""
        return float(self.frobenius.max(initial=0.0))

    def summary(self) -> dict[str, Any]:
        """Return the main facts, in the form of a model file's report."""
        factors = self.grammar.factors
        ranks = np.zeros(0, np.int32) if factors is None else factors.rank
        return {
            "rules by rank": {
                str(rank) if rank else "whole": int((ranks == rank).sum())
                for rank in np.unique(ranks).tolist()
            },
            "rule parameters": {"before": self.numbers[0], "after": self.numbers[1]},
            "loss per sentence": round(self.loss, 4),
            "largest error of a rule (gamma)": self.gamma,
            "predicted speed-up of the fine pass": round(self.speed, 1),
        }


def compress(
    grammar: LPCFG,
    rank: int | Literal["auto"] = "auto",
    *,
    gate: float | None = None,
    measure: Literal["relative", "absolute"] = "relative",
    signed: bool = False,
    max_rank: int = 32,
    starts: int = 2,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Compression:
    """Approximate the rule tensors of a grammar by tensors of low rank.

    A rule whose factors would take more numbers than its block is left as it is.

    Parameters
    ----------
    grammar : LPCFG
    rank : int or "auto"
        How many products a rule gets, or fewer where fewer suffice. "auto" takes for each rule the smallest of :data:`RANKS`
        whose error is within the gate, or `max_rank` if none is.
    gate : float, optional
        The largest error of a rule. With "auto", 1e-3 by default; with a given rank, rules beyond it keep their blocks,
        and by default there is no gate.
    measure : {"relative", "absolute"}
        What the gate bounds: how often an average sentence uses the rule, plus 0.01, times the divergence (see
        :class:`Compression`); or the Frobenius norm of the error, as in the paper.
    signed : bool
        Whether factors are fitted by alternating least squares and may be negative. Grammars of observable operators need it.
    max_rank : int
        The largest rank that "auto" tries.
    starts : int
        How often least squares begin anew; the best result counts.
    random_state : int
        For the starts of least squares; everything else is free of chance.
    progress : callable, optional
        Called now and then with how many rules are done, and how many there are.

    References
    ----------
    Shay B. Cohen and Michael Collins (2012). Tensor decomposition for fast parsing with latent-variable PCFGs. NIPS.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.learn import EM
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))))")] * 40)
    >>> grammar = EM(states=4, allocation="all", iterations=2).fit(bank).grammar_
    >>> small = compress(grammar, rank=2)
    >>> small.numbers, small.grammar.factors.rank.tolist()
    ((192, 72), [2, 2, 2])
    """
    if rank != "auto" and (not isinstance(rank, int) or rank < 1):
        raise OptionError(f"rank is a number from 1 on, or 'auto', not {rank!r}")
    if measure not in ("relative", "absolute"):
        raise OptionError(f"measure is 'relative' or 'absolute', not {measure!r}")
    if gate is not None and not gate >= 0:
        raise OptionError(f"gate is 0 or more, not {gate!r}")
    if max_rank < 1 or starts < 1:
        raise OptionError(f"max_rank and starts are 1 or more, not {max_rank!r} and {starts!r}")
    if not (grammar.is_probabilistic or signed):
        raise OptionError(
            "a grammar of observable operators has no probabilities to fit; try: signed factors"
        )
    if rank == "auto" and gate is None:
        gate = 1e-3
    limit = max_rank if rank == "auto" else rank
    ladder = [*(r for r in RANKS if r < limit), limit]
    uses = expected_uses(grammar)
    n_rules = len(grammar.binary_rules)
    random = np.random.default_rng(random_state)
    fitted: list[Triple | None] = []
    errors = np.zeros((n_rules, 2))
    for rule, parent in enumerate(grammar.binary_rules[:, 0].tolist()):
        block = grammar.binary_block(rule)
        weight = np.maximum(grammar.prior(parent), _LEAST_WEIGHT).astype(np.float32)
        judge = _Judge(block, weight, float(uses[rule]), measure, signed)
        sizes = [r for r in ladder if r * sum(block.shape) < block.size]
        found = None
        if sizes == ladder or (sizes and rank == "auto"):
            goal = gate if rank == "auto" and gate is not None else _NEGLIGIBLE
            if signed:
                found = _fit_signed(block, judge, sizes, goal, starts, random)
            else:
                found = _fit_probabilities(block, weight, judge, sizes, goal)
        if found is not None:
            errors[rule] = judge.exact(found)
            beyond = gate is not None and judge.value(*errors[rule]) > gate
            # A larger rank than these would not be smaller than the block; the ladder's end is as good as it gets.
            if beyond and (rank != "auto" or len(sizes) < len(ladder)):
                found, errors[rule] = None, 0
        fitted.append(found)
        if progress is not None and rule % 50 == 0:
            progress(rule, n_rules)
    return _assembled(grammar, fitted, uses, errors, signed)


def expected_uses(grammar: LPCFG) -> Reals:
    """Return how often each binary rule is used in an average sentence of the grammar."""
    n, coarse = grammar.n_symbols, grammar.coarse
    step = np.zeros((n, n))
    for rules, weight in ((grammar.binary_rules, coarse.binary), (grammar.unary_rules, coarse.unary)):
        for child in rules[:, 1:].T:
            np.add.at(step, (rules[:, 0], child), weight)
    visits = np.eye(n)
    for _ in range(10):  # trees of up to a thousand levels
        visits, step = visits + visits @ step, step @ step
    return np.asarray((coarse.root @ visits)[grammar.binary_rules[:, 0]] * coarse.binary)


class _Judge:
    """Measures how far products are from a rule's tensor."""

    def __init__(self, block: Floats, weight: Floats, uses: float, measure: str, signed: bool) -> None:
        self.block = np.ascontiguousarray(block.reshape(len(block), -1))
        self.weight, self.uses, self.measure, self.signed = weight, uses, measure, signed

    def value(self, divergence: float, frobenius: float) -> float:
        """Return what the gate bounds."""
        return (self.uses + _NEW) * divergence if self.measure == "relative" else frobenius

    def exact(self, found: Triple) -> tuple[float, float]:
        """Return divergence and Frobenius norm of the error."""
        from gramian.grammar import kernels

        u, v, w = found
        other = u.T @ (v[:, :, None] * w[:, None, :]).reshape(len(v), -1)
        plain, weighted, norm, mass, divergence = kernels.errors(self.block, self.weight, other)
        if self.signed:
            return weighted / max(norm, 1e-300), float(np.sqrt(plain))
        return max(divergence / max(mass, 1e-300), 0.0), float(np.sqrt(plain))


def _fit_probabilities(
    block: Floats, weight: Floats, judge: _Judge, ranks: list[int], goal: float
) -> Triple | None:
    """Return U, V, W of the first rank whose error is within the goal, or of the last."""
    from gramian.grammar import kernels

    mass, total, divergence = kernels.joint(block, weight)
    if not total > 0:
        return None
    cells = None
    u, v, w = (np.ascontiguousarray(mass.sum(axis=axes)[:, None]) for axes in ((1, 2), (0, 2), (0, 1)))
    sums = block.sum(axis=(1, 2), dtype=np.float64)

    def found() -> Triple:
        parent = u.astype(np.float64)
        parent *= (sums / np.maximum(parent.sum(axis=1), 1e-300))[
            :, None
        ]  # a state keeps the rule's probability
        return _factor(parent), _factor(v), _factor(w)

    for rank in ranks:
        if rank > 1:
            if cells is None:
                cells = kernels.heavy_cells(mass, _LIGHT)
            u, v, w = kernels.grown(mass, cells, u, v, w, rank)
            divergence = kernels.expectation_maximisation(cells, u, v, w, _STEPS, _TOLERANCE)
        # The bound of the divergence is at hand; the norm has to be computed.
        frobenius = judge.exact(found())[1] if judge.measure == "absolute" else 0.0
        if judge.value(divergence, frobenius) <= goal or u.shape[1] < rank:
            break
    return found()


def _factor(columns: npt.NDArray[np.floating]) -> Floats:
    """Return a factor with its products as rows, free of numbers too small to matter."""
    return np.where(columns < 1e-12, 0, columns).T.astype(np.float32, order="C")


def _fit_signed(
    block: Floats, judge: _Judge, ranks: list[int], goal: float, starts: int, random: np.random.Generator
) -> Triple | None:
    """Return U, V, W of the first rank whose error is within the goal, or of the last."""
    from gramian.grammar import kernels

    tensor = block.astype(np.float64)
    if not tensor.any():
        return None
    bases = [
        np.linalg.svd(np.moveaxis(tensor, axis, 0).reshape(tensor.shape[axis], -1), full_matrices=False)[0].T
        for axis in range(3)
    ]
    found: Triple | None = None
    for rank in ranks if goal > _NEGLIGIBLE else ranks[-1:]:
        best = np.inf
        for start in range(starts):
            u, v, w = (random.normal(size=(rank, size)) for size in tensor.shape)
            if start == 0:  # the leading directions, as many as there are
                for factor, basis in zip((u, v, w), bases, strict=True):
                    factor[: len(basis)] = basis[:rank]
            error = kernels.alternating_least_squares(tensor, u, v, w, _RIDGE, 200, 1e-7)
            if error < best:
                best = error
                found = (u.astype(np.float32), v.astype(np.float32), w.astype(np.float32))
        if found is not None and judge.value(*judge.exact(found)) <= goal:
            break
    return found


def _assembled(
    grammar: LPCFG, fitted: list[Triple | None], uses: Reals, errors: Reals, signed: bool
) -> Compression:
    """Put the factors, and the blocks of the rules without, into a grammar."""
    n_rules = len(fitted)
    rank, start = np.zeros(n_rules, np.int32), np.zeros((n_rules, 3), np.int64)
    pieces, blocks, used = [np.empty(0, np.float32)], [np.empty(0, np.float32)], 0
    states = grammar.n_states[grammar.binary_rules].astype(np.int64)
    for rule, found in enumerate(fitted):
        if found is None:
            blocks.append(grammar.binary_block(rule).ravel())
            continue
        rank[rule] = len(found[0])
        for side, factor in enumerate(found):
            start[rule, side] = used
            used += factor.size
            pieces.append(factor.ravel())
    factors = Factors(rank, np.ones(n_rules, np.float32), start, np.concatenate(pieces))
    small = replace(grammar, binary=np.concatenate(blocks), factors=factors if rank.any() else None)
    if signed and small.factors is not None:  # they are no longer probabilities, so these are kept
        coarse = grammar.coarse
        small = replace(
            small, binary_weight=coarse.binary, unary_weight=coarse.unary, root_weight=coarse.root
        )
    whole, low = states.prod(axis=1), rank * states.sum(axis=1)
    work = np.where(rank > 0, low, whole)
    held = (
        whole
        if grammar.factors is None
        else np.where(grammar.factors.rank > 0, grammar.factors.rank * states.sum(axis=1), whole)
    )
    speed = float(uses @ (held + _OVERHEAD)) / max(float(uses @ (work + _OVERHEAD)), 1e-300)
    before = grammar.binary.size + (0 if grammar.factors is None else grammar.factors.values.size)
    return Compression(
        small, uses, errors[:, 0], errors[:, 1], (before, int(small.binary.size + factors.values.size)), speed
    )  # fmt: skip
