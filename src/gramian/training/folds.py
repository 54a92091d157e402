"""Jack-knifing: what models say about trees they have not seen, for learners that build on models' mistakes (Collins 2000).

The treebank is cut into folds, and for a fold the same members are trained on all the others. Each training, and then the work
on each fold, is an independent task of :func:`gramian.training.parallel.run_tasks`: resumable, in processes or on a cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gramian.corpus import Treebank
from gramian.parsing.model import Model
from gramian.training.members import fold_numbers, train_member, whole_model
from gramian.training.parallel import Outcome, TaskFolder, run_tasks
from gramian.trees import Tree
from gramian.trees import preset as named_preset

__all__ = ["HeldOut", "fold_trees", "held_out", "held_out_models"]


@dataclass(frozen=True)
class HeldOut:
    """A fold of a treebank, and a model that has not seen it.

    Attributes
    ----------
    number, of : int
        Which fold, from 0, of how many.
    trees : list of Tree
        The fold's trees, normalised.
    model : gramian.parsing.model.Model
        Learnt from all other folds.
    """

    number: int
    of: int
    trees: list[Tree]
    model: Model


def fold_trees(task: dict[str, Any]) -> list[Tree]:
    """Return the trees of a task's fold, normalised.

    Parameters
    ----------
    task : dict
        As for :func:`gramian.training.members.train_member`, with ``fold``.
    """
    with warnings.catch_warnings():  # told when the treebank was first read
        warnings.simplefilter("ignore")
        bank = Treebank.read(
            task["trees"], options=named_preset(task["preset"]), broken="skip" if task["skip_broken"] else "raise"
        )  # fmt: skip
    return [bank.tree(number) for number in fold_numbers(bank.n_trees, *task["fold"])]


def held_out_models(
    tasks: Sequence[dict[str, Any]],
    folds: int,
    *,
    numbers: Sequence[int] | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    folder: TaskFolder | str | Path | None = None,
    watch: Callable[[Outcome], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Iterator[HeldOut]:
    """Train members on all folds but one, for each fold, and yield every fold with its model.

    Parameters
    ----------
    tasks : sequence of dict
        As for :func:`gramian.training.members.train_member`, one a member; an expert may be among them.
    folds : int
        How many folds the treebank is cut into.
    numbers : sequence of int, optional
        The folds that are wanted, from 0; all of them by default.
    jobs, scheduler, folder, watch
        As for :func:`gramian.training.parallel.run_tasks`.
    say : callable, optional
        Called with lines of text as learning goes on, where it goes on in this process.
    """
    wanted, trained = _trained(tasks, folds, numbers, jobs, scheduler, folder, watch, say)
    for number in wanted:
        parts = trained[number]
        yield HeldOut(
            number, folds, fold_trees(parts[0].task),
            whole_model([one.task for one in parts], [one.value for one in parts]),
        )  # fmt: skip


def held_out(
    work: Callable[..., Any],
    settings: dict[str, Any],
    tasks: Sequence[dict[str, Any]],
    folds: int,
    *,
    numbers: Sequence[int] | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    folder: str | Path | None = None,
    watch: Callable[[Outcome], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Any]:
    """Let a function work on every fold with a model that has not seen it; the work on a fold is a task, too.

    Parameters
    ----------
    work : callable
        Takes a :class:`HeldOut`, and the settings by name; returns JSON values. A function of a module that workers can import.
    settings : dict of JSON values
    tasks, folds, numbers, jobs, scheduler, folder, watch, say
        As for :func:`held_out_models`.

    Returns
    -------
    list
        What `work` returned for each fold.
    """
    wanted, trained = _trained(tasks, folds, numbers, jobs, scheduler, folder, watch, say)
    todo = [
        {
            "work": f"{work.__module__}.{work.__qualname__}", "settings": settings,
            "members": [one.task for one in trained[number]], "results": [one.value for one in trained[number]],
        }
        for number in wanted
    ]  # fmt: skip
    # What was trained follows from the members' tasks and is not kept twice.
    store = None if folder is None else TaskFolder(folder, key=_without_results)
    outcomes = run_tasks(
        partial(_worked, work), todo, jobs=jobs, scheduler=scheduler, folder=store, watch=watch
    )
    return [outcome.value for outcome in outcomes]


def _trained(
    tasks: Sequence[dict[str, Any]],
    folds: int,
    numbers: Sequence[int] | None,
    jobs: int,
    scheduler: str | None,
    folder: TaskFolder | str | Path | None,
    watch: Callable[[Outcome], None] | None,
    say: Callable[[str], None] | None,
) -> tuple[list[int], dict[int, list[Outcome]]]:
    """Return the folds that are wanted, and the outcome of each member's training without each of them."""
    wanted = list(range(folds) if numbers is None else numbers)
    todo = [task | {"fold": [number, folds]} for number in wanted for task in tasks]
    outcomes = run_tasks(
        partial(train_member, say=say) if say and jobs == 1 and scheduler is None else train_member,
        todo, jobs=jobs, scheduler=scheduler, folder=folder, watch=watch,
    )  # fmt: skip
    size = len(tasks)
    return wanted, {
        number: outcomes[size * place : size * (place + 1)] for place, number in enumerate(wanted)
    }


def _worked(work: Callable[..., Any], task: dict[str, Any]) -> Any:
    number, of = task["members"][0]["fold"]
    model = whole_model(task["members"], task["results"])
    return work(HeldOut(number, of, fold_trees(task["members"][0]), model), **task["settings"])


def _without_results(task: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in task.items() if name != "results"}
