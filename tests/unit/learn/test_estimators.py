"""Learners as scikit-learn estimators: parameters, reproducibility, EM from any start."""

import io
import json
import re
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from learn_cases import sentences
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from gramian.errors import InputError, OptionError
from gramian.grammar import LPCFG
from gramian.grammar.lpcfg import check
from gramian.io.model_files import checksum
from gramian.learn import (
    EM,
    PCFG,
    Clustering,
    Features,
    LexiconOptions,
    Observations,
    Smoothing,
    SpectralClustering,
    SpectralEM,
    SpectralMoments,
    SplitMerge,
    Watch,
)
from gramian.learn import tree_inference as inference
from gramian.learn.counting import random_counts
from gramian.learn.em import _Checkpoint
from gramian.learn.learner import Maximisation
from gramian.learn.smoothing import NO_SMOOTHING
from gramian.learn.tables import LatentTables, Layout, tables_of
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.treebank import Shape, Treebank

LEARNERS = {
    "pcfg": PCFG(),
    "clustering": SpectralClustering(3, allocation="all"),
    "clustering, all restarts": SpectralClustering(
        3, allocation="all", clustering=Clustering(restarts=3), features=Features("paper")
    ),
    "moments": SpectralMoments(3, allocation="all"),
    "em": EM(3, allocation="all", max_iter=3),
    "spectral-em": SpectralEM(3, allocation="all", max_iter=2),
    "split-merge": SplitMerge(2, split_steps=2, merge_steps=1, smooth_steps=1),
}
UNSMOOTHED: dict[str, Any] = {
    "smoothing": NO_SMOOTHING,
    "lexicon": LexiconOptions(shrinkage=0.0, tag_shrinkage=0.0),
}


@pytest.fixture(scope="module")
def bank() -> Treebank:
    return sentences(150, 0)[0]


def unsmoothed(seen: Observations) -> Maximisation:
    return Maximisation(seen, **UNSMOOTHED)


def contents(grammar: LPCFG, path) -> bytes:
    save_model(Model(grammar), path)
    return path.read_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_parameters(name):
    learner = LEARNERS[name]
    twin = clone(learner)
    assert twin is not learner
    assert twin.get_params() == learner.get_params()
    for parameter, value in learner.get_params(deep=False).items():
        assert getattr(learner, parameter) is value  # the constructor only stores
    changed = clone(learner).set_params(n_jobs=7)
    assert (changed.n_jobs, learner.n_jobs) == (7, None)
    with pytest.raises(ValueError, match="Invalid parameter"):
        clone(learner).set_params(nonsense=1)
    assert not [attribute for attribute in vars(clone(learner)) if attribute.endswith("_")]


@pytest.mark.parametrize("name", LEARNERS)
def test_same_seed_same_bytes_whatever_the_threads(name, bank, tmp_path, monkeypatch):
    monkeypatch.setattr(inference, "_SMALL_JOB", 0)
    learner = clone(LEARNERS[name]).fit(bank)
    check(learner.model_, 1e-4)
    one = contents(learner.model_, tmp_path / "one")
    assert contents(clone(learner).fit(bank).model_, tmp_path / "again") == one
    assert contents(clone(learner).set_params(n_jobs=2).fit(bank).model_, tmp_path / "threads") == one
    if name == "pcfg":
        assert "random_state" not in learner.get_params()
    elif name != "moments":  # whose subspaces hardly depend on the seed
        other = clone(learner).set_params(random_state=1).fit(bank).model_
        assert contents(other, tmp_path / "other") != one


@pytest.mark.parametrize("name", LEARNERS)
def test_observations_can_be_shared(name, bank, tmp_path):
    learner = clone(LEARNERS[name])
    alone = contents(learner.fit(bank).model_, tmp_path / "alone")
    seen = Observations(bank)
    PCFG().fit(seen)
    assert contents(clone(learner).fit(seen).model_, tmp_path / "shared") == alone


