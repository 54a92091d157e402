"""The span CRF as an estimator: what it learns, its forests, its model file."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from learn_cases import sentences
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone

from gramian.chart.chart_parser import ChartParser
from gramian.chart.decode import decode
from gramian.chart.forest import Pruning
from gramian.chart.tree_arrays import to_tree
from gramian.errors import InputError, ModelFileError, OptionError
from gramian.experts import CRFExpert, SpanCRF, SpanModel
from gramian.experts.span_forests import gold_forest, likely_part, skeleton
from gramian.experts.span_model import fit_tagger, tag_held_out
from gramian.io import model_files
from gramian.io.model_files import checksum
from gramian.learn import PCFG
from gramian.loglinear.word_views import PADDING, TAG, WordForms
from gramian.treebank import Treebank
from gramian.trees import Tree

# Which noun a phrase belongs to depends on the verb alone: no grammar without states can tell.
WITH_VERB = "(S (NP (PRP we)) (VP (VBD {}) (NP (NNS birds)) (PP (IN with) (NP (NNS {})))))"
WITH_NOUN = "(S (NP (PRP we)) (VP (VBD {}) (NP (NP (NNS birds)) (PP (IN with) (NP (NNS {}))))))"
TOOLS = ("sticks", "nets", "lenses", "maps", "drums")


@pytest.fixture(scope="module")
def bank():
    trees = [WITH_VERB.format("caught", tool) for tool in TOOLS[:-1]]
    trees += [WITH_NOUN.format("liked", tool) for tool in TOOLS[:-1]]
    return Treebank.from_trees([Tree.parse(text) for text in trees])


@pytest.fixture(scope="module")
def crf(bank):
    return SpanCRF(max_iter=5, slots=1 << 16).fit(bank)


def best(crf, words, model=None):
    chart = ChartParser(crf.grammar_)
    forest = chart.forest([crf.grammar_.lexicon.score(word, place == 0) for place, word in enumerate(words)])
    found = CRFExpert(model or crf.model_, crf.grammar_).posterior(words, forest).forest
    return str(to_tree(found, decode(found), words))


def test_words_decide_where_rules_cannot(crf):
    assert best(crf, ["we", "caught", "birds", "with", "drums"]) == WITH_VERB.format("caught", "drums")
    assert best(crf, ["we", "liked", "birds", "with", "drums"]) == WITH_NOUN.format("liked", "drums")
    assert crf.report_["tags guessed right"] > 0.8


def test_same_seed_same_model_whatever_the_number_of_threads(crf, bank):
    other = clone(crf).set_params(n_jobs=2).fit(bank).model_
    for field in fields(other):
        np.testing.assert_array_equal(getattr(other, field.name), getattr(crf.model_, field.name))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"slots": 1000}, "power of two"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"batch": 0}, "batch"),
    ],
)
def test_bad_options_are_named(bank, options, word):
    with pytest.raises(OptionError, match=word):
        SpanCRF(**options).fit(bank)


def test_no_trees():
    with pytest.raises(InputError, match="no tree"):
        SpanCRF().fit(Treebank.from_trees([]))


def test_one_tree_is_enough():
    bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")])
    crf = SpanCRF(max_iter=1, slots=1 << 12).fit(bank)
    assert best(crf, ["the", "cat", "sleeps"]) == str(bank.tree(0))


def test_a_coarse_grammar_of_another_treebank(bank):
    other = PCFG().fit(Treebank.from_trees([Tree.parse("(X (A a) (B b))")])).model_
    with pytest.raises(OptionError, match="different symbols"):
        SpanCRF(grammar=other).fit(bank)
    with pytest.raises(OptionError, match="does not know"):
        CRFExpert(SpanCRF(max_iter=1, slots=1 << 12).fit(bank).model_, other)


def test_symbols_may_be_numbered_otherwise(crf, bank):
    """An expert asks for symbols by name: a grammar that has fewer of them, and hardly more than one tree, gets that tree's score."""
    trees = [Tree.parse(WITH_NOUN.format("liked", tool)) for tool in TOOLS[:-1]]
    grammar = PCFG().fit(Treebank.from_trees(trees)).model_
    assert grammar.symbols != crf.model_.symbols
    words = ["we", "liked", "birds", "with", TOOLS[0]]
    forest = ChartParser(grammar).forest([grammar.lexicon.score(word) for word in words])
    found = CRFExpert(crf.model_, grammar).posterior(words, forest).forest
    same = crf.model_.posteriors(words, gold_forest(None, bank, len(TOOLS) - 1)[0])
    assert (found.edge_posterior > 0.9).sum() == len(same.edge)


