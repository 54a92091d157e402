"""Several grammars as one: what they expect together is what enumeration of all their trees says."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from chart_cases import (
    Case,
    ambiguous_case,
    ambiguous_grammars,
    binarised_tree,
    cases,
    enumerate_derivations,
    forest_items,
    grammar_of,
    skeleton,
    words_of,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_decode import EXACT, Enumeration

from gramian.chart import chart_reference as reference
from gramian.chart.chart_parser import ChartInput, ChartParser, Forest
from gramian.chart.combine import COMBINATIONS, ExpertPosterior
from gramian.chart.decode import decode
from gramian.chart.derivations import log_probabilities, viterbi
from gramian.chart.k_best import k_best
from gramian.chart.label_table import label_table
from gramian.chart.tree_arrays import confidences, to_tree
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores
from gramian.trees import Tree, debinarise


def with_other_states(case: Case, seed: int) -> Case:
    """A grammar with the same rules and other states and weights, and its scores of the same words."""
    rng, first = np.random.default_rng(seed), case.grammar
    n_states = rng.integers(1, 4, first.n_symbols).astype(np.int32)
    grammar = grammar_of(
        first.symbols, first.n_phrases, n_states, first.binary_rules, first.unary_rules, rng, low_rank=0.5
    )
    words = [
        replace(
            word,
            states=np.exp(rng.normal(size=n_states[first.n_phrases + word.tags].sum())).astype(np.float32),
        )
        for word in case.words
    ]
    return Case(grammar, words)


def joint_words(members: list[Case]) -> list[WordScores]:
    """Scores of words with the states of all grammars, tag by tag."""
    result = []
    for place, word in enumerate(members[0].words):
        parts = []
        for number, tag in enumerate(word.tags.tolist()):
            for member in members:
                sizes = member.grammar.n_states[member.grammar.n_phrases + member.words[place].tags]
                start = int(sizes[:number].sum())
                parts.append(member.words[place].states[start : start + int(sizes[number])])
            assert tag >= 0
        result.append(replace(word, states=np.concatenate(parts)))
    return result


def enumerated_labels(case: Case) -> np.ndarray:
    """The table of label posteriors, from the list of all trees."""
    grammar, n = case.grammar, len(case.words)
    names = label_table(grammar.symbols, grammar.n_phrases).names
    cells = {}
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            cells[start, start + width] = len(cells)
    table = np.zeros((len(cells), len(names)))
    n_phrase_labels = label_table(grammar.symbols, grammar.n_phrases).n_phrase_labels
    for (kind, label, start, end), share in Enumeration.of(case).label.items():
        found = [
            k for k, name in enumerate(names) if name == label and (k >= n_phrase_labels) == (kind == "tag")
        ]
        table[cells[start, end], found[0]] += share
    return table


@settings(max_examples=40)
@given(cases(max_words=4), st.integers(0, 1000), st.integers(1, 2))
def test_sum_and_product_follow_from_all_trees(case: Case, seed: int, more: int) -> None:
    coarse = case.grammar.coarse  # rules that no state of the first grammar has would be pruned for all
    can_be_root = [not symbol.startswith("@") for symbol in case.grammar.symbols]
    assume(coarse.binary.all() and coarse.unary.all() and coarse.root[can_be_root].all())
    members = [case, *(with_other_states(case, seed + each) for each in range(more))]
    tables = [enumerated_labels(member) for member in members]
    words = joint_words(members)
    forest = ChartParser([member.grammar for member in members], "sum").forest(words, EXACT)
    assert forest is not None
    np.testing.assert_allclose(forest.label_posterior, np.mean(tables, axis=0), rtol=1e-3, atol=1e-4)
    logs = [ChartParser(member.grammar).forest(member.words, EXACT).log_ratio for member in members]
    np.testing.assert_allclose(
        np.exp(forest.log_ratio - max(logs)), np.mean(np.exp(np.array(logs) - max(logs))), rtol=1e-3
    )

    forest = ChartParser([member.grammar for member in members], "product").forest(words, EXACT)
    odds = np.mean([np.log(table / (1 - table)) for table in np.clip(tables, 1e-6, 1 - 1e-6)], axis=0)
    inner = np.logical_and.reduce([(table > 0.01) & (table < 0.99) for table in tables])
    np.testing.assert_allclose(forest.label_posterior[inner], (1 / (1 + np.exp(-odds)))[inner], rtol=2e-2)


@settings(max_examples=20)
@given(cases(max_words=4))
def test_one_grammar_twice_is_that_grammar(case: Case) -> None:
    chart = ChartParser(case.grammar)
    forest = chart.forest(case.words, EXACT)
    assume(forest is not None)
    best = decode(forest)
    words = [f"w{place}" for place in range(len(case.words))]
    twice = joint_words([case, case])
    for combination in COMBINATIONS:
        both = ChartParser([case.grammar, case.grammar], combination)
        found = both.forest(twice, EXACT)
        answer = decode(found)
        if combination in ("sum", "product"):
            np.testing.assert_allclose(found.label_posterior, forest.label_posterior, rtol=1e-3, atol=2e-4)
            assert answer.score == pytest.approx(best.score, rel=1e-3, abs=3e-3)
        else:  # both vote for the same tree
            assert to_tree(found, answer, words) == to_tree(forest, best, words)
            assert confidences(found, answer).min() == 1


def own_trees(members: list[Case], words: list[str]) -> list[Tree]:
    forests = [ChartParser(member.grammar).forest(member.words, EXACT) for member in members]
    assume(all(forest is not None for forest in forests))
    return [to_tree(forest, decode(forest), words) for forest in forests]


def brackets(tree: Tree) -> set[tuple]:
    """Labels over spans, those of tags among them."""
    found, position = set(), 0

    def walk(node: Tree) -> None:
        nonlocal position
        start = position
        if node.is_preterminal:
            position += 1
        for child in node.children:
            walk(child)
        found.add((node.is_preterminal, node.label, start, position))

    walk(tree)
    return found


@settings(max_examples=30)
@given(cases(max_words=4), st.integers(0, 1000))
def test_coverage_chooses_among_the_grammars_own_trees(case: Case, seed: int) -> None:
    """By counting: of all own trees the one whose labels occur most often in all of them."""
    coarse = case.grammar.coarse
    can_be_root = [not symbol.startswith("@") for symbol in case.grammar.symbols]
    assume(coarse.binary.all() and coarse.unary.all() and coarse.root[can_be_root].all())
    members = [case, *(with_other_states(case, seed + each) for each in range(3))]
    words = words_of(case)
    trees = own_trees(members, words)
    votes = [sum(len(brackets(tree) & brackets(other)) for other in trees) for tree in trees]
    forest = ChartParser([member.grammar for member in members], "coverage").forest(
        joint_words(members), EXACT
    )
    found = to_tree(forest, decode(forest), words)
    assert found in trees
    assert max(vote for vote, tree in zip(votes, trees, strict=True) if tree == found) == max(votes)
    # One kind each is coverage; one kind for all is the sum.
    kinds = [str(place) for place in range(4)]
    grammars = [member.grammar for member in members]
    forest = ChartParser(grammars, "hierarchical", kinds=kinds).forest(joint_words(members), EXACT)
    assert to_tree(forest, decode(forest), words) == found
    summed, single = (
        ChartParser(grammars, way, kinds=["all"] * 4).forest(joint_words(members), EXACT)
        for way in ("sum", "hierarchical")
    )
    assert to_tree(single, decode(single), words) == to_tree(summed, decode(summed), words)


def test_hierarchical_decoding_lets_a_reranker_choose_within_kinds() -> None:
    """A reranker that takes the second best tree of each kind: two kinds agree on it, and so it is the answer."""
    case = ambiguous_case(4)
    words = words_of(case)
    twice = joint_words([case, case])
    asked = []

    class Second:
        def ranked(self, forest: Forest, words: Sequence[str], k: int):
            asked.append(list(words))
            return k_best(forest, 2)[1:]

    grammars = [case.grammar, case.grammar]
    chart = ChartParser(grammars, "hierarchical", kinds=["dropout", "additive"], reranker=Second())
    forest = chart.forest(twice, EXACT, tokens=words)
    alone = ChartParser(case.grammar).forest(case.words, EXACT)
    ranked = [to_tree(alone, one, words) for one in k_best(alone, 2)]
    assert asked == [words, words]
    assert to_tree(forest, decode(forest), words) == ranked[1] != ranked[0]


def test_grammars_of_another_binarisation_have_a_say() -> None:
    right, left, words = ambiguous_grammars()
    single = [chart.forest(words, EXACT).label_posterior for chart in map(ChartParser, (right, left))]
    names = [label_table(one.symbols, one.n_phrases).names for one in (right, left)]
    assert names[0] == names[1]
    assert right.binary_rules.tolist() != left.binary_rules.tolist()
    twice = [replace(word, states=np.repeat(word.states, 2)) for word in words]
    forest = ChartParser([right, left], "sum").forest(twice, EXACT)
    np.testing.assert_allclose(forest.label_posterior, (single[0] + single[1]) / 2, rtol=1e-4)
    assert not np.allclose(single[0], single[1], atol=0.02)


def test_what_does_not_go_together_is_refused() -> None:
    right, left, _ = ambiguous_grammars()
    with pytest.raises(OptionError, match="product, sum"):
        ChartParser([right, left], "vote")
    other: LPCFG = replace(left, lexicon=replace(left.lexicon, tags=("q", *left.lexicon.tags[1:])))
    with pytest.raises(OptionError, match="same treebank"):
        ChartParser([right, other])


def test_a_first_grammar_without_a_probability_lends_nothing_to_the_others() -> None:
    """The forest belongs to the second grammar then: it is decoded with that one's states."""
    case = ambiguous_case(5)
    n_states = np.ones(case.grammar.n_symbols, np.int32)
    rules = (case.grammar.binary_rules, case.grammar.unary_rules)
    bare = grammar_of(case.grammar.symbols, 2, n_states, *rules, np.random.default_rng(2))
    empty = Case(replace(bare, binary=np.zeros_like(bare.binary)), [])
    # its rules have weights, so that the coarse chart is filled, but no state of it derives anything
    coarse = case.grammar.coarse
    nothing = replace(
        empty.grammar, binary_weight=coarse.binary, unary_weight=coarse.unary, root_weight=coarse.root
    )
    ones = [replace(word, states=np.ones(len(word.tags), np.float32)) for word in case.words]
    words = joint_words([Case(nothing, ones), case])
    forest = ChartParser([nothing, case.grammar], "sum").forest(words, EXACT)
    alone = ChartParser(case.grammar).forest(case.words, EXACT)
    assert forest is not None
    assert alone is not None
    assert forest.grammar is case.grammar
    best, expected = viterbi(forest), viterbi(alone)
    assert best is not None
    assert expected is not None
    assert forest_items(forest)[best.items[0]] == forest_items(alone)[expected.items[0]]
    assert best.score == pytest.approx(expected.score, rel=1e-4)
    ranked = k_best(forest, 3)
    for value, tree in zip(log_probabilities(forest, ranked), ranked, strict=True):
        [wanted] = log_probabilities(alone, [tree])
        assert value == pytest.approx(wanted, rel=1e-4)


