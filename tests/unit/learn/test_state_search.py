"""The search over numbers of states finds an optimum that is known, goes on where it was, and does not depend on threads."""

import json

import numpy as np
import pytest

from gramian.errors import OptionError
from gramian.learn import Clustering, Features, Observations, SpectralClustering
from gramian.learn.learner import allocate_states
from gramian.learn.state_search import (
    ClusterCache,
    Trials,
    held_out_score,
    search_states,
    states_by_singular_values,
)
from gramian.treebank import Treebank
from gramian.trees import Tree

TEXTS = (
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
    "(S (NP (PRP it)) (VP (VBZ runs)))",
    "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP it)) (PP (IN with) (NP (DT the) (NN eye)))))",
    "(S (NP (NP (DT a) (NN cat)) (PP (IN of) (NP (DT the) (NN king)))) (VP (VBZ runs)))",
)


@pytest.fixture(scope="module")
def seen():
    return Observations(Treebank.from_trees([Tree.parse(text) for text in TEXTS] * 150))


@pytest.fixture
def cache(seen):
    return ClusterCache(SpectralClustering(4), seen, largest=12)


class Distance:
    """A score that is best at known numbers of states, the same for all symbols; counts how often it is asked."""

    def __init__(self, target):
        self.target, self.asked = target, 0

    def __call__(self, grammar):
        self.asked += 1
        return -float(np.abs(grammar.n_states - self.target).sum())


def searched(cache, names):
    """Return the numbers of the most frequent symbols."""
    return np.argsort(-cache.seen.label_count, kind="stable")[:names].tolist()


@pytest.mark.parametrize("method", ["beam", "greedy"])
def test_the_optimum_of_each_searched_symbol_is_found(cache, method):
    found = search_states(cache, Distance(7), method=method, together=False, symbols=3, step=5, reach=4)
    for symbol, number in enumerate(found.n_states):
        assert number == (7 if symbol in searched(cache, 3) else cache.start[symbol])
    assert found.score > found.start_score == found.trials[0].score
    assert found.score == max(trial.score for trial in found.trials)


def test_groups_move_together_before_single_symbols(cache):
    found = search_states(cache, Distance(8), symbols=1, budget=12)
    names = [trial.symbol for trial in found.trials]
    assert names[:5] == ["", *["all labels"] * 4]
    assert found.trials[1].states == sum(max(1, round(0.5 * number)) for number in cache.start)
    assert found.n_states == tuple(
        max(own, best) for own, best in zip(cache.start, found.trials[4].assignment, strict=True)
    )
    allowed = allocate_states(cache.seen.label_count, cache.largest, "frequency")
    for trial in found.trials:
        assert all(
            1 <= number <= max(own, most)
            for number, own, most in zip(trial.assignment, cache.start, allowed, strict=True)
        )


def test_the_setting_of_the_paper_reaches_every_symbol_without_a_cap(cache):
    """Rare labels may get as many states as frequent ones, and nothing moves in groups."""
    rare = int(np.argmin(cache.seen.label_count))
    assert allocate_states(cache.seen.label_count, cache.largest, "frequency")[rare] < 10
    paper = {"together": False, "by_count": False, "symbols": None}
    found = search_states(cache, Distance(11), **paper)
    assert set(found.n_states) == {11}
    assert {trial.symbol for trial in found.trials} == {
        "",
        *map(cache.seen.name, range(cache.seen.bank.n_symbols)),
    }
    capped = search_states(cache, Distance(11), **(paper | {"by_count": True}))
    assert capped.n_states[rare] < 10
    steps = search_states(cache, Distance(11), **paper, step=4, budget=5)
    assert [trial.states for trial in steps.trials[1:4]] == [1, 8, 12]  # 4 is where it starts


def test_learners_take_numbers_by_name(cache, seen):
    learner = SpectralClustering({"NP": 3, "/NN": 2, "nowhere": 9}).fit(seen)
    wanted = [{"NP": 3, "/NN": 2}.get(seen.name(symbol), 1) for symbol in range(seen.bank.n_symbols)]
    assert learner.model_.n_states.tolist() == wanted
    for bad in ({"NP": 0}, {"NP": 1.5}):
        with pytest.raises(OptionError, match=r"^n_states\['NP'\] must be .*, got (0|1.5)$"):
            SpectralClustering(bad).fit(seen)


def test_candidates_have_the_clusters_of_training(seen):
    """Also where k-means sees a sample of the nodes, and the rank is fixed."""
    for clustering in (Clustering(sample=50, max_iter=3), Clustering(rank=2), Clustering(projection="raw")):
        learner = SpectralClustering({"NP": 4, "/NN": 3}, clustering=clustering)
        candidate = ClusterCache(learner, seen, largest=12).grammar(learner.allocate(seen).tolist())
        trained = learner.fit(seen).model_
        assert np.array_equal(candidate.binary, trained.binary)
        assert np.array_equal(candidate.lexicon.entry_states, trained.lexicon.entry_states)


