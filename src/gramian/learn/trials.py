"""What a search for numbers of states has tried: its trials, what it found, and the log that lets it go on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gramian.errors import InputError

__all__ = ["Assignment", "FoundStates", "Trial", "TrialLog"]

Assignment: TypeAlias = tuple[int, ...]
"""A number of states for every symbol."""


@dataclass(frozen=True)
class Trial:
    """One candidate of a search.

    Attributes
    ----------
    symbol : str
        The symbol whose number of states was changed, or the name of a group of symbols; empty for the start.
    states : int
        Its number of states; of a group, of all its symbols together.
    score : float
    assignment : tuple of int
        The number of states of every symbol.
    """

    symbol: str
    states: int
    score: float
    assignment: Assignment


@dataclass(frozen=True)
class FoundStates:
    """The outcome of a search.

    Attributes
    ----------
    n_states : tuple of int
        The best number of states found for every symbol.
    score, start_score : float
        Of the best candidate, and of the start.
    trials : tuple of Trial
        All candidates, in the order they were tried.
    """

    n_states: Assignment
    score: float
    start_score: float
    trials: tuple[Trial, ...]

    def steps(self) -> list[tuple[int, Trial]]:
        """Return the trials that were better than all before them, with their numbers, from 1.

        Examples
        --------
        >>> trials = tuple(Trial("NP", n, score, (n,)) for n, score in ((4, 80.0), (2, 79.0), (8, 81.5)))
        >>> [(number, trial.states) for number, trial in FoundStates((8,), 81.5, 80.0, trials).steps()]
        [(1, 4), (3, 8)]
        """
        found: list[tuple[int, Trial]] = []
        for number, trial in enumerate(self.trials, start=1):
            if not found or trial.score > found[-1][1].score:
                found.append((number, trial))
        return found


class TrialLog:
    """Candidates that were scored, one JSON line each; the first line says of what: `about` stands for all that a score depends on."""

    def __init__(self, path: str | Path | None, about: str, symbols: Sequence[str]) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[Assignment, float] = {}
        if self._path is None:
            return
        head = {"search": about, "symbols": list(symbols)}
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        lines = text.splitlines()
        if text and not text.endswith("\n"):  # it was cut short
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n")
        if not lines:
            self._path.write_text(json.dumps(head, ensure_ascii=False) + "\n", encoding="utf-8")
        elif _record(lines[0]) != head:
            raise InputError(
                "this log is of another treebank or learner", str(path), 1, hint="another file, or remove it"
            )
        for line in lines[1:]:
            record = _record(line)
            if record.keys() >= {"states", "score"}:
                self._known[tuple(record["states"])] = record["score"]

    def find(self, assignment: Assignment) -> float | None:
        """Return the score of a candidate, if it is known."""
        return self._known.get(assignment)

    def keep(self, trial: Trial) -> None:
        """Write a trial to the log, unless it is there."""
        if self._path is None or trial.assignment in self._known:
            return
        self._known[trial.assignment] = trial.score
        record = {"symbol": trial.symbol, "score": trial.score, "states": list(trial.assignment)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _record(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
