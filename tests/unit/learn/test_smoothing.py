"""Latent counts to probabilities: sums, relative frequencies, and where shrinkage leads."""

import numpy as np
import pytest
import smoothing_in_numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from learn_cases import Case, big_case, cases

from gramian.learn import SpectralClustering
from gramian.learn.smoothing import Smoothing, estimate_rules, state_shares
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank.productions import Productions
from gramian.trees import Tree

NONE = Smoothing(0.0, 0.0, 0.0)
smoothings = st.builds(
    Smoothing,
    st.sampled_from([0.0, 2.0, 50.0]),
    st.sampled_from([0.0, 2.0, 50.0]),
    st.sampled_from([0.0, 0.02, 1.0]),
)
banks = cases(max_trees=5, max_leaves=6, max_states=4)


def rule_sums(tables: LatentTables) -> np.ndarray:
    """Return the sum of all rules of each phrase and state."""
    layout = tables.layout
    sums = np.zeros(int(layout.root_start[-1]))
    for rule, (parent, *_) in enumerate(layout.productions.binary):
        sums[layout.root_start[parent] : layout.root_start[parent + 1]] += tables.binary_block(rule).sum(
            axis=(1, 2)
        )
    for rule, (parent, _) in enumerate(layout.productions.unary):
        sums[layout.root_start[parent] : layout.root_start[parent + 1]] += tables.unary_block(rule).sum(
            axis=1
        )
    return sums


def naive_shares(counts: LatentTables) -> np.ndarray:
    layout = counts.layout
    mass = rule_sums(counts)
    for pair, (tag, _) in enumerate(layout.productions.lexical):
        block = counts.lexical[layout.lexical_start[pair] : layout.lexical_start[pair + 1]]
        mass[layout.root_start[tag] : layout.root_start[tag + 1]] += block
    for symbol, states in enumerate(layout.n_states):
        part = mass[layout.root_start[symbol] : layout.root_start[symbol + 1]]
        part[:] = part / part.sum() if part.sum() else 1 / states
    return mass


@settings(max_examples=40)
@given(banks, smoothings)
def test_rules_of_every_state_sum_to_one(case: Case, smoothing):
    rules = estimate_rules(case.tables, smoothing)
    n_phrase_states = case.tables.layout.root_start[case.bank.n_phrases]
    mass = rule_sums(case.tables)[:n_phrase_states]
    by_symbol = (
        np.add.reduceat(mass, case.tables.layout.root_start[: case.bank.n_phrases]) if len(mass) else mass
    )
    counted = np.repeat(by_symbol > 0, case.tables.layout.n_states[: case.bank.n_phrases])
    np.testing.assert_allclose(rule_sums(rules)[:n_phrase_states][counted], 1, rtol=1e-9)
    assert min(table.min(initial=0) for table in (rules.binary, rules.unary, rules.root)) >= 0
    if case.tables.root.sum():
        assert rules.root.sum() == pytest.approx(1)
    assert not rules.lexical.any()


