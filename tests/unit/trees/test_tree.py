"""The Tree itself: what it holds, equality, text, and that nothing recurses."""

import copy
import pickle

import pytest
from hypothesis import given
from tree_strategies import trees, words

from gramian.errors import OptionError
from gramian.trees import BracketError, Tree, escape_word, parse_bracketed, unescape_word

TREE = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))")


def test_parts():
    assert TREE.label == "S"
    assert [child.label for child in TREE.children] == ["NP", "VP", "."]
    assert TREE.words == ("the", "dog", "barks", ".")
    assert TREE.tags == ("DT", "NN", "VBZ", ".")
    assert [leaf.word for leaf in TREE.leaves()] == list(TREE.words)
    assert [node.label for node in TREE.subtrees()] == ["S", "NP", "DT", "NN", "VP", "VBZ", "."]
    assert TREE.height == 3
    assert TREE.children[2].is_preterminal
    assert not TREE.is_preterminal


def test_spans():
    assert list(TREE.spans()) == [
        ("S", 0, 4),
        ("NP", 0, 2),
        ("DT", 0, 1),
        ("NN", 1, 2),
        ("VP", 2, 3),
        ("VBZ", 2, 3),
        (".", 3, 4),
    ]
    assert list(TREE.spans(preterminals=False)) == [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 3)]


@given(trees)
def test_spans_cover_the_words_of_their_nodes(tree):
    sentence = tree.words
    for node, (label, start, end) in zip(tree.subtrees(), tree.spans(), strict=True):
        assert label == node.label
        assert sentence[start:end] == node.words


@given(trees)
def test_text_is_exact(tree):
    assert Tree.parse(str(tree)) == tree
    assert Tree.parse(tree.pretty(width=20)) == tree
    assert str(Tree.parse(str(tree))) == str(tree)


@given(trees)
def test_equal_trees_are_interchangeable(tree):
    twin = Tree.parse(str(tree))
    assert twin == tree
    assert hash(twin) == hash(tree)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree


@given(trees, trees)
def test_equality_is_equality_of_text(one, two):
    assert (one == two) == (str(one) == str(two))


@given(words)
def test_words_and_tokens_are_in_bijection(word):
    assert unescape_word(escape_word(Tree("X", word=word).word)) == Tree("X", word=word).word


def test_brackets_in_words():
    tree = Tree.parse("(-LRB- -LRB-)")
    assert tree.word == "("
    assert tree.label == "-LRB-"
    assert str(tree) == "(-LRB- -LRB-)"
    assert Tree("-LRB-", word="-LRB-") == tree
    assert str(Tree("NN", word="f(x)")) == "(NN f-LRB-x-RRB-)"


def test_lines_are_kept_but_not_compared():
    tree = Tree("X", [Tree("A", word="a")], line=3)
    assert tree == Tree.parse("(X (A a))")
    assert pickle.loads(pickle.dumps(tree)).line == 3


def test_trees_do_not_change():
    with pytest.raises(AttributeError, match="immutable"):
        TREE.label = "X"
    with pytest.raises(AttributeError, match="immutable"):
        del TREE.label


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "NP"}, "neither children nor a word"),
        ({"label": "N P", "word": "x"}, "white space"),
        ({"label": "N(", "word": "x"}, "brackets"),
        ({"label": "N", "word": "x y"}, "white space"),
        ({"label": "N", "word": ""}, "white space"),
        ({"label": "", "word": "x"}, "needs a tag"),
        ({"label": "X", "word": "x", "children": [Tree("A", word="a")]}, "not both"),
    ],
)
def test_impossible_trees_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Tree(**arguments)


def test_children_are_trees():
    with pytest.raises(TypeError, match="word="):
        Tree("NP", ["the"])


def test_the_empty_tree():
    assert Tree("").is_empty
    assert str(Tree("")) == "()"
    assert Tree("").words == ()
    assert list(Tree("").spans()) == [("", 0, 0)]


def test_pretty_breaks_where_it_must():
    assert TREE.pretty() == str(TREE)
    assert TREE.pretty(width=30) == "(S\n  (NP (DT the) (NN dog))\n  (VP (VBZ barks))\n  (. .))"


def test_repr_is_short():
    assert repr(Tree.parse("(A a)")) == "Tree.parse('(A a)')"
    assert len(repr(Tree("X", [Tree("A", word="a")] * 1000))) < 120


def test_depth_has_no_limit():
    text = "(X (A a) " * 10_000 + "(B b)" + ")" * 10_000
    one, two = Tree.parse(text), Tree.parse(text)
    assert one == two
    assert hash(one) == hash(two)
    assert str(one) == text
    assert one.height == 10_001
    assert pickle.loads(pickle.dumps(one)) == one
    assert len(one.words) == 10_001
    assert max(end for _, _, end in one.spans()) == 10_001
    assert one.pretty().count("\n") > 9_000
    assert Tree.parse(one.pretty()) == one


def test_a_tree_in_code_has_one_word_under_a_tag():
    """Files may join words with '_', and say so; nobody would hear of it here."""
    with pytest.raises(BracketError) as caught:
        Tree.parse("(S (NP a b))")
    assert (caught.value.line, caught.value.column) == (1, 8)
    assert parse_bracketed("(S (NP a b))") == [Tree("S", [Tree("NP", word="a_b")])]
    with pytest.raises(OptionError, match="not int"):
        Tree.parse(5)
