"""One decomposition for a whole grammar: every symbol has one matrix for each place in a rule, whatever the rule.

``T[a -> b c] = weight(a -> b c) * sum over q of U_a[q] V_b[q] W_c[q]`` for the rules that were seen, zero for others (Yang, Zhao and Tu
2021 without the mask). An item is then projected once as a left child, once as a right child and once as a parent, and an edge
costs one multiplication a product: inside and outside run in the space of the products.
"""

import logging
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.grammar.compress.lowrank import Compression, compared, expected_uses
from gramian.grammar.lpcfg import LPCFG, Factors
from gramian.progress import tell_progress

Floats = npt.NDArray[np.float32]
_log = logging.getLogger(__name__)

_LIGHT = 5e-8  # cells with a smaller share of the mass of all rules are not looked at
_STEPS = 60  # of expectation-maximisation whenever the number of products has doubled
_LEAST = 1e-9  # of a factor, whose mean is about 1
_SMOOTH = 1e-3  # share of each symbol's factors that follows the shares of its states


def compress_shared(grammar: LPCFG, rank: int = 256) -> Compression:
    """Approximate all rule tensors of a grammar with probabilities by `rank` products that all rules share.

    Songlin Yang, Yanpeng Zhao and Kewei Tu (2021). PCFGs can do better: inducing probabilistic context-free grammars with many
    symbols. NAACL.
    """
    if not isinstance(rank, int) or rank < 1:
        raise OptionError(f"rank of shared products must be at least 1, got {rank!r}")
    if not grammar.is_probabilistic:
        raise OptionError("observable operators are not probabilities and cannot share products")
    if not len(grammar.binary_rules):
        raise OptionError("the grammar has no binary rules")
    fit = _Fit(grammar)
    while fit.rank < rank:
        fit.grow(min(rank, 2 * fit.rank))
        fit.improve(_STEPS)
        tell_progress(_log, "products", fit.rank, rank)
    small = replace(grammar, binary=np.empty(0, np.float32), factors=fit.factors())
    return compared(grammar, small)