def test_scores_of_another_judge_are_not_reused(cache, tmp_path):
    log, first, second, again = tmp_path / "search.jsonl", Distance(7), Distance(9), Distance(7)
    found = search_states(cache, first, budget=2, log=log, judge="one")
    search_states(cache, second, budget=2, log=log, judge="two")
    assert search_states(cache, again, budget=2, log=log, judge="one") == found
    assert (first.asked, second.asked, again.asked) == (2, 2, 0)
    with pytest.raises(OptionError, match="needs a score"):
        search_states(cache)


def test_each_candidate_is_scored_once_and_the_budget_holds(cache):
    score = Distance(7)
    found = search_states(cache, score, symbols=3, budget=10)
    assert score.asked == len(found.trials) == 10
    assert len({trial.assignment for trial in found.trials}) == 10


def test_threads_change_nothing(cache, seen):
    alone = search_states(cache, Distance(6), symbols=2)
    assert search_states(ClusterCache(cache.learner, seen, 12), Distance(6), symbols=2, n_jobs=3) == alone


def test_a_search_goes_on_from_its_log(cache, seen, tmp_path):
    log = tmp_path / "search.jsonl"
    first = Distance(7)
    search_states(cache, first, symbols=2, budget=6, log=log)
    with log.open("a") as file:
        file.write('{"symbol": "NP", "sco')  # the power failed here
    second = Distance(7)
    found = search_states(cache, second, symbols=2, log=log)
    assert (first.asked, second.asked) == (6, len(found.trials) - 6)
    again = Distance(7)
    assert search_states(cache, again, symbols=2, log=log) == found
    assert again.asked == 0
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    assert max(line["score"] for line in lines) == found.score
    other = ClusterCache(SpectralClustering(4, features=Features(kappa=1.0)), seen, 12)
    search_states(other, again, symbols=2, budget=3, log=log)
    assert again.asked == 3


def test_a_damaged_score_is_not_reused(cache, tmp_path):
    log, first, second = tmp_path / "search.jsonl", Distance(7), Distance(7)
    found = search_states(cache, first, budget=3, log=log)
    text = log.read_text().splitlines(keepends=True)
    log.write_text(text[0] + text[1].replace('"score": -', '"score": -1') + text[2])
    assert search_states(cache, second, budget=3, log=log) == found
    assert second.asked == 1


def test_the_start_is_what_the_learner_learns(seen):
    learner = SpectralClustering(3, allocation="all")
    ours = ClusterCache(learner, seen, largest=3)
    theirs = learner.fit(seen).model_
    mine = ours.grammar(ours.start)
    np.testing.assert_array_equal(mine.n_states, theirs.n_states)
    np.testing.assert_allclose(mine.binary, theirs.binary, rtol=1e-6, atol=1e-9)


def test_cheap_rules(cache, seen):
    few, many = (states_by_singular_values(cache, least) for least in (0.9, 0.01))
    assert all(1 <= a <= b <= most for a, b, most in zip(few, many, cache.start, strict=True))
    assert sum(few) < sum(many)
    held = Observations(Treebank.from_trees([Tree.parse(text) for text in TEXTS[:2]]))
    score = held_out_score(held)
    strange = Observations(
        Treebank.from_trees(
            [Tree.parse("(S (NP (PRP it)) (VP (VBZ sees) (NP (PRP it)) (PP (IN of) (NP (PRP it)))))")]
        )
    )
    single, several = cache.grammar([1] * len(cache.start)), cache.grammar(cache.start)
    assert score(several) > score(single), "states tell what goes with what"
    assert score(several) > held_out_score(strange)(several), "trees like those seen are likelier"


def test_bad_options(cache):
    with pytest.raises(OptionError, match=r"^method must be one of beam, greedy, got 'wide'$"):
        search_states(cache, Distance(1), method="wide")
    with pytest.raises(OptionError, match=r"^beam must be at least 1, got 0$"):
        search_states(cache, Distance(1), beam=0)


def test_scores_of_another_version_are_not_reused(tmp_path, monkeypatch):
    asked = []

    def search(identity="x"):
        score = lambda left: [asked.append(one) or 80.0 for one in left]  # noqa: E731
        Trials(score, None, tmp_path / "log", identity).run("NP", [(2,)], [0])

    search()
    search()
    assert len(asked) == 1
    monkeypatch.setattr("gramian.learn.state_search.__version__", "99.0")
    search()
    assert len(asked) == 2
    search("y")
    assert len(asked) == 3
