"""What patterns mean: tables by hand, and the fast matcher against the readable one on trees and patterns drawn at random."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import InputError
from gramian.search.pattern import has_backreference, needed_names, parse_pattern
from gramian.search.table_match import TableMatcher
from gramian.search.tree_match import matches
from gramian.trees import Tree

TREE = Tree.parse(
    "(S (NP (NP (DT the) (NN end)) (PP (IN of) (NP (DT the) (NN war)))) (VP (VBD came) (ADVP (RB soon))) (. .))"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NP < (PP < of)", ["the end of the war"]),
        ("NP < (PP < (IN < of))", ["the end of the war"]),
        ("NP", ["the end of the war", "the end", "the war"]),
        ("NP !< PP", ["the end", "the war"]),
        ("NP << war", ["the end of the war", "the war"]),
        ("NP !<< war", ["the end"]),
        ("NP > PP", ["the war"]),
        ("NP >> NP", ["the end", "the war"]),
        ("war >> (NP > S)", ["war"]),
        ("NP <1 DT", ["the end", "the war"]),
        ("NP <, the", ["the end", "the war"]),
        ("NP <- PP", ["the end of the war"]),
        ("NP <-2 the", ["the end", "the war"]),
        ("PP >2 NP", ["of the war"]),
        ("NP >- PP", ["the war"]),
        ("of >1 PP", ["of"]),
        ("ADVP <: RB", ["soon"]),
        ("ADVP <: soon", ["soon"]),
        ("RB >: ADVP", ["soon"]),
        ("NP $. PP", ["the end"]),
        ("PP $, NP", ["of the war"]),
        ("NP $.. /^\\.$/", ["the end of the war"]),
        ("VP $,, NP", ["came soon"]),
        ("NP $ VP", ["the end of the war"]),
        ("of $+ NP", ["of"]),
        ("NP . VP", ["the end of the war", "the war"]),
        ("VP , war", ["came soon"]),
        ("DT .. DT", ["the"]),
        ("DT ,, end", ["the"]),
        ("NP < DT < NN", ["the end", "the war"]),
        ("NP < DT & < NN", ["the end", "the war"]),
        ("NP < PP | < war", ["the end of the war", "the war"]),
        ("NP [< PP | < war] > S", ["the end of the war"]),
        ("NP ![< PP | < war]", ["the end"]),
        ("IN|RB", ["of", "soon"]),
        ("/^N/ > S", ["the end of the war"]),
        ("!NP > S", ["came soon", ".", "."]),
        ('"." > *', [".", "."]),
        ("* > S", ["the end of the war", "came soon", ".", "."]),  # the tag, and the word
        ("NN=x $, (DT . =x)", ["end", "war"]),
        ("(NP < (PP))", ["the end of the war"]),
    ],
)
def test_the_meaning_of_patterns(text, found):
    pattern = parse_pattern(text)
    words = TREE.words
    seen = [" ".join(words[one.start : one.end]) for one in matches(pattern, TREE)]
    assert seen == found
    if not has_backreference(pattern):
        assert TableMatcher(pattern).counts([str(TREE)]).tolist() == [len(matches(pattern, TREE))]


def test_names_stand_for_nodes():
    [found] = matches(parse_pattern("NP=whole < (PP < of < NP=whose) <1 (NP << /^e/=word)"), TREE)
    assert {name: str(tree) for name, (tree, _, _) in found.captures.items()} == {
        "whole": str(TREE[0]),
        "whose": "(NP (DT the) (NN war))",
        "word": "(NN end)",
    }
    assert found.captures["word"][1:] == (1, 2)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", 1, "a node is missing"),
        ("NP <", 5, "a node is missing"),
        ("NP < (PP", 9, r"'\)' is missing"),
        ("NP [< PP", 9, r"'\]' is missing"),
        ("NP < PP)", 8, "unexpected text"),
        ("NP < PP &", 10, "a relation is missing"),
        ("NP ! PP", 6, "a relation is missing"),
        ("NP < /(/", 7, "invalid regular expression"),
        ("NP < =a", 7, "no node is named 'a'"),
        ("NP < \x22x", 6, "unexpected character"),
    ],
)
def test_a_pattern_that_cannot_be_read_shows_where(text, place, what):
    with pytest.raises(InputError, match=what) as caught:
        parse_pattern(text)
    assert caught.value.column == place


def test_labels_with_dollars_and_hyphens():
    tree = Tree.parse("(NP-SBJ (PRP$ his) (NN house))")
    for text in ("NP-SBJ < PRP$", "PRP$ $. NN", "NP-SBJ < PRP$|DT", "NP-SBJ<PRP$"):
        assert len(matches(parse_pattern(text), tree)) == 1


def test_what_is_needed_is_told():
    assert needed_names(parse_pattern("NP < (PP|VP < of !< to) [< A | < B]")) == [
        frozenset({"NP"}), frozenset({"PP", "VP"}), frozenset({"of"}),
    ]  # fmt: skip


LABELS = st.sampled_from(["A", "B", "C"])
WORDS = st.sampled_from(["a", "b", "A"])
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABELS, WORDS),
    lambda below: st.builds(Tree, LABELS, st.lists(below, min_size=1, max_size=3)),
    max_leaves=8,
)
KINDS = [
    "<",
    ">",
    "<<",
    ">>",
    "<1",
    "<2",
    "<-1",
    "<-2",
    ">1",
    ">-1",
    ">2",
    "<:",
    ">:",
    "$",
    "$.",
    "$,",
    "$..",
    "$,,",
    ".",
    ",",
    "..",
    ",,",
]
TESTS = st.sampled_from(["A", "B", "a", "b", "*", "A|b", "/[Aa]/", "!A"])
RELATIONS = st.recursive(
    st.builds(
        lambda no, kind, test: f"{no}{kind} {test}", st.sampled_from(["", "!"]), st.sampled_from(KINDS), TESTS
    ),
    lambda below: st.one_of(
        st.builds(
            lambda kind, test, inside: f"{kind} ({test} {inside})", st.sampled_from(KINDS), TESTS, below
        ),
        st.builds(lambda one, two, no: f"{no}[{one} | {two}]", below, below, st.sampled_from(["", "!"])),
        st.builds(lambda one, two: f"{one} {two}", below, below),
    ),
    max_leaves=3,
)


@given(st.lists(TREES, min_size=1, max_size=4), TESTS, RELATIONS)
def test_the_fast_matcher_finds_what_the_reference_finds(trees, test, relations):
    pattern = parse_pattern(f"{test} {relations}")
    expected = [len(matches(pattern, tree)) for tree in trees]
    assert TableMatcher(pattern).counts([str(tree) for tree in trees]).tolist() == expected


def test_a_deep_tree():
    depth = 300
    tree = "(A " * depth + "(B b)" + ")" * depth
    assert TableMatcher(parse_pattern("A << b")).counts([tree, "(B b)"]).tolist() == [depth, 0]
