"""The workers of a Dask cluster, as many as there are at the moment; Dask itself gives the tasks of lost ones to others."""

import logging
from asyncio import CancelledError
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Generic, TypeVar

from gramian.errors import InputError, MissingExtraError, OptionError, counted

_log = logging.getLogger("gramian.cluster")
_Result = TypeVar("_Result")
_LOOK_AGAIN = 1.0  # seconds after which workers are counted again


class DaskPool(Generic[_Result]):
    """Gives each thread of each worker one task at a time, so that a worker that is stopped holds no more than these.

    `function` is one of a module that workers can import. What is `shared` is sent once to every worker; it is lost when all workers
    that have it are, so what little all tasks need is better part of them.
    """

    def __init__(self, function: Callable[[Any, Any], _Result], shared: Any, scheduler: str) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise MissingExtraError("dask.distributed", "cluster", "running tasks on a cluster") from None
        try:
            self._client = Client(scheduler, timeout="10s", set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise OptionError(
                f"no Dask scheduler answers at {scheduler} ({type(error).__name__}); try: dask scheduler, and its address"
            ) from None
        self._function, self._scheduler = function, scheduler
        self._shared = None if shared is None else self._client.scatter(shared, broadcast=True)
        self._running: dict[int, Any] = {}
        self._dropped: list[Any] = []
        self._done: SimpleQueue[int] = SimpleQueue()
        self._begun = 0
        self._threads: dict[str, int] | None = None
        self._looked = 0.0

    def room(self) -> int:
        """Return how many more tasks can be begun now; tell of workers that came or went."""
        if self._threads is None or monotonic() - self._looked > _LOOK_AGAIN:
            before, self._threads, self._looked = self._threads, self._client.nthreads(), monotonic()
            self._tell(before, self._threads)
        self._dropped = [future for future in self._dropped if not future.done()]
        return sum(self._threads.values()) - len(self._running) - len(self._dropped)

    def _tell(self, before: dict[str, int] | None, now: dict[str, int]) -> None:
        if before is None and not now:
            _log.info("the scheduler has no workers yet; try: dask worker %s", self._scheduler)
        for worker in sorted((before or {}).keys() - now.keys()):
            _log.info(
                "worker %s is gone; what it had is done again; %s left", worker, counted(len(now), "worker")
            )
        for worker in sorted(now.keys() - (now if before is None else before).keys()):
            _log.info("worker %s has come; there are now %d", worker, len(now))

    def begin(self, task: Any) -> int:
        """Give a task to whichever worker is free; return its number."""
        self._begun += 1
        number = self._begun
        future = self._client.submit(self._function, task, self._shared, pure=False)
        self._running[number] = future
        future.add_done_callback(lambda _: self._done.put(number))
        return number

    def finished(self, seconds: float) -> list[tuple[int, _Result | str]]:
        """Wait so many seconds for something to finish; return what did, and a sentence of what Dask gave up."""
        ready: list[int] = []
        with suppress(Empty):
            ready.append(self._done.get(timeout=seconds))
            while True:
                ready.append(self._done.get_nowait())
        if self._client.status != "running":
            raise InputError(
                "the scheduler has disappeared",
                self._scheduler,
                hint="start it and run the same command again",
            )
        results: list[tuple[int, _Result | str]] = []
        for number in ready:
            future = self._running.pop(number, None)
            if future is None:
                continue  # dropped
            try:
                results.append((number, future.result()))
            except (Exception, CancelledError) as error:  # its workers died, or cannot import the function
                results.append((number, f"{type(error).__name__}: {error}"))
            future.release()
        return results

    def drop(self, number: int) -> None:
        """Let go of a task that another worker has done; the one that still has it is not free before it has finished."""
        self._dropped.append(self._running.pop(number))

    def where(self, number: int) -> str:
        """Return who has a task."""
        key = self._running[number].key
        workers = [worker for worker, keys in self._client.processing().items() if key in keys]
        return f"worker {workers[0]}" if workers else "no worker"

    def close(self) -> None:
        """Take back what is not done, and leave."""
        with self._client as client:
            client.cancel([*self._running.values(), *self._dropped])
