"""Merged states: the same grammar without states, and parameters that are ratios of expected counts."""

from dataclasses import replace

import numpy as np
from chart_cases import Case, ambiguous_case, cases, forest_edges, forest_items, grammar_of, sentence
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from merged_states import halves, merged
from test_ensemble import joint_words, with_other_states

from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.chart.grammar_arrays import grammar_arrays
from gramian.chart.two_state_kernels import two_groups, two_state_rules
from gramian.grammar import LPCFG

EXACT = Pruning(beam=0, item=0, edge=0, fine=0, split=0)


def blocks(grammar: LPCFG) -> list[np.ndarray]:
    binary = [grammar.binary_block(rule) for rule in range(len(grammar.binary_rules))]
    return binary + [grammar.unary_block(rule) for rule in range(len(grammar.unary_rules))]


def groups(grammar: LPCFG, seed: int) -> np.ndarray:
    """Random groups without gaps."""
    rng = np.random.default_rng(seed)
    parts = [
        np.unique(rng.integers(0, 2, size), return_inverse=True)[1] for size in grammar.n_states.tolist()
    ]
    return np.concatenate(parts).astype(np.int32)


@settings(max_examples=60)
@given(cases(), st.integers(0, 100))
def test_parameters_are_ratios_of_expected_counts(case: Case, seed: int) -> None:
    grammar = case.grammar
    group = groups(grammar, seed)
    small = merged(grammar, group)
    rules = [*grammar.binary_rules.tolist(), *grammar.unary_rules.tolist()]
    of_symbol = np.split(group, grammar.state_start[1:-1])
    for symbols, whole, less in zip(rules, blocks(grammar), blocks(small), strict=True):
        prior = grammar.prior(symbols[0]).astype(float)
        expected = np.zeros(less.shape)
        # how often the rule is used with these states, one use of the parent
        for states in np.ndindex(*whole.shape):
            place = tuple(of_symbol[symbol][state] for symbol, state in zip(symbols, states, strict=True))
            expected[place] += prior[states[0]] * whole[states]
        uses = np.bincount(of_symbol[symbols[0]], prior)
        np.testing.assert_allclose(less, (expected.T / uses).T, rtol=1e-4, atol=1e-6)
    for name in ("binary", "unary", "root"):
        np.testing.assert_allclose(
            getattr(small.coarse, name), getattr(grammar.coarse, name), rtol=1e-4, atol=1e-6
        )


