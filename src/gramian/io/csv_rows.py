"""Columns of CSV and TSV files, read one row at a time."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice

from gramian.errors import InputError
from gramian.io.reading import TextLines, line_limit

_DELIMITERS = "\t;,"  # the most frequent one in the header counts


class CsvRows:
    """Some columns of a CSV or TSV file, whose first line names them.

    A file without the `required` column is an InputError with a `hint`; `optional` columns that it lacks are None in every row.
    """

    def __init__(self, lines: TextLines, required: str, optional: Sequence[str] = (), *, hint: str) -> None:
        name, lines_left = lines.name, iter(lines)
        header = next(lines_left, "")
        delimiter = max(_DELIMITERS, key=header.count)
        self._rows = csv.reader(lines_left, delimiter=delimiter, strict=True)
        try:
            columns = next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error as error:
            raise InputError(f"this is not CSV ({error})", name, 1, hint="correct the header") from None
        if required not in columns:
            raise InputError(
                f"there is no column {required!r} among {', '.join(columns)}", name, 1, hint=hint
            )
        self._name, self._width = name, len(columns)
        self._columns = [
            columns.index(column) if column in columns else None for column in (required, *optional)
        ]

    def rows(self, start: int = 0, end: int | None = None) -> Iterator[tuple[str | None, ...]]:
        """Yield the values of each row from `start` to `end`, the required column first."""
        csv.field_size_limit(line_limit())
        try:
            for row in islice(self._rows, start, end):
                if row and len(row) != self._width:
                    line = self._rows.line_num + 1
                    problem = f"a row of {len(row)} cells under a header of {self._width}"
                    raise InputError(
                        problem, self._name, line, hint="put cells with separators or quotes in double quotes"
                    )
                yield tuple([row[column] if row and column is not None else None for column in self._columns])
        except csv.Error as error:
            line = self._rows.line_num + 1
            raise InputError(f"this is not CSV ({error})", self._name, line, hint="correct the row") from None