def test_what_the_grammar_finds_unlikely_is_left_out(crf):
    """All of a forest gives the posteriors of the whole; of a part, what is left out has none, and the rest those of its trees alone."""
    words = ["we", "caught", "birds", "with", "drums"]
    scores = [crf.grammar_.lexicon.score(word, place == 0) for place, word in enumerate(words)]
    forest = ChartParser(crf.grammar_).forest(scores, Pruning(item=1e-9, edge=1e-9, split=0))
    expert = CRFExpert(crf.model_, crf.grammar_)
    part, items, edges = likely_part(forest, 0.0)
    for ours, theirs in zip(part, skeleton(forest), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    part, items, edges = likely_part(forest, 0.9)
    assert 0 < len(edges) < len(forest.edge_left)
    assert 0 < len(items) < len(forest.item_symbol)
    parent = np.repeat(items, np.diff(part.edge_first))
    np.testing.assert_array_equal(
        parent, np.repeat(np.arange(len(forest.item_symbol)), np.diff(forest.edge_first))[edges]
    )
    np.testing.assert_array_equal(items[part.edge_left], forest.edge_left[edges])
    binary = part.edge_right >= 0
    np.testing.assert_array_equal(items[part.edge_right[binary]], forest.edge_right[edges][binary])
    np.testing.assert_array_equal(binary, forest.edge_right[edges] >= 0)
    whole = crf.model_.posteriors(words, skeleton(forest))
    judged = expert.posterior(words, forest).forest
    np.testing.assert_allclose(judged.edge_posterior, whole.edge, atol=1e-6)
    # Of two ways to attach, one is below the threshold: the other has all.
    ways = np.flatnonzero((forest.edge_posterior > 0.1) & (forest.edge_posterior < 0.9))
    doubted = forest.edge_posterior.copy()
    doubted[ways[0]] = 1e-7
    judged = expert.posterior(words, replace(forest, edge_posterior=doubted)).forest
    assert judged.edge_posterior[ways[0]] == 0
    assert judged.edge_posterior.max() == pytest.approx(1)
    assert judged.root_posterior.sum() == pytest.approx(1)


# -- forests and views ---------------------------------------------------------------------------------------


def test_the_right_tree_is_put_into_a_forest():
    bank, _ = sentences(20, 3)
    grammar = PCFG().fit(bank).model_
    chart = ChartParser(grammar)
    for tree in range(bank.n_trees):
        first, last = bank.tree_start[tree], bank.tree_start[tree + 1]
        leaves = [node for node in range(first, last) if bank.word[node] >= 0]
        words = [grammar.lexicon.score(bank.words[bank.word[node]]) for node in leaves]
        whole = skeleton(chart.forest(words))
        for forest in (None, whole):
            merged, items, edges = gold_forest(forest, bank, tree)
            np.testing.assert_array_equal(merged.item_symbol[items], bank.label[first:last])
            np.testing.assert_array_equal(merged.item_begin[items], bank.start[first:last])
            np.testing.assert_array_equal(merged.item_end[items], bank.end[first:last])
            inner = np.flatnonzero(bank.word[first:last] < 0)
            np.testing.assert_array_equal(
                merged.edge_left[edges], items[bank.left[first:last][inner] - first]
            )
            parents = np.searchsorted(merged.edge_first, edges, side="right") - 1
            np.testing.assert_array_equal(parents, items[inner])
            assert merged.is_root[items[-1]]
            # Children come before parents.
            owner = np.repeat(np.arange(len(merged.item_symbol)), np.diff(merged.edge_first))
            assert (merged.edge_left < owner).all()
            assert (merged.edge_right < owner).all()
            if forest is None:
                assert len(merged.item_symbol) == last - first
            else:
                assert len(merged.edge_left) >= len(whole.edge_left)


def test_rare_words_are_known_by_their_form():
    views = WordForms(["the"]).views(["The", "walking", "talking", "Walking"])
    word, form = views[0, PADDING:-PADDING], views[1, PADDING:-PADDING]
    assert word[1] == word[2] == form[1] != word[3]
    assert word[0] == WordForms(["the"]).views(["the"])[0, PADDING] != form[0]
    assert not views[:, :PADDING].any()
    assert not views[:, -PADDING:].any()


def test_a_tagger_learns_tags():
    words = [["a", "dog"], ["the", "walk"], ["dogs", "walk"], ["cats", "walk"]] * 5
    tags = [np.array(row, np.int32) for row in ([0, 1], [0, 1], [1, 2], [1, 2])] * 5
    forms = WordForms([])
    views = [forms.views(row) for row in words]
    tagger = fit_tagger(views, tags, 3, 0)
    for row, right in zip(words, tags, strict=True):
        fresh = forms.views(row)
        tagger.tag(fresh)
        np.testing.assert_array_equal(fresh[TAG, PADDING:-PADDING], right + 1)
    assert tag_held_out(views, tags, 3, 0) == 1.0


# -- the file ------------------------------------------------------------------------------------------------


def test_round_trip(crf, tmp_path):
    crf.model_.save(tmp_path / "one.crf")
    loaded = SpanModel.load(tmp_path / "one.crf")
    assert loaded.symbols == crf.model_.symbols
    assert loaded.frequent == crf.model_.frequent
    np.testing.assert_allclose(loaded.weights, crf.model_.weights, rtol=1e-3, atol=1e-7)
    loaded.save(tmp_path / "two.crf")
    assert (tmp_path / "one.crf").read_bytes() == (tmp_path / "two.crf").read_bytes()
    words = ["we", "caught", "birds", "with", "drums"]
    assert best(crf, words, loaded) == best(crf, words)


def test_bad_files(crf, tmp_path):
    path = tmp_path / "model.crf"
    with pytest.raises(ModelFileError, match="no such"):
        SpanModel.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(ModelFileError, match="not a model file"):
        SpanModel.load(path)
    with pytest.raises(ModelFileError, match="cannot be written"):
        crf.model_.save(tmp_path / "nowhere" / "model.crf")

    packed = model_files.pack("expert", crf.model_)[1]

    def rewritten(tensors, version=1, stored=None):
        header = {"version": version, "checksum": stored or checksum(None, tensors)}
        save_file(tensors, path, {"gramian-span-crf": json.dumps(header)})
        return path

    with pytest.raises(ModelFileError, match="upgrade"):
        SpanModel.load(rewritten(packed, version=99))
    with pytest.raises(ModelFileError, match="damaged"):
        SpanModel.load(rewritten(packed, stored="sha256:0"))
    for name, value in (
        ("weights.mask", np.zeros(3, np.uint8)),
        ("weights", np.zeros(2, np.float16)),
        ("n_phrases", np.array([0], np.int32)),
        ("n_phrases", np.array([2.0])),
        ("tag_weights", np.full(len(packed["tag_weights"]), np.nan, np.float16)),
    ):
        with pytest.raises(ModelFileError, match="no model"):
            SpanModel.load(rewritten({**packed, name: value}))
    with safe_open(rewritten(packed), "numpy") as file:
        assert set(file.keys()) == set(packed)
