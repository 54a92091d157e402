"""The methods of training: the estimator of each, its settings, and what a model file records of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from gramian.settings import Setting, declared_settings

if TYPE_CHECKING:
    from gramian import learn
    from gramian.training.training_settings import TrainingSettings


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

    by_method = {}
    for method, (name, parameters) in METHODS.items():
        declared = declared_settings(getattr(learn, name)) | declared_settings(
            learn.LexiconOptions, "lexicon."
        )
        declared |= {name: replace(declared[name], default=value) for name, value in parameters.items()}
        by_method[method] = {
            name: setting for name, setting in declared.items() if name not in NOT_OFFERED - {"device"}
        }
    return by_method


_NOT_RECORDED = (
    "n_jobs",
    "verbose",
    "device",
    "watch",
    "start",
    "checkpoint",
)  # of an estimator's parameters


def recorded_options(settings: TrainingSettings) -> dict[str, Any]:
    """Return what a model file records of the settings, under the names of version 0.1.0."""
    learner, silver, binarisation = settings.learner, settings.silver, settings.binarisation
    encoder = settings.neural.get("encoder")
    options = {
        "method": settings.method,
        "n_states": settings.n_states,
        "allocation": learner.get("allocation", "root"),
        "growth": learner.get("growth", 0.25),
        "features": learner.get("features.templates"),
        "lexicon": learner.get("lexicon", "auto"),
        "max_iter": learner.get("max_iter"),
        "cycles": learner.get("cycles", 4),
        "merge": learner.get("merge", 0.0),
        "horizontal": binarisation.horizontal,
        "vertical": binarisation.vertical,
        "collapse_tags": binarisation.collapse_tags,
        "heads": settings.heads,
        "noise": settings.noise.kind,
        "noise_level": settings.noise.level,
        "calibrate": settings.calibrate,
        "random_state": settings.random_state,
        "expert": {"none": False, "crf": True}.get(str(settings.expert), settings.expert),
        "models": settings.n_models,
        "direction": " ".join(settings.directions),
        "rerank": settings.folds if settings.rerank else 0,
    }
    if settings.close_cells:
        options["close_cells"] = True
    if encoder:
        options |= {"encoder": encoder, "encoder_rate": settings.neural.get("learning.encoder_rate", 0.0)}
    if settings.text:
        options |= {
            "text_kind": silver.format,
            "known": silver.constraints,
            "relations": silver.relations,
            "text_length": silver.max_length,
            "teacher": silver.teacher,
            "rounds": silver.rounds,
            "silver_weight": silver.weight,
            "least_confidence": silver.min_confidence,
            "best_trees": silver.best_trees,
        }
    parameters = settings.estimator().plain_params()
    return options | {name: value for name, value in parameters.items() if name not in _NOT_RECORDED}
