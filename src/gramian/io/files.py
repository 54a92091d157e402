"""Text that is read: plain, ``.gz``, ``.xz`` and ``.zst`` told apart by content; files, folders and stdin.

Every reader of gramian gets its lines from :func:`open_text`, so that a byte-order mark, Windows line ends, a truncated archive or a
binary file mean the same everywhere; :mod:`gramian.io.output` is for what is written.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO, TypeAlias, cast

from gramian.errors import InputError
from gramian.io import zstd

Source: TypeAlias = "str | os.PathLike[str] | IO[str] | IO[bytes]"

_LONGEST_SEGMENT = 1 << 16
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def source_name(source: Source) -> str:
    """Return how to call `source` in a message."""
    if isinstance(source, str | os.PathLike):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


def expand(source: Source) -> list[Source]:
    """List the files `source` stands for: itself, or all files under it in sorted order if it is a folder."""
    if not isinstance(source, str | os.PathLike) or str(source) == "-":
        return [source]
    path = Path(source)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path)))
    if not files:
        raise InputError("no file in this folder", str(path), hint="name a folder that holds files")
    return [*files]


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


class TextLines:
    r"""The lines of one source as text, cut into segments where a line is very long.

    Iterating yields strings that end in a newline, or are a piece of a line that goes on in the next. ``\r\n`` becomes ``\n``, a
    byte-order mark goes, and bytes that are not UTF-8 are an InputError; with `repair` they become U+FFFD, and `repaired` counts the
    segments that had some.
    """

    def __init__(self, stream: BinaryIO, name: str, repair: bool = False) -> None:
        self.name, self.repaired = name, 0
        self._stream, self._repair = stream, repair

    def __iter__(self) -> Iterator[str]:
        decode = codecs.getincrementaldecoder("utf-8-sig")("replace" if self._repair else "strict").decode
        readline = self._stream.readline
        line = 1
        try:
            while segment := readline(_LONGEST_SEGMENT):
                if b"\0" in segment and not (self._repair and not segment.startswith(_UTF_16)):
                    raise self._binary(segment, line)
                ends = segment.endswith(b"\n")
                text = decode(segment, ends)
                if self._repair:
                    text = text.replace("\0", "\ufffd")
                    self.repaired += text.count("\ufffd") > segment.count("\ufffd".encode())
                if text.endswith("\r\n"):
                    text = text[:-2] + "\n"
                if text:
                    yield text
                line += ends
            decode(b"", True)
        except UnicodeDecodeError as error:
            if _CONTROL.search(error.object):
                raise self._binary(error.object, line) from None
            raise InputError(
                f"byte 0x{error.object[error.start]:02x} is not UTF-8",
                self.name,
                line,
                error.start + 1,
                hint=f"convert the file, for example: iconv -f ISO-8859-1 -t UTF-8 {self.name}",
            ) from None
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise InputError(
                f"the compressed file is damaged or cut short ({error})",
                self.name,
                line,
                hint="copy the file again",
            ) from None

    def _binary(self, segment: bytes, line: int) -> InputError:
        if segment.startswith(_UTF_16):
            return InputError(
                "this is UTF-16, not UTF-8",
                self.name,
                line,
                hint=f"convert the file: iconv -f UTF-16 -t UTF-8 {self.name}",
            )
        return InputError("this is a binary file, not text", self.name, line, hint="name a text file")


@contextmanager
def open_text(source: Source, *, repair: bool = False) -> Iterator[TextLines]:
    """Open a path, ``"-"`` (stdin) or a stream as UTF-8 lines, decompressing as its content asks; see :class:`TextLines`."""
    name = source_name(source)
    with ExitStack() as opened:
        if not isinstance(source, str | os.PathLike):
            stream: IO[str] | IO[bytes] = source
        elif str(source) == "-":
            stream = sys.stdin.buffer
        else:
            try:
                stream = opened.enter_context(open(source, "rb"))
            except OSError as error:
                raise InputError(
                    f"cannot be opened ({error.strerror})", name, hint="check the path"
                ) from None
        yield TextLines(decompressed(_as_bytes(stream)), name, repair)


def peek_text(source: Source) -> tuple[Source, str]:
    """Return how the text of `source` starts, and a source that still has all of it to be read."""
    is_path = isinstance(source, str | os.PathLike)
    if is_path and str(source) != "-":
        with open_text(expand(source)[0]) as lines:
            return source, next(filter(str.strip, lines), "")  # empty lines at the start say nothing
    stream = decompressed(_as_bytes(sys.stdin.buffer if is_path else cast("IO[bytes]", source)))
    start = cast(io.BufferedReader, stream).peek(4096).decode("utf-8-sig", "ignore")
    return stream, start


def _as_bytes(stream: IO[str] | IO[bytes]) -> BinaryIO:
    if isinstance(stream, io.TextIOBase):
        buffer = getattr(stream, "buffer", None)
        # A StringIO has no bytes beneath; its text is already decoded.
        return cast(BinaryIO, buffer) if buffer is not None else io.BytesIO(stream.read().encode("utf-8"))
    return cast(BinaryIO, stream)


def decompressed(stream: BinaryIO) -> BinaryIO:
    """Return the content of a stream, decompressed as its first bytes ask."""
    if not hasattr(stream, "peek"):
        stream = cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream)))
    start = cast(io.BufferedReader, stream).peek(6)[:6]
    if start.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    if start.startswith(b"\xfd7zXZ\0"):
        return cast(BinaryIO, lzma.LZMAFile(stream))
    if start.startswith(zstd.MAGIC):
        return zstd.reading(stream)
    return stream
