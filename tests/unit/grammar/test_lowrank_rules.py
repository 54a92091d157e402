"""Grammars with rules of low rank: gates, sums, ranks, shared products, and what the theorem guarantees."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest

from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.grammar.compress.lowrank import RANKS, compared, compress, expected_uses, guarantee
from gramian.grammar.compress.shared import compress_shared
from gramian.grammar.lpcfg import check
from gramian.learn import EM, PCFG
from gramian.treebank import Treebank
from gramian.trees import Tree

TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (DT a) (NN dog)) (PP (IN with) (NP (NNS glasses))))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN on) (NP (DT the) (NN mat)))) (VP (VBZ sleeps)))",
    "(S (NP (NNS dogs)) (VP (VP (VBP see) (NP (NNS cats))) (PP (IN in) (NP (DT a) (NN house)))))",
]


@pytest.fixture(scope="module")
def bank() -> Treebank:
    return Treebank.from_trees([Tree.parse(text) for text in TREES] * 10)


@pytest.fixture(scope="module")
def grammar(bank: Treebank) -> LPCFG:
    return EM(n_states=6, allocation="all", max_iter=3).fit(bank).model_


def frobenius(first: LPCFG, second: LPCFG) -> np.ndarray:
    return np.array([
        np.linalg.norm(first.binary_block(rule).astype(float) - second.binary_block(rule))
        for rule in range(len(first.binary_rules))
    ])  # fmt: skip


@pytest.mark.parametrize("signed", [False, True])
def test_errors_are_those_of_the_tensors(grammar, signed):
    small = compress(grammar, 2, signed=signed)
    np.testing.assert_allclose(small.frobenius, frobenius(grammar, small.grammar), rtol=1e-4, atol=1e-7)
    assert small.gamma == small.frobenius.max() > 0
    again = compared(grammar, small.grammar)
    np.testing.assert_allclose(again.frobenius, small.frobenius, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(again.divergence, small.divergence, rtol=1e-3, atol=1e-6)
    assert small.parameters == (grammar.binary.size, 2 * 18 * len(grammar.binary_rules))


def test_probabilities_stay_probabilities(grammar):
    small = compress(grammar, 2)
    check(small.grammar, 1e-4)
    assert small.grammar.is_probabilistic
    joint = [grammar.prior(a)[:, None, None] * grammar.binary_block(r)
             for r, a in enumerate(grammar.binary_rules[:, 0])]  # fmt: skip
    other = [grammar.prior(a)[:, None, None] * small.grammar.binary_block(r)
             for r, a in enumerate(grammar.binary_rules[:, 0])]  # fmt: skip
    nats = [float((p * np.log(p / np.maximum(q, 1e-30)))[p > 0].sum() / p.sum())
            for p, q in zip(joint, other, strict=True)]  # fmt: skip
    np.testing.assert_allclose(small.divergence, np.maximum(nats, 0), rtol=1e-2, atol=1e-4)
    np.testing.assert_allclose(small.loss, small.uses @ small.divergence, rtol=1e-9)


def test_signed_factors_fit_better_in_squares_and_worse_in_likelihood(grammar):
    signed, likely = compress(grammar, 1, signed=True), compress(grammar, 1)
    assert not signed.grammar.is_probabilistic
    assert (signed.frobenius**2).sum() < (likely.frobenius**2).sum()
    np.testing.assert_allclose(signed.grammar.coarse.binary, grammar.coarse.binary, rtol=1e-6)


@pytest.mark.parametrize("measure", ["absolute", "relative"])
def test_rules_beyond_the_gate_stay_whole(grammar, measure):
    loose = compress(grammar, 2)
    gate = float(np.median(loose.error(measure)))
    small = compress(grammar, 2, gate=gate, measure=measure)
    assert small.grammar.factors is not None
    is_low = small.grammar.factors.rank > 0
    assert 0 < is_low.sum() < len(is_low)
    np.testing.assert_array_equal(is_low, loose.error(measure) <= gate)
    assert (small.error(measure) <= gate).all()
    whole = np.flatnonzero(~is_low)
    for rule in whole:
        np.testing.assert_array_equal(small.grammar.binary_block(rule), grammar.binary_block(rule))
    chosen = loose.within(gate, measure)  # the same without fitting anew
    np.testing.assert_array_equal(chosen.grammar.factors.values, small.grammar.factors.values)
    np.testing.assert_array_equal(chosen.grammar.binary, small.grammar.binary)
    np.testing.assert_allclose(chosen.frobenius, small.frobenius)


def test_a_gate_of_nothing_leaves_the_exact_grammar(grammar):
    exact = compress(grammar, 2, signed=True).within(0.0, "absolute")
    assert exact.grammar.factors is None
    assert exact.gamma == 0
    np.testing.assert_array_equal(exact.grammar.binary, grammar.binary)


def test_auto_takes_the_smallest_rank_within_the_gate(grammar):
    tight, loose = (compress(grammar, gate=gate) for gate in (1e-4, 1e-1))
    ranks = [np.zeros(len(grammar.binary_rules)) if one.grammar.factors is None else one.grammar.factors.rank
             for one in (tight, loose)]  # fmt: skip
    assert (np.where(ranks[0] == 0, 99, ranks[0]) >= np.where(ranks[1] == 0, 99, ranks[1])).all()
    assert tight.loss < loose.loss
    assert set(ranks[1].tolist()) <= {0, *RANKS}
    blocks = np.einsum("ra,rb,rc->rabc", *np.random.default_rng(0).dirichlet(np.ones(6), (3, 9)))
    plain = replace(grammar, binary=np.resize(blocks.astype(np.float32), grammar.binary.shape))
    assert (compress(plain).grammar.factors.rank == 1).all()


def test_threads_change_nothing(grammar):
    first, second = (compress(grammar, 2, signed=True, n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(first.grammar.factors.values, second.grammar.factors.values)


def test_a_rule_of_zeros_and_rules_too_small_to_gain_stay_whole(grammar):
    empty = replace(grammar, binary=np.zeros_like(grammar.binary))
    assert compress(empty, 2).grammar.factors is None
    assert compress(empty, 2, signed=True).grammar.factors is None
    assert compress(grammar, 12).grammar.factors is None  # 12 * 18 numbers are no fewer than 6 * 6 * 6


def test_a_grammar_without_rules_of_two_children_has_nothing_to_compress():
    words = Treebank.from_trees([Tree.parse("(NP (NN dog))")] * 20)
    plain = EM(n_states=2, allocation="all", max_iter=1).fit(words).model_
    small = compress(plain)
    assert (small.grammar.factors, small.speed, small.gamma, small.parameters) == (None, 1.0, 0.0, (0, 0))
    with pytest.raises(OptionError, match="no binary rules"):
        compress_shared(plain, 4)


def test_expected_uses_count_the_rules_of_a_tree(bank):
    plain = PCFG().fit(bank).model_
    uses = expected_uses(plain)
    # Relative frequencies give back the mean number of binary rules of the trees they come from: words less one each.
    inner = sum(len(Tree.parse(text).words) - 1 for text in TREES) / len(TREES)
    np.testing.assert_allclose(uses.sum(), inner, rtol=0.05)


def test_shared_products_are_exact_for_a_grammar_without_states(bank):
    plain = PCFG().fit(bank).model_
    small = compress_shared(plain, 1)
    assert small.gamma < 1e-5
    check(small.grammar, 1e-4)


def test_shared_products_know_the_rules_that_were_seen(grammar):
    losses = []
    for rank in (1, 4, 32):
        small = compress_shared(grammar, rank)
        check(small.grammar, 1e-4)
        factors = small.grammar.factors
        assert factors.values.size == 3 * rank * grammar.n_states.sum()
        same = factors.start[grammar.binary_rules[:, 0] == grammar.binary_rules[0, 0], 0]
        assert len(set(same.tolist())) == 1  # one matrix a symbol and place
        losses.append(small.loss)
    assert losses[0] > losses[1] > losses[2]


def test_predicted_speed_grows_as_ranks_fall(grammar):
    speeds = [compress(grammar, rank).speed for rank in (4, 2, 1)]
    assert 1 < speeds[0] < speeds[1] < speeds[2]


@pytest.mark.parametrize(
    ("gamma", "states", "symbols", "epsilon"),
    [(1e-12, 8, 50, 1e-3), (1e-30, 32, 150, 1e-6), (1e-3, 4, 9, 0.1)],
)
def test_the_guarantee_is_the_largest_size_that_the_theorem_allows(gamma, states, symbols, epsilon):
    sure = guarantee(gamma, states, symbols, epsilon)

    def grows_to(size: int, per: float) -> float:
        """The bound of the error after so many levels, m * gamma * per ** size."""
        return log(states * gamma) + size * per

    level = log(2 * (sqrt(states) + 1) * (gamma + sqrt(states)))
    word = level + log((4 * symbols) ** 2)
    for size, per in ((sure.depth, level), (sure.length, word)):
        assert size == 0 or grows_to(size, per) <= log(epsilon)
        assert grows_to(size + 1, per) > log(epsilon)


def test_options_that_make_no_sense(grammar):
    for options in (
        {"rank": 0},
        {"rank": "all"},
        {"gate": -1.0},
        {"measure": "nuclear"},
        {"starts": 0},
        {"n_jobs": 0},
    ):
        with pytest.raises(OptionError):
            compress(grammar, **options)
    with pytest.raises(OptionError, match="shared"):
        compress_shared(grammar, 0)
    with pytest.raises(OptionError, match="more than 0"):
        guarantee(0.0, 4, 4)
    signed = compress(grammar, 2, signed=True).grammar
    with pytest.raises(OptionError, match="signed"):
        compress(signed, 2)
    with pytest.raises(OptionError, match="not probabilities"):
        compress_shared(signed, 4)


def test_margins_and_rows_are_those_of_the_blocks(grammar):
    small = compress(grammar, 2).grammar
    assert small.factors is not None
    for one in (grammar, small):
        for rule in range(len(one.binary_rules)):
            block = one.binary_block(rule)
            left, right = one.binary_margins(rule)
            np.testing.assert_allclose(left, block.sum(axis=2), rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(right, block.sum(axis=1), rtol=1e-5, atol=1e-7)
            for state, row in enumerate(block):
                np.testing.assert_allclose(one.binary_row(rule, state), row, rtol=1e-5, atol=1e-7)
