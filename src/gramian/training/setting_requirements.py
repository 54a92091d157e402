"""Which settings of a training go together."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from gramian.errors import OptionError
from gramian.training.training_methods import CLUSTERED, SPECTRAL, estimator_settings

if TYPE_CHECKING:
    from gramian.training.training_settings import TrainingSettings


def check_settings(settings: TrainingSettings, *, dev: bool = False, scheduler: bool = False) -> None:
    """Raise an error if settings do not go together, or one would do nothing; `dev`, `scheduler`: whether these are given.

    Examples
    --------
    >>> from gramian.training import TrainingSettings
    >>> check_settings(TrainingSettings.of(method="em", cycles=2))
    Traceback (most recent call last):
    gramian.errors.OptionError: cycles requires method split-merge, not em
    """
    problem = _problem(settings, dev, scheduler)
    if problem is not None:
        raise OptionError(problem)
    if settings.device is not None and not scheduler:  # whose workers may have a device that is not here
        from gramian.torch_device import find_device

        find_device(settings.device)


def _problem(settings: TrainingSettings, dev: bool, scheduler: bool) -> str | None:
    """Return what is wrong, if anything."""
    known = estimator_settings()
    for name in (
        *settings.learner,
        *(("device",) if settings.device and not settings.has_neural_expert else ()),
    ):
        methods = [method for method, offered in known.items() if name in offered]
        if settings.method not in methods:
            return f"{name} requires method {' or '.join(methods)}, not {settings.method}"
    changed = {field.name for field in fields(settings) if getattr(settings, field.name) != field.default}
    requirements = (
        ("folds" in changed, settings.rerank, "folds requires rerank"),
        ("search" in changed, settings.search.method, "settings of the search require search.method"),
        ("silver" in changed, settings.text, "settings of silver trees require text"),
        (
            settings.search.method,
            settings.method in (*SPECTRAL, "em"),
            f"search.method requires method {' or '.join((*SPECTRAL, 'em'))}",
        ),
        (
            settings.text,
            settings.method not in ("spectral-moments", "pivot"),
            "text requires another method than spectral-moments and pivot",
        ),
        (
            settings.neural,
            settings.has_neural_expert,
            "settings of the neural expert require expert neural or both",
        ),
        (
            settings.span_crf,
            settings.has_span_crf,
            "settings of the span CRF require expert crf or both",
        ),
        (
            "learning.encoder_rate" in settings.neural,
            "encoder" in settings.neural,
            "neural.learning.encoder_rate requires neural.encoder",
        ),
        (
            settings.spacing_conllu,
            settings.language != "none",
            "spacing_conllu requires another language than none",
        ),
        ("noise" in changed, settings.n_models > 1, "settings of noise require ensemble_size 2 or more"),
        (
            settings.noise.level is not None,
            settings.noise.kind != "seeds",
            "noise.level requires noise.kind dropout, additive, multiplicative or mixed",
        ),
        (
            settings.noise.kind != "seeds",
            settings.method in CLUSTERED,
            f"noise.kind {settings.noise.kind} requires method {' or '.join(CLUSTERED)}",
        ),
        (
            settings.binarisation.direction == "both",
            settings.n_models > 1,
            "binarisation.direction both requires ensemble_size 2 or more",
        ),
        (settings.start is not None, settings.method == "em", "start requires method em"),
        (
            settings.start is not None,
            not settings.is_bundle,
            "start requires one grammar without expert, rerank and calibrate",
        ),
        (
            scheduler,
            settings.is_bundle or settings.search.method or settings.text,
            "scheduler requires ensemble_size 2 or more, expert, rerank, calibrate, search.method or text",
        ),
        (
            settings.calibrate,
            not settings.keep_best and settings.method != "pcfg",
            "calibrate excludes keep_best and method pcfg",
        ),
        (
            settings.keep_best,
            dev and settings.has_iterations and not settings.is_bundle,
            "keep_best requires dev, a method with iterations of EM, and one grammar without expert and rerank",
        ),
        (
            settings.n_models > 1,
            settings.method != "pcfg",
            "method pcfg always gives the same grammar; try: without ensemble_size",
        ),
    )
    return next((problem for is_asked, is_met, problem in requirements if is_asked and not is_met), None)
