"""Ctrl-C: whenever it comes, one line on stderr and exit code 130, never a traceback.

Python raises KeyboardInterrupt wherever it happens to be, and not all code lets it through: compiled code turns it into a SystemError,
or crashes, what catches errors takes that for an error of its own, and finalisers swallow it. So a handler says the line, remembers
that the signal came, and raises KeyboardInterrupt only where that does no harm; then what is open is closed, which may wait for a
thread or a compilation. Who does not want to wait presses it again.
"""

import os
import re
import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_FRAGILE = re.compile(r"[/\\](numba|llvmlite)[/\\]")


class _Watch:
    """Whether the signal came, whether what it raised was lost, and what is to be said when it comes."""

    came = lost = False
    notes: tuple[str, ...] = ()


_watch = _Watch()


@contextmanager
def kept_meanwhile(note: str) -> Iterator[None]:
    """Let the line that is said of an interruption meanwhile end in `note`: what is kept, and how to go on."""
    _watch.notes += (note,)
    try:
        yield
    finally:
        _watch.notes = _watch.notes[:-1]


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an error is an interruption, or what became of one on its way."""
    while error is not None:
        if _watch.came or isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def interruptible() -> Iterator[None]:
    """Make whatever an interruption meanwhile leads to one line and a SystemExit with 130."""
    usual = signal.default_int_handler
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not usual
    ):
        yield  # within another, or told to ignore the signal
        return
    _watch.came, _watch.lost, _watch.notes = False, False, ()
    hook = sys.unraisablehook
    signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = _again
    try:
        yield
    except BaseException as error:
        code = error.code if isinstance(error, SystemExit) else 1
        if code in (0, None) or not (was_interrupted(error) or code == 130):
            raise
        if not _watch.came:
            _say()
        raise SystemExit(130) from None
    finally:
        if not _watch.came:  # else this process ends, with other threads perhaps at work
            signal.signal(signal.SIGINT, usual)
            sys.unraisablehook = hook


def _interrupt(number: int, frame: Any) -> None:
    if _watch.came and not _watch.lost:
        os._exit(130)
    if not _watch.came:
        _say()
    _watch.came, _watch.lost = True, False
    if _is_fragile(frame):
        _later()
    else:
        raise KeyboardInterrupt


def _is_fragile(frame: Any) -> bool:
    """Whether Python is called by numba, whose C code continues with an exception that it does not expect."""
    if frame.f_code.co_filename == "<string>" and frame.f_code.co_name == "<lambda>":
        return True  # a named tuple is made, perhaps by compiled code
    while frame is not None:
        if _FRAGILE.search(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _later() -> None:
    """Interrupt once more, soon."""
    _watch.lost = True
    timer = threading.Timer(0.005, interrupt_main)
    timer.daemon = True
    timer.start()


def _say() -> None:
    """Say the line; not by print, which may be what was interrupted."""
    after = "\n" if sys.stderr.isatty() else ""  # after ^C
    note = f"; {_watch.notes[-1]}" if _watch.notes else ""
    with suppress(OSError):
        os.write(2, f"{after}gramian: interrupted{note}\n".encode())


def _again(unraisable: Any) -> None:
    """Interrupt once more where an interruption was lost, in a finaliser or a callback."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _later()
    elif not _watch.came:
        sys.__unraisablehook__(unraisable)
