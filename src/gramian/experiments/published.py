"""What papers print, to be shown beside what an experiment finds."""

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from gramian.experiments.results import Entry, Line, Table

Rows = list[list[Any]]


@cache
def _all_rows() -> dict[str, dict[str, Rows]]:
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))


def published_rows(recipe: str, table: str) -> Rows:
    """Return the rows that a paper prints.

    Examples
    --------
    >>> published_rows("thesis", "figure-21")[0]
    [8, 85.6, 78.46]
    """
    return [[None if entry == "" else entry for entry in row] for row in _all_rows()[recipe][table]]


def published_table(recipe: str, table: str, caption: str, columns: Sequence[str]) -> Table:
    """Return a table of a paper."""
    rows: Sequence[Sequence[Entry]] = published_rows(recipe, table)
    return Table(f"{table}-published", caption, columns, rows)


def published_line(label: str, recipe: str, table: str, column: int = 1) -> Line:
    """Return a column of a table of a paper as a line over its first column."""
    return Line.printed(label, [(row[0], row[column]) for row in published_rows(recipe, table)])
