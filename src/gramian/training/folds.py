"""Jack-knifing: what models say about trees they have not seen, for learners that build on models' mistakes (Collins 2000).

The treebank is cut into folds, and for a fold the same members are trained on all the others. Each training, and then the work
on each fold, is an independent task: resumable, in processes or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gramian.parsing.model import Model
from gramian.tasks.task_runner import Outcome
from gramian.training.members import MemberTask, TaskRunner, TrainedMember, whole_model
from gramian.training.training_data import Fold, TrainingData
from gramian.trees import Tree


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
    works = [replace(work, members=one, results=found) for one, found in zip(todo, results, strict=True)]
    return [outcome.value for outcome in runner.run(works, watch)]
