"""Members of a model: grammars that differ by seed, by noise (Narayan and Cohen 2015) and by binarisation, and experts; each a task.

What a task returns is made of JSON values, so that finished ones can be kept in a folder; see :mod:`gramian.tasks.task_runner`.
"""

from __future__ import annotations

import base64
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Required, TypedDict, TypeVar, get_args

from gramian import learn
from gramian.errors import InputError
from gramian.evaluate import GoldBrackets
from gramian.experts import EXPERT_KINDS, ExpertPart, NeuralExpert, SpanCRF
from gramian.experts.loglinear_store import load as load_expert
from gramian.experts.loglinear_store import save as save_expert
from gramian.grammar.compress.compact import compacted
from gramian.io.schema import Base64, Seconds
from gramian.learn.cluster import LEVELS, Noise
from gramian.neural import load as load_neural
from gramian.neural import save as save_neural
from gramian.neural.word_vectors import word_vectors
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.tasks.task_runner import Outcome, run_tasks, task_key
from gramian.training.training_data import Fold, TrainingData
from gramian.training.training_settings import TrainingSettings, make_estimator
from gramian.trees import Tree
from gramian.value_types import OneOf, check_value

_Loaded = TypeVar("_Loaded")
EXPERT, NEURAL = "expert", "neural"  # the methods of tasks that train a span CRF, a net
_EXPERTS: dict[str, tuple[Callable[..., Any], Callable[..., None], Callable[[Path], Any]]] = {
    EXPERT: (SpanCRF, save_expert, load_expert),
    NEURAL: (NeuralExpert, save_neural, load_neural),
}


@dataclass(frozen=True)
class Member:
    """What sets a grammar apart from the others: chance, the direction of its binarisation, and noise."""

    seed: int
    direction: str
    noise: str | None = None
    noise_level: float = 0.0

    @property
    def kind(self) -> str:
        """Its noise and binarisation, by which models are grouped."""
        return f"{self.noise or 'seeds'} {self.direction}"


