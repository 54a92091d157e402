"""What is asked of a training: one frozen object behind ``gramian train``, :func:`gramian.train`, experiments and benchmarks.

A recipe knows which learner a method names and with which parameters, what an option needs beside it, and what follows from what was
left open; :class:`gramian.training.training_run.TrainingRun` does what it says. Every option is declared once, with its help: the command
line makes its own from these. Nothing heavy is imported before a learner is asked for.
"""

# ruff: noqa: RUF009 - options are made by a function

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from gramian import learn
from gramian.errors import OptionError
from gramian.training.option_field import option, own
from gramian.training.option_rules import (
    BEST_STATES,
    CLUSTERED,
    ELSEWHERE,
    METHODS,
    METHODS_WITH,
    NOT_NOTED,
    PARAMETERS,
    PARTNERS,
    POLISHED,
    SPECTRAL,
    TEXT_OPTIONS,
)

if TYPE_CHECKING:
    from gramian.grammar import LPCFG
    from gramian.learn.states import States


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is to be learnt; the defaults are those of ``gramian train``.

    Examples
    --------
    >>> recipe = Recipe(models=3)
    >>> recipe.n_models, recipe.directions
    (3, ('right', 'left'))
    >>> Recipe(method="em", cycles=2).check()
    Traceback (most recent call last):
    gramian.errors.OptionError: cycles goes with method split-merge, not em
    """

    method: str = option(
        "best",
        "How the hidden states are found; best is spectral-em with its best settings, for two binarisations together.",
        Literal["best", "spectral-em", "spectral-cluster", "spectral-moments", "em", "split-merge", "pcfg"],
    )
    n_states: States | None = option(
        None, "The most states a label gets; by default the method's own number.", int, least=1, most=1024
    )
    allocation: str = option(
        "root",
        "States by the root of a label's count, by its frequency, or the same for all.",
        Literal["root", "frequency", "all"],
        group="states",
    )
    growth: float = option(0.25, "With root: states per root of the count.", group="states", least=0.0)
    search: str | None = option(
        None,
        "Search for the number of states of each label by F1 on trees held out, instead of allocation alone.",
        Literal["beam", "greedy"],
        group="states",
    )
    budget: int = option(
        40, "With search: how many candidates are tried; 0 for all.", group="states", least=0
    )
    judge: str | None = option(
        None,
        "With search: file of trees that candidates are scored on; by default every tenth tree.",
        str,
        group="states",
    )
    search_symbols: int = option(
        20, "With search: over so many labels, the most frequent; 0 for all.", group="states", least=0
    )
    search_beam: int = option(5, "With search: how many assignments are kept.", group="states", least=1)
    search_step: int = option(
        5, "With search: width of the grid of numbers that is tried first.", group="states", least=1
    )
    search_groups: bool = option(
        True, "With search: first try fewer and more states of groups of labels.", group="states"
    )
    search_by_count: bool = option(
        True, "With search: labels seen less than 500 times get fewer states at most.", group="states"
    )
    svd_rank: int | None = own(
        "states", "Singular vectors that nodes are projected to; by default as many as states.", int, least=1
    )
    projection: str | None = own(
        "states",
        "Projections weighted by singular values (the default) or raw, as published.",
        Literal["weighted", "raw"],
    )
    soft: float | None = own(
        "states",
        "Soft clusters: power of the inverse distance to their centres by which nodes belong to them.",
        float,
    )
    k_means_start: str | None = own(
        "states",
        "Where k-means begins: at nodes far apart (the default) or at random ones, as published.",
        Literal["k-means++", "random"],
    )
    k_means_restarts: int | None = own(
        "states", "How often k-means begins anew; by default once.", int, least=1
    )
    least_singular: float | None = own(
        "states",
        "With moments: singular values below this share of the largest are dropped; by default 0.01.",
        float,
        least=0.0,
    )
    features: str | None = option(
        None,
        "Feature set of the spectral methods; by default paper for moments, rich for the others.",
        Literal["rich", "paper", "plain", "thesis"],
        group="features",
    )
    scaling: bool = option(True, "Scale features by the root of their frequency.", group="features")
    lexicon: str = option(
        "auto",
        "What rare words are told apart by: shape and suffix, or their tag; auto is suffix for Penn-style English, else tag; "
        "pos is tag without smoothing.",
        Literal["auto", "suffix", "tag", "pos"],
        group="smoothing",
    )
    rare_words: int | None = own(
        "smoothing",
        "Words seen less often are rare, in the lexicon and in features; by default 11 (pos: 5) and 6.",
        int,
        least=1,
    )
    word_smoothing: float | None = own(
        "smoothing", "Counts that a word's class is worth for its states; by default 3.", float, least=0.0
    )
    rule_smoothing: float | None = own(
        "smoothing",
        "Counts that a label's rules are worth for each of its states; by default 2.",
        float,
        least=0.0,
    )
    state_smoothing: float | None = own(
        "smoothing",
        "Counts that coarser distributions of child states are worth; by default 2.",
        float,
        least=0.0,
    )
    sister_share: float | None = own(
        "smoothing", "Share that a state takes from its sisters; by default 0.02.", float, least=0.0, most=1.0
    )
    moment_backoff: float | None = own(
        "smoothing", "With moments: constant C of the chained smoothing; by default 30.", float, least=0.0
    )
    moment_unsmoothed: int | None = own(
        "smoothing", "With moments: rules seen so often are not smoothed; by default 1000.", int, least=0
    )
    max_iter: int | None = option(None, "Steps of EM; by default the method's own number.", int, least=0)
    cycles: int = option(
        4, "With split-merge: how often every state is split.", group="states", least=1, most=12
    )
    merge: float = option(
        0.0,
        "With spectral-em: share of similar states merged again.",
        group="states",
        least=0.0,
        most=1.0,
    )
    start: LPCFG | None = option(
        None, "Grammar (a model file) from which em starts; random without it.", str, group="research"
    )
    tagged: str | None = option(
        None,
        "Tagged text (CoNLL-U, trees, or token/TAG pairs) whose words and tags the lexicon is to know.",
        str,
    )
    text: Sequence[str] = option(
        (),
        "Text without trees that a teacher parses, to learn from its trees too: plain text, tokens, token/TAG pairs or CoNLL-U; may be "
        "given several times.",
        list[str],
    )
    text_kind: str = option(
        "auto",
        "With text: what its files hold; auto tells each by its name and first lines.",
        Literal["auto", "text", "tokens", "tagged", "conllu"],
        group="text",
    )
    known: str = option(
        "all",
        "With text: what its trees must agree with: all, tags and dependencies; tags; or nothing but the words.",
        Literal["all", "tags", "words"],
        group="text",
    )
    relations: str = option(
        "universal",
        "With CoNLL-U as text: what dependencies demand of trees; universal, french, phrases, or a file of such a table.",
        group="text",
    )
    text_length: int = option(60, "With text: sentences of more words are left out.", least=1, group="text")
    teacher: str | None = option(
        None,
        "With text: model file that parses it; by default four grammars and a span CRF of the trees.",
        str,
        group="text",
    )
    rounds: int = option(
        1,
        "With text: how often it is parsed; each further teacher has learnt from the trees and the text.",
        least=1,
        group="text",
    )
    silver_weight: float = option(
        1.0,
        "With text: how much its trees count together, as a multiple of the treebank's; each by the teacher's confidence in it.",
        least=1e-6,
        group="text",
    )
    least_confidence: float = option(
        0.0, "With text: trees of a lower mean confidence are left out.", least=0.0, most=1.0, group="text"
    )
    best_trees: int = option(
        1,
        "With text: how many of the best trees of a sentence share its weight, by their probability.",
        least=1,
        group="text",
    )
    keep_best: bool = option(
        False, "With development trees and EM: keep the step with the best F1, and stop when it falls."
    )
    preset: str = option(
        "auto",
        "Annotation scheme of the treebank, such as penn or ftb; auto detects it by its labels.",
    )
    language: str = option(
        "auto",
        "Language (en, fr, ...) whose text the model learns to read; auto tells it by preset and words, none learns nothing.",
    )
    spacing: str | None = option(
        None,
        "CoNLL-U with SpaceAfter=No, from which the model also learns how text becomes sentences and words.",
        str,
    )
    direction: str | None = option(
        None,
        "Binarisation: from where children are split off; right for one model, both in turn for several.",
        Literal["right", "left", "head", "both"],
        group="research",
    )
    horizontal: int = option(
        0, "How many siblings an intermediate label remembers.", group="research", least=0
    )
    vertical: int = option(1, "1 for no context, 2 for the parent, ...", group="research", least=1)
    collapse_tags: bool = option(
        False,
        "Join a phrase over one word into its tag, as published: NP|NN is a tag then.",
        group="research",
    )
    heads: str = option(
        "auto", "Head rules for features: auto, collins, left, right, none, or a file.", group="features"
    )
    models: int | None = option(
        None,
        "How many models that differ parse together; by default two with best, else one.",
        int,
        least=1,
        most=100,
    )
    noise: str = option(
        "seeds",
        "With several models: what makes them differ besides their binarisation.",
        Literal["seeds", "dropout", "additive", "multiplicative", "mixed"],
        group="research",
    )
    noise_level: float | None = own(
        "research",
        "With noise: how much of it; by default 0.05, 0.1, 0.15 and 0.2 in turn.",
        float,
        least=0.0,
    )
    expert: str | bool = option(
        "none",
        "Also learn a span CRF (crf, or nothing behind the option), which looks at the words: more accurate, several times longer to "
        "learn, half as fast to parse with; a neural net (neural), which needs torch and, to be quick, a GPU to learn; or both.",
        Literal["none", "crf", "neural", "both"],
    )
    encoder: str | None = option(
        None,
        "With a neural expert: folder of a pre-trained encoder in Hugging Face's format, whose vectors of words it reads, too; the model "
        "then needs this folder, torch and transformers to run.",
        str,
    )
    encoder_rate: float = option(
        0.0,
        "With encoder: length of the steps in which it learns, too, such as 3e-5; 0 leaves it as it is.",
        least=0.0,
        most=1.0,
    )
    rerank: bool = option(
        False,
        "Also learn to choose among the best trees by features of whole trees, from folds that models have not seen.",
    )
    folds: int = option(
        5,
        "With rerank: all models are trained again so often, each time without one fold.",
        least=2,
        most=100,
    )
    calibrate: bool = option(
        False,
        "Also learn, from trees held out, how far confidences can be trusted, and the weight of an expert: trains all twice.",
    )
    device: str | None = option(
        None,
        "Where EM and a neural expert are learnt: a device of torch, such as cuda; by default EM on the CPU, without torch.",
        str,
    )
    skip_broken: bool = option(False, "Leave out broken trees, and say how many.")
    random_state: int = option(0, "Same number, same model file.", least=0, most=2**32 - 1)
    attribution: str | None = option(None, "Whom to credit for the data; kept in the model.", str)
    full: bool = option(
        False, "Keep whole rule tensors in 32 bits; by default they are of low rank, small and fast."
    )
    parameters: Mapping[str, Any] = field(default_factory=dict)  # further ones of the learner, by its names
    neural_parameters: Mapping[str, Any] = field(default_factory=dict)  # those of a NeuralExpert

    def __post_init__(self) -> None:
        if isinstance(self.expert, bool):
            object.__setattr__(self, "expert", "crf" if self.expert else "none")
        text = (self.text,) if isinstance(self.text, str | os.PathLike) else self.text
        object.__setattr__(self, "text", tuple(map(str, text or ())))

    @property
    def n_models(self) -> int:
        """How many grammars there will be."""
        if self.models is not None:
            return self.models
        return 2 if self.method == "best" and self.direction in (None, "both") and not self.keep_best else 1

    @property
    def directions(self) -> tuple[Any, ...]:
        """The binarisations that the models have in turn."""
        if self.direction == "both" or (self.direction is None and self.n_models > 1):
            return ("right", "left")
        return (self.direction or "right",)

    @property
    def is_bundle(self) -> bool:
        """Whether the model has several parts, each a task of its own."""
        return self.n_models > 1 or self.expert != "none" or self.rerank or self.calibrate

    @property
    def has_steps(self) -> bool:
        """Whether the method goes step by step, so that steps can be watched and kept."""
        return self.method in (*POLISHED, "em")

    def check(
        self,
        given: Collection[str] | None = None,
        *,
        dev: bool = False,
        scheduler: bool = False,
        spell: Callable[[str], str] = str,
    ) -> None:
        """Raise an error if options do not go together, or one was given that would do nothing.

        Given are, if nothing else is said, those that differ from their default; `spell` says what messages call an option.
        """
        if given is None:
            given = [name for name, default in _DEFAULTS.items() if getattr(self, name) != default]
        problem = self._problem(given, dev, scheduler)
        if problem is not None:
            raise OptionError(re.sub(r"{(\w+)}", lambda match: spell(match[1]), problem))
        if self.device is not None and not scheduler:  # whose workers may have what is not here
            from gramian.torch_device import find_device

            find_device(self.device)

    def _problem(self, given: Collection[str], dev: bool, scheduler: bool) -> str | None:
        """Return what is wrong, with names of options in braces."""
        for one in fields(self):
            value, least, most = getattr(self, one.name), one.metadata.get("least"), one.metadata.get("most")
            kind = one.metadata.get("kind")
            choices = (
                tuple(METHODS) if one.name == "method" else get_args(kind) * (get_origin(kind) is Literal)
            )
            if choices and value is not one.default and value not in choices:
                return f"{{{one.name}}} must be one of {', '.join(choices)}, got {value!r}"
            if least is not None and isinstance(value, int | float) and value < least:
                return f"{{{one.name}}} must be at least {least}, got {value}"
            if most is not None and isinstance(value, int | float) and value > most:
                return f"{{{one.name}}} must be at most {most}, got {value}"
        for name, methods in METHODS_WITH.items():
            if name in given and self.method not in methods:
                return f"{{{name}}} goes with {{method}} {' or '.join(methods)}, not {self.method}"
        for name, partner in PARTNERS.items():
            if name in given and not getattr(self, partner):
                return f"{{{name}}} goes with {{{partner}}}"
        if "encoder" in given and self.expert not in ("neural", "both"):
            return "{encoder} goes with {expert} neural or both"
        if self.language == "none" and "spacing" in given:
            return "{spacing} goes with another {language} than none"
        if self.n_models == 1 and "noise" in given:
            return "{noise} goes with {models} 2 or more"
        if "noise_level" in given and self.noise == "seeds":
            return "{noise_level} goes with {noise} dropout, additive, multiplicative or mixed"
        if self.n_models == 1 and self.direction == "both":
            return "{direction} both goes with {models} 2 or more"
        if scheduler and not (self.is_bundle or self.search or self.text):
            return "{scheduler} goes with {models} 2 or more, {expert}, {search}, {rerank}, {calibrate} or {text}"
        if self.calibrate and (self.keep_best or self.start is not None or self.method == "pcfg"):
            return "{calibrate} goes without {keep_best} and {start}, and with other methods than pcfg"
        if self.keep_best and not (dev and self.has_steps and not self.is_bundle):
            return (
                "{keep_best} needs {dev}, a method with EM steps, and one model without {expert} or {rerank}"
            )
        if self.start is not None and self.is_bundle:
            return "{start} goes with one model without {expert} or {rerank}"
        if self.n_models > 1 and self.method == "pcfg":
            return "method pcfg always gives the same model; try: without {models}"
        if self.noise != "seeds" and self.method not in CLUSTERED:
            return f"{{noise}} {self.noise} goes with the methods best, spectral-em and spectral-cluster"
        return None

    def learner_parameters(self) -> dict[str, Any]:
        """Return the parameters of the learner that the recipe decides, by the learner's names; chance and threads are not among them."""
        found: dict[str, Any] = {}
        if self.method != "pcfg":
            best = BEST_STATES if self.method == "best" else None
            found["n_states"] = best if self.n_states is None else self.n_states
        for name, methods in METHODS_WITH.items():
            if self.method in methods and name not in ELSEWHERE:
                found[PARAMETERS.get(name, name)] = getattr(self, name)
        if self.method in SPECTRAL:
            found["features__heads"] = self.heads
            found["features__rare_words"] = self.rare_words
        rare = None if self.rare_words is None else self.rare_words - 1
        changes = {"rare": rare, "shrinkage": self.word_smoothing}
        changes = {name: value for name, value in changes.items() if value is not None}
        lexicon: Any = self.lexicon
        found["lexicon"] = learn.LexiconOptions.called(lexicon, **changes) if changes else self.lexicon
        return {name: value for name, value in found.items() if value is not None} | dict(self.parameters)

    def net_parameters(self) -> dict[str, Any]:
        """Return the parameters of the neural expert that the recipe decides."""
        own = {"encoder": self.encoder, "learning__encoder_rate": self.encoder_rate} if self.encoder else {}
        place = {} if self.device is None else {"device": self.device}
        return own | dict(self.neural_parameters) | place

    def learner(self, **others: Any) -> learn.Learner:
        """Return the learner; `others` are parameters beside those that the recipe decides."""
        own = {} if self.start is None else {"start": self.start}
        return make_learner(self.method, self.random_state, self.learner_parameters() | own | others)

    def options(self) -> dict[str, Any]:
        """Return what a model file says about its options: the recipe's, and the learner's."""
        noted = (
            "method n_states allocation growth features lexicon max_iter cycles merge horizontal vertical collapse_tags heads "
            "noise noise_level calibrate random_state"
        )
        learner = self.learner().plain_params()
        return {
            **{name: getattr(self, name) for name in noted.split()},
            "expert": {"none": False, "crf": True}.get(
                str(self.expert), self.expert
            ),  # as version 0.1.0 notes it
            "models": self.n_models,
            "direction": " ".join(self.directions),
            "rerank": self.folds if self.rerank else 0,
            **({"encoder": self.encoder, "encoder_rate": self.encoder_rate} if self.encoder else {}),
            **({name: getattr(self, name) for name in TEXT_OPTIONS} if self.text else {}),
            **{name: value for name, value in learner.items() if name not in NOT_NOTED},
        }


_DEFAULTS = {one.name: getattr(Recipe(), one.name) for one in fields(Recipe)}
Recipe.__doc__ = f"{Recipe.__doc__}\n    Attributes\n    ----------\n    " + "".join(
    f"{one.name} : {one.type}\n        {one.metadata['help']}\n    " for one in fields(Recipe) if one.metadata
)


def make_learner(method: str, random_state: int, parameters: Mapping[str, Any]) -> learn.Learner:
    """Return the learner of a method with some parameters, fields of option objects among them (``smoothing__rule``)."""
    kind = getattr(learn, METHODS[method])
    made: learn.Learner = kind()
    chance = {} if method == "pcfg" else {"random_state": random_state}  # which leaves nothing to chance
    return made.set_params(**chance, **parameters)
