"""Dependency trees as phrases: one tree of phrases for each dependency tree, and no others in a grammar's chart."""

from __future__ import annotations

from itertools import product
from math import exp, log

import pytest

from gramian.dependency.phrase_trees import phrase_heads, phrase_tree
from gramian.learn import Observations, SpectralClustering
from gramian.learn.learner import mean_log_likelihood
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.treebank import Treebank
from gramian.trees import Tree, annotation_scheme, is_projective


def dependency_trees(length: int, roots: int | None = None) -> list[tuple[int, ...]]:
    """Enumerate the projective trees of so many words, with a number of roots, or any."""
    found = []
    for heads in product(range(length + 1), repeat=length):
        above = [0, *heads]
        tops = list(range(length + 1))
        for _ in range(length):
            tops = [above[top] for top in tops]
        if not any(tops) and is_projective(heads) and roots in (None, heads.count(0)):
            found.append(heads)
    return found


def arrays(trees: list[Tree]) -> Treebank:
    return Treebank.from_trees(trees, options=annotation_scheme("whole").options)


def test_the_number_of_projective_trees_is_known():
    assert [len(dependency_trees(length, roots=1)) for length in (1, 2, 3, 4)] == [1, 2, 7, 30]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_phrases_of_different_trees_differ_and_keep_the_heads(length):
    symbols = ["a", "(", "a", "b<"][:length]
    trees = {heads: phrase_tree(symbols, heads) for heads in dependency_trees(length)}
    assert len(set(trees.values())) == len(trees)
    for heads, tree in trees.items():
        assert phrase_heads(Tree.parse(str(tree))) == list(heads)
        assert tree.words == tuple(symbols)


def test_words_have_the_probability_of_all_their_dependency_trees():
    bank = [
        phrase_tree(symbols, heads)
        for length in (1, 2, 3)
        for symbols in product("ab", repeat=length)
        for heads in dependency_trees(length, roots=1)
    ]
    grammar = SpectralClustering(2, lexicon="tag").fit(arrays(bank)).model_
    parser = Parser(Model((grammar,)), max_seconds=None)
    for symbols in ("ab", "bab", "abba"):
        trees = [phrase_tree(symbols, heads) for heads in dependency_trees(len(symbols), roots=1)]
        total = sum(exp(mean_log_likelihood(grammar, Observations(arrays([tree])))) for tree in trees)
        assert parser.parse(list(symbols)).log_prob_words == pytest.approx(log(total), rel=1e-4)


def test_states_pass_from_a_head_to_the_modifiers_of_its_modifier():
    # "p" belongs to "n" under "q a", and to "a" under "r a": the rules of "a" do not tell without states.
    by_head = {"qanp": (0, 1, 2, 3), "ranp": (0, 1, 2, 2)}
    bank = arrays([phrase_tree(symbols, heads) for symbols, heads in by_head.items()] * 30)

    def heads(n_states: int) -> list[tuple[int, ...]]:
        grammar = SpectralClustering(n_states, allocation="all", lexicon="tag").fit(bank).model_
        parser = Parser(Model((grammar,)), max_seconds=None)
        return [tuple(phrase_heads(parser.parse(list(symbols)).tree)) for symbols in by_head]

    first, second = heads(1)
    assert first == second
    assert heads(3) == list(by_head.values())


def test_a_tree_without_sides_has_the_first_word_as_its_head():
    assert phrase_heads(Tree.parse("(X (A a) (B< (C c) (B b)) (D d))")) == [0, 3, 1, 1]
