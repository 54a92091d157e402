"""What a model file records of the settings of its training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramian.training.training_settings import TrainingSettings

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