def shape_shares(case: Case, words: list[str]) -> dict[Tree, float]:
    """The weight of every tree in the shape of the treebank, from the list of all derivations."""
    shares: dict[Tree, float] = defaultdict(float)
    emission = reference.emissions(case.grammar, case.words)
    for weight, derivation in enumerate_derivations(case.grammar, emission):
        shares[debinarise(binarised_tree(case.grammar, skeleton(derivation), words))] += weight
    return shares


def test_trees_have_the_probability_of_the_mixture() -> None:
    """Three grammars, one of another binarisation, each tree by enumeration."""
    right, left, words = ambiguous_grammars()
    first = Case(right, words)
    rng = np.random.default_rng(4)
    other = grammar_of(
        right.symbols,
        right.n_phrases,
        np.ones(right.n_symbols, np.int32),
        right.binary_rules,
        right.unary_rules,
        rng,
    )
    members = [first, Case(other, words), Case(left, words)]
    forest = ChartParser([member.grammar for member in members]).forest(joint_words(members), EXACT)
    assert forest is not None
    tokens = words_of(first)
    shares = [shape_shares(member, tokens) for member in members]
    ranked = k_best(forest, 8)
    assert len(ranked) == 8
    for tree, value in zip(ranked, log_probabilities(forest, ranked), strict=True):
        shape = to_tree(forest, tree, tokens)
        expected = np.mean([share.get(shape, 0.0) for share in shares])
        assert all(share.get(shape, 0.0) > 0 for share in shares[:2])
        assert np.exp(value) == pytest.approx(expected, rel=1e-4)
    assert any(shares[2].get(to_tree(forest, tree, tokens), 0.0) > 0 for tree in ranked)