@settings(max_examples=40)
@given(banks)
def test_without_smoothing_rules_are_relative_frequencies(case: Case):
    rules, layout = estimate_rules(case.tables, NONE), case.tables.layout
    mass = rule_sums(case.tables)
    for blocks, own, table in (
        (layout.productions.binary, rules.binary_block, case.tables.binary_block),
        (layout.productions.unary, rules.unary_block, case.tables.unary_block),
    ):
        for rule, (parent, *_) in enumerate(blocks):
            total = mass[layout.root_start[parent] : layout.root_start[parent + 1]]
            counted = total > 0
            count = table(rule)
            divisor = total[counted].reshape(-1, *[1] * (count.ndim - 1))
            np.testing.assert_allclose(own(rule)[counted], count[counted] / divisor, rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(banks)
def test_state_shares(case: Case):
    np.testing.assert_allclose(state_shares(case.tables), naive_shares(case.tables), rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(banks)
def test_a_state_never_used_has_the_rules_of_its_symbol(case: Case):
    layout = case.tables.layout
    for rule, (parent, *_) in enumerate(layout.productions.binary):
        if layout.n_states[parent] > 1:
            case.tables.binary_block(rule)[1] = 0
    for rule, (parent, _) in enumerate(layout.productions.unary):
        if layout.n_states[parent] > 1:
            case.tables.unary_block(rule)[1] = 0
    rules = estimate_rules(case.tables, NONE)
    mass = rule_sums(case.tables)
    for rule, (parent, *_) in enumerate(layout.productions.binary):
        total = mass[layout.root_start[parent] : layout.root_start[parent + 1]].sum()
        if layout.n_states[parent] > 1 and total > 0:
            expected = case.tables.binary_block(rule).sum() / total
            assert rules.binary_block(rule)[1].sum() == pytest.approx(expected, rel=1e-9)


def test_strong_shrinkage_makes_states_alike_and_children_independent():
    case = big_case()
    rules, layout = estimate_rules(case.tables, Smoothing(1e12, 1e12, 0.0)), case.tables.layout
    shares = state_shares(case.tables)
    mass = rule_sums(case.tables)
    for rule, (parent, left, right) in enumerate(layout.productions.binary):
        total = mass[layout.root_start[parent] : layout.root_start[parent + 1]].sum()
        weight = case.tables.binary_block(rule).sum() / total
        below = np.outer(
            shares[layout.root_start[left] : layout.root_start[left + 1]],
            shares[layout.root_start[right] : layout.root_start[right + 1]],
        )
        for block in rules.binary_block(rule):
            np.testing.assert_allclose(block, weight * below, rtol=1e-6)


def test_sisters_by_hand():
    case = big_case()
    plain, mixed = estimate_rules(case.tables, NONE), estimate_rules(case.tables, Smoothing(0.0, 0.0, 0.25))
    for rule in range(len(case.tables.layout.productions.binary)):
        block = plain.binary_block(rule)
        np.testing.assert_allclose(
            mixed.binary_block(rule), 0.75 * block + 0.25 * block.mean(axis=0), rtol=1e-9, atol=1e-15
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most", [1, 3, 9, 20, 100])
@pytest.mark.parametrize("smoothing", [Smoothing(), NONE, Smoothing(1e3, 0.5, 0.3)])
def test_kernels_equal_numpy_to_the_last_bit(dtype, most, smoothing):
    """Sums are taken in NumPy's order, so grammars are the same bytes as when NumPy made them."""
    rng = np.random.default_rng(most)
    n_states = rng.integers(max(1, most // 2), most + 1, 6).astype(np.int32)
    pick = lambda n, first, last: rng.integers(first, last, n).astype(np.int32)  # noqa: E731
    binary = np.stack([pick(5, 0, 3), pick(5, 0, 6), pick(5, 0, 6)], axis=1)
    unary = np.stack([pick(4, 0, 3), pick(4, 3, 6)], axis=1)
    lexical = np.stack([pick(9, 3, 6), np.arange(9, dtype=np.int32)], axis=1)
    ones = [np.ones(len(table), np.int64) for table in (binary, unary, lexical)]
    productions = Productions(binary, unary, lexical, *ones, np.zeros(0, np.int32))
    counts = Layout.of(productions, n_states).zeros(dtype)
    for table in (counts.binary, counts.unary, counts.lexical, counts.root):
        table[:] = rng.gamma(0.1, 1, len(table))
    expected = smoothing_in_numpy.estimate_rules(counts, smoothing)
    found = estimate_rules(counts, smoothing)
    for part in ("binary", "unary", "root"):
        assert getattr(found, part).tobytes() == getattr(expected, part).tobytes()
    assert state_shares(counts).tobytes() == smoothing_in_numpy.state_shares(counts).tobytes()


def test_the_floor_falls_back_to_rules_and_words_without_states():
    """Worked out from counts: with every cell below a floor of one, the grammar says what relative frequencies say."""
    trees = [
        Tree.parse(text) for text in ("(S (NN a) (VB b))", "(S (NN a) (VB c))", "(S (VB b) (NN a))")
    ] * 40
    plain = SpectralClustering(2, allocation="all", smoothing=NONE, lexicon="pos").fit(trees).model_
    floored = (
        SpectralClustering(2, allocation="all", smoothing=Smoothing(0, 0, 0, floor=1.0), lexicon="pos")
        .fit(trees)
        .model_
    )
    assert (plain.binary == 0).any()
    rules = [tuple(floored.symbols[symbol] for symbol in rule) for rule in floored.binary_rules]
    expected = {("S", "NN", "VB"): 2 / 3, ("S", "VB", "NN"): 1 / 3}
    for number, rule in enumerate(rules):
        np.testing.assert_allclose(floored.binary_block(number).sum(axis=(1, 2)), expected[rule], rtol=1e-6)
    assert (plain.lexicon.entry_states == 0).any()
    ratios = set(floored.lexicon.entry_states.tolist())
    assert ratios <= {1.0, 1.5}  # a state with all of "b": 1.5 times p(b | VB) = 2/3 is not below one
