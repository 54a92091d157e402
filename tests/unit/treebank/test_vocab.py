"""Word classes, worked out by hand from the rules of the split-merge parsers' lexicon."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.treebank.vocab import english_signature, shape, suffix_chain, word_features


@pytest.mark.parametrize(
    ("word", "signature"),
    [
        ("walked", "UNK-LC-ed"),
        ("walking", "UNK-LC-ing"),
        ("nation", "UNK-LC-ion"),
        ("bigger", "UNK-LC-er"),
        ("biggest", "UNK-LC-est"),
        ("quickly", "UNK-LC-ly"),
        ("density", "UNK-LC-ity"),
        ("happy", "UNK-LC-y"),
        ("legal", "UNK-LC-al"),
        ("cats", "UNK-LC-s"),
        ("glass", "UNK-LC"),  # no -s after s
        ("crisis", "UNK-LC"),  # ... nor after i
        ("virus", "UNK-LC"),  # ... nor after u
        ("as", "UNK-LC"),  # too short
        ("red", "UNK-LC"),  # -ed needs five letters
        ("shed", "UNK-LC"),
        ("well-walked", "UNK-LC-DASH"),  # no suffix with a hyphen
        ("well-knowns", "UNK-LC-DASH-s"),  # but -s
        ("Berlin", "UNK-CAPS"),
        ("Berlins", "UNK-CAPS-s"),
        ("IBM", "UNK-CAPS"),
        ("1990s", "UNK-LC-NUM-s"),
        ("1990", "UNK-NUM"),
        ("2,000", "UNK-NUM"),
        ("'Twas", "UNK-CAPS-s"),  # a capital after a character that is no letter
        ("K2-walking", "UNK-CAPS-NUM-DASH"),
        ("K2walking", "UNK-CAPS-NUM"),  # no suffix with digit and capital
        ("k2walking", "UNK-LC-NUM-ing"),
        ("?", "UNK"),
        ("--", "UNK-DASH"),
        ("東京", "UNK"),
    ],
)
def test_english_signature(word, signature):
    assert english_signature(word) == signature


def test_words_at_the_start_of_a_sentence():
    assert english_signature("Walking", initial=True) == "UNK-INITC-ing"
    assert english_signature("Walking", initial=True, known={"walking"}) == "UNK-INITC-KNOWNLC-ing"
    assert english_signature("McDonald", initial=True, known={"mcdonald"}) == "UNK-CAPS"
    assert english_signature("walking", initial=True, known={"walking"}) == "UNK-LC-ing"
    assert english_signature("Walking", known={"walking"}) == "UNK-CAPS-ing"


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
    top_tag = {"bound": "VBN", "the": "DT", "Smith": "NNP"}
    assert "l:DT:1" in word_features("The", True, top_tag)
    assert "C:NNP" in word_features("smith", False, top_tag)
    assert "h:VBN" in word_features("un-bound", False, top_tag)
    assert {"c:-", "n:8", "f:x-", "p4:un-b"} <= set(word_features("un-bound"))


@given(st.text(min_size=1, max_size=8), st.booleans())
def test_any_word_has_classes(word, initial):
    assert english_signature(word, initial).startswith("UNK")
    assert suffix_chain(word, initial)[0] == shape(word, initial)
    assert word_features(word, initial)
