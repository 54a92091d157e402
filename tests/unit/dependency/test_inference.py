import numpy as np
import pytest

from gramian.automata import WFA
from gramian.dependency.half_constituents import decode, marginals, mbr_tree, viterbi_tree
from gramian.dependency.split_head_automata import LEFT, RIGHT, SHAG
from gramian.errors import OptionError
from gramian.trees import is_projective

SYMBOLS = ("a", "b", "?")


def random_pnfa(rng: np.random.Generator, n: int = 4) -> WFA:
    leaving = rng.dirichlet(np.ones(1 + len(SYMBOLS) * n), n)
    moves = leaving[:, 1:].reshape(n, len(SYMBOLS), n).transpose(1, 0, 2)
    return WFA(rng.dirichlet(np.ones(n)), leaving[:, 0], moves, SYMBOLS)


@pytest.fixture(scope="module")
def grammar() -> SHAG:
    rng = np.random.default_rng(5)
    automata = {(head, side): random_pnfa(rng) for head in SYMBOLS for side in (LEFT, RIGHT)}
    return SHAG.from_automata(SYMBOLS, {**automata, (None, RIGHT): random_pnfa(rng)})


def test_long_sentences_stay_in_range(grammar):
    rng = np.random.default_rng(0)
    sentence = grammar.encode([SYMBOLS[number] for number in rng.integers(0, 3, 250)])
    found = marginals(grammar, sentence)
    np.testing.assert_allclose(found.arcs[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-9)
    assert np.isfinite(found.log_partition)
    heads = mbr_tree(found.arcs)
    assert is_projective(heads.tolist())
    assert (heads == 0).sum() == 1


@pytest.mark.parametrize("spread", [1.0, 50.0])
def test_factors_of_all_sizes_stay_in_range(grammar, spread):
    rng = np.random.default_rng(1)
    sentence = grammar.encode([SYMBOLS[number] for number in rng.integers(0, 3, 120)])
    factors = np.exp(spread * rng.standard_normal((121, 121)))
    arcs = marginals(grammar, sentence, factors).arcs
    np.testing.assert_allclose(arcs[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-9)


def test_a_factor_common_to_a_modifier_changes_the_partition_only(grammar):
    sentence = grammar.encode(["a", "b", "a", "b"])
    factors = np.ones((5, 5))
    factors[:, 2] = 7.0
    plain, changed = marginals(grammar, sentence), marginals(grammar, sentence, factors)
    np.testing.assert_allclose(changed.arcs, plain.arcs, rtol=0, atol=1e-12)
    assert changed.log_partition - plain.log_partition == pytest.approx(np.log(7.0), abs=1e-12)


def test_marginals_are_the_slope_of_the_log_partition(grammar):
    sentence = grammar.encode(["a", "b", "?", "a", "b", "b"])
    rng = np.random.default_rng(2)
    logs = rng.standard_normal((7, 7))
    arcs = marginals(grammar, sentence, np.exp(logs)).arcs
    for head, word in [(0, 3), (2, 1), (4, 6), (6, 2)]:
        step = np.zeros((7, 7))
        step[head, word] = 1e-5
        above = marginals(grammar, sentence, np.exp(logs + step)).log_partition
        below = marginals(grammar, sentence, np.exp(logs - step)).log_partition
        assert arcs[head, word] == pytest.approx((above - below) / 2e-5, abs=1e-8)


def test_a_factor_of_zero_forbids_an_arc(grammar):
    sentence = grammar.encode(["a", "b", "a"])
    factors = np.ones((4, 4))
    factors[0, 2] = 0.0
    arcs = marginals(grammar, sentence, factors).arcs
    assert arcs[0, 2] == 0.0
    np.testing.assert_allclose(arcs[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-12)


def test_no_tree_at_all():
    grammar = SHAG.from_automata(SYMBOLS, {})
    found = marginals(grammar, grammar.encode(["a", "b"]))
    assert found.sign == 0.0
    assert not found.is_distribution
    assert not found.arcs.any()
    heads, value = viterbi_tree(grammar, grammar.encode(["a", "b"]))
    assert value == -np.inf
    assert heads.tolist() == [0, 0]


def test_negative_partitions_are_told():
    signed = WFA([1.0], [1.0], [[[-0.5]]], ("a",))
    grammar = SHAG.from_automata(SYMBOLS, {(None, RIGHT): signed})
    found = marginals(grammar, grammar.encode(["a"]))
    assert found.sign == -1.0
    assert found.log_partition == pytest.approx(np.log(0.5), abs=1e-12)
    assert not found.is_distribution
    with pytest.raises(OptionError, match="Viterbi"):
        viterbi_tree(grammar, grammar.encode(["a"]))


def one_modifier(left: float, right: float) -> SHAG:
    """Two words x: the second hangs on the first with the weight `right`, the first on the second with `left`."""
    automata = {
        ("x", side): WFA([1.0, 0.0], [1.0, 1.0], [[[0.0, weight], [0.0, 0.0]]], ("x",))
        for side, weight in ((LEFT, left), (RIGHT, right))
    }
    root = WFA([1.0, 0.0], [0.0, 1.0], [[[0.0, 1.0], [0.0, 0.0]]], ("x",))
    return SHAG.from_automata(("x", "?"), {**automata, (None, RIGHT): root})


def test_marginals_that_are_no_distribution_with_and_without_help():
    """Weights 1.2 and -0.2 sum to one: the marginals are these. Help is the mean with a grammar that prefers the other arc."""
    raw, helper = one_modifier(-0.2, 1.2), one_modifier(0.99, 0.01)
    sentence = raw.encode(["x", "x"])
    np.testing.assert_allclose(marginals(raw, sentence).arcs[[1, 2], [2, 1]], [1.2, -0.2])
    published, own = decode(raw, None, sentence), decode(raw, helper, sentence)
    assert published.heads.tolist() == own.heads.tolist() == [0, 1]
    np.testing.assert_allclose(published.confidences, [1.0, 1.0])  # cut to one
    np.testing.assert_allclose(own.confidences, [0.505, 0.505])
    assert not published.is_distribution
    assert not own.is_distribution
    # Weights that sum to nothing: help decides all, and without it there is still a tree.
    nothing = one_modifier(-1.0, 1.0)
    assert decode(nothing, helper, sentence).heads.tolist() == [2, 0]
    assert decode(nothing, one_modifier(0.01, 0.99), sentence).heads.tolist() == [0, 1]
    assert sorted(decode(nothing, None, sentence).heads.tolist())[0] == 0
    assert decode(helper, None, sentence).is_distribution
