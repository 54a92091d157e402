"""Tasks given out to workers, whoever these are, as they become free: lost ones again, late ones twice."""

from __future__ import annotations

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

    def begin(place: int) -> None:
        running[pool.begin(held[place])] = _Running(place, monotonic())

    try:
        while True:
            room = pool.room()
            while not exhausted and len(waiting) < room + _AHEAD:
                place, task = next(tasks, (-1, None))
                exhausted = place < 0
                if not exhausted:
                    held[place] = task
                    waiting.append(place)
            for _ in range(min(room, len(waiting))):
                begin(waiting.popleft())
            if not running and not waiting and exhausted:
                return
            for number, result in pool.finished(_WAIT):
                one = running.pop(number)
                if one.place not in held:
                    continue  # it was done twice
                if result is None:
                    lost[one.place] += 1
                    if lost[one.place] < tries and not _is_running(one.place, running):
                        _log.info("a worker died; what it had is done again")
                        waiting.appendleft(one.place)
                    if lost[one.place] < tries:
                        continue
                    result = f"the process that ran it died {tries} times; was it killed, or out of memory?"
                for twin in [other for other, it in running.items() if it.place == one.place]:
                    pool.drop(twin)
                    del running[twin]
                longest = max(longest, monotonic() - one.began)
                yield one.place, held.pop(one.place), result
            if doubles:
                for place in _late(pool, running, longest):
                    if exhausted and not waiting and pool.room() > 0:
                        begin(place)
    finally:
        pool.close()


def _is_running(place: int, running: dict[int, _Running]) -> bool:
    return any(one.place == place for one in running.values())


def _late(pool: WorkerPool[_Result], running: dict[int, _Running], longest: float) -> list[int]:
    """Return the places of tasks that take far longer than others did, and are with one worker alone; tell of new ones."""
    if not longest:
        return []
    limit = max(_LEAST_LATE, _LATE * longest)
    now = monotonic()
    for number, one in running.items():
        if now - one.began > limit and not one.late:
            one.late = True
            _log.info(
                "%s has had its task for %.0f s, and no other took longer than %.0f s: another will do it too",
                pool.where(number),
                now - one.began,
                longest,
            )
    counts = Counter(one.place for one in running.values())
    return [one.place for one in running.values() if one.late and counts[one.place] == 1]