@pytest.mark.parametrize("name", LEARNERS)
def test_options_are_the_learners_own_whatever_is_shared(name, bank, tmp_path):
    """Observations that learners of other options have used give the same grammar as new ones."""
    seen = Observations(bank, keep_features=True)
    changes: dict[str, Any] = {"lexicon": "tag"}
    if hasattr(LEARNERS[name], "features"):
        changes["features__heads"] = "left"
    for learner in (clone(LEARNERS[name]), clone(LEARNERS[name]).set_params(**changes)):
        shared = contents(learner.fit(seen).model_, tmp_path / "shared")
        assert contents(clone(learner).fit(bank).model_, tmp_path / "alone") == shared


@pytest.mark.parametrize("name", LEARNERS)
def test_no_tree_to_learn_from(name):
    with pytest.raises(InputError, match="no trees to train on"):
        clone(LEARNERS[name]).fit(Treebank.from_trees([]))


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (SpectralClustering(0), "n_states must be at least 1, got 0"),
        (EM(2, allocation="most"), "allocation must be one of root, frequency, all, got 'most'"),
        (EM(2, max_iter=-1), "max_iter must be at least 0, got -1"),
        (
            SpectralMoments(2, features=Features("none")),
            "features.templates must be one of thesis, plain, paper, rich, got 'none'",
        ),
        (SplitMerge(merge=2.0), "merge must be at least 0 and at most 1, got 2.0"),
        (
            SpectralEM(clustering=Clustering(projection="wieghted")),
            "clustering.projection must be one of weighted, raw, got 'wieghted'",
        ),
        (SpectralClustering(clustering=Clustering(rank=-1)), "clustering.rank must be at least 1, got -1"),
        (
            SpectralClustering(clustering=Clustering(restarts=0)),
            "clustering.restarts must be at least 1, got 0",
        ),
        (SpectralMoments(features=Features(kappa=-10)), "features.kappa must be at least 0, got -10"),
        (EM(smoothing=Smoothing(rule=-50)), "smoothing.rule must be at least 0, got -50"),
        (
            SplitMerge(smoothing=Smoothing(sister_share=-3)),
            "smoothing.sister_share must be at least 0 and at most 1, got -3",
        ),
        (PCFG(lexicon=LexiconOptions(rare=-1)), "lexicon.rare must be at least 0, got -1"),
    ],
)
def test_bad_options(learner, message, bank):
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        learner.fit(bank)


def test_one_state_is_relative_frequency(bank, tmp_path):
    pcfg = PCFG().fit(bank).model_
    rules = {
        tuple(bank.symbols[part] for part in rule): weight
        for rule, weight in zip(pcfg.binary_rules.tolist(), pcfg.binary, strict=True)
    }
    left, right = bank.label[bank.left], bank.label[bank.right]
    for (parent, *below), weight in rules.items():
        nodes = bank.label == bank.symbols.index(parent)
        same = (
            (left == bank.symbols.index(below[0]))
            & (right == bank.symbols.index(below[1]))
            & (bank.right >= 0)
        )
        assert weight == pytest.approx((nodes & same).sum() / nodes.sum(), rel=1e-6)
    expected = contents(pcfg, tmp_path / "pcfg")
    for learner in (EM(1, max_iter=3, **UNSMOOTHED), SpectralClustering(1), SpectralEM(1, max_iter=1)):
        grammar = learner.fit(bank).model_
        np.testing.assert_allclose(grammar.binary, pcfg.binary, rtol=1e-5)
        np.testing.assert_allclose(grammar.root, pcfg.root, rtol=1e-6)
        assert grammar.lexicon.entry_states == pytest.approx(1, rel=1e-5)
    assert contents(SpectralClustering(1).fit(bank).model_, tmp_path / "one") == expected


