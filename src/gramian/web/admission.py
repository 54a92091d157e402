"""Who is answered next: short questions first, and places that are theirs alone.

A question comes with the seconds it is expected to take. Those that take long have only a part of the places, so that a short one never
waits for more than other short ones; where more is waiting than could be answered in time, a question is refused at once.
"""

from __future__ import annotations

import asyncio
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

SHORT = 0.25
"""Seconds up to which a question is a short one."""


class Refused(Exception):
    """Too much is waiting."""


class _Waiting(NamedTuple):
    rank: float  # 0 for short ones, which come in the order of their arrival; of others, their seconds
    number: int
    seconds: float
    called: asyncio.Future[None]


class Gate:
    """Lets questions in as places become free; for one event loop, whose thread alone calls it.

    Parameters
    ----------
    places : int
        How many are answered at a time; of several, half are for short questions alone.
    most_waiting : int
        Questions that may wait.
    most_seconds : float
        Of long questions that wait, how many seconds may be expected for each place they have.
    """

    def __init__(self, places: int, most_waiting: int, most_seconds: float) -> None:
        self._free, self._free_for_long = places, max(1, places // 2)
        self._most_waiting, self._most_seconds = most_waiting, most_seconds * self._free_for_long
        self._waiting: list[_Waiting] = []
        self._number = count()

    async def enter(self, seconds: float) -> None:
        """Wait for a place for a question that takes so many seconds; who was let in calls :meth:`leave`."""
        if self._fits(seconds):
            self._take(seconds)
            return
        long = sum(one.seconds for one in self._waiting if one.seconds > SHORT)
        if len(self._waiting) >= self._most_waiting or (
            seconds > SHORT and long + seconds > self._most_seconds
        ):
            raise Refused
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        one = _Waiting(seconds if seconds > SHORT else 0.0, next(self._number), seconds, called)
        heappush(self._waiting, one)
        try:
            await one.called
        except asyncio.CancelledError:
            if one.called.done() and not one.called.cancelled():
                self.leave(seconds)  # it was called just then
            else:
                self._waiting = [other for other in self._waiting if other is not one]
                heapify(self._waiting)
            raise

    def leave(self, seconds: float) -> None:
        """Give a place back, and call who is next."""
        self._free += 1
        self._free_for_long += seconds > SHORT
        while self._waiting and self._fits(self._waiting[0].seconds):
            one = heappop(self._waiting)
            if not one.called.cancelled():
                self._take(one.seconds)
                one.called.set_result(None)

    def _fits(self, seconds: float) -> bool:
        return self._free > 0 and (seconds <= SHORT or self._free_for_long > 0)

    def _take(self, seconds: float) -> None:
        self._free -= 1
        self._free_for_long -= seconds > SHORT
