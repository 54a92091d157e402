import numpy as np
import pytest
from toy_treebank import toy_sentences

from gramian.dependency import arc_kernels as kernels
from gramian.dependency.arc_models import ArcScorer, fit_arc_scorer, fit_labeller, table_size
from gramian.dependency.arc_templates import ARCS
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.half_constituents import marginals
from gramian.dependency.head_automata import deterministic
from gramian.dependency.head_sequences import head_sequences
from gramian.dependency.symbol_map import SymbolMap
from gramian.loglinear.adagrad import new_tables
from gramian.trees import Sentence, Token

TRAIN = toy_sentences(150, seed=1)
TREES = [np.asarray([-1, *sentence.heads], np.int32) for sentence in TRAIN]


@pytest.fixture(scope="module")
def table() -> TokenTable:
    return TokenTable.fit(TRAIN, "xpos")


@pytest.fixture(scope="module")
def tokens(table):
    return [table.encode(sentence.tokens) for sentence in TRAIN]


@pytest.fixture(scope="module")
def grammar():
    mapping = SymbolMap.fit(TRAIN)
    symbols = [mapping(sentence.tokens) for sentence in TRAIN]
    return deterministic(
        head_sequences(mapping.names, symbols, [sentence.heads for sentence in TRAIN]), first=True
    ).smoothed(0.1)


@pytest.fixture(scope="module")
def encoded(grammar):
    mapping = SymbolMap.fit(TRAIN)
    return [grammar.encode(mapping(sentence.tokens)) for sentence in TRAIN]


def test_rare_and_new_values_are_the_same_unknown():
    sentence = Sentence(
        (Token(1, "Dog", upos="NOUN"), Token(2, "dog", upos="NOUN"), Token(3, "rare", upos="X"))
    )
    table = TokenTable.fit([sentence], "upos")
    coded = table.encode(
        (Token(1, "DOG", upos="NOUN"), Token(2, "rare", upos="X"), Token(3, "new", upos="Y"))
    )
    forms, tags = coded[1, 3:6], coded[0, 3:6]
    assert forms[0] > 5
    assert forms[1] == forms[2] == 5
    assert tags[1] == tags[2] == 5


def test_boundaries_and_root_are_told_apart(table):
    coded = table.encode(TRAIN[0].tokens)
    assert coded.shape == (9, len(TRAIN[0]) + 5)
    assert coded[:, :3].tolist() == [[0, 1, 2]] * 9
    assert coded[:, -2:].tolist() == [[3, 4]] * 9


