"""The binariser against its inverse, on any tree, and against shapes worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import trees

from gramian.errors import InputError, OptionError
from gramian.trees import Tree, binarise, debinarise

FLAT = Tree.parse("(X (A a) (B b) (C c) (D d))")


def last_child(tree: Tree) -> int:
    return len(tree.children) - 1


def middle_child(tree: Tree) -> int:
    return len(tree.children) // 2


@given(
    tree=trees,
    direction=st.sampled_from(["right", "left", "head"]),
    horizontal=st.sampled_from([0, 1, 2, 3, None]),
    vertical=st.integers(1, 4),
    heads=st.sampled_from([last_child, middle_child, lambda tree: 0]),
    collapse_tags=st.booleans(),
)
def test_debinarise_is_the_inverse(tree, direction, horizontal, vertical, heads, collapse_tags):
    binary = binarise(
        tree,
        direction=direction,
        horizontal=horizontal,
        vertical=vertical,
        heads=heads,
        collapse_tags=collapse_tags,
    )
    assert binary.words == tree.words
    assert debinarise(binary) == tree
    # The labels survive being written and read as text.
    assert debinarise(Tree.parse(str(binary))) == tree
    for node in binary.subtrees():
        assert len(node.children) <= 2
        if len(node.children) == 1:
            child = node.children[0]
            assert child.is_empty or (child.is_preterminal and not collapse_tags)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "(X (@X (@X (A a) (B b)) (C c)) (D d))"),
        ({"direction": "left"}, "(X (A a) (@X (B b) (@X (C c) (D d))))"),
        ({"direction": "head", "heads": last_child}, "(X (A a) (@X (B b) (@X (C c) (D d))))"),
        ({"direction": "head", "heads": middle_child}, "(X (@X (A a) (@X (B b) (C c))) (D d))"),
        ({"direction": "head", "heads": lambda tree: 1}, "(X (@X (@X (A a) (B b)) (C c)) (D d))"),
        ({"horizontal": 1}, "(X (@X[D] (@X[C] (A a) (B b)) (C c)) (D d))"),
        ({"horizontal": 2}, "(X (@X[D] (@X[D,C] (A a) (B b)) (C c)) (D d))"),
        ({"horizontal": None, "direction": "left"}, "(X (A a) (@X[A] (B b) (@X[A,B] (C c) (D d))))"),
    ],
)
def test_flat_phrase(options, expected):
    assert str(binarise(FLAT, **options)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "(ROOT|S (NP (PRP I)) (S|VP (@VP (V go) (ADV home)) (ADV now)))"),
        ({"collapse_tags": True}, "(ROOT|S (NP|PRP I) (S|VP (@VP (V go) (ADV home)) (ADV now)))"),
        (
            {"vertical": 2},
            "(ROOT|S (NP^S (PRP I)) (S|VP^S (@VP^S (V go) (ADV home)) (ADV now)))",
        ),
        (
            {"vertical": 3, "horizontal": 1},
            "(ROOT|S (NP^S^ROOT (PRP I)) (S|VP^S^ROOT (@VP[ADV]^S^ROOT (V go) (ADV home)) (ADV now)))",
        ),
    ],
)
def test_chains_and_vertical_context(options, expected):
    tree = Tree.parse("(ROOT (S (NP (PRP I)) (S (VP (V go) (ADV home) (ADV now)))))")
    assert str(binarise(tree, **options)) == expected


def test_siblings_are_remembered_by_the_top_of_their_chain():
    tree = Tree.parse("(X (A a) (B b) (S (VP (V v) (N n))))")
    assert str(binarise(tree, horizontal=1)) == "(X (@X[S] (A a) (B b)) (S|VP (V v) (N n)))"


def test_one_word():
    tree = Tree.parse("(S (NP (NN Rain)))")
    assert str(binarise(tree)) == "(S|NP (NN Rain))"
    assert str(binarise(tree, collapse_tags=True)) == "(S|NP|NN Rain)"
    assert binarise(Tree.parse("(NN Rain)")) == Tree.parse("(NN Rain)")


def test_marks_in_labels_are_escaped():
    tree = Tree.parse("(@X (A|B a) (C^D b) (, ,))")
    assert str(binarise(tree)) == "(%40X (@%40X (A%7CB a) (C%5ED b)) (%2C ,))"


def test_lines_are_kept():
    tree = Tree("X", FLAT.children, line=7)
    assert binarise(tree).line == 7
    assert debinarise(binarise(tree)).line == 7


def test_depth_and_width_have_no_limit():
    deep = Tree.parse("(X (A a) " * 10_000 + "(B b)" + ")" * 10_000)
    chain = Tree.parse("(X " * 10_000 + "(B b)" + ")" * 10_000)
    wide = Tree("X", [Tree("A", word="a")] * 5_000)
    for tree in (deep, chain, wide):
        assert debinarise(binarise(tree, horizontal=2, vertical=3)) == tree


def test_wrong_options_are_named():
    with pytest.raises(OptionError, match="'right', 'left' or 'head'"):
        binarise(FLAT, direction="up")
    with pytest.raises(OptionError, match="needs head rules"):
        binarise(FLAT, direction="head")
    with pytest.raises(OptionError, match="vertical"):
        binarise(FLAT, vertical=0)
    with pytest.raises(OptionError, match="horizontal"):
        binarise(FLAT, horizontal=-1)


def test_an_intermediate_root_is_refused():
    with pytest.raises(InputError, match="intermediate"):
        debinarise(Tree.parse("(@X (A a) (B b))"))