@settings(max_examples=30)
@given(cases())
def test_no_groups_and_one_group(case: Case) -> None:
    grammar = case.grammar
    each = np.concatenate([np.arange(size) for size in grammar.n_states]).astype(np.int32)
    for one, other in zip(blocks(merged(grammar, each)), blocks(grammar), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    bare = merged(grammar, np.zeros_like(each))
    assert bare.n_states.tolist() == [1] * grammar.n_symbols
    np.testing.assert_allclose(bare.binary, grammar.coarse.binary, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(bare.unary, grammar.coarse.unary, rtol=1e-4, atol=1e-6)


def test_states_that_are_alike_go_together() -> None:
    """Of four states the first and third stand over x, the others over y."""
    rules, unary = np.array([[0, 0, 0]], np.int32), np.array([[0, 1], [0, 2]], np.int32)
    grammar = grammar_of(
        ("A", "x", "y"), 1, np.array([4, 1, 1], np.int32), rules, unary, np.random.default_rng(0)
    )
    over_x, over_y = [0.8, 0.1, 0.7, 0.2], [0.1, 0.8, 0.2, 0.7]
    grammar = replace(
        grammar,
        state_prior=np.array([0.3, 0.2, 0.1, 0.4, 1, 1], np.float32),
        unary=np.array(over_x + over_y, np.float32),
        binary=np.full(64, 0.1 / 16, np.float32),
    )
    group = halves(grammar).tolist()
    assert group[0] == group[2] != group[1] == group[3]
    assert group[4:] == [0, 0]


@settings(max_examples=60)
@given(cases(), st.integers(0, 100))
def test_kernels_merge_rules_as_the_reference_does(case: Case, seed: int) -> None:
    grammar = case.grammar
    group, arrays = groups(grammar, seed), grammar_arrays(grammar, grammar.coarse)
    two = two_state_rules(arrays, grammar.state_prior, group, grammar.n_phrases)
    small = merged(grammar, group)
    order = np.lexsort((grammar.binary_rules[:, 0], grammar.binary_rules[:, 2], grammar.binary_rules[:, 1]))
    for place, rule in enumerate(order):
        block = small.binary_block(rule)
        whole = np.zeros((2, 2, 2))
        whole[tuple(map(slice, block.shape))] = block
        weight = max(grammar.coarse.binary[rule], 1e-30)
        np.testing.assert_allclose(two.binary[place] * weight, whole.ravel(), rtol=1e-4, atol=1e-6)
    unary_order = np.lexsort((grammar.unary_rules[:, 0], grammar.unary_rules[:, 1]))
    for place, rule in enumerate(unary_order):
        block = small.unary_block(rule)
        whole = np.zeros((2, 2))
        whole[tuple(map(slice, block.shape))] = block
        weight = max(grammar.coarse.unary[rule], 1e-30)
        np.testing.assert_allclose(two.unary[place] * weight, whole.ravel(), rtol=1e-4, atol=1e-6)


@settings(max_examples=60)
@given(cases(max_states=6))
def test_kernels_find_the_groups_of_the_reference(case: Case) -> None:
    grammar = case.grammar
    found = two_groups(grammar_arrays(grammar, grammar.coarse), grammar.state_prior)
    pairs = zip(*(np.split(one, grammar.state_start[1:-1]) for one in (found, halves(grammar))), strict=True)
    used = {*grammar.binary_rules.ravel().tolist(), *grammar.unary_rules.ravel().tolist()}
    for symbol, (ours, theirs) in enumerate(pairs):
        if symbol in used:
            assert (ours == theirs).all() or (ours == 1 - theirs).all()


@settings(max_examples=60)
@given(cases(max_words=6, max_phrases=4))
def test_the_pass_between_only_drops(case: Case) -> None:
    chart = ChartParser(case.grammar)
    whole = chart.forest(case.words, EXACT)
    assume(whole is not None)
    same = chart.forest(case.words, replace(EXACT, split=1e-35))
    assert same is not None
    np.testing.assert_allclose(same.log_ratio, whole.log_ratio, rtol=1e-5, atol=1e-5)
    less = chart.forest(case.words, replace(EXACT, split=0.02))
    if less is not None:
        assert set(forest_items(less)) <= set(forest_items(whole))
        assert set(forest_edges(less)) <= set(forest_edges(whole))
        assert less.log_ratio <= whole.log_ratio + 1e-4
        is_tag = less.item_symbol >= case.grammar.n_phrases
        per_word = np.bincount(less.item_first_word[is_tag], less.item_posterior[is_tag], len(case.words))
        np.testing.assert_allclose(per_word, 1, rtol=1e-3)


def test_the_pass_between_keeps_what_two_states_find_likely() -> None:
    # Tags have one state each, so that words have the same scores in both grammars.
    shape, rng = ambiguous_case(1).grammar, np.random.default_rng(5)
    states = np.array([4, 3, 1, 1], np.int32)
    grammar = grammar_of(shape.symbols, 2, states, shape.binary_rules, shape.unary_rules, rng)
    words = sentence(grammar, 8, rng)
    alone = ChartParser(merged(grammar, halves(grammar))).forest(words, EXACT)
    kept = ChartParser(grammar).forest(words, replace(EXACT, split=0.05))
    assert alone is not None
    assert kept is not None
    assert np.abs(alone.item_posterior - 0.05).min() > 1e-4  # or the rest would hang on rounding
    likely = zip(forest_items(alone), alone.item_posterior, strict=True)
    assert set(forest_items(kept)) == {item for item, value in likely if value >= 0.05}


@settings(max_examples=30)
@given(cases(max_words=5, max_phrases=4), st.integers(0, 100))
def test_the_pass_between_of_several_grammars(case: Case, seed: int) -> None:
    """The first grammar of a binarisation prunes for all, with its own states of the words."""
    members = [case, with_other_states(case, seed)]
    chart = ChartParser([member.grammar for member in members])
    words = joint_words(members)
    alone = ChartParser(case.grammar).forest(case.words, replace(EXACT, split=0.02))
    less = chart.forest(words, replace(EXACT, split=0.02))
    assume(alone is not None and less is not None)
    assert forest_items(less) == forest_items(alone)
