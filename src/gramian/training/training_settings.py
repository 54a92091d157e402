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

from gramian.settings import Setting, declared_settings, find_setting
from gramian.training.papers import paper_setting, with_paper
from gramian.training.setting_groups import (
    BinarisationSettings,
    NoiseSettings,
    SearchSettings,
    SilverSettings,
)
from gramian.training.training_methods import METHODS, NOT_OFFERED, estimator_settings, make_estimator
from gramian.value_types import (
    Boolean,
    Each,
    Either,
    InstanceOf,
    MappingOf,
    OneOf,
    Path,
    Text,
    Whole,
    option,
    options,
    or_none,
)

if TYPE_CHECKING:
    from gramian import learn
    from gramian.grammar import LPCFG
    from gramian.learn.learner import States

Method: TypeAlias = Literal[
    "best", "spectral-em", "spectral-cluster", "spectral-moments", "pivot", "em", "split-merge", "pcfg"
]
ExpertChoice: TypeAlias = Literal["none", "crf", "neural", "both"] | bool


@options
class TrainingSettings:
    """How a model is trained; the defaults are those of ``gramian train``.

    Examples
    --------
    >>> settings = TrainingSettings.of(ensemble_size=3)
    >>> settings.n_models, settings.directions
    (3, ('right', 'left'))
    >>> TrainingSettings.of(method="em", cycles=2).learner
    {'cycles': 2}
    """

    method: Method = option(OneOf(*METHODS), default="best")
    """Training method; best is spectral-em with 32 states and 8 iterations for each of two binarisations."""
    n_states: States | None = option(or_none(Either(Whole(1, 1024), MappingOf(Whole(1)))), default=None)
    """Maximum number of latent states of a label; the default depends on the method."""
    ensemble_size: int | None = option(or_none(Whole(1, 240)), default=None)
    """Number of grammars in the ensemble; by default two with method best, otherwise one."""
    expert: ExpertChoice = option(Either(OneOf("none", "crf", "neural", "both"), Boolean()), default="none")
    """Also train a span CRF (crf), a neural network (neural, requires PyTorch), or both: more accurate, slower to train and parse with."""
    rerank: bool = option(Boolean(), default=False)
    """Also train a reranker of the best trees by cross-fitting."""
    folds: int = option(Whole(2, 100), default=5)
    """With rerank: the number of folds; all grammars are trained again for each."""
    close_cells: bool = option(Boolean(), default=False)
    """Also train a classifier that closes chart cells, for faster parsing; not with a neural expert."""
    calibrate: bool = option(Boolean(), default=False)
    """Also calibrate confidences and tune the weights of experts on held-out trees; doubles the training time."""
    text: Sequence[str] = option(Either(Path(), Each(Path())), default=())
    """Unlabelled text, parsed by a teacher and learned from: plain text, tokens, token/TAG pairs or CoNLL-U; may be repeated."""
    tagged_corpus: str | None = option(or_none(Path()), default=None)
    """Tagged text (CoNLL-U, trees or token/TAG pairs) for the lexicon."""
    spacing_conllu: str | None = option(or_none(Path()), default=None)
    """CoNLL-U with SpaceAfter=No, from which the model also learns sentence segmentation and tokenisation."""
    preset: str = option(Text(), default="auto")
    """Annotation scheme: penn, icepahc, keyaki, ftb, cess, floresta, whole; auto detects it from the labels."""
    language: str = option(Text(), default="auto")
    """Language (en, fr, ...) for learning sentence segmentation and tokenization; auto detects it, none disables it."""
    heads: str = option(Text(), default="auto")
    """Head rules for features, binarisation from heads, and reranking: auto, collins, left, right, none, or a file."""
    device: str | None = option(or_none(Text()), default=None)
    """Where EM and a neural expert are trained: a PyTorch device such as cuda; by default EM runs on the CPU without PyTorch."""
    start: LPCFG | str | None = option(
        or_none(Either(Path(), InstanceOf(object, kind="a grammar"))), default=None
    )
    """Model file whose grammar the method em starts from; random without it."""
    keep_best: bool = option(Boolean(), default=False)
    """With development trees and EM: keep the iteration with the best F1, and stop when it falls."""
    skip_broken: bool = option(Boolean(), default=False)
    """Skip malformed trees and report their number."""
    random_state: int = option(Whole(0, 2**32 - 1), default=0)
    """Random seed; the same seed gives the same model file."""
    attribution: str | None = option(or_none(Text()), default=None)
    """Whom to credit for the data; stored in the model."""
    compress: bool = option(Boolean(), default=True)
    """Store rule tensors as sums of few products, which are small and fast; otherwise whole and in 32 bits."""
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

        ``paper="thesis"`` starts from the settings of a paper; see :data:`gramian.training.papers.PAPERS`.

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
        values = with_paper(values, "train")
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
    def has_span_crf(self) -> bool:
        """Whether a span CRF is trained."""
        return self.expert in ("crf", "both")

    @property
    def has_neural_expert(self) -> bool:
        """Whether a neural expert is trained."""
        return self.expert in ("neural", "both")

    @property
    def is_bundle(self) -> bool:
        """Whether the model has several parts, each a task of its own."""
        return self.n_models > 1 or self.expert != "none" or self.rerank or self.calibrate

    def learner_parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator that the settings decide, by the estimator's names."""
        from gramian.learn import LexiconOptions

        offered = estimator_settings()[self.method]
        parameters: dict[str, Any] = dict(METHODS[self.method][1])
        if self.n_states is not None and self.method != "pcfg":
            parameters["n_states"] = self.n_states
        if self.device is not None and "device" in offered:
            parameters["device"] = self.device
        if "features.templates" in offered:
            parameters["features__heads"] = self.heads
        words = {name[8:]: value for name, value in self.learner.items() if name.startswith("lexicon.")}
        lexicon = self.learner.get("lexicon", "auto")
        parameters["lexicon"] = LexiconOptions.called(lexicon, **words) if words else lexicon
        others = {name: value for name, value in self.learner.items() if not name.startswith("lexicon")}
        return parameters | {name.replace(".", "__"): value for name, value in others.items()}

    def expert_parameters(self) -> dict[str, dict[str, Any]]:
        """Return the parameters of each expert that is to be trained, the slowest first."""
        device = {} if self.device is None else {"device": self.device}
        neural = {name.replace(".", "__"): value for name, value in self.neural.items()} | device
        span_crf = {name.replace(".", "__"): value for name, value in self.span_crf.items()}
        experts = {"neural": neural} if self.has_neural_expert else {}
        return experts | ({"expert": span_crf} if self.has_span_crf else {})

    def estimator(self, **others: Any) -> learn.Learner:
        """Return the estimator; `others` are parameters beside those that the settings decide."""
        start = {} if self.start_grammar is None else {"start": self.start_grammar}
        return make_estimator(self.method, self.random_state, self.learner_parameters() | start | others)

    @cached_property
    def start_grammar(self) -> LPCFG | None:
        """The grammar that EM starts from."""
        if isinstance(self.start, str | os.PathLike):
            from gramian.parsing.model_store import load_model

            return load_model(self.start).grammar
        return self.start


