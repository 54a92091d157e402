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

if TYPE_CHECKING:
    from gramian.grammar import LPCFG
    from gramian.learn.states import States

METHODS = {
    "best": "SpectralEM",
    "spectral-em": "SpectralEM",
    "spectral-cluster": "SpectralClustering",
    "spectral-moments": "SpectralMoments",
    "em": "EM",
    "split-merge": "SplitMerge",
    "pcfg": "PCFG",
    "thesis": "SpectralClustering",
}
"""The learner of each method; the last, with the thesis's setting, is for comparison only."""

_BEST_STATES = 32  # the most states of a label of the method best
_POLISHED = ("best", "spectral-em")
_CLUSTERED = (*_POLISHED, "spectral-cluster")
_SPECTRAL = (*_CLUSTERED, "spectral-moments")
_METHODS_WITH = {
    "allocation": (*_SPECTRAL, "em"),
    "growth": (*_SPECTRAL, "em"),
    "search": (*_SPECTRAL, "em"),
    "features": _SPECTRAL,
    "lexicon": _CLUSTERED,
    "merge": _POLISHED,
    "max_iter": (*_POLISHED, "em"),
    "start": ("em",),
    "cycles": ("split-merge",),
    "text": (*_CLUSTERED, "em", "split-merge", "pcfg"),
}
_TEXT_OPTIONS = (
    "text_kind", "known", "relations", "text_length", "teacher", "rounds", "silver_weight", "least_confidence", "best_trees",
)  # fmt: skip
_PARTNERS = {"budget": "search", "judge": "search", "folds": "rerank", **dict.fromkeys(_TEXT_OPTIONS, "text")}
_PARAMETERS = {"features": "features__templates"}  # where a learner has another name
_NOT_NOTED = ("n_jobs", "verbose", "watch", "start", "checkpoint")  # of the learner's parameters


