"""Tasks given out to workers, whoever these are, as they become free: lost ones again, late ones twice."""

import logging
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar

_log = logging.getLogger("gramian.cluster")
_Result = TypeVar("_Result", covariant=True)

_WAIT = 1.0  # seconds after which it is looked who is late
_AHEAD = 2  # tasks that are taken before there is room for them
_LATE = 3  # times the longest that a task has taken so far
_LEAST_LATE = 20.0  # seconds


class WorkerPool(Protocol[_Result]):
    """Workers, each of which has one task at a time; a task that was begun has a number."""

    def room(self) -> int: ...  # noqa: D102
    def begin(self, task: Any) -> int: ...  # noqa: D102
    def finished(self, seconds: float) -> list[tuple[int, Any]]: ...  # noqa: D102
    def drop(self, number: int) -> None: ...  # noqa: D102
    def where(self, number: int) -> str: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


@dataclass
class _Running:
    place: int
    began: float
    late: bool = False


def run_on_pool(
    pool: WorkerPool[_Result], tasks: Iterator[tuple[int, Any]], tries: int, *, doubles: bool
) -> Iterator[tuple[int, Any, _Result | str]]:
    """Yield place, task and result of each task as it comes, or a sentence that says why there is none; then let the pool go.

    A task whose worker died is begun again, so many `tries` in all. With `doubles`, when all tasks are begun, one that is late is
    begun a second time, and what comes first counts.
    """
    held: dict[int, Any] = {}  # tasks that are not done, by place
    waiting: deque[int] = deque()
    running: dict[int, _Running] = {}
    lost: Counter[int] = Counter()
    longest, exhausted = 0.0, False

    def begin(index: int) -> None:
        running[pool.begin(held[index])] = _Running(index, monotonic())

    try:
        while True:
            room = pool.room()
            while not exhausted and len(waiting) < room + _AHEAD:
                index, task = next(tasks, (-1, None))
                exhausted = index < 0
                if not exhausted:
                    held[index] = task
                    waiting.append(index)
            for _ in range(min(room, len(waiting))):
                begin(waiting.popleft())
            if not running and not waiting and exhausted:
                return
            for number, result in pool.finished(_WAIT):
                task_running = running.pop(number)
                if task_running.place not in held:
                    continue  # it was done twice
                if result is None:
                    lost[task_running.place] += 1
                    if lost[task_running.place] < tries and not _is_running(task_running.place, running):
                        _log.info("a worker died; what it had is done again")
                        waiting.appendleft(task_running.place)
                    if lost[task_running.place] < tries:
                        continue
                    result = f"the process that ran it died {tries} times; was it killed, or out of memory?"
                for twin in [other for other, it in running.items() if it.place == task_running.place]:
                    pool.drop(twin)
                    del running[twin]
                longest = max(longest, monotonic() - task_running.began)
                yield task_running.place, held.pop(task_running.place), result
            if doubles:
                for index in _late(pool, running, longest):
                    if exhausted and not waiting and pool.room() > 0:
                        begin(index)
    finally:
        pool.close()


def _is_running(index: int, running: dict[int, _Running]) -> bool:
    return any(other.place == index for other in running.values())


def _late(pool: WorkerPool[_Result], running: dict[int, _Running], longest: float) -> list[int]:
    """Return the places of tasks that take far longer than others did, and are with one worker alone; tell of new ones."""
    if not longest:
        return []
    limit = max(_LEAST_LATE, _LATE * longest)
    now = monotonic()
    for number, other in running.items():
        if now - other.began > limit and not other.late:
            other.late = True
            _log.info(
                "%s has had its task for %.0f s, and no other took longer than %.0f s: another will do it too",
                pool.where(number),
                now - other.began,
                longest,
            )
    counts = Counter(other.place for other in running.values())
    return [other.place for other in running.values() if other.late and counts[other.place] == 1]
