"""Learning by name: one function behind the command line and the experiments."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from gramian.automata.baselines import NGram
from gramian.automata.basis import BasisOptions
from gramian.automata.best import BestModel, best_order
from gramian.automata.completion import Completion
from gramian.automata.convex import ConvexWFA
from gramian.automata.mixture import Mixture
from gramian.automata.pdfa import PDFA
from gramian.automata.pnfa_em import PNFAEM
from gramian.automata.quadratic import QuadraticWFA
from gramian.automata.spectral import SpectralWFA
from gramian.automata.strings import Sequences
from gramian.automata.weighted_automaton import WFA, Statistic
from gramian.errors import OptionError
from gramian.progress import tell_progress
from gramian.value_types import Boolean, Number, OneOf, Whole, option, options, or_none

Method = Literal["spectral", "em", "spectral-em", "quadratic", "convex", "ngram", "best"]
METHODS: tuple[Method, ...] = ("spectral", "em", "spectral-em", "quadratic", "convex", "ngram", "best")

_log = logging.getLogger(__name__)

_LONGEST = 100_000  # symbols of a string
_LADDER = (4, 8, 16, 32, 64)


@options
class MethodOptions:
    """What the methods have beside a number of states; None is the method's own.

    Attributes
    ----------
    basis : {"frequent", "ends", "symbols", "matching"}
        Prefixes and suffixes: frequent substrings, frequent beginnings and endings, the symbols, or a matching.
    basis_size : int
        How many prefixes, and how many suffixes.
    basis_length : int
        The longest string of the basis.
    empty : bool
        Whether the basis of symbols has the empty string; published ones do not.
    statistic : {"substring", "prefix", "string"}
        What is counted; substrings by default.
    scaled : bool
        Whether rows and columns are divided by the square root of their frequency.
    mass : float
        Directions whose singular value is a smaller share of the sum are dropped.
    complete : int
        Hankel cells of strings that were seen less often are filled in.
    penalty : float
        What singular values cost: of completion, or of convex learning.
    repair : {"em", "cluster", "clip", "none"}
        How a distribution is made of a spectral automaton.
    max_iter : int
        Iterations of EM (100), or of the convex solver.
    restarts : int
        Random starts of EM (2).
    """

    of: ClassVar[dict[str, tuple[str, ...]]] = {
        **dict.fromkeys(
            ("basis", "basis_size", "basis_length"), ("spectral", "spectral-em", "quadratic", "convex")
        ),
        **dict.fromkeys(("empty", "scaled", "mass", "complete"), ("spectral", "spectral-em")),
        "statistic": ("spectral", "spectral-em", "convex"),
        "penalty": ("spectral", "spectral-em", "convex"),
        "repair": ("spectral-em",),
        "max_iter": ("em", "convex"),
        "restarts": ("em",),
    }  # which methods have an option
    basis: Literal["frequent", "ends", "symbols", "matching"] | None = option(
        or_none(OneOf("frequent", "ends", "symbols", "matching")), default=None
    )
    basis_size: int | None = option(or_none(Whole(1)), default=None)
    basis_length: int | None = option(or_none(Whole(0)), default=None)
    empty: bool | None = option(or_none(Boolean()), default=None)
    statistic: Statistic | None = option(or_none(OneOf("substring", "prefix", "string")), default=None)
    scaled: bool | None = option(or_none(Boolean()), default=None)
    mass: float | None = option(or_none(Number(0, 1)), default=None)
    complete: int | None = option(or_none(Whole(0)), default=None)
    penalty: float | None = option(or_none(Number(0)), default=None)
    repair: Literal["em", "cluster", "clip", "none"] | None = option(
        or_none(OneOf("em", "cluster", "clip", "none")), default=None
    )
    max_iter: int | None = option(or_none(Whole(1)), default=None)
    restarts: int | None = option(or_none(Whole(1)), default=None)

    def problem(self, method: str) -> str | None:
        """Return what is wrong with the options for a method, if anything."""
        for name, methods in self.of.items():
            if getattr(self, name) is not None and method not in methods:
                return f"{name} requires method {' or '.join(methods)}, not {method}"
        if self.penalty is not None and self.complete is None and method != "convex":
            return "penalty requires complete, or method convex"
        return None

    def chosen_basis(self, default: BasisOptions) -> BasisOptions:
        """Return a method's own basis as these options change it."""
        changes = {
            "kind": self.basis,
            "size": self.basis_size,
            "max_length": self.basis_length,
            "empty": self.empty,
        }
        return replace(default, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]

    @property
    def completion(self) -> Completion | None:
        """How Hankel blocks are completed, if at all."""
        if self.complete is None:
            return None
        return Completion(self.complete) if self.penalty is None else Completion(self.complete, self.penalty)


