"""Limits: what is begun is expected to keep within them, and parts lose no word."""

from hypothesis import given
from hypothesis import strategies as st

from gramian.chart.chart_parser import Pruning
from gramian.parsing.limits import Limits, cut, expected_bytes, expected_seconds

USUAL = Pruning()
SECONDS = st.none() | st.floats(1e-6, 100)
MEMORY = st.none() | st.integers(1, 1 << 32)
LENGTH = st.none() | st.integers(1, 500)
LIMITS = st.builds(Limits, LENGTH, SECONDS, MEMORY)


@given(LIMITS, st.integers(1, 2000), st.integers(1, 20_000))
def test_what_fits_is_within_limits(limits, n_words, n_rules):
    pruning = limits.fit(USUAL, n_words, n_rules)
    if pruning is not None:
        assert limits.length is None or n_words <= limits.length
        assert limits.seconds is None or expected_seconds(pruning, n_words, n_rules) <= limits.seconds
        assert limits.memory is None or expected_bytes(pruning, n_words) <= limits.memory
        assert pruning.beam >= USUAL.beam
        # The beam is not narrower than it has to be, by more than its steps.
        if pruning != USUAL:
            wider = Pruning(pruning.beam / 2, pruning.item, pruning.edge)
            assert expected_seconds(wider, n_words, n_rules) > limits.seconds
    parts = limits.part_length(USUAL, n_words, n_rules)
    assert 1 <= parts <= n_words
    if parts > 1:
        share = None if limits.seconds is None else limits.seconds * parts / n_words
        assert Limits(limits.length, share, limits.memory).fit(USUAL, parts, n_rules) == USUAL


def test_no_limits():
    assert Limits().fit(USUAL, 10**6, 10**6) is USUAL


def test_costs_grow():
    for cheap, dear in (
        (Pruning(0.1), USUAL),
        (USUAL, Pruning(1e-5, 5e-7, 1e-7)),
        (USUAL, Pruning(0.0, 0.0, 0.0)),
    ):
        assert expected_seconds(cheap, 50, 1000) < expected_seconds(dear, 50, 1000)
        assert expected_bytes(cheap, 50) <= expected_bytes(dear, 50)
        assert expected_seconds(dear, 50, 1000) < expected_seconds(dear, 51, 1000)


@given(st.lists(st.sampled_from(["a", ".", ",", ";"]), min_size=1), st.integers(1, 10))
def test_parts(words, longest):
    parts = cut(words, longest)
    assert [word for part in parts for word in words[part]] == words
    assert all(1 <= part.stop - part.start <= longest for part in parts)


def test_split_points_of_a_long_sentence_take_time_even_with_few_rules():
    assert Limits(seconds=0.5).fit(USUAL, 1008, 20) is None
    assert Limits(seconds=0.5).fit(USUAL, 200, 20) is USUAL
