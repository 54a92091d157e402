"""Rule tensors of low rank, for parsing in time linear in the number of states (Cohen and Collins 2012).

A rule's tensor becomes a sum of few products, ``T[h1, h2, h3] = sum over q of U[q, h1] V[q, h2] W[q, h3]``, so that contracting it with two
vectors costs rank times the number of states instead of its cube. By default the factors are probabilities, fitted by maximum likelihood
to the tensor weighted by the shares of the parent's states: the result is again a grammar whose rules sum to one. Signed
factors by alternating least squares are what the paper has. Models are written with trimmed rules of low rank unless asked otherwise
(:func:`compacted`), and :func:`guarantee` says what errors may do at worst.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar.compress.decompose import Triple, compare, fit_probabilities, fit_signed
from gramian.grammar.lpcfg import LPCFG, Factors
from gramian.progress import tell_progress
from gramian.threads import in_order

Floats: TypeAlias = npt.NDArray[np.float32]
Reals: TypeAlias = npt.NDArray[np.float64]
Measure: TypeAlias = Literal["relative", "absolute"]

RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The ranks that are tried one after the other."""

_log = logging.getLogger(__name__)
_LEAST_WEIGHT = 1e-7  # of a state, however rare
_NEGLIGIBLE = 1e-6  # error at which a rule needs no more products
_NEW = 0.01  # uses in a sentence that every rule is granted: new text uses what training hardly saw
_OVERHEAD = 1000  # multiplications that take as long as what an edge costs anyway
_EDGES_PER_ITEM = 4  # after pruning, about


@dataclass(frozen=True)
class Compression:
    """A grammar with rules of low rank, and how far it is from the one it came from.

    The divergence of probabilities is how many nats of log-likelihood one use of a rule costs; of signed factors, the squared error
    relative to the squared norm, both weighted by the shares of the parent's states.
    """

    source: LPCFG
    grammar: LPCFG
    uses: Reals  # (R,): how often each binary rule is used in an average sentence of the grammar
    divergence: Reals  # (R,)
    frobenius: Reals  # (R,): norm of the error of each rule's tensor

    @property
    def loss(self) -> float:
        """What an average sentence loses: of probabilities, nats of log-likelihood."""
        return float(self.uses @ self.divergence)

    @property
    def gamma(self) -> float:
        """The largest error of a rule's tensor, which :func:`~gramian.grammar.compress.lowrank.guarantee` takes."""
        return float(self.frobenius.max(initial=0.0))

    @property
    def parameters(self) -> tuple[int, int]:
        """How many numbers the binary rules are, before and after."""
        before, after = (
            grammar.binary.size + (0 if grammar.factors is None else grammar.factors.values.size)
            for grammar in (self.source, self.grammar)
        )
        return before, after

    @property
    def speed(self) -> float:
        """How many times faster state vectors are computed, as far as counting multiplications can tell."""
        before, after = (
            float(self.uses @ (_work(grammar) + _OVERHEAD)) for grammar in (self.source, self.grammar)
        )
        return before / after if after > 0 else 1.0

    def error(self, measure: Measure = "relative") -> Reals:
        """Return what a gate bounds, for each rule; see :func:`compress`."""
        return self.frobenius if measure == "absolute" else (self.uses + _NEW) * self.divergence

    def within(self, gate: float, measure: Measure = "relative") -> Compression:
        """Return the compression in which rules whose error is beyond the gate are as they were before."""
        beyond = self.error(measure) > gate
        n_rules, factors = len(beyond), self.grammar.factors
        if factors is None or not beyond.any():
            return self
        is_factored = (factors.rank > 0) & ~beyond
        fitted = [_triple(self.grammar, rule) if is_factored[rule] else None for rule in range(n_rules)]
        errors = np.stack([self.divergence, self.frobenius], axis=1)
        errors[beyond] = 0
        return _assembled(self.source, fitted, self.uses, errors, signed=not self.grammar.is_probabilistic)

    def summary(self) -> dict[str, Any]:
        """Return the main facts, in the form of a model file's report."""
        ranks = np.zeros(len(self.uses), np.int32)
        if self.grammar.factors is not None:
            ranks = self.grammar.factors.rank
        before, after = self.parameters
        return {
            "factors": "probabilities" if self.grammar.is_probabilistic else "signed",
            "rules by rank": {
                str(rank) if rank else "whole": int((ranks == rank).sum())
                for rank in np.unique(ranks).tolist()
            },
            "rule parameters": {"before": before, "after": after},
            "loss": round(self.loss, 6),
            "gamma": self.gamma,
            "predicted speed-up": round(self.speed, 2),
        }


