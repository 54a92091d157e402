"""Probabilistic automata by the method of moments: constraints or a tensor decomposition in place of the free basis of the spectral method.

``ConstrainedWFA``  States are the prefixes whose futures are extreme; all other futures are mixtures of theirs. Successive projections find
                    them. The operators are least squares with weights >= 0 that sum to the probability of the symbol.
``TensorHMM``       Past, symbol and future are three views of the state of a hidden Markov model. Their third moment is a sum of one
                    tensor of rank one for each state; the eigenvectors of a random slice decompose it.

References: Hadrien Glaude and Olivier Pietquin (2016), PAC learning of probabilistic automaton based on the method of moments, ICML.
Animashree Anandkumar, Daniel Hsu and Sham Kakade (2012), A method of moments for mixture models and hidden Markov models, COLT.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, field
from typing import Literal

import numpy as np

from gramian.automata.basis import BasisOptions
from gramian.automata.hankel import HankelBlocks, hankel_blocks
from gramian.automata.pnfa import MoveCounts
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Array, Sequences
from gramian.automata.spectral import spectral_factors
from gramian.automata.weighted_automaton import WFA
from gramian.base import estimator
from gramian.value_types import Either, InstanceOf, OneOf, Whole, option

_RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_PSEUDO_COUNT = 1e-5  # so that no string is impossible
_FREQUENT = 1e-3  # of all cuts, those after a prefix that may become a state
_SLICES = 20  # random combinations of symbols


@estimator
class _MomentLearner(SequenceLearner):
    """Chooses the number of states on held-out strings."""

    n_states: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default="auto")
    """With "auto", the number that gives held-out strings the highest likelihood."""
    _: KW_ONLY
    basis: BasisOptions = option(InstanceOf(BasisOptions), default=BasisOptions(size=300))
    """How the strings of past and future are chosen."""
    model_: WFA = field(init=False)
    """A PNFA; that of a hidden Markov model has next states that do not depend on the symbol."""

    def _learn(self, sample: Sequences) -> WFA:
        if self.n_states != "auto":
            return self._fitted(sample, (self.n_states,))[0]
        training, held_out = sample.split(self.held_out, seed=self.random_state)
        models = self._fitted(training, _RANKS)
        best = max(models, key=lambda model: float(model.log_score(held_out).mean()))
        return self._fitted(sample, (best.n_states,))[0]

    def _fitted(self, sample: Sequences, ranks: Iterable[int]) -> list[WFA]:
        size = 300 if self.basis.size == "auto" else self.basis.size
        basis = self.basis.choose(sample, size)
        return self._models(
            hankel_blocks(sample, basis), hankel_blocks(sample, basis, "prefix").suffix_values, ranks
        )

    @abstractmethod
    def _models(self, blocks: HankelBlocks, first: Array, ranks: Iterable[int]) -> list[WFA]:
        """Return automata of several sizes, given blocks of substrings, and the probabilities that strings begin with the suffixes."""


@estimator
class ConstrainedWFA(_MomentLearner):
    """A probabilistic automaton by least squares under constraints.

    Examples
    --------
    >>> strings = ["ab" * (i % 3) for i in range(30)]
    >>> ConstrainedWFA(4).fit(strings).model_.is_probabilistic()
    True
    """

    def _models(self, blocks: HankelBlocks, first: Array, ranks: Iterable[int]) -> list[WFA]:
        from scipy.optimize import nnls

        p, k = blocks.matrix.shape[0], len(blocks.basis.alphabet)
        frequent = np.flatnonzero(blocks.prefix_values >= _FREQUENT * blocks.prefix_values.max())
        futures = blocks.matrix.toarray()[frequent] / blocks.prefix_values[frequent, None]
        moved = blocks.stacked.toarray().reshape(k, p, -1)[:, frequent] / blocks.prefix_values[frequent, None]
        extreme = _extreme_rows(futures, max(ranks))
        # A future's weight at the empty suffix is its total, which a large weight makes exact.
        importance = np.where(blocks.basis.suffixes.lengths == 0, 100.0, 1.0)
        models = []
        for rank in ranks:
            states = extreme[:rank]
            system = (futures[states] * importance).T
            initial = nnls(system, first * importance)[0]
            rows = [[nnls(system, future * importance)[0] for future in moved[s, states]] for s in range(k)]
            transitions = np.array(rows).reshape(k, len(states), len(states))
            final = np.maximum(1.0 - transitions.sum(axis=(0, 2)), 0.0)
            models.append(
                MoveCounts(initial, final, transitions).estimate(
                    blocks.basis.alphabet, pseudo_count=_PSEUDO_COUNT
                )
            )
        return models


@estimator
class TensorHMM(_MomentLearner):
    """A hidden Markov model by tensor decomposition of past, symbol and future.

    Examples
    --------
    >>> strings = ["ab" * (i % 3) for i in range(30)]
    >>> TensorHMM(3).fit(strings).model_.is_probabilistic()
    True
    """

    def _models(self, blocks: HankelBlocks, first: Array, ranks: Iterable[int]) -> list[WFA]:
        factors = spectral_factors(blocks, max(ranks))
        rng = np.random.default_rng(self.random_state)
        largest = len(factors.singular_values)
        return [
            _hidden_markov(factors.truncated(rank).convert("substring", "string"), rng)
            for rank in ranks
            if rank <= max(1, largest)
        ]


def _extreme_rows(rows: Array, most: int) -> list[int]:
    """Return rows whose convex hull nearly holds the others: each the farthest from the span of those before (successive projections)."""
    residual, chosen = rows.copy(), []
    for _ in range(min(most, *rows.shape)):
        norms = np.einsum("ij,ij->i", residual, residual)
        best = int(norms.argmax())
        if norms[best] <= 1e-12 * np.einsum("ij,ij->i", rows, rows).max():
            break
        chosen.append(best)
        direction = residual[best] / np.sqrt(norms[best])
        residual -= np.outer(residual @ direction, direction)
    return chosen


def _hidden_markov(observed: WFA, rng: np.random.Generator) -> WFA:
    """Return the hidden Markov model that a spectral automaton computes up to a change of basis.

    With emissions ``O_s = diag(P(s | state))`` and moves T, ``A_s = M O_s T M^-1``. So all ``A_s A^-1``, where A is the sum of the A_s, are
    diagonal in the basis M.
    """
    summed = observed.transitions.sum(axis=0)
    slices = observed.transitions @ np.linalg.pinv(summed)
    best, least = np.eye(observed.n_states), np.inf
    for _ in range(_SLICES):
        _, vectors = np.linalg.eig(np.tensordot(rng.standard_normal(len(slices)), slices, axes=1))
        # of a conjugate pair, two real directions
        basis = np.asarray(vectors.real + vectors.imag, np.float64)
        if np.linalg.cond(basis) > 1e10:
            continue
        rotated = np.linalg.solve(basis, slices @ basis)
        diagonal = np.einsum("sii->si", rotated)
        error = float((rotated**2).sum() - (diagonal**2).sum())
        if error < least:
            best, least = basis, error
    # A state's future weighs one in all: (I - A)^-1 final is a vector of ones in the true basis.
    model = observed.change_basis(best)
    scale = model.prefix_weights()
    model = model.change_basis(np.diag(np.where(np.abs(scale) > 1e-9, scale, 1.0)))
    counts = MoveCounts(
        *(np.maximum(array, 0.0) for array in (model.initial, model.final, model.transitions))
    )
    if counts.initial.sum() <= 0:
        counts.initial[:] = 1.0
    return counts.estimate(observed.alphabet, "factored", _PSEUDO_COUNT)
