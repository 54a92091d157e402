"""The search for numbers of states (Narayan and Cohen 2016) as ``gramian train --search`` does it: candidates are scored by F1.

Sentences come from a file, or are every tenth of the treebank, which candidates are then not learnt from: treebanks are put together from
texts of different kinds, and numbers of states that suit the last text need not suit the others. On a cluster every candidate is an
independent task; a worker reads and decomposes the treebank once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from gramian.base import progress_shown
from gramian.errors import InputError
from gramian.evaluate import GoldBrackets
from gramian.grammar import LPCFG
from gramian.learn import SpectralClustering
from gramian.learn.search import ClusterCache, search_states
from gramian.learn.trials import Assignment, FoundStates
from gramian.parsing.parser import Parser
from gramian.training.folds import fold_trees
from gramian.training.members import data_key, task_observations
from gramian.training.parallel import run_tasks
from gramian.trees import Tree, normalise, read_trees
from gramian.trees import preset as named_preset

__all__ = ["candidate_task", "f1_score", "score_candidate", "search_by_f1"]

_FOLDS = 10  # a search sees all folds of a treebank but one
_JUDGES = 500  # sentences that a candidate is scored on
_MOST_STATES = 32  # of a label: whole rule tensors grow with their cube


def f1_score(gold: Sequence[Tree], jobs: int = 1) -> Callable[[LPCFG], float]:
    """Return a score for :func:`gramian.learn.search.search_states`: the labelled F1 of a grammar's trees, gold's tags put in first."""
    scorer = GoldBrackets(gold)
    sentences = [list(tree.words) for tree in gold]

    def score(grammar: LPCFG) -> float:
        parser = Parser(grammar, max_seconds=None)
        return scorer.score(
            [result.tree for result in parser.parse_many(sentences, n_jobs=jobs)]
        ).f1_gold_tags

    return score


def candidate_task(task: dict[str, Any], judge: str | None, largest: int | None = None) -> dict[str, Any]:
    """Return what candidates of a search have in common.

    Parameters
    ----------
    task : dict
        As for :func:`gramian.training.members.train_member`; of the learner's parameters, those that clustering has are used.
    judge : str, optional
        File of trees to score candidates on; by default every tenth of the task's, which candidates are then not learnt from.
    largest : int, optional
        The most states of a symbol; by default twice as many as the learner begins with, but not more than 32 unless it has these.
    """
    known = SpectralClustering().plain_params()
    parameters = {
        name: value
        for name, value in task["parameters"].items()
        if name in known and name not in ("verbose", "n_jobs")
    }
    parameters["random_state"] = task["member"]["seed"]
    most = parameters.get("n_states", known["n_states"])
    common = task | {
        "parameters": parameters,
        "largest": largest or max(most, min(2 * most, _MOST_STATES)),
        "judge": judge,
    }
    if judge is None:
        return common | {"fold": [_FOLDS - 1, _FOLDS, True]}
    return common | {"data": [*task["data"], data_key(judge)]}


def score_candidate(task: dict[str, Any]) -> float:
    """Score one candidate.

    Parameters
    ----------
    task : dict
        That of :func:`candidate_task`, and ``states``: a number for every symbol.
    """
    common = {name: value for name, value in task.items() if name != "states"}
    cache, score = _workplace(json.dumps(common, sort_keys=True))
    return score(cache.grammar(task["states"]))


def search_by_f1(
    task: dict[str, Any],
    *,
    method: Literal["beam", "greedy"] = "beam",
    budget: int = 40,
    jobs: int = 1,
    scheduler: str | None = None,
    log: str | Path | None = None,
    verbose: bool = False,
) -> tuple[FoundStates, dict[str, int]]:
    """Search for numbers of states; return the search, and the numbers by the names of symbols.

    Parameters
    ----------
    task : dict
        Of :func:`candidate_task`.
    method, budget, log
        As for :func:`gramian.learn.search.search_states`.
    jobs : int
        Threads; the result does not depend on it.
    scheduler : str, optional
        Address of a Dask scheduler whose workers score the candidates instead.
    verbose : bool
        Whether better candidates are shown on stderr.
    """
    cache, score = _workplace(json.dumps(task, sort_keys=True))

    def elsewhere(assignments: Sequence[Assignment]) -> Iterable[float]:
        tasks = [task | {"states": list(assignment)} for assignment in assignments]
        return [outcome.value for outcome in run_tasks(score_candidate, tasks, scheduler=scheduler)]

    with progress_shown(verbose):
        found = search_states(
            cache, score, method=method, budget=budget, n_jobs=jobs, elsewhere=elsewhere if scheduler else None,
            log=log, judge=" ".join(task["data"]),
        )  # fmt: skip
    names = [cache.seen.name(symbol) for symbol in range(cache.seen.bank.n_symbols)]
    return found, {name: number for name, number in zip(names, found.n_states, strict=True) if number > 1}


@lru_cache(maxsize=1)
def _workplace(text: str) -> tuple[ClusterCache, Callable[[LPCFG], float]]:
    """Return what candidates are made from, and their judge; kept for the next candidate."""
    task = json.loads(text)
    if task["judge"] is None:
        gold = fold_trees(task)
    else:
        options = named_preset(task["preset"])
        trees = (normalise(tree, options).tree for tree in read_trees(task["judge"]))
        gold = [tree for tree in trees if not tree.is_empty]
    if not gold:
        raise InputError("there is no tree to score candidates on", task["judge"], hint="more trees")
    every = -(-len(gold) // _JUDGES)
    learner = SpectralClustering().set_params(**task["parameters"])
    return ClusterCache(learner, task_observations(task), task["largest"]), f1_score(gold[::every])
