"""Spectral learning as one convex problem (Balle, Quattoni and Carreras 2012).

Instead of a decomposition that is cut at a rank, the operators of all symbols are sought at once: B, of shape (suffixes, symbols
times suffixes), minimises ``1/2 |H B - H_all|^2 + penalty sum of singular values of B``. The automaton has a state for every suffix:
``initial = f(suffixes)``, ``A_s = B_s``, and `final` picks the empty suffix.
"""

from dataclasses import KW_ONLY, field
from typing import Literal

import numpy as np

from gramian.automata.basis import BasisOptions
from gramian.automata.completion import shrunk
from gramian.automata.hankel import HankelBlocks, hankel_blocks
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.sequences import Array, Sequences
from gramian.automata.spectral import held_out_likelihood
from gramian.automata.weighted_automaton import WFA, Statistic
from gramian.base import estimator
from gramian.errors import OptionError
from gramian.value_types import Either, InstanceOf, Number, OneOf, Whole, option

_PENALTIES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


def convex_operators(
    blocks: HankelBlocks, penalty: float, *, n_states: int | None = None, max_iter: int = 1000
) -> WFA:
    """Solve the problem for one penalty, a share of the largest singular value of ``H' H_all``, by accelerated proximal steps.

    With `n_states`, the automaton is projected on so many leading left singular vectors of B, which span the states that B leads to.

    Examples
    --------
    >>> from gramian.automata import Basis
    >>> from gramian.automata.hankel import hankel_blocks_of
    >>> exact = hankel_blocks_of(lambda strings: [0.5 ** (len(x) + 1) for x in strings], Basis.symbols("a"))
    >>> convex_operators(exact, 0.0).score(["", "a", "aaa"]).round(4)
    array([0.5   , 0.25  , 0.0625])
    """
    k, (p, s) = len(blocks.basis.alphabet), blocks.basis.shape
    empty_suffixes = np.flatnonzero(blocks.basis.suffixes.lengths == 0)
    if len(empty_suffixes) == 0:
        raise OptionError(
            "convex learning needs the empty string among the suffixes; try: a basis that has it"
        )
    matrix = blocks.matrix.toarray()
    target = blocks.stacked.toarray().reshape(k, p, s).transpose(1, 0, 2).reshape(p, k * s)
    gram, cross = matrix.T @ matrix, matrix.T @ target
    length = 1.0 / float(np.linalg.norm(gram, 2))
    threshold = penalty * float(np.linalg.norm(cross, 2))
    operators_matrix = extrapolated = np.zeros((s, k * s))
    momentum = 1.0
    for _ in range(max_iter):
        step: Array = extrapolated - length * (gram @ extrapolated - cross)
        updated = shrunk(step, length * threshold) if threshold > 0 else step
        next_momentum = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        extrapolated = updated + (momentum - 1.0) / next_momentum * (updated - operators_matrix)
        operators_matrix, momentum = updated, float(next_momentum)
    operators = operators_matrix.reshape(s, k, s).transpose(1, 0, 2)
    final = np.zeros(s)
    final[empty_suffixes[0]] = 1.0
    model = WFA(blocks.suffix_values, final, operators, blocks.basis.alphabet)
    if n_states is None or n_states >= s:
        return model
    return model.projected(np.linalg.svd(operators_matrix, full_matrices=False)[0][:, :n_states])


@estimator
class ConvexWFA(SequenceLearner):
    """A weighted automaton by convex optimisation, which has a penalty where the spectral method has a rank.

    References
    ----------
    Borja Balle, Ariadna Quattoni and Xavier Carreras (2012). Local loss optimization in operator models: a new insight into spectral
    learning. ICML.

    Examples
    --------
    >>> strings = ["ab" * (i % 3) for i in range(30)]
    >>> ConvexWFA(penalty=1e-7, max_iter=2000).fit(strings).model_.score(["", "ab", "ba"]).round(2)
    array([0.33, 0.33, 0.  ])
    """

    n_states: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default="auto")
    """With "auto", one for each suffix; fewer are the leading directions of the operators."""
    _: KW_ONLY
    penalty: float | Literal["auto"] = option(Either(Number(0), OneOf("auto")), default="auto")
    """What the singular values of the operators cost; "auto" takes what gives held-out strings the highest likelihood."""
    statistic: Statistic = option(OneOf("substring", "prefix", "string"), default="substring")
    """What is counted."""
    basis: BasisOptions = option(InstanceOf(BasisOptions), default=BasisOptions(size=50))
    """How the basis is chosen; it must have the empty string."""
    max_iter: int = option(Whole(1), default=1000)
    """Steps of the solver."""
    model_: WFA = field(init=False)
    """The automaton learnt, computing string weights whatever was counted; no distribution, as that of the spectral method."""

    def _learn(self, sample: Sequences) -> WFA:
        penalty = self.penalty
        if penalty == "auto":
            training, held_out = sample.split(self.held_out, seed=self.random_state)
            values = [
                held_out_likelihood(self._model(training, candidate), held_out) for candidate in _PENALTIES
            ]
            penalty = _PENALTIES[int(np.argmax(values))]
        return self._model(sample, float(penalty))

    def _model(self, sample: Sequences, penalty: float) -> WFA:
        size = 50 if self.basis.size == "auto" else self.basis.size
        blocks = hankel_blocks(sample, self.basis.choose(sample, size, self.statistic), self.statistic)
        n_states = None if self.n_states == "auto" else self.n_states
        model = convex_operators(blocks, penalty, n_states=n_states, max_iter=self.max_iter)
        return model.convert(self.statistic, "string")