class LabelExpert:
    """An expert that knows labels over spans and no rules."""

    name = "neural"

    def __init__(self, probability: float, weight: float) -> None:
        self.probability, self.weight = probability, weight

    def posterior(self, words: Sequence[str], forest: Forest) -> ExpertPosterior:
        table = np.full_like(forest.label_posterior, self.probability)
        return ExpertPosterior(replace(forest, labels_over_spans=table), self.weight)


def test_experts_of_labels_alone_leave_rules_as_they_are() -> None:
    case = ambiguous_case(5)
    alone = ChartParser(case.grammar).forest(case.words, EXACT)
    experts = [LabelExpert(0.25, 0.5), LabelExpert(0.75, 0.25)]
    chart = ChartParser(case.grammar, "sum", experts=experts)
    both = chart.forest(case.words, EXACT, tokens=words_of(case))
    np.testing.assert_array_equal(both.edge_posterior, alone.edge_posterior)
    expected = 0.75 * (0.5 * alone.label_posterior + 0.5 * 0.25) + 0.25 * 0.75
    np.testing.assert_allclose(both.label_posterior, expected, rtol=1e-5)
    batch = [ChartInput(case.words, None, words_of(case)), ChartInput(case.words)]
    together = chart.forests(batch, EXACT)
    np.testing.assert_array_equal(together[0].label_posterior, both.label_posterior)
    np.testing.assert_allclose(together[1].label_posterior, alone.label_posterior, rtol=1e-6)
