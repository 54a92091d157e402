"""Pivots, mixtures and the convex problem, each against what is known."""

import numpy as np
from scipy import sparse

from gramian.learn import Observations, PivotEM
from gramian.learn.counting import count_states
from gramian.learn.pivot import convex_counts, find_pivots, mixture_weights
from gramian.learn.tables import Layout
from gramian.treebank import Treebank
from gramian.trees import Tree

TEXTS = (
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
    "(S (NP (PRP it)) (VP (VBZ runs)))",
    "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP it))))",
)


def test_a_separable_mixture_is_found_again():
    """Rows 0 to 2 are the components themselves, in some order; all others are mixtures of them."""
    rng = np.random.default_rng(4)
    components = rng.dirichlet(np.ones(12), 3)
    weights = np.concatenate([np.eye(3), rng.dirichlet(np.ones(3), 40)])
    order = rng.permutation(len(weights))
    rows = sparse.csr_array((weights @ components)[order])
    pivots = find_pivots(rows, np.full(len(order), 50.0), 3, 20)
    assert sorted(order[pivots].tolist()) == [0, 1, 2]
    found = mixture_weights(rows, components)
    np.testing.assert_allclose(found, weights[order], atol=0.08)
    few = np.full(len(order), 50.0)
    few[pivots[0]] = 3
    assert pivots[0] not in find_pivots(rows, few, 3, 20), "a pivot must be frequent"


def test_known_states_are_counted():
    seen = Observations(Treebank.from_trees([Tree.parse(text) for text in TEXTS] * 20))
    layout = Layout.of(seen.productions, np.full(seen.bank.n_symbols, 2, np.int32))
    states = np.random.default_rng(0).integers(0, 2, len(seen.bank.label)).astype(np.int32)
    one_hot = [np.eye(2)[states[seen.nodes(symbol)]] for symbol in range(seen.bank.n_symbols)]
    found, expected = convex_counts(seen, one_hot, one_hot, 3), count_states(seen.bank, layout, states)
    for table in ("binary", "unary", "lexical", "root"):
        np.testing.assert_allclose(getattr(found, table), getattr(expected, table), atol=1e-4)


def test_words_in_two_places_get_two_states():
    """Subjects are pronouns, objects are nouns: each of two states of NP prefers one of them."""
    texts = [
        "(S (NP (PRP it)) (VP (VBZ sees) (NP (NN milk))))",
        "(S (NP (PRP she)) (VP (VBZ has) (NP (NN tea))))",
    ]
    learner = PivotEM({"NP": 2}, random_state=1).fit([Tree.parse(text) for text in texts] * 50)
    grammar = learner.model_
    number = {grammar.symbols[symbols[1]]: rule for rule, symbols in enumerate(grammar.unary_rules.tolist())
              if grammar.symbols[symbols[0]] == "NP"}  # fmt: skip
    pronoun, noun = (grammar.unary_block(number[tag]).sum(axis=1) for tag in ("PRP", "NN"))
    np.testing.assert_allclose(pronoun + noun, 1, atol=1e-5)
    assert abs(pronoun[0] - pronoun[1]) > 0.8
