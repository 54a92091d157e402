"""Pauses: moments at which a device has been given work, and there is time for other things until it is done.

What works on a device is a generator that yields pauses, so that one thread can keep a device and itself busy.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

import torch

Value = TypeVar("Value")


class Pause:
    """The time that a device takes for all it has been given."""

    def __init__(self, device: torch.device) -> None:
        self._event = None
        if device.type == "cuda":
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(device))

    @property
    def is_over(self) -> bool:
        """Whether the device is done."""
        return self._event is None or bool(self._event.query())


Work: TypeAlias = Generator[Pause, None, Value]


def finished(work: Work[Value]) -> Value:
    """Return what work leads to, without use of its pauses."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            value: Value = end.value
            return value
