"""Settings of a training that have a common prefix (``search.budget``, ``silver.weight``), and which settings go together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from gramian.errors import OptionError
from gramian.training.training_methods import CLUSTERED, SPECTRAL, estimator_settings
from gramian.value_types import Boolean, Number, OneOf, Path, Text, Whole, option, options, or_none

if TYPE_CHECKING:
    from gramian.training.training_settings import TrainingSettings


@options
class SearchSettings:
    """The search for the number of states of each label."""

    method: Literal["beam", "greedy"] | None = option(or_none(OneOf("beam", "greedy")), default=None)
    """Search for the number of states of each label by F1 on held-out trees, instead of allocation alone."""
    budget: int = option(Whole(0), default=40)
    """How many candidates are tried; 0 for all."""
    trees: str | None = option(or_none(Path()), default=None)
    """File of trees on which candidates are scored; by default every tenth tree."""
    symbols: int = option(Whole(0), default=40)
    """How many labels are searched, the most frequent first; 0 for all. A budget that ends the search earlier is reported."""
    largest: int | None = option(or_none(Whole(1)), default=None)
    """The most states of a label; by default twice as many as the search starts from, at most 32."""
    beam: int = option(Whole(1), default=5)
    """How many assignments are kept."""
    step: int = option(Whole(1), default=5)
    """Width of the grid of numbers that is tried first."""
    reach: int = option(Whole(1), default=4)
    """How far from a number of the grid is looked then."""
    groups: bool = option(Boolean(), default=True)
    """Whether fewer and more states of groups of labels are tried first."""
    by_count: bool = option(Boolean(), default=True)
    """Whether labels seen less than 500 times get fewer states at most."""
    parsing: Literal["default", "published"] = option(OneOf("default", "published"), default="default")
    """How candidates prune and decode: as gramian does by default, or as the papers do."""


@options
class SilverSettings:
    """Learning from text without trees, which a teacher parses into silver trees."""

    format: str = option(OneOf("auto", "text", "tokens", "tagged", "conllu"), default="auto")
    """What the files of text hold; auto detects it from name and first lines."""
    constraints: str = option(OneOf("all", "tags", "words"), default="all")
    """What silver trees must agree with: tags and dependencies, tags, or only the words."""
    relations: str = option(Text(), default="universal")
    """What the dependencies of CoNLL-U require of trees: universal, french, phrases, or a file of such a table."""
    max_length: int = option(Whole(1), default=60)
    """Longer sentences are left out."""
    teacher: str | None = option(or_none(Path()), default=None)
    """Model file that parses the text; by default four grammars and a span CRF are trained on the treebank."""
    rounds: int = option(Whole(1), default=1)
    """How often the text is parsed; each further teacher has learnt from the trees and the text."""
    weight: float = option(Number(1e-6), default=1.0)
    """Total weight of silver trees, as a multiple of the treebank's; each tree is weighted by its confidence."""
    min_confidence: float = option(Number(0, 1), default=0.0)
    """Trees of lower mean confidence are left out."""
    best_trees: int = option(Whole(1), default=1)
    """How many of the best trees of a sentence share its weight, by their probability."""


@options
class NoiseSettings:
    """What makes the grammars of an ensemble differ."""

    kind: str = option(OneOf("seeds", "dropout", "additive", "multiplicative", "mixed"), default="seeds")
    """What makes the grammars of an ensemble differ besides their binarisation."""
    level: float | None = option(or_none(Number(0)), default=None)
    """How much noise; by default 0.05, 0.1, 0.15 and 0.2 in turn."""


@options
class BinarisationSettings:
    """How trees are binarised."""

    direction: str | None = option(or_none(OneOf("right", "left", "head", "both")), default=None)
    """From where children are split off; by default right for one grammar, right and left in turn for several."""
    horizontal: int = option(Whole(0), default=0)
    """How many siblings an intermediate label remembers."""
    vertical: int = option(Whole(1), default=1)
    """1 for no context, 2 for the parent, and so on."""
    collapse_tags: bool = option(Boolean(), default=False)
    """Whether a phrase over one word is joined with its tag, as published: NP|NN is then a tag."""


def check_settings(settings: TrainingSettings, *, dev: bool = False, scheduler: bool = False) -> None:
    """Raise an error if settings do not go together, or one would do nothing; `dev`, `scheduler`: whether these are given."""
    for is_asked, is_met, problem in _requirements(settings, dev, scheduler):
        if is_asked and not is_met:
            raise OptionError(problem)
    if settings.device is not None and not scheduler:  # whose workers may have a device that is not here
        from gramian.torch_device import find_device

        find_device(settings.device)


def _requirements(settings: TrainingSettings, dev: bool, scheduler: bool) -> Iterator[tuple[Any, Any, str]]:
    """Yield whether something is asked for, whether what it requires is met, and the problem if it is not."""
    known = estimator_settings()
    names = [*settings.learner, *(["device"] if settings.device and not settings.has_neural_expert else [])]
    for name in names:
        methods = [method for method, offered in known.items() if name in offered]
        required = f"{name} requires method {' or '.join(methods)}, not {settings.method}"
        yield True, settings.method in methods, required
    changed = {field.name for field in fields(settings) if getattr(settings, field.name) != field.default}
    method, noise, has_net = settings.method, settings.noise, settings.has_neural_expert
    several, is_bundle, search = settings.n_models > 1, settings.is_bundle, settings.search.method
    yield "folds" in changed, settings.rerank, "folds requires rerank"
    yield settings.close_cells, not has_net, "close_cells requires a model without neural expert"
    yield "search" in changed, search, "settings of the search require search.method"
    yield "silver" in changed, settings.text, "settings of silver trees require text"
    searched = (*SPECTRAL, "em")
    yield search, method in searched, f"search.method requires method {' or '.join(searched)}"
    required = "text requires another method than spectral-moments and pivot"
    yield settings.text, method not in ("spectral-moments", "pivot"), required
    yield settings.neural, has_net, "settings of the neural expert require expert neural or both"
    yield settings.span_crf, settings.has_span_crf, "settings of the span CRF require expert crf or both"
    required = "neural.learning.encoder_rate requires neural.encoder"
    yield "learning.encoder_rate" in settings.neural, "encoder" in settings.neural, required
    required = "spacing_conllu requires another language than none"
    yield settings.spacing_conllu, settings.language != "none", required
    yield "noise" in changed, several, "settings of noise require ensemble_size 2 or more"
    required = "noise.level requires noise.kind dropout, additive, multiplicative or mixed"
    yield noise.level is not None, noise.kind != "seeds", required
    required = f"noise.kind {noise.kind} requires method {' or '.join(CLUSTERED)}"
    yield noise.kind != "seeds", method in CLUSTERED, required
    required = "binarisation.direction both requires ensemble_size 2 or more"
    yield settings.binarisation.direction == "both", several, required
    starts = settings.start is not None
    yield starts, method == "em", "start requires method em"
    yield starts, not is_bundle, "start requires one grammar without expert, rerank and calibrate"
    required = "scheduler requires ensemble_size 2 or more, expert, rerank, calibrate, search.method or text"
    yield scheduler, is_bundle or search or settings.text, required
    required = "calibrate excludes keep_best and method pcfg"
    yield settings.calibrate, not settings.keep_best and method != "pcfg", required
    required = (
        "keep_best requires dev, a method with iterations of EM, and one grammar without expert and rerank"
    )
    yield settings.keep_best, dev and method in ("best", "spectral-em", "em") and not is_bundle, required
    required = "method pcfg always gives the same grammar; try: without ensemble_size"
    yield several, method != "pcfg", required
