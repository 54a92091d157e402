"""What patterns mean: tables by hand, and both matchers against a slow evaluator on trees and patterns drawn at random."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pattern_reference import count

from gramian.errors import InputError
from gramian.search.pattern import needed_names, needs_captures
from gramian.search.pattern_parser import parse_pattern
from gramian.search.table_match import TableMatcher
from gramian.search.tree_match import matches
from gramian.trees import HeadRules, Tree

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
        ("NP <' PP", ["the end of the war"]),
        ("war >>' NP", ["war"]),
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
        ("!NP > S", ["came soon", "."]),
        ('"." > S', ["."]),  # the tag, not the word
        ('"." > *', [".", "."]),
        ("* > S", ["the end of the war", "came soon", "."]),
        ("_ROOT_", ["the end of the war came soon ."]),
        ("NN=x $, (DT . =x)", ["end", "war"]),
        ("(NP < (PP))", ["the end of the war"]),
        ("(NP < DT) < war", ["the war"]),
        ("NP <# NN", ["the end", "the war"]),
        ("S <<# came", ["the end of the war came soon ."]),
        ("came >># S", ["came"]),
        ("PP <# of", ["of the war"]),
        ("NP <<, the", ["the end of the war", "the end", "the war"]),
        ("war >>- NP", ["war"]),
        ("NP <<- war", ["the end of the war", "the war"]),
        ("* <<: soon", ["soon", "soon"]),
        ("NP <+(NP|PP|NN) war", ["the end of the war", "the war"]),
        ("NP <+(PP) DT", ["the end", "the war"]),
        ("NN >+(NP) S", ["end"]),
        ("DT .+(NN) IN", ["the"]),
        ("NP <= PP", ["the end of the war"]),
        ("NP == NP", ["the end of the war", "the end", "the war"]),
        ("NP=a < (NP !== =a)", ["the end of the war"]),
        ("NP <... { DT ; NN }", ["the end", "the war"]),
        ("NP <... { DT }", []),
        ("NP=a ?< PP=b", ["the end of the war", "the end", "the war"]),
        ("DT=a .. (DT=b .. ~a)", []),
        ("the=a .. ~a", ["the"]),
        ("/^(.)H/|/^D/ > NP", ["the", "the"]),
        ("/^n(.)/i > S", ["the end of the war"]),
        ("/^(.)/#1%x > NP < /^(.)N$/#1%x", ["the end"]),
        ("VBD : (RB > ADVP)", ["came"]),
        ("VBD : VBN", []),
    ],
)
def test_the_meaning_of_patterns(text, found):
    pattern = parse_pattern(text)
    words = TREE.words
    seen = [" ".join(words[match.start : match.end]) for match in matches(pattern, TREE)]
    assert seen == found
    assert count(pattern, TREE) == len(found)
    if not needs_captures(pattern):
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
        ("(" * 20_000, 52, "more than 50 brackets in brackets"),
        ("NP " + "[" * 20_000, 55, "more than 50 brackets in brackets"),
        ("NP <... " + "{ A <... " * 9_000, 461, "more than 50 brackets in brackets"),
        ("NP <" + "9" * 5_000 + " DT", 4, "no node has so many children"),
        ("/(.)/#" + "9" * 5_000 + "%x", 7, "has no group"),
    ],
)
def test_a_pattern_that_cannot_be_read_shows_where(text, place, what):
    with pytest.raises(InputError, match=what) as caught:
        parse_pattern(text)
    assert caught.value.column == place


def test_labels_as_bracket_text_holds_them():
    tree = Tree.parse("(ROOT (NP-SBJ (PRP$ his) (-LRB- -LRB-) (NN S)))")
    for text in (
        "NP-SBJ < PRP$",
        "PRP$ $.. NN",
        "NP-SBJ < PRP$|DT",
        "NP-SBJ<PRP$",
        "@NP < NN",
        "@/^NP$/ > ROOT",
        '"-LRB-" > @NP',
        "NP-SBJ <2 -LRB-",
        "S > NP-SBJ",
    ):
        assert len(matches(parse_pattern(text), tree)) == 1, text
    assert TableMatcher(parse_pattern("@NP > ROOT")).counts([f"({str(tree)[5:]}", str(tree)]).tolist() == [
        1,
        1,
    ]


def test_head_rules_decide_what_is_a_head():
    tree = Tree.parse("(NP (N chat) (A noir))")
    for rules, heads in ((HeadRules.named("left"), [1, 0]), (HeadRules.named("right"), [0, 1])):
        for label, expected in zip("NA", heads, strict=True):
            pattern = parse_pattern(f"NP <# {label}")
            assert len(matches(pattern, tree, rules)) == expected
            assert TableMatcher(pattern, rules).counts([str(tree)]).tolist() == [expected]


def test_variables_are_returned():
    pattern = parse_pattern("/^(.+)-(.+)/#1%cat#2%fun < /^(.+)$/#1%inner")
    [match] = matches(pattern, Tree.parse("(NP-SBJ (NN dog))"))
    assert match.variables == {"cat": "NP", "fun": "SBJ", "inner": "NN"}


def test_what_is_needed_is_known():
    assert needed_names(parse_pattern("NP < (PP|VP < of !< to) [< A | < B] ?< C < @D")) == [
        frozenset({"NP"}), frozenset({"PP", "VP"}), frozenset({"of"}),
    ]  # fmt: skip


LABELS = st.sampled_from(["A", "B", "C", "A-x"])
WORDS = st.sampled_from(["a", "b", "A"])
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABELS, WORDS),
    lambda below: st.builds(Tree, LABELS, st.lists(below, min_size=1, max_size=3)),
    max_leaves=6,
)
CHILDREN = ["", ",", "-", ":", "#"]
KINDS = [
    *(axis + which for axis in ("<", ">", "<<", ">>") for which in CHILDREN),
    *[
        "<1",
        "<2",
        "<-1",
        "<-2",
        ">1",
        ">-1",
        ">2",
        "$",
        "$.",
        "$,",
        "$..",
        "$,,",
        ".",
        ",",
        "..",
        ",,",
        "==",
        "<=",
    ],
    *(f"{axis}+({path})" for axis in "<>.," for path in ("A", "!B", "__")),
    ":",
]
TESTS = st.sampled_from(["A", "B", "a", "b", "*", "A|b", "/[Aa]/", "!A", "@A", "/^a/i"])
NEGATION = st.sampled_from(["", "!", "?"])
RELATIONS = st.recursive(
    st.builds(lambda no, kind, test: f"{no}{kind} {test}", NEGATION, st.sampled_from(KINDS), TESTS),
    lambda below: st.one_of(
        st.builds(
            lambda kind, test, inside: f"{kind} ({test} {inside})", st.sampled_from(KINDS), TESTS, below
        ),
        st.builds(lambda left, right, no: f"{no}[{left} | {right}]", below, below, NEGATION),
        st.builds(lambda left, right: f"{left} {right}", below, below),
    ),
    max_leaves=3,
)
CAPTURING = st.builds(
    lambda kind, other, test, reference: f"{kind} ({test}=n /^(.)/#1%v) {other} ({reference})".replace(
        " /", " < /"
    ),
    st.sampled_from(KINDS),
    st.sampled_from(KINDS),
    TESTS.filter(lambda test: not test.startswith("/")),
    st.sampled_from(["=n", "~n", "A == =n", "!A", "/(.)$/#1%v"]),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_relation_is_what_its_definition_says(kind):
    trees = ["(A (B a) (A (A (B b) (C A)) (A-x (A a))) (B b))", "(A (A (A a)))", "(B (A a) (A b) (B B))"]
    for subject in ("*", "A", "a"):
        for target in ("*", "A", "b"):
            pattern = parse_pattern(f"{subject} {kind} {target}")
            expected = [count(pattern, Tree.parse(tree)) for tree in trees]
            assert [len(matches(pattern, Tree.parse(tree))) for tree in trees] == expected
            assert TableMatcher(pattern).counts(trees).tolist() == expected


@given(st.lists(TREES, min_size=1, max_size=3), TESTS, RELATIONS)
def test_both_matchers_find_what_the_definitions_say(trees, test, relations):
    pattern = parse_pattern(f"{test} {relations}")
    expected = [count(pattern, tree) for tree in trees]
    assert [len(matches(pattern, tree)) for tree in trees] == expected
    assert TableMatcher(pattern).counts([str(tree) for tree in trees]).tolist() == expected


@settings(max_examples=50)
@given(TREES, TESTS, CAPTURING)
def test_captured_nodes_and_variables(tree, test, relations):
    pattern = parse_pattern(f"{test} {relations}")
    assert len(matches(pattern, tree)) == count(pattern, tree)


def test_a_deep_tree():
    depth = 300
    tree = "(A " * depth + "(B b)" + ")" * depth
    assert TableMatcher(parse_pattern("A << b")).counts([tree, "(B b)"]).tolist() == [depth, 0]


def test_groups_are_compared_in_a_tree_5_000_deep():
    depth = 5_000
    tree = Tree.parse("(NP " * depth + "(NN a)" + ")" * depth)
    assert len(matches(parse_pattern("/N(.)/#1%x << /N(.)/#1%x"), tree)) == depth - 1
