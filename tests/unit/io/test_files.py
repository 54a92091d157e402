"""Text in and out: what is refused, and with which words."""

from __future__ import annotations

import gzip
import io
import lzma
import sys

import pytest

from gramian.errors import InputError
from gramian.io.files import expand, open_text, peek_text, source_name
from gramian.io.output import writing


def lines_of(data: bytes) -> list[str]:
    with open_text(io.BytesIO(data)) as lines:
        return list(lines)


def test_plain_text():
    assert lines_of(b"one\ntwo") == ["one\n", "two"]
    assert lines_of(b"\xef\xbb\xbfone\r\n\r\ntwo\r\n") == ["one\n", "\n", "two\n"]
    assert lines_of(b"") == []
    assert lines_of("é\u2028é\n".encode()) == ["é\u2028é\n"]


def test_long_lines_come_in_segments_that_split_no_character():
    text = "語" * 100_000
    segments = lines_of(text.encode() + b"\nend")
    assert len(segments) > 3
    assert "".join(segments) == text + "\nend"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_text(pack):
    assert lines_of(pack(b"one\ntwo\n")) == ["one\n", "two\n"]


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"one\ntw\xe9\n", 2, "byte 0xe9 is not UTF-8"),
        (b"one\ntwo \xe8\xaa", 2, "byte 0xe8 is not UTF-8"),
        (b"one\n\x01\xe2\x93\n", 2, "this is a binary file, not text"),
        (b"one\n\x00\x01", 2, "this is a binary file, not text"),
        ("one\n".encode("utf-16"), 1, "this is UTF-16, not UTF-8"),
        (gzip.compress(b"one\ntwo\n" * 9999)[:-20], None, "damaged or cut short"),
        (lzma.compress(b"one\ntwo\n" * 9999)[:-40], None, "damaged or cut short"),
        (b"\x1f\x8b\x08\x00 and then nothing that is gzip", 1, "damaged or cut short"),
    ],
)
def test_damage_is_named(data, line, what):
    with pytest.raises(InputError, match=what) as caught:
        lines_of(data)
    if line is not None:
        assert caught.value.line == line
    assert caught.value.hint


def test_a_missing_file_and_an_empty_folder(tmp_path):
    with pytest.raises(InputError, match="cannot be opened"), open_text(tmp_path / "none"):
        pass
    with pytest.raises(InputError, match="no file in this folder"):
        expand(tmp_path)


def test_peeking_takes_nothing_away(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_text("\n\nstart\nrest\n")
    assert peek_text(path)[1].strip() == "start"
    for data in (b"start\n", gzip.compress(b"start\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        source, start = peek_text("-")
        assert start == "start\n"
        with open_text(source) as lines:
            assert list(lines) == ["start\n"]


def test_names():
    assert source_name("-") == "<stdin>"
    assert source_name(io.BytesIO()) == "<stream>"


def test_zstandard_text_with_several_frames(tmp_path):
    pytest.importorskip("zstandard", reason="the extra 'corpora' is not installed")
    text = "one\ntwo\n" * 50_000
    for name in ("a.zst", "b.zst"):
        with writing(tmp_path / name) as out:
            out.write(text)
    data = (tmp_path / "a.zst").read_bytes()
    assert data == (tmp_path / "b.zst").read_bytes()
    assert len(data) < len(text) / 10
    assert "".join(lines_of(data + data)) == 2 * text
    with pytest.raises(InputError, match="damaged or cut short"):
        lines_of(data[:-9])
    with pytest.raises(InputError, match="damaged or cut short"):
        lines_of(data[:20] + b"x" * 50)