def as_doubles(tables: LatentTables) -> LatentTables:
    return LatentTables(
        tables.layout,
        *(getattr(tables, part).astype(np.float64) for part in ("binary", "unary", "lexical", "root")),
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_likelihood_never_falls_without_smoothing(bank, seed):
    seen = Observations(bank)
    layout = Layout.of(seen.productions, np.full(bank.n_symbols, 3, np.int32))
    counts = as_doubles(random_counts(seen, layout, seed))
    likelihoods = []
    for _ in range(25):
        expectation = seen.trees.expect(unsmoothed(seen).tables(counts))
        counts = expectation.counts
        likelihoods.append(expectation.log_likelihood.sum())
        assert counts.lexical.sum() == pytest.approx((bank.word >= 0).sum(), rel=1e-9)
    steps = np.diff(likelihoods)
    assert steps.min() >= -1e-9 * abs(likelihoods[-1])
    assert steps.sum() > 10  # and it does rise


def test_the_learners_likelihood_never_falls_without_smoothing(bank):
    learner = EM(3, allocation="all", max_iter=12, **UNSMOOTHED).fit(bank)
    likelihoods = learner.report_["log-likelihood"]
    assert len(likelihoods) == 12
    assert min(np.diff(likelihoods)) > -0.02  # single precision, and rounding in the report
    assert likelihoods[-1] > likelihoods[0] + 10


def test_random_counts_spread_every_production():
    bank = sentences(50, 0)[0]
    seen = Observations(bank)
    layout = Layout.of(seen.productions, np.full(bank.n_symbols, 4, np.int32))
    counts = random_counts(seen, layout, 0)
    for part in ("binary", "unary", "lexical"):
        start, total = getattr(layout, f"{part}_start"), getattr(seen.productions, f"{part}_count")
        for rule, count in enumerate(total):
            noise = (
                getattr(counts, part)[start[rule] : start[rule + 1]] * (start[rule + 1] - start[rule]) / count
            )
            assert noise.min() >= 1 / 3 - 1e-6
            assert noise.max() <= 3 + 1e-6
    assert counts.root.sum() == pytest.approx(bank.n_trees)


@pytest.mark.parametrize("start", ["clustering", "em", "pcfg"])
def test_em_goes_on_from_a_stored_grammar(bank, start, tmp_path):
    seen = Observations(bank)
    first = clone(LEARNERS[start])
    if start != "pcfg":
        first.set_params(**UNSMOOTHED)
    save_model(Model(first.fit(seen).model_), tmp_path / "start")
    grammar = load_model(tmp_path / "start").grammar
    before = seen.trees.expect(tables_of(grammar, seen.bank, seen.productions)).log_likelihood.sum()
    learner = EM(start=grammar, max_iter=4, **UNSMOOTHED).fit(seen)
    np.testing.assert_array_equal(learner.model_.n_states, grammar.n_states)
    after = np.array(learner.report_["log-likelihood"])
    assert after[0] >= before - 0.02
    assert np.diff(after).min() > -0.02


def test_parameters_survive_the_way_into_a_grammar_and_back(bank):
    """What EM reads from a grammar is what the grammar was made of."""
    seen = Observations(bank)
    counts = random_counts(seen, Layout.of(seen.productions, np.full(bank.n_symbols, 2, np.int32)), 0)
    model = unsmoothed(seen)
    expected, found = model.tables(counts), tables_of(model.grammar(counts), bank, seen.productions)
    for part in ("binary", "unary", "lexical", "root"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), rtol=1e-5, atol=1e-6)


def test_em_from_operators(bank):
    start = SpectralMoments(2, allocation="all").fit(bank).model_
    learner = EM(start=start, max_iter=3).fit(bank)
    check(learner.model_, 1e-4)
    assert np.isfinite(learner.report_["log-likelihood"]).all()


def test_em_from_a_grammar_of_other_trees(bank):
    """Labels, rules and words that the start does not know do not make trees impossible."""
    start = SpectralClustering(2, allocation="all").fit(bank).model_
    other = Treebank.read(
        io.StringIO("(S (NP (N ann)) (VP (V runs) (ADVP (ADV fast))))\n(S (VP (V run)) (NP (X !)))\n" * 5)
    )
    learner = EM(start=start, max_iter=2).fit(other)
    check(learner.model_, 1e-4)
    assert np.isfinite(learner.report_["log-likelihood"]).all()
    states = dict(zip(other.symbols, learner.model_.n_states.tolist(), strict=True))
    assert (states["NP"], states["ADVP"]) == (2, 1)


