"""A search by F1: candidates have not seen what they are scored on, and score the same as tasks and in this process."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.errors import InputError
from gramian.learn import SpectralClustering
from gramian.learn.search import ClusterCache
from gramian.training import Member
from gramian.training import state_search as module
from gramian.training.folds import fold_trees
from gramian.training.members import data_key
from gramian.training.parallel import Outcome
from gramian.training.state_search import candidate_task, f1_score, score_candidate, search_by_f1
from gramian.trees import Tree


def sentences(number: int) -> list[str]:
    rng = np.random.default_rng(1)
    nouns = ("(NP (PRP it))", "(NP (DT the) (NN cat))", "(NP (DT a) (NN dog))")
    verbs = ("(VP (VBZ sleeps))", "(VP (VBZ sees) {})", "(VP (VBZ runs) (PP (IN to) {}))")
    return [
        f"(S {nouns[rng.integers(3)]} {verbs[rng.integers(3)].format(nouns[rng.integers(3)])} (. .))"
        for _ in range(number)
    ]


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "trees.mrg"
    lines = sentences(100)
    lines[9::10] = ["(S (NP (NN news)) (VP (VBZ runs)) (. .))"] * 10
    path.write_text("\n".join(lines))
    return {
        "trees": str(path), "tagged": None, "data": [data_key(str(path))], "preset": "penn", "horizontal": 0, "vertical": 1,
        "skip_broken": False, "heads": "auto", "member": vars(Member(3, "right")), "learner": "SpectralEM",
        "parameters": {"n_states": 2, "max_iter": 1, "allocation": "all"}, "compact": False,
    }  # fmt: skip


def test_a_tenth_is_held_out(task):
    common = candidate_task(task, None)
    assert [tree.words[0] for tree in fold_trees(common)] == ["news"] * 10
    seen = module.task_observations(common)
    assert "news" not in seen.bank.words
    assert common["parameters"] == {"n_states": 2, "allocation": "all", "random_state": 3}
    for states, largest in ((2, 4), (24, 32), (40, 40)):
        common = candidate_task(task | {"parameters": {"n_states": states}}, None)
        assert common["largest"] == largest


def test_tasks_and_threads_score_the_same(task, monkeypatch, tmp_path):
    judge = tmp_path / "judge.mrg"
    judge.write_text("\n".join(sentences(120)[90:]))
    common = candidate_task(task, str(judge), largest=3)
    asked = []

    def run_tasks(function, tasks, *, scheduler):
        asked.extend(tasks)
        return [Outcome(one, function(one)) for one in tasks]

    monkeypatch.setattr(module, "run_tasks", run_tasks)
    here, numbers = search_by_f1(common, budget=6, log=tmp_path / "log")
    there, same = search_by_f1(common, budget=6, scheduler="tcp://nowhere:1")
    assert here == there
    assert numbers == same
    assert [tuple(one["states"]) for one in asked] == [trial.assignment for trial in here.trials]
    seen = module.task_observations(common)
    learner = SpectralClustering(same, random_state=3).fit(seen)
    np.testing.assert_array_equal(learner.model_.n_states, here.n_states)
    gold = [Tree.parse(text) for text in sentences(120)[90:]]
    cache = ClusterCache(SpectralClustering(2, allocation="all", random_state=3), seen, largest=3)
    assert f1_score(gold)(cache.grammar(here.n_states)) == here.score
    assert score_candidate(asked[0]) == here.start_score


def test_a_judge_without_trees(task, tmp_path):
    judge = tmp_path / "judge.mrg"
    judge.write_text("(S (-NONE- *))")
    with pytest.raises(InputError, match="no tree to score candidates on"):
        search_by_f1(candidate_task(task, str(judge)), budget=2)
