"""CSV and TSV: one row at a time, faults with their lines."""

import io

import pytest

from gramian.errors import InputError
from gramian.io.csv_rows import CsvRows
from gramian.io.reading import TextLines


def rows(text: str, *columns: str, start: int = 0, end: int | None = None) -> list[tuple[str | None, ...]]:
    lines = TextLines(io.BytesIO(text.encode()), "a.csv")
    return list(CsvRows(lines, columns[0], columns[1:], hint="name it").rows(start, end))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_separators(mark):
    text = mark.join(["id", "text"]) + "\r\n" + mark.join(["1", '"a ""b"", c; d"']) + "\n"
    assert rows(text, "text", "id") == [('a "b", c; d', "1")]


def test_line_breaks_in_cells_empty_rows_and_parts():
    text = 'text\n"one\ntwo"\n\nthree\n'
    assert rows(text, "text", "id") == [("one\ntwo", None), (None, None), ("three", None)]
    assert rows(text, "text", start=2, end=3) == [("three",)]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("id,words\n1,a\n", "a.csv:1: there is no column 'text' among id, words"),
        ("", "there is no column 'text'"),
        ("id,text\n1,a,b\n", "a row of 3 cells under a header of 2"),
        ('id,text\n1,"a" b\n', "this is not CSV"),
        ("id\rtext,x\n1,a\n", "a.csv:1: this is not CSV"),
    ],
)
def test_faults(text, fault):
    with pytest.raises(InputError, match=fault.replace(".", r"\.")):
        rows(text, "text")
