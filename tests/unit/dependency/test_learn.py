import numpy as np
import pytest

from gramian.automata import Sequences
from gramian.dependency.head_automata import HeadBasis, deterministic, expectation_maximisation, spectral
from gramian.dependency.head_sequences import HeadSequences
from gramian.dependency.split_head_automata import LEFT, RIGHT
from gramian.errors import OptionError


def sequences(**right: list[str]) -> HeadSequences:
    """Right sequences of each head; modifiers are single letters."""
    samples = {
        (head, RIGHT): Sequences.from_strings([list(row) for row in rows]) for head, rows in right.items()
    }
    samples[None, RIGHT] = Sequences.from_strings([["h"]])
    return HeadSequences(("a", "b", "c", "h", "g", "?"), samples)


def test_det_is_relative_frequency():
    # 4 a, 1 b and 3 stops
    grammar = deterministic(sequences(h=["aa", "aab", ""]))
    automaton = grammar.automaton("h", RIGHT)
    assert automaton.score([["a"], ["b", "a"], []]) == pytest.approx(
        [4 / 8 * 3 / 8, 1 / 8 * 4 / 8 * 3 / 8, 3 / 8], rel=1e-14
    )


def test_det_f_tells_the_first_modifier_from_the_rest():
    # first: a a stop; rest: a a b stop stop
    grammar = deterministic(sequences(h=["aa", "aab", ""]), first=True)
    automaton = grammar.automaton("h", RIGHT)
    expected = [1 / 3, 2 / 3 * 2 / 5, 2 / 3 * 1 / 5 * 2 / 5, 0.0]
    assert automaton.score([[], ["a"], ["a", "b"], ["b"]]) == pytest.approx(expected, rel=1e-14)


def test_unseen_heads_share_the_automaton_of_their_direction():
    # Of the right sequences of all heads, a aa b: first a a b, then a and three stops.
    grammar = deterministic(sequences(h=["a", "aa"], g=["b"]))
    assert grammar.automaton("c", RIGHT).score([["a"], ["b"]]) == pytest.approx(
        [2 / 3 * 3 / 4, 1 / 3 * 3 / 4], rel=1e-14
    )
    assert grammar.automaton("c", LEFT).score([[]]) == 1.0


def alternating(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    return ["ab" * int(length) for length in rng.geometric(0.5, count) - 1]


@pytest.mark.parametrize("start", ["random", "spectral"])
def test_em_finds_alternation(start):
    grammar = expectation_maximisation(
        sequences(h=alternating(400)), n_states=2, max_iter=60, start=start, random_state=3
    )
    automaton = grammar.automaton("h", RIGHT)
    assert automaton.is_probabilistic()
    share = alternating(400).count("ab") / 400
    assert automaton.score([["a", "b"], ["b", "a"], ["a"]]) == pytest.approx([share, 0.0, 0.0], abs=0.03)


@pytest.mark.parametrize("basis", ["extended", "symbols"])
def test_spectral_finds_alternation(basis):
    rows = alternating(2000)
    automaton = spectral(sequences(h=rows), n_states=2, basis=HeadBasis(basis)).automaton("h", RIGHT)
    assert automaton.score([["a", "b"], ["b", "a"]]) == pytest.approx(
        [rows.count("ab") / 2000, 0.0], abs=0.02
    )


def test_no_more_states_than_modifiers():
    rows = ["abc", "cab", "ab", "b", ""] * 5
    samples = sequences(h=rows, g=["a", "aa", ""])
    for grammar in (
        expectation_maximisation(samples, n_states=5, max_iter=3, start="spectral"),
        spectral(samples, n_states=5),
    ):
        assert grammar.automaton("h", RIGHT).n_states == 3
        assert grammar.automaton("g", RIGHT).n_states == 1


def test_mass_drops_directions():
    rows = ["ab", "ba", "a", "b", "abab", ""] * 20
    full = spectral(sequences(h=rows), n_states=2, basis=HeadBasis("symbols"))
    cut = spectral(sequences(h=rows), n_states=2, basis=HeadBasis("symbols", mass=0.49))
    assert full.automaton("h", RIGHT).n_states == 2
    assert cut.automaton("h", RIGHT).n_states == 1


def test_wrong_options_are_refused():
    samples = sequences(h=["a"])
    with pytest.raises(OptionError, match="kind must be one of extended, symbols"):
        spectral(samples, n_states=2, basis=HeadBasis("wide"))
    with pytest.raises(OptionError, match="cut_factor"):
        spectral(samples, n_states=2, basis=HeadBasis(cut_factor=0.0))


def test_em_may_have_more_states_than_modifiers():
    """A run of three of the one modifier needs four states; spectral models have one at most."""
    sample = sequences(h=["aaa"] * 40)
    grammar = expectation_maximisation(sample, n_states=4, max_iter=200, random_state=1)
    automaton = grammar.automaton("h", RIGHT)
    assert automaton.n_states == 4
    assert automaton.score([["a"] * 3])[0] > 0.9
    assert spectral(sample, n_states=4).automaton("h", RIGHT).n_states == 1