def learn(
    sample: Sequences,
    method: Method = "best",
    n_states: int | Literal["auto"] = "auto",
    *,
    options: MethodOptions = MethodOptions(),
    n_jobs: int | None = None,
    random_state: int = 0,
) -> WFA | PDFA | Mixture:
    """Learn a sequence model; what is "auto" is chosen on a slice of the strings.

    Methods: a mixture of what predicts held-out strings best; a spectral automaton as it comes, which need not be a distribution; EM from a
    clustered spectral start, or from a random one; the square of a spectral automaton; convex optimisation of operators, which has no
    number of states but a penalty; an n-gram model with smoothing, whose order is `n_states`.
    """
    if method not in METHODS:
        raise OptionError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if (problem := options.problem(method)) is not None:
        raise OptionError(problem)
    longest = int(sample.lengths.max(initial=0))
    if longest > _LONGEST:
        raise OptionError(
            f"a string has {longest:,} symbols, and the most to learn from is {_LONGEST:,}; try: cutting it"
        )
    if method == "best":
        return BestModel(n_states, n_jobs=n_jobs, random_state=random_state).fit(sample).model_
    if method in ("spectral", "spectral-em"):
        return _spectral(sample, method, n_states, options, n_jobs, random_state)
    if method == "quadratic":
        basis = options.chosen_basis(QuadraticWFA().basis)
        return QuadraticWFA(n_states, basis=basis, random_state=random_state).fit(sample).model_
    if method == "convex":
        convex = ConvexWFA("auto" if options.penalty is None else options.penalty, random_state=random_state)
        given = {"statistic": options.statistic, "max_iter": options.max_iter}
        convex.set_params(basis=options.chosen_basis(convex.basis), **_given(given))
        return convex.fit(sample).model_
    if method == "em":
        return _em(sample, n_states, options, n_jobs, random_state)
    order = best_order(*sample.split(0.1, seed=random_state))[0] if n_states == "auto" else n_states
    return NGram(order).fit(sample).model_


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _spectral(
    sample: Sequences,
    method: str,
    n_states: int | Literal["auto"],
    options: MethodOptions,
    n_jobs: int | None,
    random_state: int,
) -> WFA:
    raw = method == "spectral" or options.repair == "none"
    learner = SpectralWFA(n_states, repair=None if raw else "em", n_jobs=n_jobs, random_state=random_state)
    parameters: dict[str, object] = {"statistic": options.statistic, "scaled": options.scaled}
    parameters |= {"minimum_mass": options.mass, "completion": options.completion}
    parameters |= {"repair": None if raw else options.repair}
    learner.set_params(basis=options.chosen_basis(BasisOptions()), **_given(parameters))
    fitted = learner.fit(sample)
    if raw:
        diagnostics = fitted.diagnostics_
        _log.info("%d states; total mass %.4f", diagnostics.n_states, diagnostics.total_mass)
        _log.info("%.1f %% of the training strings score below zero", 100 * diagnostics.negative_share)
    return fitted.model_


def _em(
    sample: Sequences,
    n_states: int | Literal["auto"],
    options: MethodOptions,
    n_jobs: int | None,
    random_state: int,
) -> WFA:
    restarts, steps = options.restarts or 2, options.max_iter or 100
    estimator = PNFAEM(n_restarts=restarts, pseudo_count=1e-3, n_jobs=n_jobs, random_state=random_state)
    if n_states == "auto":
        training, held_out = sample.split(0.1, seed=random_state)
        values: list[float] = []
        for n in _LADDER:
            tell_progress(_log, "numbers of states tried", len(values), len(_LADDER))
            values.append(
                estimator.set_params(n_states=n, max_iter=min(50, steps)).fit(training).score(held_out)
            )
            _log.info("EM with %d states: held-out log-probability %.4f", n, values[-1])
        tell_progress(_log, "numbers of states tried", len(values), len(_LADDER))
        n_states = _LADDER[int(np.argmax(values))]
    return estimator.set_params(n_states=n_states, max_iter=steps).fit(sample).model_
