"""What commands say on stderr: messages, what is logged, and on a terminal bars with an estimate; and JSON on stdout."""

from __future__ import annotations

import io
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from gramian.escaping import for_terminal, json_line, one_line
from gramian.progress import handled

if TYPE_CHECKING:
    from rich.progress import TaskID

_T = TypeVar("_T")


def say(message: str) -> None:
    """Write a message on stderr, its end with it: whatever comes between two writes would stand on the same line."""
    sys.stderr.write(f"{for_terminal(message)}\n")


def say_skipped(error: Any) -> None:
    """Tell of a broken tree or sentence (an InputError) that is left out."""
    say(f"skipped {one_line(error.source)}:{error.line}: {error.what}")


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a JSON value on stdout, characters as they are."""
    print(json.dumps(value, ensure_ascii=False, indent=indent) if indent else json_line(value))


@contextmanager
def telling_warnings(quiet: bool) -> Iterator[None]:
    """Write warnings on stderr as they come, or, if `quiet`, do not."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if not quiet:
            say(f"gramian: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


class TerminalText(io.TextIOWrapper):
    """What is printed on a terminal: control characters of the data are shown, not obeyed."""

    def write(self, text: str) -> int:
        """Write on."""
        return super().write(for_terminal(text))


class _Bars:
    """Bars on a terminal, one for each kind of work that is under way, with what is left of it; they go away when all is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._shown = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(show_speed=True),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            speed_estimate_period=86400,
        )
        self._tasks: dict[str, TaskID] = {}
        self._latest: TaskID | None = None
        self._shown.start()

    def move(self, what: str, done: float, total: float | None) -> None:
        """Show how much is done; a bar that is full goes away."""
        if what not in self._tasks:
            self._tasks[what] = self._shown.add_task(what, total=total)
        self._shown.update(self._tasks[what], completed=done, total=total)
        if total is not None and done >= total:
            self._shown.remove_task(self._tasks.pop(what))

    def detail(self, text: str) -> None:
        """Show a line in the place of the one before."""
        if self._latest is not None:
            self._shown.remove_task(self._latest)
        self._latest = self._shown.add_task(for_terminal(text[:100]), total=None)

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self._shown.console.print(for_terminal(text), markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bars away."""
        self._shown.stop()


class _Teller(logging.Handler):
    """Writes news (INFO) on lines of their own; progress and other details (DEBUG) only on a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.bars = _Bars() if sys.stderr.isatty() else None

    def emit(self, record: logging.LogRecord) -> None:
        progress = getattr(record, "progress", None)
        if self.bars is None:
            if record.levelno >= logging.INFO:
                say(record.getMessage())
        elif progress is not None:
            self.bars.move(*progress)
        elif record.levelno >= logging.INFO:
            self.bars.say(record.getMessage())
        else:
            self.bars.detail(record.getMessage())


@contextmanager
def showing_progress(quiet: bool) -> Iterator[None]:
    """Say what gramian logs meanwhile, or, if `quiet`, do not."""
    if quiet:
        yield
        return
    handler = _Teller()
    try:
        with handled(handler, logging.DEBUG):
            yield
    finally:
        if handler.bars is not None:
            handler.bars.close()


def counting(things: Iterable[_T], noun: str, total: int | None = None) -> Iterator[_T]:
    """Pass `things` on; if stderr is a terminal, with a bar: how many there were, and, of a `total`, how long the rest will take."""
    if not sys.stderr.isatty():
        yield from things
        return
    bars = _Bars()
    try:
        for count, thing in enumerate(things):
            bars.move(f"{count:,} {noun}" if total is None else noun, count, total)
            yield thing
    finally:
        bars.close()


def count_lines(file: str, wanted: Callable[[str], bool] = lambda line: line.endswith("\n")) -> int | None:
    """Return how many lines of a file are `wanted`, for a bar; None of stdin, or where there is no terminal to show it on."""
    from gramian.io.reading import open_text, reads_once

    if reads_once(file) or not sys.stderr.isatty():
        return None
    with open_text(file, repair=True) as lines:
        return sum(map(wanted, lines))
