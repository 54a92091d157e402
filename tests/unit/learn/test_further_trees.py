"""Trees on disk count as if they were in memory, wherever only counts and expectations matter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.learn import EM, PCFG, Observations, SpectralEM, SplitMerge
from gramian.treebank import Treebank
from gramian.trees import Tree

NEAR = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))",
    "(S (NP (PRP it)) (VP (VBZ flies)) (. .))",
    "(S (NP (PRP it)) (VP (VBZ runs) (PP (IN in) (NP (DT the) (NN park)))))",
    "(S (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN town)))) (VP (VBZ sees) (NP (DT the) (NN cat))))",
] * 10
FAR = [
    "(S (NP (DT the) (NN gnu)) (VP (VBZ sees) (NP (PRP it))))",
    "(S (NP (PRP it)) (VP (VBZ sleeps) (PP (IN in) (NP (DT the) (NN zoo)))))",
    "(S (NP (DT the) (NN gnu)) (PP (IN in) (NP (NN town))) (VP (VBZ sleeps)))",  # a rule that is new
]


def banked(texts, weight=None):
    bank = Treebank.from_trees([Tree.parse(text) for text in texts])
    return bank if weight is None else bank.weighted([weight] * len(texts))


@pytest.fixture
def apart():
    shards = [banked([text], 0.5) for text in FAR]
    return Observations(banked(NEAR), further=shards)


@pytest.fixture
def together():
    bank = banked(NEAR + FAR)
    return Observations(bank.weighted([1.0] * len(NEAR) + [0.5] * len(FAR)))


def test_counts_are_of_all(apart, together):
    assert apart.bank.symbols == together.bank.symbols
    assert apart.bank.words == together.bank.words
    assert_allclose(apart.label_count, together.label_count, rtol=1e-12)
    assert_allclose(apart.root_count, together.root_count, rtol=1e-12)
    for (rows, count), (other_rows, other_count) in zip(
        apart.productions.tables, together.productions.tables, strict=True
    ):
        assert (rows == other_rows).all()
        assert_allclose(count, other_count, rtol=1e-12)
    assert apart.digest != Observations(apart.bank).digest


@pytest.mark.parametrize(
    "learner",
    [
        PCFG(),
        EM(2, allocation="all", max_iter=3),
        SplitMerge(1, split_steps=2, merge_steps=1, smooth_steps=1, merge=0.0),
    ],
    ids=["pcfg", "em", "split-merge"],
)
def test_learners_learn_the_same(apart, together, learner):
    first, second = (learner.fit(seen).model_ for seen in (apart, together))
    for name in ("root", "binary", "unary"):
        assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-3, atol=1e-6)
    assert_allclose(first.lexicon.entry_states, second.lexicon.entry_states, rtol=1e-3, atol=1e-6)
    assert_allclose(first.lexicon.entry_probability, second.lexicon.entry_probability, rtol=1e-3, atol=1e-2)


def test_rules_that_are_not_in_memory_are_learnt(apart):
    learner = SpectralEM(2, allocation="all", max_iter=2).fit(apart)
    likelihoods = learner.report_["log-likelihood"]
    assert np.isfinite(likelihoods).all()
    grammar = learner.model_
    rules = [tuple(grammar.symbols[one] for one in rule) for rule in grammar.binary_rules.tolist()]
    assert grammar.binary_block(rules.index(("@S", "NP", "PP"))).sum() > 0
    assert "zoo" in grammar.lexicon.words


def test_trees_with_other_symbols_are_left_out():
    shards = [banked([FAR[0], "(S (ADVP (RB now)) (VP (VBZ sleeps)))", FAR[1]], 0.5)]
    further = Observations(banked(NEAR), further=shards).further
    assert (further.n_trees, further.left_out) == (2, 1)


def test_no_further_trees_are_none():
    alone, with_none = Observations(banked(NEAR)), Observations(banked(NEAR), further=[])
    first, second = (EM(2, max_iter=2).fit(seen).model_ for seen in (alone, with_none))
    assert_allclose(first.binary, second.binary, rtol=1e-6)