def plan_members(
    models: int,
    noise: str = "seeds",
    directions: Sequence[str] = ("right", "left"),
    seed: int = 0,
    level: float | None = None,
) -> list[Member]:
    """Share noises (none are ``"seeds"``, all in turn are ``"mixed"``), their levels and directions out over a number of models.

    Without a `level` those of the paper come in turn.

    Examples
    --------
    >>> [member.kind for member in plan_members(3)]
    ['seeds right', 'seeds left', 'seeds right']
    """
    check_value("noise", noise, OneOf("seeds", "mixed", *get_args(Noise)))
    schemes = [None, *get_args(Noise)] if noise == "mixed" else [None if noise == "seeds" else noise]
    members = []
    for number in range(models):
        turn = number // len(directions)
        scheme = schemes[turn % len(schemes)]
        own = LEVELS[turn // len(schemes) % len(LEVELS)] if level is None else level
        direction = directions[number % len(directions)]
        members.append(Member(seed + number, direction, scheme, own if scheme else 0.0))
    return members


MemberResult = TypedDict(
    "MemberResult",
    {
        "model": Base64,
        "expert": Base64,
        "neural": Base64,
        "processor": Required[Seconds],
        "seconds": Any,
        "peak memory (MB)": float,
    },
    total=False,
)
"""What comes of a task: the bytes of a model file, and what it took."""


@dataclass(frozen=True)
class MemberTask:
    """The training of one member; all that its result depends on."""

    RESULT: ClassVar[Any] = MemberResult

    data: str  # the key of what it is trained on
    method: str  # of the settings, or EXPERT or NEURAL
    parameters: Mapping[str, Any]  # of the learner
    member: Member
    compact: bool = True  # whether its rules become of low rank
    fold: Fold | None = None  # what it is not to see
    folder: str | None = field(
        default=None, repr=False, metadata={"key": False}
    )  # where it may keep steps that are done
    again: bool = field(
        default=False, repr=False, compare=False, metadata={"key": False}
    )  # whether others are trained on the same binarisation

    def run(self, data: TrainingData) -> dict[str, Any]:
        """Return the bytes of a model file in base 64 (``"model"``, ``"expert"`` or ``"neural"``), and what it took."""
        seed, direction = self.member.seed, self.member.direction
        if self.method in _EXPERTS:
            began = time.process_time()
            make, save, _ = _EXPERTS[self.method]
            learner = make(random_state=seed).set_params(**self.parameters)
            if isinstance(learner, NeuralExpert):
                self._learn_net(learner, data)
            else:
                learner.fit(data.treebank(direction, self.fold))
            took = time.process_time() - began
            return {self.method: encoded(partial(save, learner.model_)), "processor": took}
        noise, level = self.member.noise, self.member.noise_level
        noisy = {"clustering__noise": noise, "clustering__noise_level": level} if noise else {}
        learner = make_estimator(self.method, seed, dict(self.parameters) | noisy)
        if self._checkpoint is not None and "checkpoint" in learner.get_params():
            learner.set_params(checkpoint=self._checkpoint)
        data.observations(direction, self.fold).keep_features = self.again
        model, costs = learnt_model(learner, data, self.compact, direction, self.fold)
        if not self.again:
            data.forget()
        return {"model": encoded(partial(save_model, model)), **costs}

    @property
    def _checkpoint(self) -> str | None:
        return None if self.folder is None else str(Path(self.folder) / f"{task_key(self)}.partial")

    def _learn_net(self, net: NeuralExpert, data: TrainingData) -> None:
        """Learn a net; where there is text, from its trees too, and with vectors of its words; the treebank alone judges.

        Trees of the treebank come as often as it takes to have as many words as those of the text, or nearly.
        """
        net.set_params(checkpoint=self._checkpoint)
        trees = list(data.treebank(self.member.direction, self.fold).trees())
        if data.silver is None:
            net.fit(trees)
            return
        silver = [Tree.parse(tree) for _, tree in data.silver.trees()]
        if net.vectors is None:
            with suppress(InputError):  # there may be too few words
                net.set_params(vectors=word_vectors(tree.words for tree in (*trees, *silver)))
        every = round(1 / net.held_out) if net.held_out else len(trees) + 1
        judges = trees[every - 1 :: every]
        learnt = [tree for place, tree in enumerate(trees, 1) if place % every]
        own, others = (sum(len(tree.words) for tree in part) for part in (learnt, silver))
        net.fit([*learnt * max(1, round(others / max(1, own))), *silver], judges=judges)


def learnt_model(
    learner: learn.Learner, data: TrainingData, compact: bool, direction: Any = None, fold: Fold | None = None
) -> tuple[Model, dict[str, Any]]:
    """Return the model that a learner makes, and what differs from run to run: it goes beside the model, not into it."""
    began = time.process_time()
    report = dict(learner.fit(data.observations(direction, fold)).report_)
    costs = {name: report.pop(name) for name in ("seconds", "peak memory (MB)")}
    costs["processor"] = time.process_time() - began
    grammar = learner.model_
    if compact:
        grammar, loss = compacted(grammar)
        report |= {"low rank": loss} if loss else {}
    return Model((grammar,), report=report), costs


def member_tasks(
    settings: TrainingSettings, data: TrainingData, folder: Path | None = None
) -> list[MemberTask]:
    """Return the tasks of the members that settings ask for, experts first, since they take longest; `folder` as in a task."""
    kept = None if folder is None else str(folder)
    again = settings.n_models > len(settings.directions)
    about = data.key, settings.method, settings.learner_parameters()
    tasks = [
        MemberTask(*about, member, settings.compress, folder=kept, again=again)
        for member in plan_members(
            settings.n_models,
            settings.noise.kind,
            settings.directions,
            settings.random_state,
            settings.noise.level,
        )
    ]
    return [
        *(
            replace(tasks[0], method=name, parameters=own, compact=True)
            for name, own in settings.expert_parameters().items()
        ),
        *tasks,
    ]


def whole_model(tasks: Sequence[MemberTask], results: Sequence[Mapping[str, Any]]) -> Model:
    """Return one model of all that tasks made: grammars, and experts if there are some."""
    members = [task.member for task in tasks if task.method not in _EXPERTS]
    models = [decoded(result["model"], load_model) for result in results if "model" in result]
    experts = [
        ExpertPart(kind, decoded(result[stored_as], _EXPERTS[stored_as][2]))
        for kind, (stored_as, *_) in EXPERT_KINDS.items()
        for result in results
        if stored_as in result
    ]
    report = dict(models[0].report) | {"members": [asdict(member) for member in members]}
    grammars = tuple(model.grammar for model in models)
    kinds = tuple(member.kind for member in members)
    return Model(grammars, tuple(experts), report=report, kinds=kinds)


@dataclass(frozen=True)
class Workplace:
    """Where the tasks of a training are done; fields as for :func:`gramian.tasks.task_runner.run_tasks`."""

    data: TrainingData
    n_jobs: int = 1
    scheduler: str | None = None
    folder: Path | None = None

    def run(self, tasks: Sequence[Any], watch: Callable[[Outcome], None] | None = None) -> list[Outcome]:
        """Do all tasks that are not yet done: each has a method ``run``, which takes the data and returns JSON values."""
        return run_tasks(
            _run,
            tasks,
            shared=self.data,
            n_jobs=self.n_jobs,
            scheduler=self.scheduler,
            folder=self.folder,
            watch=watch,
        )


def _run(task: Any, data: TrainingData) -> Any:
    return task.run(data)


def encoded(save: Callable[[Path], None]) -> str:
    """Return the bytes that `save` writes to a file, in base 64."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        save(file)
        return base64.b64encode(file.read_bytes()).decode("ascii")


def decoded(text: str, load: Callable[[Path], _Loaded]) -> _Loaded:
    """Return what `load` makes of a file with the bytes that `text` stands for."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(base64.b64decode(text))
        return load(file)


def disagreement(parses: Sequence[Sequence[Tree]]) -> list[list[float]]:
    """Return, for each pair of models, 100 less the F1 of one's trees of the same sentences against the other's.

    Examples
    --------
    >>> one, other = Tree.parse("(S (NP (D a) (N b)) (V c))"), Tree.parse("(S (D a) (VP (N b) (V c)))")
    >>> disagreement([[one], [one], [other]])
    [[0.0, 0.0, 50.0], [0.0, 0.0, 50.0], [50.0, 50.0, 0.0]]
    """
    scorers = [GoldBrackets(trees) for trees in parses]
    return [[round(100 - scorer.score(trees).f1, 2) for trees in parses] for scorer in scorers]
