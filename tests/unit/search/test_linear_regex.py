"""Regular expressions of patterns: what Python's engine finds is found, and nothing takes exponential time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.search.linear_regex import LinearRegex

ATOMS = ["a", "b", ".", "[ab]", "[^a]", "[a-]", r"\w", r"\b", "^", "$", "(?=a)", "(?!b)", r"\.", "A", "[B-a]"]
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
        ("(", "missing"), ("a)", "unbalanced"), ("*a", "nothing to repeat"), ("[a", "too early"), ("[b-a]", "bad range"),
        (r"(a)\1", "not supported"), ("(?<=a)b", "supported"), ("(?=(?=a))", "not supported"), ("((a{99}){99})", "too large"),
        ("a{9999}", "too long"),
        ("a{2,1}", "wrong order"),
        ("(" * 99 + ")" * 99, "too many groups"), ("\\", "too early"),
    ],
)  # fmt: skip
def test_what_is_refused(text, what):
    with pytest.raises(ValueError, match=what):
        LinearRegex(text)
