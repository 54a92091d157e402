"""Regular expressions of patterns: what Python's engine finds is found, and nothing takes exponential time."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.search.linear_regex import LinearRegex

ATOMS = ["a", "b", ".", "[ab]", "[^a]", "[a-]", r"\w", r"\b", "^", "$", r"\.", "A", "[B-a]"]
REGEXES = st.recursive(
    st.sampled_from(ATOMS),
    lambda below: st.one_of(
        st.lists(below, max_size=3).map("".join),
        st.builds("({}|{})".format, below, below),
        st.builds(
            "(?:{}){}".format, below, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{1,}", "*?", "+?"])
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(REGEXES, st.text("abAB.-", max_size=6), st.booleans())
def test_what_python_finds_is_found(text, label, ignore_case):
    expected = re.search(text, label, re.IGNORECASE if ignore_case else re.NOFLAG)
    regex = LinearRegex(text, ignore_case)
    assert regex.matches(label) == (expected is not None)
    assert (regex.groups(label) is None) == (expected is None)


@pytest.mark.parametrize(
    ("text", "label"),
    [("^(.+)-(.+)$", "NP-SBJ-1"), ("(a|ab)(c|bcd)?", "abcd"), ("(V)?(B)", "VBZ"), ("x(y)?", "x")],
)
def test_groups_are_those_of_python(text, label):
    found = re.search(text, label)
    assert LinearRegex(text).groups(label) == (found[0], *found.groups())


@pytest.mark.parametrize("text", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", "a*a*a*a*a*a*b"])
def test_no_expression_hangs(text):
    assert not LinearRegex(text).matches("a" * 2000 + "c")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("(", "missing"), ("a)", "unexpected"), ("*a", "no argument for repetition"), ("[a", "missing ]"), ("[b-a]", "range"),
        (r"(a)\1", "invalid escape"), ("(?<=a)b", "lookbehind are not supported"), ("^(?!NP)", "negate a test instead"),
        ("((a{99}){99})", "repetition"), ("a{9999}", "repetition size"), ("a{2,1}", "repetition"), ("\\", "trailing"),
        ("(" * 20_000, "missing"), ("a" * 5_000_000, "too large"), ("\ud800", "surrogates"),
    ],
)  # fmt: skip
def test_what_is_refused(text, what):
    with pytest.raises(ValueError, match=what):
        LinearRegex(text)
