"""A search by F1: candidates have not seen what they are scored on, and score the same as tasks and in this process."""

import pickle

import numpy as np
import pytest

from gramian.errors import InputError
from gramian.learn import SpectralClustering
from gramian.learn.state_search import ClusterCache
from gramian.tasks.task_runner import Outcome
from gramian.training import TrainingData, TrainingSettings
from gramian.training import search_by_f1 as module
from gramian.training.search_by_f1 import StateSearch, clustering, f1_score
from gramian.trees import Tree

SETTINGS = TrainingSettings.of(method="spectral-em", n_states=2, max_iter=1, allocation="all", random_state=3)


def sentences(number: int) -> list[Tree]:
    rng = np.random.default_rng(1)
    nouns = ("(NP (PRP it))", "(NP (DT the) (NN cat))", "(NP (DT a) (NN dog))")
    verbs = ("(VP (VBZ sleeps))", "(VP (VBZ sees) {})", "(VP (VBZ runs) (PP (IN to) {}))")
    return [
        Tree.parse(
            f"(S {nouns[rng.integers(3)]} {verbs[rng.integers(3)].format(nouns[rng.integers(3)])} (. .))"
        )
        for _ in range(number)
    ]


@pytest.fixture
def data():
    trees = sentences(100)
    trees[9::10] = [Tree.parse("(S (NP (NN news)) (VP (VBZ runs)) (. .))")] * 10
    return TrainingData.read(trees, SETTINGS)


def test_a_tenth_is_held_out(data):
    search = StateSearch(data, SETTINGS)
    assert [tree.words[0] for tree in search.judges] == ["news"] * 10
    assert "news" not in search.cache.seen.bank.words
    assert (search.learner.random_state, search.learner.allocation) == (3, "all")
    assert [tree.words[0] for tree in StateSearch(data, SETTINGS, most=3).judges] == ["news"] * 3
    for states, largest in ((2, 4), (24, 32), (40, 40)):
        assert StateSearch(data, TrainingSettings.of(n_states=states)).largest == largest


def test_tasks_and_threads_score_the_same(data, monkeypatch, tmp_path):
    gold = sentences(120)[90:]
    search = StateSearch(data, SETTINGS, gold, largest=3)
    asked = []

    def run_tasks(function, tasks, *, shared, scheduler):
        asked.extend(tasks)
        copy = pickle.loads(pickle.dumps(shared))
        assert copy == shared
        return [Outcome(one, function(one, copy)) for one in tasks]

    monkeypatch.setattr(module, "run_tasks", run_tasks)
    here = search.run(budget=6, log=tmp_path / "log")
    there = search.run(budget=6, scheduler="tcp://nowhere:1")
    assert here == there
    assert asked == [trial.assignment for trial in here.trials]
    seen = search.cache.seen
    cache = ClusterCache(search.learner, seen, largest=3)
    assert f1_score(gold)(cache.grammar(here.n_states)) == here.score
    assert search.score(asked[0]) == here.start_score
    named = search.names(here)
    assert SpectralClustering(named).allocate(seen).tolist() == list(here.n_states)
    assert StateSearch(data, SETTINGS, gold[:3], largest=3) != search


def test_a_judge_without_trees(data):
    with pytest.raises(InputError, match="no trees to score candidates on"):
        StateSearch(data, SETTINGS, [])


def test_candidates_are_clustered_as_the_settings_say():
    """Every setting of the estimator that clustering has, those of words among them."""
    made = clustering(
        TrainingSettings.of(
            {
                "lexicon.rare": 20 - 1,
                "features.rare_words": 20,
                "clustering.start": "random",
                "clustering.rank": 3,
            },
            method="spectral-em",
            n_states=5,
        )
    )
    assert (made.lexicon.rare, made.features.rare_words) == (19, 20)
    assert (made.clustering.start, made.clustering.rank, made.n_states) == ("random", 3, 5)
    moments = clustering(TrainingSettings.of({"features.scaling": False}, method="spectral-moments"))
    assert (moments.features.templates, moments.features.scaling) == ("paper", False)


def test_a_search_says_how_many_labels_it_has_finished(data, caplog):
    search = StateSearch(data, SETTINGS, largest=3)
    few = search.run(together=False, symbols=2, budget=2)
    assert (few.finished_labels, few.n_labels) == (0, 2)
    assert "finished 0 of 2 labels in its budget of 2 candidates" in caplog.text
    caplog.clear()
    everything = search.run(together=False, symbols=2)
    assert (everything.finished_labels, everything.n_labels) == (2, 2)
    assert "finished" not in caplog.text


def test_candidates_may_be_parsed_as_published(data):
    published = TrainingSettings.of({"search.parsing": "published", "search.method": "beam"}, n_states=2)
    search = StateSearch(data, published)
    assert search.parsing == "published"
    assert search.key != StateSearch(data, TrainingSettings.of(n_states=2)).key
    assert search.score(search.cache.start) > 0
