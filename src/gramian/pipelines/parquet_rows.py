"""Parquet files, read in batches: one row a document, in a column of texts or of lists of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from gramian.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from gramian.pipelines.shard_plan import InputLayout

_BATCH = 256  # rows


def parquet() -> Any:
    """Return pyarrow's module for Parquet."""
    try:
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise MissingExtraError("pyarrow", "corpora", "a Parquet file") from None
    return parquet


class ParquetRows:
    """The two columns of a Parquet file that are asked for."""

    def __init__(self, file: BinaryIO, name: str, layout: InputLayout) -> None:
        module = parquet()
        try:
            self._file = module.ParquetFile(file)
        except (OSError, ValueError) as error:  # pyarrow's errors are these
            raise InputError(
                f"this is not a Parquet file ({error})", name, hint="copy the file again"
            ) from None
        names = self._file.schema_arrow.names
        if layout.text_field not in names:
            raise InputError(
                f"there is no column {layout.text_field!r} among {', '.join(names)}",
                name,
                hint="name the column by --set corpus.text_field=NAME",
            )
        self._columns = [layout.text_field] + [layout.id_field] * (layout.id_field in names)

    def rows(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Any, Any]]:
        """Yield the id, None if there is no such column, and the text of each row from `start` to `end`."""
        row = 0
        about = self._file.metadata
        for group in range(self._file.num_row_groups):
            size = about.row_group(group).num_rows
            if row + size <= start:
                row += size
                continue
            for batch in self._file.iter_batches(_BATCH, row_groups=[group], columns=self._columns):
                texts = batch.column(0).to_pylist()
                ids = batch.column(1).to_pylist() if len(self._columns) > 1 else [None] * len(texts)
                for found in zip(ids, texts, strict=True):
                    if end is not None and row >= end:
                        return
                    if row >= start:
                        yield found
                    row += 1
