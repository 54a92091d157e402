"""A tree of weight two is the same tree twice, for every learner that takes weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.errors import OptionError
from gramian.experts import SpanCRF
from gramian.learn import EM, PCFG, Observations, SpectralClustering, SpectralMoments, SplitMerge
from gramian.learn import tree_inference_reference as reference
from gramian.learn.counting import count_states, random_counts
from gramian.learn.learner import Maximisation
from gramian.learn.smoothing import Smoothing
from gramian.learn.split_merge import merge_losses
from gramian.learn.svd import cross_svd
from gramian.learn.tables import Layout
from gramian.learn.tree_inference import TreeInference
from gramian.treebank import Features, Treebank
from gramian.treebank.productions import Productions
from gramian.trees import Tree

TEXTS = (
    "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))",
    "(S (NP (PRP it)) (VP (VBZ runs) (PP (IN in) (NP (DT the) (NN park)))))",
    "(S (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN town)))) (VP (VBZ sees) (NP (DT the) (NN cat))))",
    "(S (NP (NN time)) (VP (VBZ flies)))",
)
TIMES = (2, 1, 3, 1)


@pytest.fixture
def banks() -> tuple[Treebank, Treebank]:
    trees = [Tree.parse(text) for text in TEXTS * 8]
    times = TIMES * 8
    repeated = [tree for tree, number in zip(trees, times, strict=True) for _ in range(number)]
    return Treebank.from_trees(trees).weighted(times), Treebank.from_trees(repeated)


def parameters(grammar):
    entries = grammar.lexicon.entry_states, grammar.lexicon.entry_probability, grammar.lexicon.feature_weights
    return grammar.root, grammar.binary, grammar.unary, grammar.before, grammar.after, *entries


def assert_same(grammar, other):
    assert grammar.symbols == other.symbols
    assert grammar.lexicon.words == other.lexicon.words
    for one, two in zip(parameters(grammar), parameters(other), strict=True):
        assert_allclose(one, two, rtol=1e-3, atol=1e-5)


def test_productions(banks):
    one, two = map(Productions.of, banks)
    for name in ("binary_count", "unary_count", "lexical_count"):
        assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-12)


@pytest.mark.parametrize(
    "learner",
    [
        PCFG(),
        EM(2, allocation="all", max_iter=3),
        EM(2, allocation="all", max_iter=2, smoothing=Smoothing(0, 0, 0)),
        SplitMerge(1, split_steps=3, merge_steps=1, smooth_steps=1),
    ],
    ids=["pcfg", "em", "em without smoothing", "split-merge"],
)
def test_learners(banks, learner):
    first, second = (learner.fit(bank).model_ for bank in banks)
    assert_same(first, second)
    unweighted = learner.fit(Treebank.from_trees([Tree.parse(text) for text in TEXTS * 8])).model_
    same_shape = first.binary.shape == unweighted.binary.shape
    assert not (same_shape and np.allclose(first.binary, unweighted.binary, rtol=1e-3))


def test_inference_equals_the_reference(banks):
    seen = Observations(banks[0])
    layout = Layout.of(seen.productions, np.full(seen.bank.n_symbols, 2, np.int32))
    tables = Maximisation(seen, Smoothing()).tables(random_counts(seen, layout, 0))
    found = TreeInference(seen.bank, seen.productions).expect(tables)
    expected = reference.expect(seen.bank, tables)
    for name in ("binary", "unary", "lexical", "root"):
        assert_allclose(getattr(found.counts, name), getattr(expected.counts, name), rtol=1e-3, atol=1e-5)
    assert_allclose(found.total, expected.total, rtol=1e-5)
    assert_allclose(found.total, found.log_likelihood @ seen.bank.weight, rtol=1e-12)


def test_merging(banks):
    losses = []
    for bank in banks:
        seen = Observations(bank)
        layout = Layout.of(seen.productions, np.full(seen.bank.n_symbols, 2, np.int32))
        counts = random_counts(seen, layout, 0)
        tables = Maximisation(seen, Smoothing()).tables(counts)
        pairs = [np.array([(0, 1)])] * seen.bank.n_symbols
        losses.append(np.concatenate(merge_losses(seen, tables, counts, pairs)))
    assert_allclose(*losses, rtol=1e-3, atol=1e-4)


def test_counts_of_known_states(banks):
    found = []
    for bank in banks:
        seen = Observations(bank)
        layout = Layout.of(seen.productions, np.full(bank.n_symbols, 2, np.int32))
        first = np.repeat(bank.tree_start[:-1], np.diff(bank.tree_start))
        # in its tree, so that copies of a tree have the same states
        place = np.arange(len(bank.label)) - first
        found.append(count_states(bank, layout, (place % 2).astype(np.int32)))
    for name in ("binary", "unary", "lexical", "root"):
        assert_allclose(*(getattr(counts, name) for counts in found), rtol=1e-5)


def test_decomposition(banks):
    learner, decomposed = SpectralClustering(features=Features(heads=None)), []
    for bank in banks:
        seen = Observations(bank)
        symbol = bank.symbols.index("NP")
        nodes = seen.nodes(symbol)
        weight = None if bank.node_weight is None else bank.node_weight[nodes]
        columns = seen.feature_columns(learner.features)
        vectors, svd = learner.project(nodes, columns, 3, weight)
        decomposed.append((np.unique(vectors.round(4), axis=0), svd.singular_values))
    (rows, values), (other_rows, other_values) = decomposed
    assert_allclose(values, other_values, rtol=1e-4)
    assert rows.shape == other_rows.shape
    assert_allclose(rows, other_rows, atol=1e-3)


def test_svd_of_weighted_rows():
    from scipy import sparse

    rng = np.random.default_rng(0)
    x, y = (sparse.csr_array(rng.random((6, 4)) * (rng.random((6, 4)) < 0.6)) for _ in range(2))
    times = np.array([1, 2, 1, 3, 1, 2])
    again = np.repeat(np.arange(6), times)
    one = cross_svd(x, y, 2, pairs=sparse.diags_array(times.astype(float)).tocsr())
    two = cross_svd(x[again], y[again], 2)
    assert_allclose(one.singular_values, two.singular_values, rtol=1e-9)
    assert_allclose(one.left, two.left, atol=1e-9)
    assert_allclose(one.left_mean, two.left_mean, rtol=1e-12)


def test_a_span_crf_takes_no_step_for_a_tree_without_weight():
    trees = [Tree.parse(text) for text in TEXTS]
    bank = Treebank.from_trees(trees)
    learner = SpanCRF(max_iter=1, word_dropout=0.0, slots=1 << 12, batch=1)
    usual = learner.fit(bank).model_.weights
    same = learner.fit(bank.weighted(np.ones(4))).model_.weights
    none = learner.fit(bank.weighted(np.full(4, 1e-9))).model_.weights
    assert (usual == same).all()
    assert usual.any()
    assert not none.any()


def test_weights_are_checked_and_kept():
    bank = Treebank.from_trees([Tree.parse(text) for text in TEXTS])
    with pytest.raises(OptionError, match="4 finite non-negative numbers"):
        bank.weighted([1, 2])
    with pytest.raises(OptionError, match="non-negative"):
        bank.weighted([1, 2, -1, 1])
    assert bank.weighted(TIMES).subset([2, 0]).weight.tolist() == [3, 2]
    with pytest.raises(OptionError, match="does not support weighted trees"):
        SpectralMoments(2).fit(bank.weighted(TIMES))