def compress(
    grammar: LPCFG,
    rank: int | Literal["auto"] = "auto",
    *,
    gate: float | None = None,
    measure: Measure = "relative",
    signed: bool = False,
    max_rank: int = 32,
    starts: int = 2,
    random_state: int = 0,
    n_jobs: int = 1,
) -> Compression:
    """Approximate the rule tensors of a grammar by tensors of low rank.

    A rule whose factors would take more numbers than its block is left as it is, and so is one that is of so low a rank already: what
    comes out is never larger than what went in.

    Parameters
    ----------
    rank : int or "auto"
        How many products a rule gets, or fewer where fewer suffice. "auto" takes for each rule the smallest of :data:`RANKS`
        whose error is within the gate.
    gate : float, optional
        The largest error of a rule: rules beyond it keep their blocks. Without one there is none, but for "auto", which aims at 1e-3 and
        gives a rule `max_rank` products if no rank gets there.
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
    n_jobs : int
        Number of threads; the result is the same.

    References
    ----------
    Shay B. Cohen and Michael Collins (2012). Tensor decomposition for fast parsing with latent-variable PCFGs. NIPS.

    Examples
    --------
    >>> from gramian.treebank import Treebank
    >>> from gramian.learn import EM
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))))")] * 40)
    >>> grammar = EM(n_states=4, allocation="all", max_iter=2).fit(bank).model_
    >>> small = compress(grammar, rank=2)
    >>> small.parameters, small.grammar.factors.rank.tolist()
    ((192, 72), [2, 2, 2])
    """
    if rank != "auto" and (not isinstance(rank, int) or rank < 1):
        raise OptionError(f"rank must be at least 1, or 'auto', got {rank!r}")
    if measure not in ("relative", "absolute"):
        raise OptionError(f"measure must be one of relative, absolute, got {measure!r}")
    if gate is not None and not gate >= 0:
        raise OptionError(f"gate must be at least 0, got {gate!r}")
    for name, value in (("max_rank", max_rank), ("starts", starts), ("n_jobs", n_jobs)):
        if value < 1:
            raise OptionError(f"{name} must be at least 1, got {value!r}")
    if not (grammar.is_probabilistic or signed):
        raise OptionError("observable operators are not probabilities; try: signed factors")
    is_strict = gate is not None
    if rank == "auto" and gate is None:
        gate = 1e-3
    limit = max_rank if rank == "auto" else rank
    ladder = (*(r for r in RANKS if r < limit), limit)
    uses = expected_uses(grammar)
    plan = _Plan(
        grammar, uses, ladder, rank == "auto", gate, is_strict, measure, signed, starts, random_state
    )
    fitted: list[Triple | None] = []
    errors = np.zeros((len(uses), 2))
    for rule, (factors, *error) in enumerate(in_order(plan.fit, range(len(uses)), n_jobs)):
        fitted.append(factors)
        errors[rule] = error
        tell_progress(_log, "rules", rule + 1, len(uses))
    small = _assembled(grammar, fitted, uses, errors, signed)
    before, after = small.parameters
    if after > before:  # matrices that rules shared are no longer
        return Compression(grammar, grammar, uses, *np.zeros((2, len(uses))))
    return small


_WHOLE = (None, 0.0, 0.0)  # a rule that stays as it was


