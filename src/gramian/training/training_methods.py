"""The methods of training: the estimator of each, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from gramian.settings import Setting, declared_settings

if TYPE_CHECKING:
    from gramian import learn

METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "best": ("SpectralEM", {"n_states": 32, "max_iter": 8}),
    "spectral-em": ("SpectralEM", {}),
    "spectral-cluster": ("SpectralClustering", {}),
    "spectral-moments": ("SpectralMoments", {}),
    "pivot": ("PivotEM", {}),
    "em": ("EM", {}),
    "split-merge": ("SplitMerge", {}),
    "pcfg": ("PCFG", {}),
}
"""The estimator of each method, and the parameters that the method itself sets."""

CLUSTERED = ("best", "spectral-em", "spectral-cluster")
SPECTRAL = (*CLUSTERED, "spectral-moments")
NOT_OFFERED = {  # set by other settings, or by what runs the training
    *("n_jobs", "verbose", "random_state", "device", "n_states", "checkpoint"),
    *("features.heads", "clustering.noise", "clustering.noise_level"),
}


def make_estimator(method: str, random_state: int, parameters: Mapping[str, Any]) -> learn.Learner:
    """Return the estimator of a method with some parameters, fields of option objects among them (``smoothing__rule``)."""
    from gramian import learn

    made: learn.Learner = getattr(learn, METHODS[method][0])()
    seed = {} if method == "pcfg" else {"random_state": random_state}  # which leaves nothing to chance
    return made.set_params(**seed, **parameters)


@cache
def estimator_settings() -> dict[str, dict[str, Setting]]:
    """Return the settings of the estimator of each method."""
    from gramian import learn

    found = {}
    for method, (name, parameters) in METHODS.items():
        own = declared_settings(getattr(learn, name)) | declared_settings(learn.LexiconOptions, "lexicon.")
        own |= {name: replace(own[name], default=value) for name, value in parameters.items()}
        found[method] = {name: one for name, one in own.items() if name not in NOT_OFFERED - {"device"}}
    return found
