"""Members of a model: grammars that differ by seed, by noise (Narayan and Cohen 2015) and by binarisation, and experts; each a task."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NotRequired, TypedDict, get_args

from gramian.errors import InputError
from gramian.evaluate import GoldBrackets
from gramian.experts import EXPERT_KINDS, ExpertPart, NeuralExpert, SpanCRF, SpanModel
from gramian.grammar.compress.lowrank import compacted
from gramian.io import model_files
from gramian.io.schema import Seconds
from gramian.learn.cluster import LEVELS, Noise
from gramian.neural import NeuralModel
from gramian.neural.word_vectors import word_vectors
from gramian.parsing import model_store  # noqa: F401 - registers how grammars are stored
from gramian.parsing.model import Model
from gramian.tasks.task_runner import Outcome, run_tasks, task_key
from gramian.training.training_data import Fold, TrainingData
from gramian.training.training_methods import make_estimator
from gramian.training.training_settings import TrainingSettings
from gramian.trees import Tree
from gramian.value_types import OneOf, check_value

_EXPERTS: dict[str, type[SpanCRF | NeuralExpert]] = {"expert": SpanCRF, "neural": NeuralExpert}
"""The estimator of each expert, by its name in model files, which is also the method of its task."""


@dataclass(frozen=True)
class Member:
    """What sets a grammar apart from the others: chance, the direction of its binarisation, and noise.

    Examples
    --------
    >>> Member(seed=1, direction="left", noise="dropout", noise_level=0.1).kind
    'dropout left'
    """

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
        noise_level = LEVELS[turn // len(schemes) % len(LEVELS)] if level is None else level
        direction = directions[number % len(directions)]
        members.append(Member(seed + number, direction, scheme, noise_level if scheme else 0.0))
    return members


MemberCosts = TypedDict(
    "MemberCosts",
    {"processor": Seconds, "seconds": NotRequired[dict[str, float]], "peak memory (MB)": NotRequired[float]},
)
"""What the training of a member took; this differs from run to run."""


class TrainedMember(NamedTuple):
    """What comes of a task: a model with one grammar, or an expert, and what it took."""

    part: Model | SpanModel | NeuralModel
    costs: MemberCosts


@dataclass(frozen=True)
class MemberTask:
    """The training of one member; all that its result depends on."""

    RESULT: ClassVar[Any] = MemberCosts

    data: str  # the key of what it is trained on
    method: str  # of the settings, or the name of an expert
    parameters: Mapping[str, Any]  # of the learner
    member: Member
    compact: bool = True  # whether its rules become of low rank
    fold: Fold | None = None  # what it is not to see
    depends: str = ""  # a hash of what it depends on among `here`
    folder: str | None = field(default=None, repr=False, metadata={"key": False})  # of its checkpoint
    again: bool = field(  # whether others are trained on the same binarisation
        default=False, repr=False, compare=False, metadata={"key": False}
    )
    here: Mapping[str, Any] = field(  # parameters of the learner that only a training in this process has
        default_factory=dict, repr=False, compare=False, metadata={"key": False}
    )

    def run(self, data: TrainingData) -> TrainedMember:
        """Train the member."""
        began = time.process_time()
        seed, direction = self.member.seed, self.member.direction
        if self.method in _EXPERTS:
            expert = _EXPERTS[self.method](random_state=seed).set_params(**self.parameters)
            if isinstance(expert, NeuralExpert):
                self._learn_net(expert, data)
            else:
                expert.fit(data.treebank(direction, self.fold))
            part = model_files.rounded(self.method, expert.model_)
            return TrainedMember(part, {"processor": time.process_time() - began})
        noise, level = self.member.noise, self.member.noise_level
        noisy = {"clustering__noise": noise, "clustering__noise_level": level} if noise else {}
        learner = make_estimator(self.method, seed, {**self.parameters, **noisy, **self.here})
        if self._checkpoint is not None and "checkpoint" in learner.get_params():
            learner.set_params(checkpoint=self._checkpoint)
        observations = data.observations(direction, self.fold)
        observations.keep_features = self.again
        report = dict(learner.fit(observations).report_)
        costs: MemberCosts = {
            "seconds": report.pop("seconds"),
            "peak memory (MB)": report.pop("peak memory (MB)"),
            "processor": time.process_time() - began,
        }
        grammar = learner.model_
        if self.compact:
            grammar, loss = compacted(grammar)
            report |= {"low rank": loss} if loss else {}
        if not self.again:
            data.forget()
        return TrainedMember(Model((grammar,), report=report), costs)

    def write_result(self, result: TrainedMember, file: Path) -> MemberCosts:
        """Write the trained part to a model file; return what else there is."""
        model_files.save(self._stored_as, result.part, file)
        return result.costs

    def read_result(self, costs: MemberCosts, file: Path) -> TrainedMember:
        """Read what :meth:`write_result` wrote."""
        return TrainedMember(model_files.load(file, self._stored_as), costs)

    @property
    def _stored_as(self) -> str:
        return self.method if self.method in _EXPERTS else "grammar"

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
        learnt = [tree for number, tree in enumerate(trees, 1) if number % every]
        n_own_words, others = (sum(len(tree.words) for tree in part) for part in (learnt, silver))
        net.fit([*learnt * max(1, round(others / max(1, n_own_words))), *silver], judges=judges)


def member_tasks(
    settings: TrainingSettings, data: TrainingData, folder: Path | None = None
) -> list[MemberTask]:
    """Return the tasks of the members that settings ask for, experts first, since they take longest; `folder` as in a task."""
    kept = None if folder is None else str(folder)
    again = settings.n_models > len(settings.directions)
    identity = data.key, settings.method, settings.learner_parameters()
    tasks = [
        MemberTask(*identity, member, settings.compress, folder=kept, again=again)
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
            replace(tasks[0], method=name, parameters=parameters, compact=True)
            for name, parameters in settings.expert_parameters().items()
        ),
        *tasks,
    ]


def whole_model(tasks: Sequence[MemberTask], results: Sequence[TrainedMember]) -> Model:
    """Return one model of all that tasks made: grammars, and experts if there are some."""
    members = [task.member for task in tasks if task.method not in _EXPERTS]
    models = [result.part for result in results if isinstance(result.part, Model)]
    experts = [
        ExpertPart(kind, result.part)
        for kind, (stored_as, *_) in EXPERT_KINDS.items()
        for task, result in zip(tasks, results, strict=True)
        if task.method == stored_as and not isinstance(result.part, Model)
    ]
    report = dict(models[0].report) | {"members": [asdict(member) for member in members]}
    grammars = tuple(model.grammar for model in models)
    kinds = tuple(member.kind for member in members)
    return Model(grammars, tuple(experts), report=report, kinds=kinds)


@dataclass(frozen=True)
class TaskRunner:
    """Runs the tasks of a training; fields as for :func:`gramian.tasks.task_runner.run_tasks`."""

    data: Any  #: what tasks take: a :class:`TrainingData`, or a teacher
    n_jobs: int = 1
    scheduler: str | None = None
    folder: Path | None = None

    def run(self, tasks: Sequence[Any], watch: Callable[[Outcome], None] | None = None) -> list[Outcome]:
        """Do all tasks that are not yet done: each has a method ``run``, which takes the data."""
        return run_tasks(
            _run,
            tasks,
            shared=self.data,
            n_jobs=self.n_jobs,
            scheduler=self.scheduler,
            folder=self.folder,
            watch=watch,
        )


def _run(task: Any, data: Any) -> Any:
    return task.run(data)


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
