"""What is asked of a training: one frozen object behind ``gramian train``, :func:`gramian.train`, experiments and benchmarks.

The settings know which estimator a method names, with which parameters, and which settings go together;
:class:`gramian.training.training_run.TrainingRun` does what they say. Parameters of estimators are settings by the names that the
estimators give them: ``clustering.rank`` is ``SpectralEM().set_params(clustering__rank=...)``. Nothing heavy is imported before these are
asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gramian.errors import OptionError
from gramian.settings import Setting, declared_settings, find_setting
from gramian.training.papers import PAPERS
from gramian.value_types import (
    Boolean,
    Each,
    Either,
    InstanceOf,
    MappingOf,
    Number,
    OneOf,
    Path,
    Text,
    Whole,
    option,
    option_fields,
    options,
    or_none,
)

if TYPE_CHECKING:
    from gramian import learn
    from gramian.grammar import LPCFG
    from gramian.learn.state_allocation import States

Method: TypeAlias = Literal[
    "best", "spectral-em", "spectral-cluster", "spectral-moments", "em", "split-merge", "pcfg"
]
ExpertChoice: TypeAlias = Literal["none", "crf", "neural", "both"] | bool


METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "best": ("SpectralEM", {"n_states": 32, "max_iter": 8}),
    "spectral-em": ("SpectralEM", {}),
    "spectral-cluster": ("SpectralClustering", {}),
    "spectral-moments": ("SpectralMoments", {}),
    "em": ("EM", {}),
    "split-merge": ("SplitMerge", {}),
    "pcfg": ("PCFG", {}),
}
"""The estimator of each method, and the parameters that the method itself sets."""

CLUSTERED = ("best", "spectral-em", "spectral-cluster")
SPECTRAL = (*CLUSTERED, "spectral-moments")
_NEURAL = ("neural", "both")
_NOT_OFFERED = {  # set by other settings, or by what runs the training
    *("n_jobs", "verbose", "random_state", "device", "n_states", "checkpoint"),
    *("features.heads", "clustering.noise", "clustering.noise_level"),
}
_NOT_NOTED = ("n_jobs", "verbose", "device", "watch", "start", "checkpoint")  # of an estimator's parameters


@options
class SearchSettings:
    """The search for the number of states of each label.

    Attributes
    ----------
    method : {"beam", "greedy"}, optional
        Search for the number of states of each label by F1 on held-out trees, instead of allocation alone.
    budget : int
        How many candidates are tried; 0 for all.
    trees : path, optional
        File of trees on which candidates are scored; by default every tenth tree.
    symbols : int
        How many labels are searched, the most frequent first; 0 for all.
    beam : int
        How many assignments are kept.
    step : int
        Width of the grid of numbers that is tried first.
    groups : bool
        Whether fewer and more states of groups of labels are tried first.
    by_count : bool
        Whether labels seen less than 500 times get fewer states at most.
    """

    method: Literal["beam", "greedy"] | None = option(or_none(OneOf("beam", "greedy")), default=None)
    budget: int = option(Whole(0), default=40)
    trees: str | None = option(or_none(Path()), default=None)
    symbols: int = option(Whole(0), default=20)
    beam: int = option(Whole(1), default=5)
    step: int = option(Whole(1), default=5)
    groups: bool = option(Boolean(), default=True)
    by_count: bool = option(Boolean(), default=True)


@options
class SilverSettings:
    """Learning from text without trees, which a teacher parses into silver trees.

    Attributes
    ----------
    format : {"auto", "text", "tokens", "tagged", "conllu"}
        What the files of text hold; auto detects it from name and first lines.
    constraints : {"all", "tags", "words"}
        What silver trees must agree with: tags and dependencies, tags, or only the words.
    relations : str
        What the dependencies of CoNLL-U require of trees: universal, french, phrases, or a file of such a table.
    max_length : int
        Longer sentences are left out.
    teacher : path, optional
        Model file that parses the text; by default four grammars and a span CRF are trained on the treebank.
    rounds : int
        How often the text is parsed; each further teacher has learnt from the trees and the text.
    weight : float
        Total weight of silver trees, as a multiple of the treebank's; each tree is weighted by its confidence.
    min_confidence : float
        Trees of lower mean confidence are left out.
    best_trees : int
        How many of the best trees of a sentence share its weight, by their probability.
    """

    format: str = option(OneOf("auto", "text", "tokens", "tagged", "conllu"), default="auto")
    constraints: str = option(OneOf("all", "tags", "words"), default="all")
    relations: str = option(Text(), default="universal")
    max_length: int = option(Whole(1), default=60)
    teacher: str | None = option(or_none(Path()), default=None)
    rounds: int = option(Whole(1), default=1)
    weight: float = option(Number(1e-6), default=1.0)
    min_confidence: float = option(Number(0, 1), default=0.0)
    best_trees: int = option(Whole(1), default=1)


@options
class NoiseSettings:
    """What makes the grammars of an ensemble differ.

    Attributes
    ----------
    kind : {"seeds", "dropout", "additive", "multiplicative", "mixed"}
        What makes the grammars of an ensemble differ besides their binarisation.
    level : float, optional
        How much noise; by default 0.05, 0.1, 0.15 and 0.2 in turn.
    """

    kind: str = option(OneOf("seeds", "dropout", "additive", "multiplicative", "mixed"), default="seeds")
    level: float | None = option(or_none(Number(0)), default=None)


@options
class BinarisationSettings:
    """How trees are binarised.

    Attributes
    ----------
    direction : {"right", "left", "head", "both"}, optional
        From where children are split off; by default right for one grammar, right and left in turn for several.
    horizontal : int
        How many siblings an intermediate label remembers.
    vertical : int
        1 for no context, 2 for the parent, and so on.
    collapse_tags : bool
        Whether a phrase over one word is joined with its tag, as published: NP|NN is then a tag.
    """

    direction: str | None = option(or_none(OneOf("right", "left", "head", "both")), default=None)
    horizontal: int = option(Whole(0), default=0)
    vertical: int = option(Whole(1), default=1)
    collapse_tags: bool = option(Boolean(), default=False)


@options
class TrainingSettings:
    """How a model is trained; the defaults are those of ``gramian train``.

    Attributes
    ----------
    method : {"best", "spectral-em", "spectral-cluster", "spectral-moments", "em", "split-merge", "pcfg"}
        How hidden states are found; best is spectral-em with 32 states and 8 iterations, for two binarisations.
    n_states : int or mapping of str to int, optional
        The most states that a label gets; by default the method's own number.
    ensemble_size : int, optional
        How many grammars that differ parse together; by default two with method best, else one.
    expert : {"none", "crf", "neural", "both"}
        Also train a span CRF (crf): more accurate, several times longer to train, half as fast to parse with; or a neural network
        (neural), which requires PyTorch and in practice a GPU; or both.
    rerank : bool
        Also train a reranker of the best trees, on folds that the grammars have not seen.
    folds : int
        With rerank: the number of folds; all grammars are trained again for each.
    calibrate : bool
        Also calibrate confidences, and tune the weight of an expert, on held-out trees; trains everything twice.
    text : list of path
        Text without trees that a teacher parses, to learn from its trees too: plain text, tokens, token/TAG pairs or CoNLL-U; may be
        given several times.
    tagged_corpus : path, optional
        Tagged text (CoNLL-U, trees, or token/TAG pairs) from which the lexicon learns words and tags.
    spacing_conllu : path, optional
        CoNLL-U with SpaceAfter=No, from which the model also learns sentence segmentation and tokenisation.
    preset : str
        Annotation scheme: penn, icepahc, keyaki, ftb, cess, floresta, whole; auto detects it from the labels.
    language : str
        Language (en, fr, ...) whose text the model learns to segment; auto detects it, none learns nothing.
    heads : str
        Head rules for features, binarisation from heads, and reranking: auto, collins, left, right, none, or a file.
    device : str, optional
        Where EM and a neural expert are trained: a PyTorch device such as cuda; by default EM runs on the CPU without PyTorch.
    start : path, optional
        Model file whose grammar the method em starts from; random without it.
    keep_best : bool
        With development trees and EM: keep the iteration with the best F1, and stop when it falls.
    skip_broken : bool
        Leave out broken trees, and report how many.
    random_state : int
        The same number gives the same model file.
    attribution : str, optional
        Whom to credit for the data; stored in the model.
    compress : bool
        Store rule tensors as sums of few products, which are small and fast; otherwise whole and in 32 bits.

    Examples
    --------
    >>> settings = TrainingSettings.of(ensemble_size=3)
    >>> settings.n_models, settings.directions
    (3, ('right', 'left'))
    >>> TrainingSettings.of(method="em", cycles=2).check()
    Traceback (most recent call last):
    gramian.errors.OptionError: cycles requires method split-merge, not em
    """

    method: Method = option(OneOf(*METHODS), default="best")
    n_states: States | None = option(or_none(Either(Whole(1, 1024), MappingOf(Whole(1)))), default=None)
    ensemble_size: int | None = option(or_none(Whole(1, 100)), default=None)
    expert: ExpertChoice = option(Either(OneOf("none", "crf", "neural", "both"), Boolean()), default="none")
    rerank: bool = option(Boolean(), default=False)
    folds: int = option(Whole(2, 100), default=5)
    calibrate: bool = option(Boolean(), default=False)
    text: Sequence[str] = option(Either(Path(), Each(Path())), default=())
    tagged_corpus: str | None = option(or_none(Path()), default=None)
    spacing_conllu: str | None = option(or_none(Path()), default=None)
    preset: str = option(Text(), default="auto")
    language: str = option(Text(), default="auto")
    heads: str = option(Text(), default="auto")
    device: str | None = option(or_none(Text()), default=None)
    start: LPCFG | str | None = option(
        or_none(Either(Path(), InstanceOf(object, kind="a grammar"))), default=None
    )
    keep_best: bool = option(Boolean(), default=False)
    skip_broken: bool = option(Boolean(), default=False)
    random_state: int = option(Whole(0, 2**32 - 1), default=0)
    attribution: str | None = option(or_none(Text()), default=None)
    compress: bool = option(Boolean(), default=True)
    search: SearchSettings = option(InstanceOf(SearchSettings), default=SearchSettings())
    silver: SilverSettings = option(InstanceOf(SilverSettings), default=SilverSettings())
    noise: NoiseSettings = option(InstanceOf(NoiseSettings), default=NoiseSettings())
    binarisation: BinarisationSettings = option(
        InstanceOf(BinarisationSettings), default=BinarisationSettings()
    )
    learner: Mapping[str, Any] = field(default_factory=dict)  # parameters of the method's estimator
    span_crf: Mapping[str, Any] = field(default_factory=dict)
    neural: Mapping[str, Any] = field(default_factory=dict)  # of a NeuralExpert

    def __post_init__(self) -> None:
        if isinstance(self.expert, bool):
            object.__setattr__(self, "expert", "crf" if self.expert else "none")
        text = (self.text,) if isinstance(self.text, str | os.PathLike) else self.text
        object.__setattr__(self, "text", tuple(map(str, text)))

    @classmethod
    def of(cls, settings: Mapping[str, Any] | None = None, /, **more: Any) -> TrainingSettings:
        """Return the settings that differ from the defaults as given, by the names that ``gramian train --list-settings`` prints.

        ``paper="thesis"`` begins with the settings of a paper; see :data:`gramian.training.papers.PAPERS`.

        Examples
        --------
        >>> settings = TrainingSettings.of({"clustering.rank": 8}, paper="thesis", n_states=4)
        >>> settings.method, settings.n_states, settings.binarisation.collapse_tags
        ('spectral-cluster', 4, True)
        >>> TrainingSettings.of(states=4)
        Traceback (most recent call last):
        gramian.errors.OptionError: there is no setting 'states'; did you mean n_states?
        """
        known = training_settings()
        given = {**(settings or {}), **more}
        values = {name: find_setting(name, known, "train").checked(value) for name, value in given.items()}
        values = dict(PAPERS.get(values.pop("paper", None), {})) | values
        fields: dict[str, Any] = {}
        parts: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            part, dot, inner = name.partition(".")
            if not dot and name in cls._constraints:  # type: ignore[attr-defined]
                fields[name] = value
            elif dot and part in _PARTS:
                parts.setdefault(part, {})[inner] = value
            else:
                parts.setdefault("learner", {})[name] = value
        for part, changed in parts.items():
            default = getattr(_DEFAULT, part)
            fields[part] = changed if isinstance(default, Mapping) else replace(default, **changed)
        return cls(**fields)

    @property
    def n_models(self) -> int:
        """How many grammars there will be."""
        if self.ensemble_size is not None:
            return self.ensemble_size
        both = self.binarisation.direction in (None, "both")
        return 2 if self.method == "best" and both and not self.keep_best else 1

    @property
    def directions(self) -> tuple[Any, ...]:
        """The binarisations that the grammars have in turn."""
        direction = self.binarisation.direction
        if direction == "both" or (direction is None and self.n_models > 1):
            return ("right", "left")
        return (direction or "right",)

    @property
    def is_bundle(self) -> bool:
        """Whether the model has several parts, each a task of its own."""
        return self.n_models > 1 or self.expert != "none" or self.rerank or self.calibrate

    @property
    def has_iterations(self) -> bool:
        """Whether the method iterates EM, so that iterations can be scored and kept."""
        return self.method in ("best", "spectral-em", "em")

    def check(self, *, dev: bool = False, scheduler: bool = False) -> None:
        """Raise an error if settings do not go together, or one would do nothing; `dev`, `scheduler`: whether these are given."""
        problem = self._problem(dev, scheduler)
        if problem is not None:
            raise OptionError(problem)

    def _problem(self, dev: bool, scheduler: bool) -> str | None:
        """Return what is wrong, if anything."""
        known = _estimator_settings()
        for name in (*self.learner, *(("device",) if self.device and self.expert not in _NEURAL else ())):
            methods = [method for method, settings in known.items() if name in settings]
            if self.method not in methods:
                return f"{name} requires method {' or '.join(methods)}, not {self.method}"
        changed = {name for name, own in option_fields(self).items() if own != getattr(_DEFAULT, name)}
        requirements = (
            ("folds" in changed, self.rerank, "folds requires rerank"),
            ("search" in changed, self.search.method, "settings of the search require search.method"),
            ("silver" in changed, self.text, "settings of silver trees require text"),
            (
                self.search.method,
                self.method in (*SPECTRAL, "em"),
                f"search.method requires method {_one_of(*SPECTRAL, 'em')}",
            ),
            (
                self.text,
                self.method != "spectral-moments",
                "text requires another method than spectral-moments",
            ),
            (
                self.neural,
                self.expert in _NEURAL,
                "settings of the neural expert require expert neural or both",
            ),
            (
                self.span_crf,
                self.expert in ("crf", "both"),
                "settings of the span CRF require expert crf or both",
            ),
            (
                "learning.encoder_rate" in self.neural,
                "encoder" in self.neural,
                "neural.learning.encoder_rate requires neural.encoder",
            ),
            (
                self.spacing_conllu,
                self.language != "none",
                "spacing_conllu requires another language than none",
            ),
            ("noise" in changed, self.n_models > 1, "settings of noise require ensemble_size 2 or more"),
            (
                self.noise.level is not None,
                self.noise.kind != "seeds",
                "noise.level requires noise.kind dropout, additive, multiplicative or mixed",
            ),
            (
                self.noise.kind != "seeds",
                self.method in CLUSTERED,
                f"noise.kind {self.noise.kind} requires method {_one_of(*CLUSTERED)}",
            ),
            (
                self.binarisation.direction == "both",
                self.n_models > 1,
                "binarisation.direction both requires ensemble_size 2 or more",
            ),
            (self.start is not None, self.method == "em", "start requires method em"),
            (
                self.start is not None,
                not self.is_bundle,
                "start requires one grammar without expert, rerank and calibrate",
            ),
            (
                scheduler,
                self.is_bundle or self.search.method or self.text,
                "scheduler requires ensemble_size 2 or more, expert, rerank, calibrate, search.method or text",
            ),
            (
                self.calibrate,
                not self.keep_best and self.method != "pcfg",
                "calibrate excludes keep_best and method pcfg",
            ),
            (
                self.keep_best,
                dev and self.has_iterations and not self.is_bundle,
                "keep_best requires dev, a method with iterations of EM, and one grammar without expert and rerank",
            ),
            (
                self.n_models > 1,
                self.method != "pcfg",
                "method pcfg always gives the same grammar; try: without ensemble_size",
            ),
        )
        return next((problem for is_asked, is_met, problem in requirements if is_asked and not is_met), None)

    def learner_parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator that the settings decide, by the estimator's names."""
        from gramian.learn import LexiconOptions

        offered = _estimator_settings()[self.method]
        found: dict[str, Any] = dict(METHODS[self.method][1])
        if self.n_states is not None and self.method != "pcfg":
            found["n_states"] = self.n_states
        if self.device is not None and "device" in offered:
            found["device"] = self.device
        if "features.templates" in offered:
            found["features__heads"] = self.heads
        words = {name[8:]: value for name, value in self.learner.items() if name.startswith("lexicon.")}
        lexicon = self.learner.get("lexicon", "auto")
        found["lexicon"] = LexiconOptions.called(lexicon, **words) if words else lexicon
        others = {name: value for name, value in self.learner.items() if not name.startswith("lexicon")}
        return found | {name.replace(".", "__"): value for name, value in others.items()}

    def expert_parameters(self) -> dict[str, dict[str, Any]]:
        """Return the parameters of each expert that is to be trained, the slowest first."""
        place = {} if self.device is None else {"device": self.device}
        neural = {name.replace(".", "__"): value for name, value in self.neural.items()} | place
        span_crf = {name.replace(".", "__"): value for name, value in self.span_crf.items()}
        found = {"neural": neural} if self.expert in _NEURAL else {}
        return found | ({"expert": span_crf} if self.expert in ("crf", "both") else {})

    def estimator(self, **others: Any) -> learn.Learner:
        """Return the estimator; `others` are parameters beside those that the settings decide."""
        start = {} if self._start is None else {"start": self._start}
        return make_estimator(self.method, self.random_state, self.learner_parameters() | start | others)

    @cached_property
    def _start(self) -> LPCFG | None:
        """The grammar that EM starts from."""
        if isinstance(self.start, str | os.PathLike):
            from gramian.parsing.model_store import load_model

            return load_model(self.start).grammar
        return self.start

    def options(self) -> dict[str, Any]:
        """Return what a model file records of the settings, under the names of version 0.1.0."""
        learner, silver, binarisation = self.learner, self.silver, self.binarisation
        encoder = self.neural.get("encoder")
        found = {
            "method": self.method,
            "n_states": self.n_states,
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
            "heads": self.heads,
            "noise": self.noise.kind,
            "noise_level": self.noise.level,
            "calibrate": self.calibrate,
            "random_state": self.random_state,
            "expert": {"none": False, "crf": True}.get(str(self.expert), self.expert),
            "models": self.n_models,
            "direction": " ".join(self.directions),
            "rerank": self.folds if self.rerank else 0,
        }
        if encoder:
            found |= {"encoder": encoder, "encoder_rate": self.neural.get("learning.encoder_rate", 0.0)}
        if self.text:
            found |= {
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
        parameters = self.estimator().plain_params()
        return found | {name: value for name, value in parameters.items() if name not in _NOT_NOTED}


_PARTS = ("search", "silver", "noise", "binarisation", "span_crf", "neural")
_DEFAULT = TrainingSettings()


def make_estimator(method: str, random_state: int, parameters: Mapping[str, Any]) -> learn.Learner:
    """Return the estimator of a method with some parameters, fields of option objects among them (``smoothing__rule``)."""
    from gramian import learn

    made: learn.Learner = getattr(learn, METHODS[method][0])()
    seed = {} if method == "pcfg" else {"random_state": random_state}  # which leaves nothing to chance
    return made.set_params(**seed, **parameters)


@cache
def training_settings() -> dict[str, Setting]:
    """Return all settings of a training by name: its own, those of each method's estimator, and those of the experts."""
    from gramian.experts import NeuralExpert, SpanCRF

    found = declared_settings(TrainingSettings)
    about = "Start from the settings of a paper: a thesis, Narayan and Cohen (2016), or Cohen et al. (2013)."
    found["paper"] = Setting("paper", or_none(OneOf(*PAPERS)), None, about)
    methods = _estimator_settings()
    for name in dict.fromkeys(name for settings in methods.values() for name in settings):
        if name in found:
            continue
        own = {method: settings[name] for method, settings in methods.items() if name in settings}
        first = next(iter(own.values()))
        differing = {one.default: method for method, one in own.items() if one.default != first.default}
        note = "" if len(own) == len(methods) else f"only with method {_one_of(*own)}"
        note += "".join(f"; default {default} with {method}" for default, method in differing.items())
        found[name] = replace(first, note=note.removeprefix("; "))
    for prefix, kind in (("span_crf.", SpanCRF), ("neural.", NeuralExpert)):
        own = declared_settings(kind, prefix)
        found |= {name: one for name, one in own.items() if name.removeprefix(prefix) not in _NOT_OFFERED}
    return found


@cache
def _estimator_settings() -> dict[str, dict[str, Setting]]:
    """Return the settings of the estimator of each method."""
    from gramian import learn

    found = {}
    for method, (name, parameters) in METHODS.items():
        own = declared_settings(getattr(learn, name)) | declared_settings(learn.LexiconOptions, "lexicon.")
        own |= {name: replace(own[name], default=value) for name, value in parameters.items()}
        found[method] = {name: one for name, one in own.items() if name not in _NOT_OFFERED - {"device"}}
    return found


def _one_of(*names: str) -> str:
    return " or ".join(names)