class _Fit:
    """Products shared by all rules of a grammar, fitted to the joint distribution of rules and states."""

    def __init__(self, grammar: LPCFG) -> None:
        self.grammar = grammar
        self.uses = expected_uses(grammar)
        self.start = grammar.state_start[:-1]
        self.owner = np.repeat(np.arange(grammar.n_symbols), grammar.n_states)
        # Heavy cells of all rules: rule, states numbered through all symbols, mass.
        cells: list[tuple[npt.NDArray[np.integer], ...]] = []
        masses = []
        for rule, symbols in enumerate(grammar.binary_rules.tolist()):
            block = grammar.binary_block(rule) * grammar.prior(symbols[0])[:, None, None]
            mass = block * (self.uses[rule] / max(float(block.sum(dtype=np.float64)), 1e-300))
            indices = np.nonzero(mass > _LIGHT * self.uses.sum())
            numbers = [self.start[s] + p for s, p in zip(symbols, indices, strict=True)]
            cells.append((np.full(len(indices[0]), rule), *numbers))
            masses.append(mass[indices])
        self.rule, *self.states = (
            np.concatenate(column).astype(np.int32) for column in zip(*cells, strict=True)
        )
        self.mass = np.concatenate(masses).astype(np.float32)
        marginals = [np.bincount(states, self.mass, len(self.owner)) for states in self.states]
        least = 1e-6 * grammar.state_prior
        self.matrices = [(marginal + least)[:, None].astype(np.float32) for marginal in marginals]
        self.weight = np.empty(len(self.uses), np.float32)
        self._normalise()

    @property
    def rank(self) -> int:
        return self.matrices[0].shape[1]

    def improve(self, steps: int) -> None:
        """Alternate between counting how often products are drawn and the matrices that make these counts likeliest."""
        from gramian.grammar.compress import decompose_kernels as kernels

        counts = tuple(np.empty_like(matrix) for matrix in self.matrices)
        rules = self.grammar.binary_rules
        cells = kernels.SharedCells(self.rule, self.states[0], self.states[1], self.states[2], self.mass)
        for _ in range(steps):
            kernels.shared_counts(cells, self.weight, tuple(self.matrices), counts)
            for side in range(3):
                # What a matrix is multiplied by in each rule, added up over the rules of its symbol.
                first, second = (self._sums(other)[rules[:, other]] for other in range(3) if other != side)
                total = np.zeros((self.grammar.n_symbols, self.rank))
                np.add.at(total, rules[:, side], self.weight[:, None] * first * second)
                self.matrices[side][:] = counts[side] / np.maximum(total[self.owner], 1e-30)
            self._normalise()

    def grow(self, rank: int) -> None:
        """Add products where those at hand fit worst: lines of a rule's tensor through a cell much too improbable."""
        loss = np.empty(len(self.mass))
        for first in range(0, len(loss), 10_000):
            part = slice(first, first + 10_000)
            u, v, w = (
                matrix[states[part]] for matrix, states in zip(self.matrices, self.states, strict=True)
            )
            value = np.einsum("eq,eq,eq->e", u, v, w, optimize=False) * self.weight[self.rule[part]]
            loss[part] = self.mass[part] * np.log(self.mass[part] / np.maximum(value, 1e-30))
        new = [
            np.repeat(matrix.mean(axis=1, keepdims=True) / 10, rank - self.rank, axis=1)
            for matrix in self.matrices
        ]
        for q in range(rank - self.rank):
            worst = loss.argmax()
            same = [states == states[worst] for states in self.states]
            in_rule = self.rule == self.rule[worst]
            for side in range(3):
                line = in_rule & same[side - 1] & same[side - 2]
                share = 3 * self.mass[line] / self.mass[line].sum()
                np.add.at(new[side][:, q], self.states[side][line], share)
                loss[line] = 0
        self.matrices = [np.hstack(pair) for pair in zip(self.matrices, new, strict=True)]
        self._normalise()

    def _sums(self, side: int) -> npt.NDArray[np.floating]:
        return np.add.reduceat(self.matrices[side], self.start, axis=0)

    def _normalise(self) -> None:
        """Give each symbol's factors a mean of one a product, and each rule its own probability."""
        for side in range(3):
            np.maximum(self.matrices[side], _LEAST, out=self.matrices[side])
            self.matrices[side] *= (self.rank / self._sums(side).sum(axis=1))[self.owner][:, None]
        u, v, w = (self._sums(side)[symbols] for side, symbols in enumerate(self.grammar.binary_rules.T))
        self.weight[:] = self.uses / (u * v * w).sum(axis=1)

    def factors(self) -> Factors:
        """Return the products as factors: states of a parent keep the probability that they have a rule of two children."""
        grammar, prior = self.grammar, self.grammar.state_prior[:, None]
        smooth = [
            matrix + _SMOOTH * prior * self._sums(side)[self.owner]
            for side, matrix in enumerate(self.matrices)
        ]
        smooth[0] /= np.maximum(prior, 1e-7)
        left, right = (np.add.reduceat(matrix, self.start, axis=0) for matrix in smooth[1:])
        target, fitted = np.zeros(len(self.owner)), np.zeros(len(self.owner))
        for rule, (a, b, c) in enumerate(grammar.binary_rules.tolist()):
            states = slice(grammar.state_start[a], grammar.state_start[a + 1])
            target[states] += grammar.rule_sums(rule)
            fitted[states] += self.weight[rule] * (smooth[0][states] @ (left[b] * right[c]))
        smooth[0] *= (target / np.maximum(fitted, 1e-30))[:, None]
        values = [
            np.concatenate([part.T.ravel() for part in np.split(matrix, self.start[1:])]) for matrix in smooth
        ]
        size = len(self.owner) * self.rank
        start = (self.start[grammar.binary_rules] * self.rank + size * np.arange(3)).astype(np.int64)
        rank = np.full(len(self.uses), self.rank, np.int32)
        return Factors(rank, self.weight, start, np.concatenate(values).astype(np.float32))
