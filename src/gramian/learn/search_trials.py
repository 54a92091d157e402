"""What a search for numbers of states has tried: its trials, what it found, and the log that lets it go on where it stopped."""

from __future__ import annotations

import json
import logging
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypedDict

from msgspec import Meta
from threadpoolctl import threadpool_limits

from gramian import __version__
from gramian.errors import InputError
from gramian.io.output import no_links
from gramian.io.schema import SchemaError, as_document, parse_document
from gramian.progress import tell_progress

Assignment: TypeAlias = tuple[int, ...]
"""A number of states for every symbol."""


Scores: TypeAlias = Callable[[Sequence[Assignment]], Iterable[float]]
"""Scores assignments, in their order."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """One candidate of a search."""

    symbol: str  # or group of symbols whose number of states was changed; empty for the start
    states: int  # of the symbol; of a group, of all its symbols together
    score: float
    assignment: Assignment


@dataclass(frozen=True)
class FoundStates:
    """The outcome of a search: the best assignment with its score, the score of the start, and all trials in their order."""

    n_states: Assignment
    score: float
    start_score: float
    trials: tuple[Trial, ...]

    def steps(self) -> list[tuple[int, Trial]]:
        """Return the trials that were better than all before them, with their numbers, from 1."""
        found: list[tuple[int, Trial]] = []
        for number, trial in enumerate(self.trials, start=1):
            if not found or trial.score > found[-1][1].score:
                found.append((number, trial))
        return found


class _Line(TypedDict):
    """One line of the log."""

    symbol: str
    score: float
    states: list[Annotated[int, Meta(ge=1, le=4096)]]
    checksum: str


class Trials:
    """Scores candidates, each once, as far as the budget goes; better ones are logged as they are found.

    With a file, every score is one JSON line, and what it has needs no work. Its first line, `head`, stands for all that a score
    depends on; what another version of gramian scored is forgotten.
    """

    def __init__(
        self, score: Scores, budget: int | None, path: str | Path | None, head: Mapping[str, Any]
    ) -> None:
        self.done: list[Trial] = []
        self._score, self._budget = score, math.inf if budget is None else budget
        self._path = None if path is None else Path(path)
        self._known: dict[Assignment, float] = {}
        self._stored: dict[Assignment, float] = {}
        if self._path is None:
            return
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        lines, head = text.splitlines(), {**head, "gramian": __version__}
        if lines and {**_record(lines[0]), "gramian": __version__} == head != _record(lines[0]):
            self._path.unlink()
            text, lines = "", []
        if text and not text.endswith("\n"):  # it was cut short
            self._write("")
        if not lines:
            self._write(json.dumps(head, ensure_ascii=False))
        elif _record(lines[0]) != head:
            raise InputError(
                "this log is of another treebank or learner", str(path), 1, hint="another file, or remove it"
            )
        for record in map(_record, lines[1:]):
            with suppress(SchemaError):  # a line that was cut short
                line = as_document(_Line, record)
                if line["checksum"] == _checksum(line):
                    self._stored[tuple(line["states"])] = line["score"]

    @property
    def is_spent(self) -> bool:
        """Whether the budget is."""
        return len(self._known) >= self._budget

    def run(self, name: str, candidates: Sequence[Assignment], changed: Sequence[int]) -> list[Trial]:
        """Return the trials of some assignments, as far as the budget goes."""

        def trial(one: Assignment, score: float) -> Trial:
            return Trial(name, sum(one[symbol] for symbol in changed), score, one)

        new = [one for one in dict.fromkeys(candidates) if one not in self._known]
        new = [one for place, one in enumerate(new) if len(self._known) + place < self._budget]
        # Scores come in order; those of the file need no work, so that what was scored is kept whatever comes.
        left = [one for one in new if one not in self._stored]
        with threadpool_limits(1):  # as in learning: several threads would change the order of sums
            fresh = iter(self._score(left)) if left else iter(())
            for one in new:
                is_stored = one in self._stored
                tried = trial(one, self._stored[one] if is_stored else next(fresh))
                if tried.score > max(self._known.values(), default=-math.inf):
                    number = len(self.done) + 1
                    _log.info(
                        "candidate %d: %s, %d states, %.3f",
                        number,
                        name or "start",
                        tried.states,
                        tried.score,
                    )
                self._known[one] = tried.score
                self.done.append(tried)
                if self._path is not None and not is_stored:
                    record = {"symbol": name, "score": tried.score, "states": list(one)}
                    self._write(json.dumps({**record, "checksum": _checksum(record)}, ensure_ascii=False))
                if self._budget < math.inf:
                    tell_progress(_log, "candidates", len(self._known), self._budget)
        return [trial(one, self._known[one]) for one in candidates if one in self._known]

    def _write(self, line: str) -> None:
        assert self._path is not None
        with open(self._path, "a", encoding="utf-8", opener=no_links) as file:
            file.write(line + "\n")


def _checksum(record: Mapping[str, Any]) -> str:
    """Return what shows that a line was not damaged."""
    rest = {name: value for name, value in record.items() if name != "checksum"}
    return f"{zlib.crc32(json.dumps(rest, sort_keys=True).encode()):08x}"


def _record(line: str) -> Mapping[str, Any]:
    try:
        return parse_document(dict[str, Any], line)
    except SchemaError:
        return {}