_PARTS = ("search", "silver", "noise", "binarisation", "span_crf", "neural")
_DEFAULT = TrainingSettings()


@cache
def training_settings() -> dict[str, Setting]:
    """Return all settings of a training by name: its own, those of each method's estimator, and those of the experts."""
    from gramian.experts import NeuralExpert, SpanCRF

    known = declared_settings(TrainingSettings)
    known["paper"] = paper_setting("train")
    methods = estimator_settings()
    for name in dict.fromkeys(name for settings in methods.values() for name in settings):
        if name in known:
            continue
        declared = {method: settings[name] for method, settings in methods.items() if name in settings}
        first = next(iter(declared.values()))
        differing = {
            setting.default: method
            for method, setting in declared.items()
            if setting.default != first.default
        }
        note = "" if len(declared) == len(methods) else f"only with method {' or '.join(declared)}"
        note += "".join(f"; default {default} with {method}" for default, method in differing.items())
        known[name] = replace(first, note=note.removeprefix("; "))
    for prefix, kind in (("span_crf.", SpanCRF), ("neural.", NeuralExpert)):
        declared = declared_settings(kind, prefix)
        known |= {
            name: setting
            for name, setting in declared.items()
            if name.removeprefix(prefix) not in NOT_OFFERED
        }
    return known
