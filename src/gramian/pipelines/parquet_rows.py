"""Parquet files, read in batches and decoded one row at a time."""

import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from gramian.errors import InputError, MissingExtraError
from gramian.io.decompression import check_ratio
from gramian.io.reading import line_limit, too_long

_BATCH = 256  # rows
_BUFFER = 1 << 20  # bytes of a column that are read at a time
_STRINGS = ("string", "large_string", "string_view")


def parquet() -> Any:
    """Return pyarrow's module for Parquet."""
    try:
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise MissingExtraError("pyarrow", "corpora", "a Parquet file") from None
    return parquet


class ParquetRows:
    """Some columns of a Parquet file.

    Parameters
    ----------
    file : binary stream
        Seekable.
    name : str
        How messages call the file.
    required : str
        A column of texts. A file without it, or where it has another type, is an InputError.
    optional : sequence of str
        Columns of texts or whole numbers; None in every row of a file that lacks them.
    lists : bool
        Whether the required column may hold lists of texts as well.
    hint : str
        What to try if a column has another type, or is missing.
    """

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        required: str,
        optional: Sequence[str] = (),
        *,
        lists: bool = False,
        hint: str,
    ) -> None:
        module = parquet()
        from pyarrow import ArrowException

        self._name, self._faults = name, (OSError, ValueError, ArrowException)
        self._size, self._content = (
            file.seek(0, io.SEEK_END),
            0,
        )  # bytes of the file, and of row groups without compression
        file.seek(0)
        try:
            opened = module.ParquetFile(file)
            schema = opened.schema_arrow
            self._columns = [column for column in (required, *optional) if column in schema.names]
            leaves = [opened.schema.column(number) for number in range(len(opened.schema))]
            # A dictionary stays one: a long text that is repeated a million times is never held a million times.
            dictionaries = [
                leaf.path
                for leaf in leaves
                if leaf.path.split(".")[0] in self._columns and leaf.physical_type == "BYTE_ARRAY"
            ]
            self._file = module.ParquetFile(file, read_dictionary=dictionaries, buffer_size=_BUFFER)
        except self._faults as error:
            raise InputError(
                f"this is not a Parquet file ({error})", name, hint="copy the file again"
            ) from None
        if required not in schema.names:
            raise InputError(
                f"there is no column {required!r} among {', '.join(schema.names)}", name, hint=hint
            )
        for column in self._columns:
            if schema.names.count(column) > 1:
                raise InputError(f"there are several columns {column!r}", name, hint=hint)
            is_required = column == required
            fault = _fault(schema.field(column).type, lists=lists and is_required, numbers=not is_required)
            if fault is not None:
                raise InputError(f"the column {column!r} holds {fault}", name, hint=hint)
        self._cells = [column if column in self._columns else None for column in (required, *optional)]

    def rows(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each row from `start` to `end`, the required column first."""
        row, limit = 0, line_limit()
        for group in range(self._file.num_row_groups):
            size = self._file.metadata.row_group(group).num_rows
            if row + size <= start:
                row += size
                continue
            for batch in self._batches(group):
                for index in range(batch.num_rows):
                    if end is not None and row >= end:
                        return
                    row += 1
                    if row > start:
                        yield tuple(
                            [
                                None if name is None else self._value(batch.column(name)[index], row, limit)
                                for name in self._cells
                            ]
                        )

    def _batches(self, group: int) -> Iterator[Any]:
        # Sizes of columns are not looked at: for damaged ones, pyarrow ends the process.
        self._content += self._file.metadata.row_group(group).total_byte_size
        check_ratio(self._content, self._size, self._name)
        try:
            yield from self._file.iter_batches(_BATCH, row_groups=[group], columns=self._columns)
        except self._faults as error:
            raise InputError(
                f"row group {group} is damaged ({error})", self._name, hint="copy the file again"
            ) from None

    def _value(self, cell: Any, row: int, limit: int) -> Any:
        """Return what a cell holds: a text, a list of texts, a number or None."""
        try:
            elements = getattr(cell, "values", None)  # of a list
            if elements is None:
                value = cell.as_py()
                size = len(value) if isinstance(value, str) else 0
            else:
                value, size = [], 0
                for element in elements:
                    value.append(element.as_py())
                    size += len(value[-1] or "")
                    if size > limit:
                        break
        except UnicodeDecodeError:
            raise InputError(f"row {row} is not UTF-8", self._name, hint="write the file again") from None
        if size > limit:
            raise too_long("the row", self._name, row, limit)
        return value


def _fault(kind: Any, *, lists: bool, numbers: bool) -> str | None:
    """Say what a column of a type holds if it cannot be read; None if it can."""
    from pyarrow import types

    inner = kind
    if lists and (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        inner = kind.value_type
    if types.is_dictionary(inner):
        inner = inner.value_type
    if str(inner) in _STRINGS or types.is_null(inner) or (numbers and types.is_integer(inner)):
        return None
    wanted = "neither text nor whole numbers" if numbers else "not text"
    return f"values of type {kind}, {wanted}"
