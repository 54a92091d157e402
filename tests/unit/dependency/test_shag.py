import numpy as np
import pytest

from gramian.automata import WFA
from gramian.dependency.split_head_automata import LEFT, RIGHT, SHAG
from gramian.errors import OptionError


def coin(symbol: str, more: float) -> WFA:
    """Emits `symbol` again with probability `more`."""
    return WFA([1.0], [1.0 - more], [[[more]]], (symbol,))


@pytest.fixture
def grammar() -> SHAG:
    automata = {("N", LEFT): coin("D", 0.75), ("V", LEFT): coin("N", 0.5), (None, RIGHT): coin("V", 0.5)}
    return SHAG.from_automata(("D", "N", "V", "?"), automata)


def test_weight_is_the_product_over_sequences(grammar):
    # N takes two D (0.75 * 0.75 * 0.25), V one N (0.5 * 0.5), the root one V (0.5 * 0.5); all else is empty.
    weight = grammar.tree_weight(["D", "D", "N", "V"], [3, 3, 4, 0])
    assert weight == pytest.approx(0.75**2 * 0.25 * 0.25 * 0.25, rel=1e-14)


def test_modifiers_outside_the_alphabet_weigh_nothing(grammar):
    assert grammar.tree_weight(["V", "N"], [0, 1]) == 0.0


def test_unknown_symbols_become_the_last(grammar):
    assert grammar.encode(["N", "never seen"]).tolist() == [4, 1, 3]


def test_heads_without_automaton_take_the_default():
    default = {LEFT: coin("a", 0.2), RIGHT: coin("b", 0.4)}
    grammar = SHAG.from_automata(("a", "b"), {("a", LEFT): coin("b", 0.1)}, default)
    assert grammar.automaton("b", LEFT).score([["a"]]) == pytest.approx(0.2 * 0.8, rel=1e-14)
    assert grammar.automaton("b", RIGHT).score([["b"]]) == pytest.approx(0.4 * 0.6, rel=1e-14)
    assert grammar.automaton("a", LEFT).score([["a"], ["b"]]) == pytest.approx([0.0, 0.09], rel=1e-14)


def test_automaton_returns_what_was_put_in():
    rng = np.random.default_rng(0)
    wide = WFA(rng.random(3), rng.random(3), rng.random((2, 3, 3)), ("a", "c"))
    grammar = SHAG.from_automata(("a", "b", "c"), {("b", RIGHT): wide, ("a", LEFT): coin("b", 0.5)})
    back = grammar.automaton("b", RIGHT)
    assert back.alphabet == ("a", "c")
    np.testing.assert_array_equal(back.transitions, wide.transitions)
    np.testing.assert_array_equal(back.initial, wide.initial)
    assert grammar.automaton("a", LEFT).n_states == 1


def test_smoothing_keeps_probabilities_and_closes_no_tree(grammar):
    smooth = grammar.smoothed(0.2)
    for head in ("D", "N", "V", "?", None):
        for direction in (LEFT, RIGHT) if head is not None else (RIGHT,):
            assert smooth.automaton(head, direction).is_probabilistic(1e-12)
    assert smooth.tree_weight(["V", "N"], [0, 1]) > 0.0
    assert smooth.tree_weight(["V", "N"], [2, 0]) > 0.0


def test_foreign_modifiers_and_heads_are_refused(grammar):
    with pytest.raises(OptionError, match="not a symbol"):
        SHAG.from_automata(("a",), {("a", LEFT): coin("b", 0.5)})
    with pytest.raises(OptionError, match="no symbol 'X'"):
        grammar.automaton("X", LEFT)
    with pytest.raises(OptionError, match="smoothing"):
        grammar.smoothed(1.0)
