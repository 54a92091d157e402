"""What commands say on stderr: messages, what is logged, and a running count on a terminal; and JSON on stdout."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

__all__ = [
    "counting",
    "print_json",
    "say",
    "say_skipped",
    "showing_progress",
    "telling_warnings",
]

_T = TypeVar("_T")
_BACK = "\r\033[K"


def say(message: str) -> None:
    """Print a message on stderr."""
    print(message, file=sys.stderr)


def say_skipped(error: Any) -> None:
    """Tell of a broken tree or sentence (an InputError) that is left out."""
    say(f"skipped {error.source}:{error.line}: {error.what}")


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a JSON value on stdout, characters as they are."""
    print(json.dumps(value, ensure_ascii=False, indent=indent))


@contextmanager
def telling_warnings(quiet: bool) -> Iterator[None]:
    """Say what is warned of meanwhile, or, if `quiet`, do not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in () if quiet else caught:
        say(f"gramian: {warning.message}")


class _Teller(logging.Handler):
    """Writes news (INFO) on lines of their own; details (DEBUG) only on a terminal, on one line that is written over."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.INFO:
            say((_BACK if sys.stderr.isatty() else "") + record.getMessage())
        elif sys.stderr.isatty():
            print(f"{_BACK}{record.getMessage()[:110]}", end="", file=sys.stderr, flush=True)


@contextmanager
def showing_progress(quiet: bool) -> Iterator[None]:
    """Say what gramian logs meanwhile, or, if `quiet`, do not."""
    logger, handler = logging.getLogger("gramian"), _Teller()
    level = logger.level
    if not quiet:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        if not quiet and sys.stderr.isatty():
            print(_BACK, end="", file=sys.stderr, flush=True)


def counting(things: Iterable[_T], noun: str) -> Iterator[_T]:
    """Pass `things` on, with a running count on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield from things
        return
    shown = monotonic()
    try:
        for count, thing in enumerate(things):
            if count % 100 == 0 and monotonic() - shown > 0.2:
                shown = monotonic()
                print(f"\r{count:,} {noun}", end="", file=sys.stderr, flush=True)
            yield thing
    finally:
        print(_BACK, end="", file=sys.stderr, flush=True)
