"""Descriptions of states, against what the hand-written grammar says and against counts of trees."""

import numpy as np
import pytest
from tiny_grammar import COUNT, STATE_PRIOR, SYMBOLS, TAG_OF, emission, tiny_grammar

from gramian.errors import OptionError
from gramian.grammar.describe import Describer, symbols_named
from gramian.learn import PCFG, SpectralMoments
from gramian.treebank import Shape, Treebank
from gramian.trees import HeadRules, Tree


def shares(found) -> dict[str, float]:
    return {part.name: part.share for part in found}


def by_state(symbol: str, **options) -> dict:
    found = Describer(tiny_grammar()).describe(SYMBOLS.index(symbol), top=50, **options)
    return {state.state: state for state in found.states}


def test_states_are_listed_by_their_share():
    found = Describer(tiny_grammar()).describe(SYMBOLS.index("NP"))
    assert (found.symbol, found.kind) == ("NP", "phrase")
    assert [state.share for state in found.states] == pytest.approx(STATE_PRIOR["NP"], abs=1e-6)


def test_rules_have_their_probability_in_each_state():
    states = by_state("NP")
    assert shares(states[0].rules) == pytest.approx({"DT NN": 0.7, "NP PP": 0.15, "NN": 0.15}, abs=1e-6)
    assert shares(states[1].rules) == pytest.approx({"DT NN": 0.6, "NP PP": 0.2, "NN": 0.2}, abs=1e-6)


def test_intermediate_symbols_are_expanded():
    assert shares(by_state("S")[0].rules) == pytest.approx(
        {"NP VP .": 0.5, "NP VP": 0.4, "NN": 0.1}, abs=1e-6
    )
    assert shares(by_state("VP")[0].rules) == pytest.approx(
        {"VB NP PP": 0.25, "VB NP": 0.45, "VB": 0.3}, abs=1e-6
    )


def test_words_of_a_tag_have_their_probability():
    for state, found in by_state("NN").items():
        mass = {word: emission("NN", word)[state] for word in COUNT if "NN" in TAG_OF[word]}
        total = sum(mass.values())
        assert shares(found.words) == pytest.approx(
            {word: value / total for word, value in mass.items()}, abs=1e-6
        )
        assert found.examples == ()


def test_words_of_a_phrase_are_those_without_a_phrase_between():
    # NP in state 0 has 0.7 DT, and 0.7 NN in state 0, 0.15 NN in state 1.
    nouns = {word: emission("NN", word) for word in COUNT if "NN" in TAG_OF[word]}
    total = sum(nouns.values())
    expected = {word: 0.7 * value[0] / total[0] + 0.15 * value[1] / total[1] for word, value in nouns.items()}
    expected |= {"the": 0.7 * 10 / 16, "a": 0.7 * 6 / 16}
    found = shares(by_state("NP")[0].words)
    assert found == pytest.approx({word: value / 1.55 for word, value in expected.items()}, abs=1e-6)
    # VP over @VP: its verb counts, the verb's object does not.
    assert set(shares(by_state("VP")[0].words)) == {"saw", "barks"}


def test_words_that_set_a_state_apart_come_first():
    assert by_state("NP")[1].words[0].name == "telescope"


def test_contexts_weigh_parents_by_their_use():
    expected = np.array([[0.7, 0.3], [0.4, 0.6], [0.1, 0.07], [0.3, 0.7], [0.3, 0.1], [0.2, 0.25]])
    names = ["S → · VP …", "VP → VB · …", "NP → · PP", "PP → IN ·", "S → · VP", "VP → VB ·"]
    for state, found in by_state("NP").items():
        column = expected[:, state] / expected[:, state].sum()
        assert shares(found.contexts) == pytest.approx(dict(zip(names, column, strict=True)), abs=1e-6)


def test_contexts_of_a_learnt_grammar_are_relative_frequencies():
    trees = [
        Tree.parse("(S (NP (DT the) (NN cat)) (VP (VB sees) (NP (NN rain))))"),
        Tree.parse("(NP (NN rain))"),
    ]
    grammar = PCFG().fit(Treebank.from_trees(trees)).model_
    (state,) = Describer(grammar).describe(grammar.symbols.index("NP")).states
    assert shares(state.contexts) == pytest.approx(
        {"S → · VP": 1 / 3, "VP → VB ·": 1 / 3, "root": 1 / 3}, abs=1e-5
    )


@pytest.mark.parametrize("shape", [Shape("left"), Shape("right"), Shape("head"), Shape("right", 1)])
def test_any_binarisation_gives_the_rules_of_the_trees(shape):
    trees = [Tree.parse("(X (A a) (B b) (C c) (D d))"), Tree.parse("(X (A a) (B b) (A a))")]
    bank = Treebank.from_trees(trees, shape=shape, heads=HeadRules.named("left"))
    grammar = PCFG().fit(bank).model_
    (state,) = Describer(grammar).describe(grammar.symbols.index("X"), top=2).states
    best = state.rules[0]
    assert {"A B C D", "A B A"} & {rule.name for rule in state.rules}
    assert best.share == max(rule.share for rule in state.rules)
    mass = sum(
        part.share
        for part in Describer(grammar).describe(grammar.symbols.index("X"), top=10_000).states[0].rules
    )
    assert mass == pytest.approx(1, abs=0.01)


def test_examples_are_phrases_of_the_state():
    for found in by_state("PP").values():
        assert len(found.examples) == 3
        assert all(text.startswith("with ") for text in found.examples)
    assert by_state("NP", random_state=1)[0].examples == by_state("NP", random_state=1)[0].examples


def test_a_label_may_name_a_phrase_and_a_tag():
    grammar = PCFG().fit(Treebank.from_trees([Tree.parse("(X (X (X a) (Y b)) (, %))")])).model_
    assert [grammar.symbols[number] for number in symbols_named(grammar, "X")] == ["X", "X"]
    assert [grammar.symbols[number] for number in symbols_named(grammar, ",")] == ["%2C"]


def test_a_label_that_is_not_there():
    with pytest.raises(OptionError, match=r"no label 'NNN'; try: NN"):
        symbols_named(tiny_grammar(), "NNN")
    with pytest.raises(OptionError, match=r"try: NP, PP, S"):
        symbols_named(tiny_grammar(), "qqqqqq")


def test_operators_have_no_states_to_describe():
    bank = Treebank.from_trees([Tree.parse("(S (A a) (B b))"), Tree.parse("(S (B b) (T (A a)))")] * 20)
    grammar = SpectralMoments(n_states=2).fit(bank).model_
    with pytest.raises(OptionError, match="no interpretation"):
        Describer(grammar).describe(0)


@pytest.mark.parametrize("symbol", ["NP", "NN", "VP"])
def test_the_first_of_few_are_the_first_of_many(symbol):
    number = SYMBOLS.index(symbol)
    few, many = (Describer(tiny_grammar()).describe(number, top=top, examples=0) for top in (1, 50))
    for one, other in zip(few.states, many.states, strict=True):
        assert (one.words, one.rules, one.contexts) == (other.words[:1], other.rules[:1], other.contexts[:1])
