"""What a search for numbers of states has tried: its trials, its outcome, and the log from which it resumes."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import Meta
from threadpoolctl import threadpool_limits

from gramian import __version__
from gramian.io.schema import SchemaError, parse_document
from gramian.progress import tell_progress
from gramian.system import open_private

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
    """The outcome of a search.

    Attributes
    ----------
    n_states : tuple of int
        The best assignment.
    score, start_score : float
        Its score, and that of the start.
    trials : tuple of Trial
        All candidates in their order.
    finished_labels, n_labels : int
        How many labels the search has finished, of those that it was to visit.
    """

    n_states: Assignment
    score: float
    start_score: float
    trials: tuple[Trial, ...]
    finished_labels: int = 0
    n_labels: int = 0

    def steps(self) -> list[tuple[int, Trial]]:
        """Return the trials that were better than all before them, with their numbers, from 1."""
        found: list[tuple[int, Trial]] = []
        for number, trial in enumerate(self.trials, start=1):
            if not found or trial.score > found[-1][1].score:
                found.append((number, trial))
        return found


@dataclass(frozen=True)
class _Line:
    """One line of the log."""

    symbol: str
    score: float
    states: tuple[Annotated[int, Meta(ge=1, le=4096)], ...]
    checksum: str


class Trials:
    """Scores candidates, each once, as far as the budget goes; better ones are logged as they are found.

    With a file, every score is one JSON line with a checksum that also depends on the `identity` of the search, all that a score depends
    on. Candidates that the file has are not scored again; lines of other searches, or damaged ones, count for nothing.
    """

    def __init__(self, score: Scores, budget: int | None, path: str | Path | None, identity: str) -> None:
        self.done: list[Trial] = []
        self._score, self._budget = score, math.inf if budget is None else budget
        self._path = None if path is None else Path(path)
        self._identity = f"{__version__} {identity}"
        self._known: dict[Assignment, float] = {}
        self._stored = {} if self._path is None else self._read(self._path)

    def _read(self, path: Path) -> dict[Assignment, float]:
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        if text and not text.endswith("\n"):  # the last line was cut short
            self._write("")
        stored = {}
        for line in text.splitlines():
            with suppress(SchemaError):
                record = parse_document(_Line, line)
                if record.checksum == self._checksum(record.states, record.score):
                    stored[record.states] = record.score
        return stored

    @property
    def is_spent(self) -> bool:
        """Whether the budget is."""
        return len(self._known) >= self._budget

    def run(self, name: str, candidates: Sequence[Assignment], changed: Sequence[int]) -> list[Trial]:
        """Return the trials of some assignments, as far as the budget goes."""

        def trial(assignment: Assignment, score: float) -> Trial:
            return Trial(name, sum(assignment[symbol] for symbol in changed), score, assignment)

        new = [candidate for candidate in dict.fromkeys(candidates) if candidate not in self._known]
        if self._budget < math.inf:
            new = new[: int(self._budget) - len(self._known)]
        unscored = [candidate for candidate in new if candidate not in self._stored]
        with threadpool_limits(1):  # as in learning: several threads would change the order of sums
            scores = iter(self._score(unscored)) if unscored else iter(())
            for candidate in new:  # scores come in order, and each is written before the next is waited for
                is_stored = candidate in self._stored
                tried = trial(candidate, self._stored[candidate] if is_stored else next(scores))
                if tried.score > max(self._known.values(), default=-math.inf):
                    shown = len(self.done) + 1, name or "start", tried.states, tried.score
                    _log.info("candidate %d: %s, %d states, %.3f", *shown)
                self._known[candidate] = tried.score
                self.done.append(tried)
                if self._path is not None and not is_stored:
                    checksum = self._checksum(candidate, tried.score)
                    record = _Line(symbol=name, score=tried.score, states=candidate, checksum=checksum)
                    self._write(json.dumps(asdict(record), ensure_ascii=False))
                if self._budget < math.inf:
                    tell_progress(_log, "candidates", len(self._known), self._budget)
        return [
            trial(candidate, self._known[candidate]) for candidate in candidates if candidate in self._known
        ]

    def _checksum(self, states: Assignment, score: float) -> str:
        return hashlib.sha256(repr((self._identity, states, score)).encode()).hexdigest()[:16]

    def _write(self, line: str) -> None:
        assert self._path is not None
        with open(self._path, "a", encoding="utf-8", opener=open_private) as file:
            file.write(line + "\n")