@dataclass(frozen=True)
class _Plan:
    """What to try for each rule."""

    grammar: LPCFG
    uses: Reals
    ladder: tuple[int, ...]
    automatic: bool
    gate: float | None
    is_strict: bool  # whether a rule beyond the gate stays as it was, whatever its size
    measure: str
    signed: bool
    starts: int
    random_state: int

    def fit(self, rule: int) -> tuple[Triple | None, float, float]:
        """Return the factors of a rule, divergence and Frobenius norm of their error; None if its block is to be kept."""
        block, weight = _block(self.grammar, rule)
        own_rank = 0 if self.grammar.factors is None else int(self.grammar.factors.rank[rule])
        max_parameters = min(block.size, own_rank * sum(block.shape)) if own_rank else block.size
        ranks = [rank for rank in self.ladder if rank * sum(block.shape) < max_parameters]
        all_fit = len(ranks) == len(self.ladder)
        if not ranks or not (all_fit or self.automatic):
            return _WHOLE

        def error(divergence: float, frobenius: float) -> float:
            return (self.uses[rule] + _NEW) * divergence if self.measure == "relative" else frobenius

        goal = self.gate if self.automatic and self.gate is not None else _NEGLIGIBLE

        def enough(factors: Triple, divergence: float | None = None) -> bool:
            if divergence is not None and self.measure == "relative":
                return error(divergence, 0.0) <= goal
            return error(*compare(block, weight, factors, self.signed)) <= goal

        if self.signed:
            random = np.random.default_rng([self.random_state, rule])
            factors = fit_signed(block, ranks if self.automatic else ranks[-1:], enough, self.starts, random)
        else:
            factors = fit_probabilities(block, weight, ranks, enough)
        if factors is None:
            return _WHOLE
        errors = compare(block, weight, factors, self.signed)
        # Without a gate of one's own, "auto" keeps a rule only if a larger rank would take as many numbers as its block.
        is_bound = self.gate is not None and (self.is_strict or not (self.automatic and all_fit))
        if is_bound and self.gate is not None and error(*errors) > self.gate:
            return _WHOLE
        return factors, *errors


def _block(grammar: LPCFG, rule: int) -> tuple[Floats, Floats]:
    """Return a rule's tensor, and the shares of its parent's states."""
    # A copy: kernels are compiled anew for arrays that cannot be written to.
    prior = grammar.prior(grammar.binary_rules[rule, 0])
    return np.array(grammar.binary_block(rule)), np.maximum(prior, np.float32(_LEAST_WEIGHT))


def _triple(grammar: LPCFG, rule: int) -> Triple:
    """Return U, V and W of a rule of low rank, its weight included."""
    factors = grammar.factors or Factors.none(len(grammar.binary_rules))
    u, v, w = factors.matrices(rule, grammar.n_states[grammar.binary_rules[rule]])
    return factors.weight[rule] * u, v, w


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
    low = None if grammar.factors is None else grammar.factors.rank
    for rule, factors_of_rule in enumerate(fitted):
        if factors_of_rule is None and low is not None and low[rule] > 0:
            factors_of_rule = _triple(grammar, rule)  # what stays as it was
        if factors_of_rule is None:
            blocks.append(grammar.binary_block(rule).ravel())
            continue
        rank[rule] = len(factors_of_rule[0])
        for side, factor in enumerate(factors_of_rule):
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
    return Compression(grammar, small, uses, errors[:, 0], errors[:, 1])


def compared(source: LPCFG, grammar: LPCFG) -> Compression:
    """Measure a grammar of the same rules against the one it came from, however it came about."""
    errors = np.zeros((len(source.binary_rules), 2))
    for rule in range(len(errors)):
        block, weight = _block(source, rule)
        errors[rule] = compare(block, weight, grammar.binary_block(rule), not grammar.is_probabilistic)
    return Compression(source, grammar, expected_uses(source), errors[:, 0], errors[:, 1])


