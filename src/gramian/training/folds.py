"""Jack-knifing (Collins 2000): what models say about trees they have not seen, and a reranker that is learnt from it.

The treebank is cut into folds, and for a fold the same members are trained on all the others. Each training, and then the work
on each fold, is an independent task: resumable, in processes or on a cluster.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, ClassVar

from gramian.experts import MaxEntReranker
from gramian.experts.rerank_candidates import (
    CANDIDATES,
    Scored,
    candidates,
    read_candidates,
    scored,
    written_candidates,
)
from gramian.io import model_files
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.tasks.task_runner import Outcome
from gramian.training.members import MemberTask, TaskRunner, TrainedMember, whole_model
from gramian.training.training_data import Fold, TrainingData
from gramian.trees import HeadRules, Tree

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FoldTask:
    """Work on a fold with a model that has not seen it; subclasses say in :meth:`work` what is done, and have its settings.

    Members, all without the same fold, are filled in by :func:`held_out`. What their training returned follows from them, and is not
    part of the task's key.
    """

    members: tuple[MemberTask, ...] = ()
    results: tuple[TrainedMember, ...] = field(default=(), repr=False, metadata={"key": False})

    @property
    def fold(self) -> Fold:
        """What it works on."""
        assert self.members[0].fold is not None
        return self.members[0].fold

    def run(self, data: TrainingData) -> Any:
        """Do the work."""
        return self.work(whole_model(self.members, self.results), data.trees(self.fold))

    def work(self, model: Model, trees: list[Tree]) -> Any:
        """Return JSON values: what is to be known about the fold's trees and the model that has not seen them."""
        raise NotImplementedError


def held_out(
    work: FoldTask,
    members: Sequence[MemberTask],
    folds: Sequence[Fold],
    runner: TaskRunner,
    watch: Callable[[Outcome], None] | None = None,
) -> list[Any]:
    """Train members without each fold, then do some work on each fold; return what the work on each gives."""
    todo = [tuple(replace(member, fold=fold) for member in members) for fold in folds]
    trained = iter(runner.run([member for those in todo for member in those], watch))
    results = [tuple([next(trained).value for _ in those]) for those in todo]
    works = [
        replace(work, members=members_of_fold, results=models_of_fold)
        for members_of_fold, models_of_fold in zip(todo, results, strict=True)
    ]
    return [outcome.value for outcome in runner.run(works, watch)]


@dataclass(frozen=True, kw_only=True)
class CandidatesTask(FoldTask):
    """Find the `k` best candidates of a fold's sentences, scored."""

    RESULT: ClassVar[Any] = dict[str, Any]

    k: int = CANDIDATES
    weights: tuple[tuple[str, float | None], ...] = ()  # of experts

    def work(self, model: Model, trees: list[Tree]) -> dict[str, Any]:
        """Return the candidates as JSON values; :func:`gramian.experts.rerank_candidates.read_candidates` reads them."""
        parser = Parser(model.with_weights(dict(self.weights)))
        scored_candidates = []
        for tree in trees:
            forest = parser.forest(tree.words)
            best = None if forest is None else candidates(forest, self.k)[0]
            if best is not None and len(best):
                scored_candidates.append(scored(tuple(tree.words), best, tree))
        return written_candidates(scored_candidates)


class _Candidates:
    """Candidates of all folds, read anew each time from what tasks returned, which is far smaller."""

    def __init__(self, folds: Sequence[dict[str, Any]]) -> None:
        self._folds = folds

    def __iter__(self) -> Iterator[Scored]:
        return chain.from_iterable(map(read_candidates, self._folds))


def add_reranker(
    model: Model, members: Sequence[MemberTask], folds: int, heads: HeadRules | None, runner: TaskRunner
) -> Model:
    """Train the same members on folds of the treebank, rank their parses of the rest, and add what is learnt to the model."""
    numbers = count(1)

    def watch(outcome: Outcome) -> None:
        noun = "model" if isinstance(outcome.task, MemberTask) else "parses"
        number, total = outcome.task.fold.number + 1, folds * (len(members) + 1)
        _log.info("fold %d of %d, %s: %s (%d of %d)", number, folds, noun, outcome.how, next(numbers), total)

    work = CandidatesTask(weights=tuple((part.kind, part.weight) for part in model.experts))
    held_out_candidates = held_out(
        work, members, [Fold(number, folds) for number in range(folds)], runner, watch
    )
    reranker = MaxEntReranker(heads=heads)
    reranker.fit(_Candidates(held_out_candidates))
    reranker_report = {**reranker.report_, "folds": folds}
    del reranker_report["seconds"], reranker_report["peak memory (MB)"]
    report = dict(model.report) | {"reranker": reranker_report}
    return replace(model, reranker=model_files.rounded("reranker", reranker.model_), report=report)