def test_the_best_step_is_kept(bank, tmp_path):
    values = {1: 0.1, 2: 0.9, 3: 0.5, 4: 0.4, 5: 0.99}
    seen: dict[int, LPCFG] = {}

    def watch(step, make):
        seen[step] = make()
        return values[step]

    learner = EM(2, allocation="all", max_iter=5, watch=Watch(watch, patience=2)).fit(bank)
    assert learner.report_["best step"] == 2
    assert sorted(seen) == [1, 2, 3, 4]  # two steps without improvement end it
    assert contents(learner.model_, tmp_path / "best") == contents(seen[2], tmp_path / "second")
    two_steps = EM(2, allocation="all", max_iter=2).fit(bank)
    assert contents(two_steps.model_, tmp_path / "two") == contents(seen[2], tmp_path / "second")


def test_training_that_was_stopped_goes_on(bank, tmp_path, caplog):
    whole = contents(EM(2, allocation="all", max_iter=4).fit(bank).model_, tmp_path / "whole")
    checkpoint = tmp_path / "partial"

    def stop(step, make):
        if step == 2:
            raise KeyboardInterrupt
        return 0.0

    learner = EM(2, allocation="all", max_iter=4, watch=Watch(stop, patience=9), checkpoint=str(checkpoint))
    with pytest.raises(KeyboardInterrupt):
        learner.fit(bank)
    assert checkpoint.exists()
    caplog.set_level("INFO", "gramian")
    learner.set_params(watch=None).fit(bank)
    assert "resuming after iteration 1" in caplog.messages
    assert contents(learner.model_, tmp_path / "resumed") == whole
    assert not list(tmp_path.glob("partial*"))


def test_training_that_was_stopped_remembers_its_best_step(bank, tmp_path):
    checkpoint = tmp_path / "partial"
    stops = [3]

    def fall(step, make):
        if step in stops:
            stops.clear()
            raise KeyboardInterrupt
        return -float(step)

    learner = EM(2, allocation="all", max_iter=5, watch=Watch(fall, patience=3), checkpoint=str(checkpoint))
    with pytest.raises(KeyboardInterrupt):
        learner.fit(bank)
    learner.fit(bank)
    assert learner.report_["best step"] == 1
    one_step = EM(2, allocation="all", max_iter=1).fit(bank)
    assert contents(learner.model_, tmp_path / "best") == contents(one_step.model_, tmp_path / "one")
    assert not list(tmp_path.glob("partial*"))


def test_a_checkpoint_of_another_version_is_not_taken_up(bank, tmp_path, monkeypatch):
    seen = Observations.of(bank)
    counts = random_counts(seen, Layout.of(seen.productions, np.full(bank.n_symbols, 2, np.int32)), 0)
    file = str(tmp_path / "c")
    _Checkpoint(file, "", seen, "x").save(counts, [1.0], {"told": [2.5]})
    _, likelihoods, facts = _Checkpoint(file, "", seen, "x").load()
    assert (likelihoods, facts) == ([1.0], {"told": [2.5]})
    monkeypatch.setattr("gramian.learn.em.__version__", "0.0.1")
    assert _Checkpoint(file, "", seen, "x").load() is None


def test_a_checkpoint_of_other_options_is_not_taken_up(bank, tmp_path, caplog):
    checkpoint = tmp_path / "partial"

    def stop(step, make):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EM(2, allocation="all", max_iter=4, watch=Watch(stop), checkpoint=str(checkpoint)).fit(bank)
    caplog.set_level("INFO", "gramian")
    EM(2, allocation="all", max_iter=1, random_state=5, checkpoint=str(checkpoint)).fit(bank)
    assert any(line.startswith("iteration 1") for line in caplog.messages)
    assert not [line for line in caplog.messages if "going on" in line]


