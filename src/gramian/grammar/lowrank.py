"""Rule tensors of low rank, for parsing in time linear in the number of states (Cohen and Collins 2012).

A rule's tensor becomes a sum of few products, ``T[h1, h2, h3] = sum over q of U[q, h1] V[q, h2] W[q, h3]``, so that contracting it with two
vectors costs rank times the number of states instead of its cube. By default the factors are probabilities, fitted by maximum likelihood
to the tensor weighted by the shares of the parent's states: the result is again a grammar whose rules sum to one. Signed
factors by alternating least squares are what the paper has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar.decompose import Triple, compare, fit_probabilities, fit_signed
from gramian.grammar.factors import Factors
from gramian.grammar.lpcfg import LPCFG

__all__ = ["RANKS", "Compression", "Guarantee", "compared", "compress", "expected_uses", "guarantee"]

Floats = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]

RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The ranks that are tried one after the other."""

_LEAST_WEIGHT = 1e-7  # of a state, however rare
_NEGLIGIBLE = 1e-6  # error at which a rule needs no more products
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
    ladder = (*(r for r in RANKS if r < limit), limit)
    plan = _Plan(ladder, rank == "auto", gate, measure, signed, starts, np.random.default_rng(random_state))
    uses = expected_uses(grammar)
    fitted: list[Triple | None] = []
    errors = np.zeros((len(uses), 2))
    for rule, block, weight in _blocks(grammar):
        found = plan.fit(block, weight, float(uses[rule]))
        if found is not None:
            errors[rule] = compare(block, weight, found, signed)
        fitted.append(found)
        if progress is not None and rule % 50 == 0:
            progress(rule, len(uses))
    return _assembled(grammar, fitted, uses, errors, signed)


@dataclass(frozen=True)
class _Plan:
    """What to try for each rule."""

    ladder: tuple[int, ...]
    automatic: bool
    gate: float | None
    measure: str
    signed: bool
    starts: int
    random: np.random.Generator

    def fit(self, block: Floats, weight: Floats, uses: float) -> Triple | None:
        """Return the factors of a rule, None if its block is to be kept."""
        ranks = [rank for rank in self.ladder if rank * sum(block.shape) < block.size]
        all_fit = len(ranks) == len(self.ladder)
        if not ranks or not (all_fit or self.automatic):
            return None

        def error(factors: Triple, divergence: float | None) -> float:
            """Return what the gate bounds; the divergence may be known already."""
            if divergence is None or self.measure == "absolute":
                divergence, frobenius = compare(block, weight, factors, self.signed)
                if self.measure == "absolute":
                    return frobenius
            return (uses + _NEW) * divergence

        goal = self.gate if self.automatic and self.gate is not None else _NEGLIGIBLE

        def enough(factors: Triple, divergence: float | None = None) -> bool:
            return error(factors, divergence) <= goal

        if self.signed:
            found = fit_signed(
                block, ranks if self.automatic else ranks[-1:], enough, self.starts, self.random
            )
        else:
            found = fit_probabilities(block, weight, ranks, enough)
        # With "auto", a rule beyond the gate is kept only if a larger rank would take as many numbers as its block.
        if self.gate is None or (self.automatic and all_fit):
            return found
        if found is not None and error(found, None) > self.gate:
            return None
        return found


def _blocks(grammar: LPCFG) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield each binary rule, its tensor, and the shares of its parent's states."""
    for rule, parent in enumerate(grammar.binary_rules[:, 0].tolist()):
        # A copy: kernels are compiled anew for arrays that cannot be written to.
        yield rule, np.array(grammar.binary_block(rule)), np.maximum(grammar.prior(parent), _LEAST_WEIGHT)


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


def _assembled(
    grammar: LPCFG, fitted: list[Triple | None], uses: Reals, errors: Reals, signed: bool
) -> Compression:
    """Put the factors, and the blocks of the rules without, into a grammar."""
    n_rules = len(fitted)
    rank, start = np.zeros(n_rules, np.int32), np.zeros((n_rules, 3), np.int64)
    pieces, blocks, used = [np.empty(0, np.float32)], [np.empty(0, np.float32)], 0
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
    return _described(grammar, small, uses, errors)


def compared(grammar: LPCFG, small: LPCFG, uses: Reals) -> Compression:
    """Return a compression that came about elsewhere, measured against the grammar it came from."""
    errors = np.zeros((len(uses), 2))
    for rule, block, weight in _blocks(grammar):
        if small.factors is not None and small.factors.rank[rule]:
            u, v, w = small.factors.matrices(rule, block.shape)
            errors[rule] = compare(block, weight, (small.factors.weight[rule] * u, v, w), signed=False)
    return _described(grammar, small, uses, errors)


def _described(grammar: LPCFG, small: LPCFG, uses: Reals, errors: Reals) -> Compression:
    work = [float(uses @ (_work(one) + _OVERHEAD)) for one in (grammar, small)]
    sizes = [
        one.binary.size + (0 if one.factors is None else one.factors.values.size) for one in (grammar, small)
    ]
    return Compression(
        small, uses, errors[:, 0], errors[:, 1], (sizes[0], sizes[1]), work[0] / max(work[1], 1e-300)
    )


def _work(grammar: LPCFG) -> npt.NDArray[np.int64]:
    """Return how many multiplications each binary rule takes."""
    states = grammar.n_states[grammar.binary_rules].astype(np.int64)
    if grammar.factors is None:
        return states.prod(axis=1)
    rank = grammar.factors.rank
    return np.where(rank > 0, rank * states.sum(axis=1), states.prod(axis=1))
