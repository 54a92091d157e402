"""nltk.Tree both ways, against nltk's own reader."""

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.interop.nltk import from_nltk
from gramian.trees import Tree

names = st.text("ABCab-,.é語1", min_size=1, max_size=4)
words = st.text("abc()é語/", min_size=1, max_size=4)
trees = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), names, words),
    lambda parts: st.builds(Tree, names, st.lists(parts, min_size=1, max_size=4)),
    max_leaves=15,
)


@given(trees)
def test_both_ways(tree):
    other = tree.to_nltk()
    assert other == nltk.Tree.fromstring(str(tree))
    assert from_nltk(other) == tree


def test_outer_bracket_and_escapes():
    text = "( (S (-LRB- -LRB-) (NN x)))"
    assert Tree.parse(text).to_nltk() == nltk.Tree.fromstring(text)
    assert from_nltk(nltk.Tree.fromstring(text)).words == ("(", "x")


def test_depth_has_no_limit():
    tree = Tree.parse("(X " * 10_000 + "(A a)" + ")" * 10_000)
    assert from_nltk(tree.to_nltk()) == tree


def test_a_word_beside_phrases_is_refused():
    with pytest.raises(ValueError, match="'dog' below 'NP' needs its own tag"):
        from_nltk(nltk.Tree.fromstring("(NP (DT the) dog)"))
