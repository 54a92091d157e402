"""Learning by the name of a method: each is an estimator whose parameters are the settings of ``gramian wfa train``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from sklearn.base import clone

from gramian.automata.best_model import BestModel
from gramian.automata.convex import ConvexWFA
from gramian.automata.ngram import NGram
from gramian.automata.pnfa_em import PNFAEM
from gramian.automata.positive_moments import ConstrainedWFA, TensorHMM
from gramian.automata.quadratic import QuadraticWFA
from gramian.automata.recurrent_learner import RecurrentLearner
from gramian.automata.sequence_learner import SequenceLearner
from gramian.automata.spectral import SpectralWFA
from gramian.errors import OptionError
from gramian.settings import Setting, declared_settings

METHODS: Mapping[str, SequenceLearner] = {
    "best": BestModel(),
    "spectral": SpectralWFA(repair=None),
    "em": PNFAEM("auto", n_restarts=2, pseudo_count=1e-3),
    "spectral-em": SpectralWFA(),
    "spectral-clip": SpectralWFA(repair="clip"),
    "spectral-cluster": SpectralWFA(repair="cluster"),
    "quadratic": QuadraticWFA(),
    "convex": ConvexWFA(),
    "constrained": ConstrainedWFA(),
    "tensor": TensorHMM(),
    "ngram": NGram("auto"),
    "neural": RecurrentLearner(),
}
"""A mixture of what predicts held-out strings best; a spectral automaton as it comes, which need not be a distribution; EM from random
starts, or from a clustered spectral one; the square of a spectral automaton; convex optimisation of operators; an n-gram model; a recurrent
network, which requires PyTorch."""

REMEDIES = (
    "spectral",
    "spectral-clip",
    "spectral-cluster",
    "spectral-em",
    "quadratic",
    "convex",
    "constrained",
    "tensor",
)
"""Spectral learning as it comes, and the ways to negative probabilities or around them."""

_NOT_SETTINGS = ("alphabet", "n_jobs", "verbose")


def method_settings() -> dict[str, Setting]:
    """Return the settings of all methods, by name; the note of a setting names the methods that have it, if not all do."""
    declared = {method: declared_settings(type(learner)) for method, learner in METHODS.items()}
    found: dict[str, Setting] = {}
    for name in dict.fromkeys(name for settings in declared.values() for name in settings):
        if name in _NOT_SETTINGS:
            continue
        methods = [method for method in METHODS if name in declared[method]]
        first, *others = [METHODS[method].get_params()[name.replace(".", "__")] for method in methods]
        found[name] = replace(
            declared[methods[0]][name],
            default=first if all(other == first for other in others) else "by method",
            note="" if len(methods) == len(METHODS) else f"method {', '.join(methods)}",
        )
    return found


def learner_of(
    method: str,
    n_states: int | Literal["auto"] = "auto",
    *,
    settings: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> SequenceLearner:
    """Return the learner of a method with some settings changed, by name; `n_states` of an n-gram model is its order."""
    if method not in METHODS:
        raise OptionError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    learner: SequenceLearner = clone(METHODS[method])
    known = learner.get_params()
    chosen = {"random_state": random_state, **(settings or {})}
    if n_states != "auto":
        chosen["order" if method == "ngram" else "n_states"] = n_states
    for name, value in chosen.items():
        parameter = name.replace(".", "__")
        if parameter not in known:
            methods = [other for other in METHODS if parameter in METHODS[other].get_params()]
            raise OptionError(f"{name} requires method {' or '.join(methods)}, not {method}")
        learner.set_params(**{parameter: value})
    return learner.set_params(n_jobs=n_jobs)