def _option(
    default: Any, about: str, kind: Any = None, *, least: float | None = None, most: float | None = None
) -> Any:
    """Declare an option: its default (None is the method's own), what it means, and which values it may have."""
    facts = {"help": about, "kind": kind or type(default), "least": least, "most": most}
    return field(default=default, metadata=facts)


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

    method: str = _option(
        "best",
        "How the hidden states are found; best is spectral-em with its best settings, for two binarisations together.",
        Literal["best", "spectral-em", "spectral-cluster", "spectral-moments", "em", "split-merge", "pcfg"],
    )
    n_states: States | None = _option(
        None, "The most states a label gets; by default the method's own number.", int, least=1
    )
    allocation: str = _option(
        "root",
        "States by the root of a label's count, by its frequency, or the same for all.",
        Literal["root", "frequency", "all"],
    )
    growth: float = _option(0.25, "With root: states per root of the count.", least=0.0)
    search: str | None = _option(
        None,
        "Search for the number of states of each label by F1 on trees held out, instead of allocation alone.",
        Literal["beam", "greedy"],
    )
    budget: int = _option(40, "With search: how many candidates are tried.", least=1)
    judge: str | None = _option(
        None, "With search: file of trees that candidates are scored on; by default every tenth tree.", str
    )
    features: str | None = _option(
        None,
        "Feature set of the spectral methods; by default paper for moments, rich for the others.",
        Literal["rich", "paper", "plain"],
    )
    lexicon: str = _option(
        "auto",
        "What rare words are told apart by: shape and suffix, or their tag; auto is suffix for Penn-style English, else tag.",
        Literal["auto", "suffix", "tag", "pos"],
    )
    max_iter: int | None = _option(None, "Steps of EM; by default the method's own number.", int, least=0)
    cycles: int = _option(4, "With split-merge: how often every state is split.", least=1)
    merge: float = _option(
        0.0, "With spectral-em: share of similar states merged again.", least=0.0, most=1.0
    )
    start: LPCFG | None = _option(
        None, "Grammar (a model file) from which em starts; random without it.", str
    )
    tagged: str | None = _option(
        None,
        "Tagged text (CoNLL-U, trees, or token/TAG pairs) whose words and tags the lexicon is to know.",
        str,
    )
    text: Sequence[str] = _option(
        (),
        "Text without trees that a teacher parses, to learn from its trees too: plain text, tokens, token/TAG pairs or CoNLL-U; may be "
        "given several times.",
        list[str],
    )
    text_kind: str = _option(
        "auto",
        "With text: what its files hold; auto tells each by its name and first lines.",
        Literal["auto", "text", "tokens", "tagged", "conllu"],
    )
    known: str = _option(
        "all",
        "With text: what its trees must agree with: all, tags and dependencies; tags; or nothing but the words.",
        Literal["all", "tags", "words"],
    )
    relations: str = _option(
        "universal",
        "With CoNLL-U as text: what dependencies demand of trees; universal, french, phrases, or a file of such a table.",
    )
    text_length: int = _option(60, "With text: sentences of more words are left out.", least=1)
    teacher: str | None = _option(
        None,
        "With text: model file that parses it; by default four grammars and a span CRF of the trees.",
        str,
    )
    rounds: int = _option(
        1,
        "With text: how often it is parsed; each further teacher has learnt from the trees and the text.",
        least=1,
    )
    silver_weight: float = _option(
        1.0,
        "With text: how much its trees count together, as a multiple of the treebank's; each by the teacher's confidence in it.",
        least=1e-6,
    )
    least_confidence: float = _option(
        0.0, "With text: trees of a lower mean confidence are left out.", least=0.0, most=1.0
    )
    best_trees: int = _option(
        1,
        "With text: how many of the best trees of a sentence share its weight, by their probability.",
        least=1,
    )
    keep_best: bool = _option(
        False, "With development trees and EM: keep the step with the best F1, and stop when it falls."
    )
    preset: str = _option(
        "auto",
        "Habits of the treebank: penn, icepahc, keyaki, ftb, cess, floresta, whole; auto tells them by its labels.",
    )
    direction: str | None = _option(
        None,
        "Binarisation: from where children are split off; right for one model, both in turn for several.",
        Literal["right", "left", "head", "both"],
    )
    horizontal: int = _option(0, "How many siblings an intermediate label remembers.", least=0)
    vertical: int = _option(1, "1 for no context, 2 for the parent, ...", least=1)
    heads: str = _option("auto", "Head rules for features: auto, collins, left, right, none, or a file.")
    models: int | None = _option(
        None, "How many models that differ parse together; by default two with best, else one.", int, least=1
    )
    noise: str = _option(
        "seeds",
        "With several models: what makes them differ besides their binarisation.",
        Literal["seeds", "dropout", "additive", "multiplicative", "mixed"],
    )
    expert: str | bool = _option(
        "none",
        "Also learn a span CRF (crf, or nothing behind the option), which looks at the words: more accurate, several times longer to "
        "learn, half as fast to parse with; a neural net (neural), which needs torch and, to be quick, a GPU to learn; or both.",
        Literal["none", "crf", "neural", "both"],
    )
    rerank: bool = _option(
        False,
        "Also learn to choose among the best trees by features of whole trees, from folds that models have not seen.",
    )
    folds: int = _option(
        5, "With rerank: all models are trained again so often, each time without one fold.", least=2
    )
    calibrate: bool = _option(
        False,
        "Also learn, from trees held out, how far confidences can be trusted, and the weight of an expert: trains all twice.",
    )
    skip_broken: bool = _option(False, "Leave out broken trees, and say how many.")
    random_state: int = _option(0, "Same number, same model file.", least=0)
    attribution: str | None = _option(None, "Whom to credit for the data; kept in the model.", str)
    full: bool = _option(
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
        return self.method in (*_POLISHED, "em")

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
            if most is not None and value > most:
                return f"{{{one.name}}} must be at most {most}, got {value}"
        for name, methods in _METHODS_WITH.items():
            if name in given and self.method not in methods:
                return f"{{{name}}} goes with {{method}} {' or '.join(methods)}, not {self.method}"
        for name, partner in _PARTNERS.items():
            if name in given and not getattr(self, partner):
                return f"{{{name}}} goes with {{{partner}}}"
        if self.n_models == 1 and "noise" in given:
            return "{noise} goes with {models} 2 or more"
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
        if self.noise != "seeds" and self.method not in _CLUSTERED:
            return f"{{noise}} {self.noise} goes with the methods best, spectral-em and spectral-cluster"
        return None

    def learner_parameters(self) -> dict[str, Any]:
        """Return the parameters of the learner that the recipe decides, by the learner's names; chance and threads are not among them."""
        found: dict[str, Any] = {}
        if self.method != "pcfg":
            best = _BEST_STATES if self.method == "best" else None
            found["n_states"] = best if self.n_states is None else self.n_states
        for name, methods in _METHODS_WITH.items():
            if self.method in methods and name not in ("search", "start", "text"):
                found[_PARAMETERS.get(name, name)] = getattr(self, name)
        if self.method in _SPECTRAL:
            found["features__heads"] = self.heads
        return {name: value for name, value in found.items() if value is not None} | dict(self.parameters)

    def learner(self, **others: Any) -> learn.Learner:
        """Return the learner; `others` are parameters beside those that the recipe decides."""
        own = {} if self.start is None else {"start": self.start}
        return make_learner(self.method, self.random_state, self.learner_parameters() | own | others)

    def options(self) -> dict[str, Any]:
        """Return what a model file says about its options: the recipe's, and the learner's."""
        noted = (
            "method n_states allocation growth features lexicon max_iter cycles merge horizontal vertical heads noise "
            "calibrate random_state"
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
            **({name: getattr(self, name) for name in _TEXT_OPTIONS} if self.text else {}),
            **{name: value for name, value in learner.items() if name not in _NOT_NOTED},
        }


_DEFAULTS = {one.name: getattr(Recipe(), one.name) for one in fields(Recipe)}
Recipe.__doc__ = f"{Recipe.__doc__}\n    Attributes\n    ----------\n    " + "".join(
    f"{one.name} : {one.type}\n        {one.metadata['help']}\n    " for one in fields(Recipe) if one.metadata
)


def make_learner(method: str, random_state: int, parameters: Mapping[str, Any]) -> learn.Learner:
    """Return the learner of a method with some parameters, fields of option objects among them (``smoothing__rule``)."""
    kind = getattr(learn, METHODS[method])
    made: learn.Learner = kind.thesis_setting() if method == "thesis" else kind()
    chance = {} if method == "pcfg" else {"random_state": random_state}  # which leaves nothing to chance
    return made.set_params(**chance, **parameters)
