"""Learning by name: one function behind the command line and the experiments."""

from __future__ import annotations

import logging
from typing import Literal

import numpy as np

from gramian.automata.baselines import NGram
from gramian.automata.best import BestModel, best_order
from gramian.automata.mixture import Mixture
from gramian.automata.pdfa import PDFA
from gramian.automata.pnfa_em import PNFAEM
from gramian.automata.spectral import SpectralWFA
from gramian.automata.strings import Sequences
from gramian.automata.wfa import WFA
from gramian.errors import OptionError
from gramian.progress import tell_progress

Method = Literal["spectral", "em", "spectral-em", "ngram", "best"]
METHODS: tuple[Method, ...] = ("spectral", "em", "spectral-em", "ngram", "best")

_log = logging.getLogger(__name__)

_LONGEST = 100_000  # symbols of a string
_LADDER = (4, 8, 16, 32, 64)


def learn(
    sample: Sequences,
    method: Method = "best",
    n_states: int | Literal["auto"] = "auto",
    *,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> WFA | PDFA | Mixture:
    """Learn a sequence model; what is "auto" is chosen on a slice of the strings.

    Methods: a mixture of what predicts held-out strings best; a spectral automaton as it comes, which need not be a distribution; EM from a
    clustered spectral start, or from a random one; an n-gram model with smoothing, whose order is `n_states`.
    """
    longest = int(sample.lengths.max(initial=0))
    if longest > _LONGEST:
        raise OptionError(
            f"a string has {longest:,} symbols, and the most to learn from is {_LONGEST:,}; try: cutting it"
        )
    if method == "best":
        return BestModel(n_states, n_jobs=n_jobs, random_state=random_state).fit(sample).model_
    if method == "spectral":
        fitted = SpectralWFA(n_states, repair=None, random_state=random_state).fit(sample)
        found = fitted.diagnostics_
        _log.info("%d states; total mass %.4f", found.n_states, found.total_mass)
        _log.info("%.1f %% of the training strings score below zero", 100 * found.negative_share)
        return fitted.model_
    if method == "spectral-em":
        return SpectralWFA(n_states, n_jobs=n_jobs, random_state=random_state).fit(sample).model_
    if method == "em":
        return _em(sample, n_states, n_jobs, random_state)
    if method == "ngram":
        order = best_order(*sample.split(0.1, seed=random_state))[0] if n_states == "auto" else n_states
        return NGram(order).fit(sample).model_
    raise OptionError(f"method must be one of {', '.join(METHODS)}, got {method!r}")


def _em(sample: Sequences, n_states: int | Literal["auto"], n_jobs: int | None, random_state: int) -> WFA:
    estimator = PNFAEM(n_restarts=2, pseudo_count=1e-3, n_jobs=n_jobs, random_state=random_state)
    if n_states == "auto":
        kept, judges = sample.split(0.1, seed=random_state)
        values: list[float] = []
        for n in _LADDER:
            tell_progress(_log, "numbers of states tried", len(values), len(_LADDER))
            values.append(estimator.set_params(n_states=n, max_iter=50).fit(kept).score(judges))
            _log.info("EM with %d states: held-out log-probability %.4f", n, values[-1])
        tell_progress(_log, "numbers of states tried", len(values), len(_LADDER))
        n_states = _LADDER[int(np.argmax(values))]
    return estimator.set_params(n_states=n_states, max_iter=100).fit(sample).model_