def _work(grammar: LPCFG) -> npt.NDArray[np.int64]:
    """Return how many multiplications each binary rule takes."""
    states = grammar.n_states[grammar.binary_rules].astype(np.int64)
    if grammar.factors is None:
        return states.prod(axis=1)
    rank = grammar.factors.rank
    # A matrix that several rules share is multiplied by an item's vector once for all of them.
    _, matrix, count = np.unique(grammar.factors.start, return_inverse=True, return_counts=True)
    is_shared = (count[matrix] > 1).reshape(states.shape)
    projections = np.where(is_shared, states // _EDGES_PER_ITEM, states).sum(axis=1)
    return np.where(rank > 0, rank * (projections + 1), states.prod(axis=1))


_TRIMMED = 0.003  # share of a rule's probability that a compact model does without


def compacted(grammar: LPCFG) -> tuple[LPCFG, dict[str, Any]]:
    """Return a grammar that is small and fast to parse with, and a summary of how far its rules are from those it came from.

    Observable operators come back as they are, with nothing to tell.
    """
    if not grammar.is_probabilistic:
        return grammar, {}
    small = compress(trimmed(grammar, _TRIMMED)).grammar
    return small, compared(grammar, small).summary()


def trimmed(grammar: LPCFG, share: float = 0.01) -> LPCFG:
    """Return `grammar` without the least cells of its binary rules; observable operators and rules of low rank come back as they are.

    These cells become zeros, which take one bit in a model file. Of each rule in each state of its parent, the cells that go hold at most
    this share of the probability, and the others take it over.
    """
    if not 0 <= share < 1:
        raise OptionError(f"share must be at least 0 and less than 1, got {share!r}")
    if not grammar.is_probabilistic:
        return grammar
    table = grammar.binary.copy()
    for rule, parent in enumerate(grammar.binary_rules[:, 0].tolist()):
        cells = slice(grammar.binary_start[rule], grammar.binary_start[rule + 1])
        if cells.start == cells.stop:  # held by factors
            continue
        rows = table[cells].reshape(grammar.n_states[parent], -1)
        ascending = np.sort(rows, axis=1)
        below = np.cumsum(ascending, axis=1, dtype=np.float64)
        total = below[:, -1:]
        first_kept = (below <= share * total).sum(axis=1, keepdims=True).clip(max=rows.shape[1] - 1)
        rows = np.where(rows < np.take_along_axis(ascending, first_kept, axis=1), 0, rows)
        kept = rows.sum(axis=1, keepdims=True, dtype=np.float64)
        rows *= np.divide(total, kept, out=np.ones_like(kept), where=kept > 0)
        table[cells] = rows.ravel()
    return replace(grammar, binary=table)


@dataclass(frozen=True)
class Guarantee:
    """How large a tree or a sentence may be so that its probability is off by at most `epsilon`.

    0 means that nothing is guaranteed: the bound is very loose.
    """

    epsilon: float
    depth: int  # of a tree, for its probability
    length: int  # of a sentence, for the inside-outside values of its spans


def guarantee(gamma: float, states: int, symbols: int, epsilon: float = 1e-3) -> Guarantee:
    """Return what the theorem guarantees of a grammar with approximate rules, whose symbols have at most so many states.

    `gamma`, the largest Frobenius norm of the error of a rule's tensor, is more than 0: an exact grammar needs no guarantee.

    Examples
    --------
    >>> guarantee(1e-12, states=8, symbols=50, epsilon=1e-3)
    Guarantee(epsilon=0.001, depth=6, length=1)
    """
    if not (gamma > 0 and epsilon > 0):
        raise OptionError(f"gamma and epsilon must be more than 0, got {gamma!r} and {epsilon!r}")
    room = min(-log(gamma) - log(states / epsilon), 1 - log(gamma))
    per_level = log(2 * (sqrt(states) + 1)) + log(gamma + sqrt(states))
    per_word = per_level + 2 * log(4 * symbols)
    return Guarantee(epsilon, max(int(room / per_level), 0), max(int(room / per_word), 0))
