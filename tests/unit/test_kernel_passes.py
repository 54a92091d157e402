"""Kernels whose arguments are not counted: nothing is freed too early, nothing is kept, and what is rare in kernels works as well."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from gramian.jit import helper_kernel, kernel


class Pair(NamedTuple):
    one: Any
    two: Any


@kernel
def first_or_second(pair, flag):
    one, two = pair.one, pair.two
    if flag > 0:
        result = one
    elif flag < 0:
        result = two
    else:
        result = np.zeros(3)
    return result


@kernel
def set_anew(array, times):
    for _ in range(times):
        array = array + 1.0
    return array


@kernel
def used_in_one_branch(pair, flag):
    total = 0.0
    if flag > 0:
        if flag > 1:
            total += pair.one.sum()
        total += pair.two[0]
    return total


@helper_kernel
def _tail(pair):
    return Pair(pair.one[1:], pair.two)


@kernel
def shortened(pair, times):
    for _ in range(times):
        pair = _tail(pair)
    return pair


@kernel
def itself(array):
    return array


@kernel
def comprehended(array):
    squares = [x * x for x in array]
    return np.array(squares) - array * 2.0 + np.exp(array)


@kernel
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@pytest.fixture
def counted():
    """Have numba count what kernels allocate and free."""
    itself(np.zeros(1))  # which begins its runtime
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def references(*arrays) -> list[int]:
    return [sys.getrefcount(array) for array in arrays]


def test_whoever_calls_holds_the_arguments(counted):
    rng = np.random.default_rng(1)
    pair = Pair(rng.random(5), rng.random(5))
    kept = Pair(pair.one.copy(), pair.two.copy())
    before = references(*pair)
    stats = rtsys.get_allocation_stats()
    for _ in range(100):
        for flag, expected in ((1, kept.one), (-1, kept.two), (0, np.zeros(3))):
            np.testing.assert_array_equal(first_or_second(pair, flag), expected)
        for times in range(3):
            np.testing.assert_allclose(set_anew(pair.one, times), kept.one + times, rtol=1e-12)
            short = shortened(pair, times)
            np.testing.assert_array_equal(short.one, kept.one[times:])
            np.testing.assert_array_equal(short.two, kept.two)
        assert used_in_one_branch(pair, 0) == 0
        assert used_in_one_branch(pair, 1) == kept.two[0]
        assert used_in_one_branch(pair, 2) == pytest.approx(kept.one.sum() + kept.two[0], rel=1e-12)
    del short
    assert references(*pair) == before
    after = rtsys.get_allocation_stats()
    assert after.alloc - stats.alloc == after.free - stats.free > 0
    np.testing.assert_array_equal(pair.one, kept.one)
    np.testing.assert_array_equal(pair.two, kept.two)


def test_what_is_returned_outlives_its_argument():
    array = np.arange(1000.0)
    same = itself(array)
    del array
    np.testing.assert_array_equal(same, np.arange(1000.0))
    tail = shortened(Pair(np.arange(1000.0), np.ones(1)), 2).one
    np.testing.assert_array_equal(tail, np.arange(2, 1000.0))


@kernel
def growing(n):
    """Types that are found by going round twice: a number that becomes real, a kernel that calls itself before it returns a real one."""
    total, last = 0, 0
    for i in range(n):
        total = total + last
        last = i * 0.5
    return total


@kernel
def halved(n):
    if n > 3:
        return halved(n - 1)
    if n == 3:
        return 1
    return n * 0.5


def test_types_that_change_on_the_way():
    assert growing(5) == 0 + 0 + 0.5 + 1 + 1.5
    assert halved(7) == 1
    assert halved(1) == 0.5


def test_functions_within_kernels_and_expressions_of_arrays():
    array = np.array([0.5, 1.5, -2.0])
    np.testing.assert_allclose(comprehended(array), array * array - 2 * array + np.exp(array), rtol=1e-12)
    assert factorial(5) == 120
