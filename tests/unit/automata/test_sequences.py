import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.automata import Sequences, read_strings
from gramian.automata.string_formats import format_string, read_solution, read_targets
from gramian.errors import InputError, OptionError

STRINGS = st.lists(st.lists(st.sampled_from("abcz"), max_size=6).map(tuple), max_size=12)


@given(STRINGS)
def test_merging_counts_equal_strings(strings: list[tuple[str, ...]]) -> None:
    sample = Sequences.from_strings(strings, "abc")  # z is unknown
    distinct, weights = sample.distinct()
    shown = [tuple(s if s in "abc" else None for s in string) for string in strings]
    assert dict(zip(distinct, weights, strict=True)) == Counter(shown)
    codes = [tuple("abc".find(s) if s else -1 for s in string) for string in distinct]
    assert codes == sorted(codes)


@given(STRINGS, st.data())
def test_taking_rows(strings: list[tuple[str, ...]], data: st.DataObject) -> None:
    sample = Sequences.from_strings(strings, "abcz")
    rows = data.draw(st.lists(st.integers(0, len(strings) - 1)) if strings else st.just([]))
    assert list(sample.take(np.array(rows, int))) == [strings[row] for row in rows]


def test_recoding_by_symbol() -> None:
    sample = Sequences.from_strings(["abc"]).recode(("c", "a"))
    assert sample.symbols.tolist() == [1, -1, 0]
    assert Sequences.from_strings([[2, 1]], (1, 2)).recode((2,)).symbols.tolist() == [0, -1]


def test_split_is_a_partition() -> None:
    sample = Sequences.from_strings([[i] for i in range(50)])
    left, held = sample.split(0.2, seed=1)
    assert len(held) == 10
    assert sorted([*left, *held]) == sorted(sample)
    assert len(sample.split(0.5, at_most=3)[1]) == 3
    with pytest.raises(OptionError):
        sample.split(1.0)


def test_numbered_files() -> None:
    sample = read_strings(io.BytesIO(b"3 4\n2 0 3\n0\n1 2\n\n"))
    assert list(sample) == [(0, 3), (), (2,)]
    assert sample.alphabet == (0, 1, 2, 3)
    lines = [format_string(string, numbered=True) for string in sample]
    assert list(read_strings(io.BytesIO("\n".join(["3 4", *lines]).encode()))) == list(sample)


def test_plain_files() -> None:
    sample = read_strings(io.BytesIO(b"DT NN\n\nNN VB DT\n"))
    assert list(sample) == [("DT", "NN"), (), ("NN", "VB", "DT")]
    # Two numbers in the first line do not make a PAutomaC file.
    assert list(read_strings(io.BytesIO(b"1 2\n3 4\n"))) == [("1", "2"), ("3", "4")]


@pytest.mark.parametrize(
    ("content", "line", "fault"),
    [
        (b"2 4\n2 0 3\n3 0 1\n", 3, "a length and so many symbols"),
        (b"2 4\n2 0 3\n2 0 4\n", 3, "symbol '4'"),
        (b"3 4\n2 0 3\n0\n", 1, "announces 3 strings"),
        (b"", 1, "no strings"),
    ],
)
def test_broken_files_name_the_line(content: bytes, line: int, fault: str) -> None:
    with pytest.raises(InputError, match=fault) as error:
        read_strings(io.BytesIO(content))
    assert error.value.line == line


def test_solutions_and_targets(tmp_path: Path) -> None:
    path = tmp_path / "solution"
    path.write_text("2\n0.75\n0.25\n")
    assert read_solution(path).tolist() == [0.75, 0.25]
    path.write_text("3\n0.75\n0.25\n")
    with pytest.raises(InputError, match="how many"):
        read_solution(path)
    path.write_text("1\nabc\n")
    with pytest.raises(InputError, match="not a number"):
        read_solution(path)
    path.write_text("0.5 1\n")
    with pytest.raises(InputError, match="pairs"):
        read_targets(path)