def test_dropout_touches_forms_and_lemmas_only_and_common_ones_less(table, tokens):
    forms, lemmas = table.dropout_rates(1.0)
    the = table.values[1].index("the") + 6
    assert forms[the] == pytest.approx(1.0 / (1.0 + table.counts[0][the - 6]), rel=1e-14)
    assert not forms[:6].any()
    changed = table.drop_words(
        tokens[0], (np.ones_like(forms), np.ones_like(lemmas)), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(changed[[0, 2, 3, 4, 5, 6, 8]], tokens[0][[0, 2, 3, 4, 5, 6, 8]])
    assert (changed[[1, 7]] == 5).all()


def test_morphological_features_have_rows_of_their_own_and_may_be_missing():
    words = [
        Token(1, "dogs", "dog", "NOUN", feats="Case=Nom|Number=Plur"),
        Token(2, "dog", "dog", "NOUN", feats="Number=Sing"),
        Token(3, "barks", upos="VERB"),
    ]
    table = TokenTable.fit([Sentence(tuple(words))] * 2, "upos")
    assert table.features == ("Number", "Case")
    coded = table.encode(words)[:, 3:6]
    number, case = coded[9], coded[10]
    assert case.tolist() == [7, 6, 6]  # 6 is the absent feature
    assert number[2] == 6
    assert number[0] != number[1]
    assert coded[7, 0] == coded[7, 1]  # one lemma
    assert table.values[7][coded[7, 2] - 6] == "barks"  # the form stands for a missing lemma
    bare = [Token(1, "dogs", upos="NOUN")]
    assert table.encode(bare)[9:, 3].tolist() == [6, 6]


def test_an_arc_scores_the_sum_of_what_its_climbs_gave(tokens):
    # One step of gradient 1 from zero gives each of an arc's k slots at least the rate over sqrt(1.01); features that
    # share a slot give more. All other arcs gain less.
    size = TREES[0].size
    tables = new_tables(1 << 16, 0.1, smallest=0.0)
    gradient = np.zeros((size, size))
    gradient[2, 1] = 1.0
    kernels.update_arcs(ARCS, tokens[0], gradient, 1.0, tables)
    scores = np.empty((size, size))
    kernels.score_arcs(ARCS, tokens[0], tables.weights, scores)
    features = int(tables.squares.sum())
    assert 69 <= features <= 77
    assert scores[2, 1] >= features * 0.1 / np.sqrt(1.01) - 1e-4
    scores[2, 1] = -np.inf
    assert scores.max() < features * 0.1 / np.sqrt(1.01)


def test_factors_leave_marginals_of_equal_scores_alone(grammar, encoded, tokens):
    scorer = ArcScorer(np.zeros(1 << 12, np.float32))
    plain = marginals(grammar, encoded[0]).arcs
    np.testing.assert_allclose(
        marginals(grammar, encoded[0], scorer.factors(tokens[0])).arcs, plain, atol=1e-12, rtol=0
    )


def test_training_raises_the_likelihood_and_learns_what_tags_cannot_say(grammar, table, encoded, tokens):
    scorer = fit_arc_scorer(grammar, table, tokens, encoded, TREES, max_iter=3, random_state=0)

    def mean_log(with_factors: bool) -> float:
        total, words = 0.0, 0
        for sentence, views, tree in zip(encoded, tokens, TREES, strict=True):
            factors = scorer.factors(views) if with_factors else None
            arcs = marginals(grammar, sentence, factors).arcs
            total += float(np.log(arcs[tree[1:], np.arange(1, len(tree))]).sum())
            words += len(tree) - 1
        return total / words

    assert mean_log(True) > 0.2 * mean_log(False)  # both negative: less than a fifth of the loss is left


def test_threads_do_not_change_the_weights(grammar, table, encoded, tokens):
    one, two = (
        fit_arc_scorer(
            grammar, table, tokens[:40], encoded[:40], TREES[:40], max_iter=1, random_state=7, n_jobs=jobs
        ).weights
        for jobs in (1, 3)
    )
    np.testing.assert_array_equal(one, two)


def test_relations_are_learnt(table, tokens):
    relations = [[token.deprel for token in sentence.tokens] for sentence in TRAIN]
    labeller = fit_labeller(table, tokens, TREES, relations, max_iter=3, random_state=0)
    test = toy_sentences(50, seed=2)
    right = total = 0
    for sentence in test:
        found = labeller.label(table.encode(sentence.tokens), np.asarray([-1, *sentence.heads], np.int32))
        right += sum(ours == token.deprel for ours, token in zip(found, sentence.tokens, strict=True))
        total += len(found)
    assert right / total > 0.97
    # root is for the root alone, even in an odd tree
    odd = np.asarray([-1, 0, 1, 2, 3], np.int32)
    words = TRAIN[0].tokens[:4]
    found = labeller.label(table.encode(words), odd)
    assert found[0] == "root"
    assert "root" not in found[1:]


def test_relations_see_the_words_around_both_ends():
    # 2 is the root with modifiers 1 and 3, and 4 hangs on 3.
    heads = np.array([-1, 2, 0, 2, 3], np.int32)
    family = np.zeros((4, 5), np.int64)
    kernels._family(heads, family)
    first, last, before, after = family.tolist()
    assert first == [2, 1, 1, 4, 4]
    assert last == [2, 1, 3, 4, 4]
    assert before == [-2, -2, -2, 1, -2]
    assert after == [-2, 3, -2, -2, -2]


def test_factors_are_the_exponents_of_scores(table, tokens):
    scorer = ArcScorer(np.random.default_rng(0).normal(size=4096).astype(np.float32))
    factors = scorer.factors(tokens[0])
    scores = np.empty_like(factors)
    kernels.score_arcs(ARCS, tokens[0], scorer.weights, scores)
    expected = np.exp(scores[:, 1:] - scores[:, 1:].max(axis=0))
    np.testing.assert_allclose(factors[:, 1:], expected, rtol=1e-12, atol=0)
    assert not factors[:, 0].any()


def test_tables_grow_with_the_words_within_bounds():
    assert [table_size(words) for words in (1_000, 10**9)] == [1 << 18, 1 << 23]


def test_words_met_before_keep_their_numbers(table):
    first = table.encode(TRAIN[0].tokens)
    np.testing.assert_array_equal(table.encode(TRAIN[0].tokens), first)
    fresh = TokenTable(table.column, table.values, table.counts)
    for sentence in TRAIN[:20]:
        np.testing.assert_array_equal(table.encode(sentence.tokens), fresh.encode(sentence.tokens))
    assert table.encode([]).shape == (9, 5)
