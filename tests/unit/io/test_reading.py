"""The one reader of text: what is refused, with which words, and within which limits."""

import gzip
import io
import lzma
import os
import subprocess
import sys
import tracemalloc

import pytest

from gramian.errors import InputError, OptionError
from gramian.io.output import writing
from gramian.io.reading import (
    check_plain_text,
    expand,
    open_text,
    peek_text,
    reads_once,
    rereadable,
    source_name,
)


def lines_of(data: bytes) -> list[str]:
    with open_text(io.BytesIO(data)) as lines:
        return list(lines)


def test_plain_text():
    assert lines_of(b"one\ntwo") == ["one\n", "two"]
    assert lines_of(b"\xef\xbb\xbfone\r\n\r\ntwo\r\n") == ["one\n", "\n", "two\n"]
    assert lines_of(b"") == []
    assert lines_of("é\u2028é\n".encode()) == ["é\u2028é\n"]


def test_long_lines_come_whole_or_in_segments_that_split_no_character():
    text = "語" * 100_000
    data = text.encode() + b"\nend"
    assert lines_of(data) == [text + "\n", "end"]
    with open_text(io.BytesIO(data)) as lines:
        segments = list(lines.segments())
    assert len(segments) > 3
    assert "".join(segments) == text + "\nend"


def test_nothing_of_a_line_is_yielded_before_its_length_is_known(monkeypatch):
    monkeypatch.setenv("GRAMIAN_MAX_LINE", "200K")
    data = b"one\n" + b"x" * (1 << 20)
    with open_text(io.BytesIO(data)) as lines:
        segments = lines.segments()
        assert next(segments) == "one\n"
        with pytest.raises(InputError, match=":2: the line is longer than 204,800 bytes"):
            next(segments)


def test_windows_line_ends_are_found_wherever_a_segment_ends():
    for length in range((1 << 16) - 3, (1 << 16) + 3):
        assert lines_of(b"x" * length + b"\r\ny\r\n") == ["x" * length + "\n", "y\n"]


def test_documents_with_markup_are_told_in_linear_time():
    comments = "<!-- a --> <!---->" * 50_000  # every way to divide them would be tried by a naive expression
    check_plain_text(comments + "text", "a.txt")
    with pytest.raises(InputError, match="this is HTML"):
        check_plain_text(comments + "<html>", "a.txt")


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
    pytest.importorskip("backports.zstd", reason="the extra 'corpora' is not installed")
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


BOMBS = {
    "gz": lambda content: gzip.compress(content),
    "xz": lambda content: lzma.compress(content, preset=0),
    "zst": lambda content: pytest.importorskip("backports.zstd").compress(content),
}


@pytest.mark.parametrize("pack", BOMBS)
def test_an_endless_line_is_an_error_that_names_line_and_limit(pack, monkeypatch):
    monkeypatch.setenv("GRAMIAN_MAX_LINE", "1M")
    bomb = BOMBS[pack](b"one\n" + b"(" * (40 << 20))
    tracemalloc.start()
    with pytest.raises(InputError, match="the line is longer than 1 MB") as caught:
        lines_of(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (caught.value.source, caught.value.line) == ("<stream>", 2)
    assert "GRAMIAN_MAX_LINE" in caught.value.hint
    assert peak < 8 << 20


def test_the_limit_of_lines_is_16_megabytes_and_can_be_set(monkeypatch):
    long = b"x" * (16 << 20) + b"\n"
    assert len(lines_of(long[1:])) == 1
    with pytest.raises(InputError, match="the line is longer than 16 MB"):
        lines_of(long)
    monkeypatch.setenv("GRAMIAN_MAX_LINE", "17MB")
    assert len(lines_of(long)) == 1
    for wrong in ("much", "-1", "0", "1T"):
        monkeypatch.setenv("GRAMIAN_MAX_LINE", wrong)
        with pytest.raises(OptionError, match="GRAMIAN_MAX_LINE must be a number of bytes"):
            lines_of(b"x")


@pytest.mark.parametrize("pack", BOMBS)
def test_a_file_that_grows_beyond_measure_is_refused(pack):
    bomb = BOMBS[pack](b"(A a)\n" * (80 << 20 >> 2))
    with (
        pytest.raises(InputError, match="more than 250 times as large"),
        open_text(io.BytesIO(bomb)) as lines,
    ):
        for _ in lines:
            pass


def test_large_windows_are_refused():
    zstd = pytest.importorskip("backports.zstd")
    dictionary = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
    for data in (
        lzma.compress(b"one\n", filters=dictionary),
        packer.compress(b"one\n" * 99) + packer.flush(),
    ):
        with pytest.raises(InputError, match="a window of more than 128 MB"):
            lines_of(data)
    assert lines_of(lzma.compress(b"one\n", preset=9)) == ["one\n"]


def test_several_members_and_padding():
    assert lines_of(gzip.compress(b"one\n") + gzip.compress(b"two\n") + bytes(12)) == ["one\n", "two\n"]
    assert lines_of(lzma.compress(b"one\n") + bytes(8) + lzma.compress(b"two\n")) == ["one\n", "two\n"]
    with pytest.raises(InputError, match="damaged"):
        lines_of(gzip.compress(b"one\n") + b"two\n")


def test_a_pipe_is_opened_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert reads_once(pipe)
    assert not reads_once(tmp_path)
    for data in (b"start\nrest\n", gzip.compress(b"start\nrest\n")):
        with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write({data!r})"]):
            source, start = peek_text(pipe)
            assert start.startswith("start")
            again = rereadable(source)
        for _ in range(2):
            with open_text(again) as lines:
                assert list(lines) == ["start\n", "rest\n"]
            again.seek(0)


def test_pipes_in_a_folder_are_skipped_with_a_warning(tmp_path, caplog):
    os.mkfifo(tmp_path / "a.mrg")
    (tmp_path / "b.mrg").write_text("(A a)\n")
    assert expand(tmp_path) == [tmp_path / "b.mrg"]
    assert "a.mrg: not a regular file" in caplog.text


@pytest.mark.parametrize("wrong", [None, 5, ["a.mrg"]])
def test_what_is_no_source_is_named(wrong):
    with pytest.raises(OptionError, match="a source is a path, '-' or an open file, not"), open_text(wrong):
        pass
