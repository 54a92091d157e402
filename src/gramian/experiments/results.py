"""Finished runs, asked for figures by cell; and what a report is made of: sections of tables and figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import fmean, stdev
from typing import Any, TypeAlias

from gramian.tasks.task_runner import Outcome

_SHUFFLES = 2000


@dataclass(frozen=True)
class Spread:
    """A figure over seeds.

    Examples
    --------
    >>> str(Spread.of([80.0, 82.0]))
    '81.00 ± 1.41'
    """

    mean: float
    deviation: float = 0.0  #: standard deviation; 0 of a single run
    runs: int = 1
    mark: str = ""  #: ``*`` if it differs from what it is compared with at p < 0.05, ``**`` at p < 0.01
    digits: int = 2  #: to show after the point

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return mean and deviation of some values."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))

    def __str__(self) -> str:
        deviation = f" ± {self.deviation:.{self.digits}f}" if self.runs > 1 else ""
        return f"{self.mean:,.{self.digits}f}{deviation}{self.mark}"


Entry: TypeAlias = str | int | float | Spread | None


@dataclass(frozen=True)
class Table:
    """A table of the report; `published` is what a paper printed, shown beside it."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    published: Table | None = None


@dataclass(frozen=True)
class Line:
    """One line of a figure: points with their spread. Published figures are drawn dashed and pale; baselines that were computed here,
    which are the same everywhere, as lines without marks.
    """

    label: str
    points: Sequence[tuple[float, Spread]]
    published: bool = False
    is_level: bool = False

    @classmethod
    def of(cls, label: str, points: Iterable[tuple[float, Spread | None]]) -> Line:
        """Return a line through the points that there are."""
        return cls(label, [(x, spread) for x, spread in points if spread is not None])

    @classmethod
    def level(cls, label: str, ends: Sequence[float], value: float) -> Line:
        """Return a baseline that was computed here: one value from one end of the axis to the other."""
        return cls(label, [(x, Spread(value)) for x in ends], is_level=True)

    @classmethod
    def printed(cls, label: str, points: Iterable[tuple[float, float]]) -> Line:
        """Return a line of published figures."""
        return cls(label, [(x, Spread(y)) for x, y in points], published=True)


@dataclass(frozen=True)
class Figure:
    """A plot of the report. With `categories`, x counts these, points stand beside their names; `reference` is a line to compare with."""

    name: str
    caption: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    categories: Sequence[str] = ()
    reference: float | None = None


@dataclass(frozen=True)
class Picture:
    """A finished picture of the report, as SVG."""

    name: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    title: str
    text: str
    parts: Sequence[Table | Figure | Picture] = field(default_factory=tuple)


class Results:
    """The runs of an experiment that are finished.

    Parameters
    ----------
    outcomes : iterable of Outcome
    options : mapping
        The settings of the experiment.

    Examples
    --------
    >>> Results([], {}).cells()
    []
    """

    def __init__(self, outcomes: Iterable[Outcome], options: Mapping[str, Any]) -> None:
        self.options = options
        self.outcomes = [outcome for outcome in outcomes if not outcome.error]
        self._by_cell: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._settings: dict[str, dict[str, Any]] = {}
        for outcome in self.outcomes:
            task = outcome.task
            self._by_cell[task["cell"]][task["seed"]] = outcome.value
            self._settings[task["cell"]] = task["settings"]
        self._p_value = lru_cache(maxsize=None)(self._compared)

    def cells(self, under: str = "") -> list[str]:
        """Return the names of the finished cells that begin so."""
        return [name for name in self._by_cell if name.startswith(under)]

    def settings(self, cell: str) -> dict[str, Any]:
        """Return the settings of a finished cell."""
        return self._settings[cell]

    def runs(self, cell: str) -> list[dict[str, Any]]:
        """Return the figures of a cell's runs, by seed; none if none is finished."""
        by_seed = self._by_cell.get(cell, {})
        return [by_seed[seed] for seed in sorted(by_seed)]

    def value(self, cell: str, metric: str, digits: int = 2) -> Spread | None:
        """Return a figure of a cell over its seeds."""
        values = [run[metric] for run in self.runs(cell) if run.get(metric) is not None]
        return replace(Spread.of(values), digits=digits) if values else None

    def values(self, cell: str, **digits: int) -> list[Spread | None]:
        """Return several figures of a cell, by name, each with so many digits."""
        return [self.value(cell, metric, number) for metric, number in digits.items()]

    def against(self, cell: str, other: str, metric: str) -> Spread | None:
        """Return a figure of a cell, marked if it differs from that of another on the same sentences."""
        spread = self.value(cell, metric)
        p_value = self._p_value(cell, other, metric)
        if spread is None or p_value is None:
            return spread
        return replace(spread, mark="**" if p_value < 0.01 else "*" if p_value < 0.05 else "")

    def difference(self, cell: str, other: str, metric: str) -> Spread | None:
        """Return by how much a cell is above another, with its mark."""
        spread, base = self.against(cell, other, metric), self.value(other, metric)
        if spread is None or base is None:
            return None
        return Spread(spread.mean - base.mean, mark=spread.mark)

    def line(self, label: str, points: Iterable[tuple[float, str]], metric: str) -> Line:
        """Return a line through a figure of some cells; those that are not finished are left out."""
        return Line.of(label, ((x, self.value(cell, metric)) for x, cell in points))

    def _compared(self, cell: str, other: str, metric: str) -> float | None:
        """Return the p-value of approximate randomisation over the sentences of all seeds that both have."""
        from gramian.evaluate import approximate_randomisation

        ours, theirs = self._by_cell.get(cell, {}), self._by_cell.get(other, {})
        first, second = [], []
        for seed in sorted(set(ours) & set(theirs)):
            scores, other_scores = (runs[seed].get("sentences", {}).get(metric) for runs in (ours, theirs))
            if scores and other_scores and len(scores) == len(other_scores):
                first += scores
                second += other_scores
        return approximate_randomisation(first, second, samples=_SHUFFLES).p_value if first else None


def growth(lines: Iterable[Line]) -> str:
    """Return the exponent that fits each line, as text."""
    exponents = ((line.label, fitted_exponent(line.points)) for line in lines)
    shown = [f"{label} {exponent:.2f}" for label, exponent in exponents if exponent is not None]
    return ", ".join(shown) or "not measured"


def fitted_exponent(points: Sequence[tuple[float, Spread]]) -> float | None:
    """Return b of the power law ``y = a x^b`` that fits best, by least squares of logarithms.

    Examples
    --------
    >>> round(fitted_exponent([(1, Spread(3)), (2, Spread(12)), (4, Spread(48))]), 3)
    2.0
    """
    import numpy as np

    usable = [(x, spread.mean) for x, spread in points if x > 0 and spread.mean > 0]
    if len({x for x, _ in usable}) < 2:
        return None
    x, y = np.log(np.array(usable, np.float64)).T
    return float(np.polyfit(x, y, 1)[0])
