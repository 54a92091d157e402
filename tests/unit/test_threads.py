"""Threads that keep the order of a stream."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from gramian.errors import OptionError
from gramian.threads import batches_in_order, in_order, one_blas_thread


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_order(n_jobs: int) -> None:
    assert list(in_order(lambda number: number * number, range(200), n_jobs)) == [n * n for n in range(200)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_before_an_error_come_first(n_jobs: int) -> None:
    found = []
    with pytest.raises(ZeroDivisionError):
        found.extend(in_order(lambda number: 1 / (number - 50), range(100), n_jobs))
    assert len(found) == 50


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_of_the_source_comes_last(n_jobs: int) -> None:
    def source() -> Iterator[int]:
        yield from range(40)
        raise ValueError("torn off")

    found = []
    with pytest.raises(ValueError, match="torn off"):
        found.extend(in_order(abs, source(), n_jobs))
    assert found == list(range(40))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_that_are_read_ahead_come_before_what_tears_them_off(n_jobs: int) -> None:
    sizes = []

    def work(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        return batch

    def source() -> Iterator[int]:
        yield from range(40)
        raise ValueError("torn off")

    found = []
    with pytest.raises(ValueError, match="torn off"):
        found.extend(batches_in_order(work, source(), n_jobs, ahead=True))
    assert found == list(range(40))
    assert max(sizes) > 1
    sizes.clear()
    assert list(batches_in_order(work, iter(range(3)))) == [0, 1, 2]
    assert sizes == [1, 1, 1]  # nobody knows when the next will come


def test_only_a_few_items_are_read_ahead_and_threads_end() -> None:
    read = []
    results = in_order(abs, (read.append(number) or number for number in range(10_000)), 2)
    assert next(results) == 0
    assert len(read) < 200
    results.close()  # type: ignore[attr-defined]
    assert not [one for one in threading.enumerate() if one.name.startswith("gramian")]


def test_at_least_one_thread() -> None:
    with pytest.raises(OptionError, match="n_jobs must be at least 1, got 0"):
        in_order(abs, [1], 0)


def test_one_blas_thread_for_all_within_and_as_before_after_the_last():
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")

    def now():
        assert np.eye(2).sum() == 2  # its library is there
        return [library["num_threads"] for library in blas.info()]

    with blas.limit(limits=2):
        before = now()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert set(now()) == {1}
        first.__exit__(None, None, None)  # another thread is still within
        assert set(now()) == {1}
        second.__exit__(None, None, None)
        assert now() == before


def test_products_stay_in_their_threads_while_results_come():
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")
    with blas.limit(limits=2):
        seen = in_order(lambda _: [one["num_threads"] for one in blas.info()], range(40), 2)
        assert {number for numbers in seen for number in numbers} == {1}
        assert {one["num_threads"] for one in blas.info()} == {2}