def test_smoothing_changes_the_grammar(bank):
    plain = SpectralClustering(3, allocation="all", **UNSMOOTHED).fit(bank).model_
    smooth = SpectralClustering(3, allocation="all").fit(bank).model_
    assert (plain.binary == 0).any()
    assert (smooth.binary > 0).all()


def test_grammars_are_immutable(bank):
    grammar = PCFG().fit(bank).model_
    assert {field.name for field in fields(grammar)} >= {"binary", "unary", "root", "lexicon"}
    with pytest.raises(AttributeError):
        grammar.root = None


@pytest.mark.parametrize("name", ["pcfg", "clustering", "em"])
def test_lists_of_trees_can_be_cross_validated(name, bank):
    trees = list(bank.trees())
    learner = clone(LEARNERS[name])
    scores = cross_val_score(learner, trees, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    fitted = learner.fit(trees[:100])
    assert fitted.score(trees[100:]) == pytest.approx(scores[2], rel=1e-9)
    assert fitted.score(Observations(Treebank.from_trees(trees[100:]))) == fitted.score(trees[100:])


def test_options_can_be_searched_over(bank):
    search = GridSearchCV(SpectralClustering(2), {"smoothing__rule": [0.1, 1000.0], "n_states": [1, 2]}, cv=2)
    search.fit(list(bank.trees()))
    assert set(search.best_params_) == {"smoothing__rule", "n_states"}
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_trees_are_scored_as_they_were_binarised(bank):
    trees = list(bank.trees())
    left = Treebank.from_trees(trees, shape=Shape("left", 0, 1))
    learner = PCFG().fit(left)
    assert learner.score(trees) == learner.score(left)


def forged_checkpoint(path, head_changes, tensor_changes):
    """Change a checkpoint, under a checksum that fits."""
    with np.load(path) as file:
        head = json.loads(str(file["head"]))
        tensors = {name: file[name] for name in file.files if name != "head"}
    del head["checksum"]
    head |= head_changes
    for name, change in tensor_changes.items():
        tensors[name] = change(tensors[name])
    sealed = np.array(json.dumps(head | {"checksum": checksum(head, tensors)}))
    with path.open("wb") as out:
        np.savez(out, head=sealed, **tensors)


@pytest.mark.parametrize(
    ("head", "tensors"),
    [
        ({"likelihoods": "3"}, {}),
        ({"likelihoods": '["x"]'}, {}),
        ({"facts": "[]"}, {}),
        ({"likelihoods": 3}, {}),
        ({}, {"binary": lambda array: array[:-1]}),
        ({}, {"lexical": lambda array: np.append(array, array)}),
        ({}, {"unary": lambda array: array.astype(np.int64)}),
        ({}, {"root": lambda array: array * np.nan}),
        ({}, {"root": lambda array: array - 1e6}),
        ({}, {"n_states": lambda array: array * 0}),
        ({}, {"n_states": lambda array: array[:-1]}),
        ({}, {"n_states": lambda array: array + 2**20}),
    ],
)
def test_a_checkpoint_that_does_not_fit_its_treebank_is_told_of_and_not_used(
    bank, tmp_path, caplog, head, tensors
):
    """Its checksum fits: whoever changes the file can compute that."""
    caplog.set_level("INFO", "gramian")
    seen, file = Observations.of(bank), tmp_path / "c"
    counts = random_counts(seen, Layout.of(seen.productions, np.full(bank.n_symbols, 2, np.int32)), 0)
    _Checkpoint(str(file), "", seen, "x").save(counts, [1.0], {})
    forged_checkpoint(file, {}, {})
    assert _Checkpoint(str(file), "", seen, "x").load() is not None
    forged_checkpoint(file, head, tensors)
    assert _Checkpoint(str(file), "", seen, "x").load() is None
    [message] = caplog.messages
    assert message.startswith(f"{file}: invalid checkpoint (")
