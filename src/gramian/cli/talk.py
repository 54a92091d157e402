"""What commands say on stderr: messages, and a running count on a terminal."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

__all__ = ["counted", "say", "showing_progress", "telling_warnings"]

_T = TypeVar("_T")


def say(message: str) -> None:
    """Print a message on stderr."""
    print(message, file=sys.stderr)


@contextmanager
def telling_warnings(quiet: bool) -> Iterator[None]:
    """Say what is warned of meanwhile, or, if `quiet`, do not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in () if quiet else caught:
        say(f"gramian: {warning.message}")


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


@contextmanager
def showing_progress(quiet: bool) -> Iterator[None]:
    """Say what gramian logs meanwhile, or, if `quiet`, do not."""
    logger, handler = logging.getLogger("gramian"), _Teller()
    level = logger.level
    if not quiet:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def counted(things: Iterable[_T], noun: str) -> Iterator[_T]:
    """Pass `things` on, with a running count on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield from things
        return
    count, shown = 0, monotonic()
    try:
        for thing in things:
            yield thing
            count += 1
            if count % 100 == 0 and monotonic() - shown > 0.2:
                shown = monotonic()
                print(f"\r{count:,} {noun}", end="", file=sys.stderr, flush=True)
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
