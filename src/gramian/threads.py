"""Threads that work on a stream: results come in order, and only a few items are held at a time; and one thread where more do harm."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from threading import Event, Lock
from typing import Any, TypeVar

from gramian.errors import OptionError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_BATCH, _FEW = 32, 16  # items at a time: of those that are there, and of those that are still to come


def in_order(work: Callable[[_Item], _Result], items: Iterable[_Item], n_jobs: int = 1) -> Iterator[_Result]:
    """Return an iterator over the results of `work`, made by `n_jobs` threads a few batches ahead of what is asked for.

    An error, of the items' source or of an item, is raised once all results before it are out.
    """

    def one_by_one(batch: list[_Item]) -> Iterator[_Result]:
        return map(work, batch)

    return batches_in_order(one_by_one, items, n_jobs)


def batches_in_order(
    work: Callable[[list[_Item]], Iterable[_Result]],
    items: Iterable[_Item],
    n_jobs: int = 1,
    *,
    ahead: bool = False,
) -> Iterator[_Result]:
    """Return the same where `work` takes some items at a time.

    With one thread it takes one, unless items are a list, or may be read `ahead` of the results of those before.
    """
    if n_jobs < 1:
        raise OptionError(f"n_jobs must be at least 1, got {n_jobs}")
    size = _BATCH if ahead or isinstance(items, list | tuple) else _FEW if n_jobs > 1 else 1
    if n_jobs > 1:
        return alone(_in_threads(work, _batched(items, size), n_jobs))
    return (result for batch in _batched(items, size) for result in work(batch))


def _batched(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    source = iter(items)
    while True:
        batch: list[_Item] = []
        try:
            batch.extend(islice(source, size))
        except Exception:
            yield batch  # what comes before the fault
            raise
        if not batch:
            return
        yield batch


def alone(results: Iterable[_Result]) -> Iterator[_Result]:
    """Keep products in their threads for as long as results come: to switch that on and off in turns wakes threads that spin."""
    with one_blas_thread():
        yield from results


def _in_threads(
    work: Callable[[list[_Item]], Iterable[_Result]], batches: Iterator[list[_Item]], n_jobs: int
) -> Iterator[_Result]:
    def work_through(batch: list[_Item]) -> tuple[list[_Result], Exception | None]:
        results = []
        try:
            for result in work(batch):
                results.append(result)
                if stopped.is_set():
                    break
        except Exception as error:
            return results, error
        return results, None

    stopped = Event()
    pending: deque[Future[tuple[list[_Result], Exception | None]]] = deque()
    failure: Exception | None = None
    executor = ThreadPoolExecutor(n_jobs, thread_name_prefix="gramian")
    try:
        while True:
            while failure is None and len(pending) < 2 * n_jobs:
                try:
                    batch = next(batches, None)
                except Exception as error:
                    batch, failure = None, error
                if batch is None:
                    break
                pending.append(executor.submit(work_through, batch))
            if not pending:
                break
            results, wrong = pending.popleft().result()
            yield from results
            if wrong is not None:
                raise wrong
        if failure is not None:
            raise failure
    finally:
        stopped.set()  # nobody waits for what is not yet begun
        executor.shutdown(wait=True, cancel_futures=True)


class _OneThread:
    """How many callers are within, and what is to be restored when the last leaves."""

    lock = Lock()
    inside = 0
    libraries: Any = None
    limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's matrix products in the thread that asks for them.

    Products of a sentence are so small that a second thread, which waits for them by spinning, costs a core and gains nothing. What
    was set before is set again when nobody is within any more, whichever thread came first. Where threads are many, let the main thread
    be within first: newer versions of threadpoolctl let one living thread alone, the first that asks, change what all share.
    """
    state = _OneThread
    with state.lock:
        if state.libraries is None:
            from threadpoolctl import ThreadpoolController

            state.libraries = ThreadpoolController().select(user_api="blas")
        if state.inside == 0:
            state.limit = state.libraries.limit(limits=1)
        state.inside += 1
    try:
        yield
    finally:
        with state.lock:
            state.inside -= 1
            if state.inside == 0:
                state.limit.restore_original_limits()
