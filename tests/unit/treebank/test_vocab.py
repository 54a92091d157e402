"""Shapes and suffixes of words, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.treebank.vocab import shape, suffix_chain, word_features


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Paris", "Xx"),
        ("PARIS", "X"),
        ("McDonald", "XxX"),
        ("iPhone", "xX"),
        ("word", "x"),
        ("élan", "x"),
        ("Москва", "Xx"),
        ("ΑΘΗΝΑ", "X"),
        ("東京", "x"),
        ("कि", "x"),
        ("مرحبا", "x"),
        ("1990", "d"),
        ("٣", "d"),
        ("2,500", "d"),
        ("1990s", "xd"),
        ("IL-2", "X-d"),
        ("well-known", "x-"),
        ("-", "p"),
        ("--", "p"),
        ("...", "p"),
        ("🙂", "p"),
        ("A", "X"),
    ],
)
def test_shapes(word, expected):
    assert shape(word) == expected


def test_shape_at_the_start_of_a_sentence():
    assert (shape("Paris", True), shape("paris", True), shape("PARIS", True)) == ("i", "x", "X")


def test_suffix_chain():
    assert suffix_chain("Walking") == ["Xx", "Xx/g", "Xx/ng", "Xx/ing", "Xx/king"]
    assert suffix_chain("a") == ["x"]
    assert suffix_chain("ab", longest=3) == ["x", "x/b"]


def test_word_features_of_a_known_relative():
    top_tag = {"bound": "VBN", "the": "DT", "Smith": "NNP"}.get
    assert "l:DT:1" in word_features("The", True, top_tag)
    assert "C:NNP" in word_features("smith", False, top_tag)
    assert "h:VBN" in word_features("un-bound", False, top_tag)
    assert {"c:-", "n:8", "f:x-", "p4:un-b"} <= set(word_features("un-bound"))


@given(st.text(min_size=1, max_size=8), st.booleans())
def test_any_word_has_classes(word, initial):
    assert suffix_chain(word, initial)[0] == shape(word, initial)
    assert word_features(word, initial)
