"""Numbers of states, by the formulas of the papers."""

from math import ceil

import numpy as np
import pytest

from gramian.errors import OptionError
from gramian.learn.learner import allocate_states


@pytest.mark.parametrize("states", [2, 8, 32])
def test_by_frequency(states):
    counts = np.array([0, 1, 50, 51, 275, 499, 500, 10**6])
    expected = [
        1 if f <= 50 else states if f >= 500 else min(states, ceil((f - 50) / (450 / max(states - 2, 1))) + 1)
        for f in counts.tolist()
    ]
    assert allocate_states(counts, states, "frequency").tolist() == expected


def test_by_root():
    counts = np.array([1, 9, 40, 400, 1600, 10**6])
    assert allocate_states(counts, 16, "root", 0.25).tolist() == [1, 1, 2, 5, 10, 16]
    assert allocate_states(counts, 16, "root", 10).tolist() == [
        1,
        1,
        4,
        16,
        16,
        16,
    ]  # ten occurrences a state


def test_all_and_none():
    assert allocate_states(np.array([1, 100]), 4, "all").tolist() == [4, 4]
    assert allocate_states(np.array([1, 10**6]), 1, "root").tolist() == [1, 1]


def test_bad_options():
    with pytest.raises(OptionError, match=r"^n_states must be at least 1, got 0$"):
        allocate_states(np.array([1]), 0)
    with pytest.raises(OptionError, match=r"^allocation must be one of root, frequency, all, got 'some'$"):
        allocate_states(np.array([1]), 2, "some")
