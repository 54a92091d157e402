"""The one reader of text: files, folders, streams and stdin, plain or compressed, line by line.

Every reader of gramian gets its lines from :func:`open_text` or :class:`TextLines`, so that a byte-order mark, Windows line ends, a damaged
archive, a binary file or an endless line mean the same everywhere.
"""

import codecs
import hashlib
import io
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO, TypeAlias, cast

from gramian.errors import InputError, OptionError
from gramian.io.decompression import decompressed

Source: TypeAlias = "str | os.PathLike[str] | IO[str] | IO[bytes]"
Rereadable: TypeAlias = "str | os.PathLike[str] | io.StringIO"

LINE_LIMIT = "GRAMIAN_MAX_LINE"  # environment variable: bytes, or with a unit as in 64M
_DEFAULT_LINE_LIMIT = 16 << 20
_SIZE = re.compile(r"([0-9]{1,15})\s*([KMG]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LONGEST_SEGMENT = 1 << 16
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_log = logging.getLogger("gramian.io")


def line_limit() -> int:
    """Return how many bytes a line, or a record of a table, may have: 16 MB, or what ``GRAMIAN_MAX_LINE`` says, such as 64M."""
    wanted = os.environ.get(LINE_LIMIT, "").strip()
    if not wanted:
        return _DEFAULT_LINE_LIMIT
    size = _SIZE.fullmatch(wanted)
    limit = int(size[1]) * _UNITS[size[2].upper()] if size else 0
    if not limit:
        raise OptionError(f"{LINE_LIMIT} must be a number of bytes, not {wanted!r}; try: {LINE_LIMIT}=64M")
    return limit


def too_long(what: str, name: str, line: int, limit: int) -> InputError:
    """Return the error for something in a file that is longer than `limit` bytes."""
    size = f"{limit >> 20} MB" if limit % (1 << 20) == 0 else f"{limit:,} bytes"
    return InputError(
        f"{what} is longer than {size}", name, line, hint=f"cut it, or raise the limit: {LINE_LIMIT}=64M"
    )


def source_name(source: Source) -> str:
    """Return how to call `source` in a message."""
    if isinstance(source, str | os.PathLike):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


_MARKUP = {
    "HTML": re.compile(
        r"\s*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
    ),
    "XML": re.compile(r"\s*+<\?xml\b"),
    "PDF": re.compile(r"%PDF-"),
    "RTF": re.compile(r"\{\\rtf"),
}


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the bytes of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError.of_system(error, "opened", path) from None


def reads_once(source: Source) -> bool:
    """Whether a source cannot be opened a second time: stdin, a stream, a pipe or a device."""
    if not isinstance(source, str | os.PathLike) or str(source) == "-":
        return True
    return os.path.exists(source) and not os.path.isfile(source) and not os.path.isdir(source)


def check_plain_text(start: str, name: str) -> None:
    """Raise an InputError if text that begins like this is a document with markup: its tags would be parsed as words."""
    kind = next((kind for kind in _MARKUP if _MARKUP[kind].match(start)), None)
    if kind is not None:
        hint = f"convert it to plain text, for example: pandoc -t plain {name}"
        raise InputError(f"this is {kind}, not plain text", name, 1, hint=hint)


def rereadable(source: Source) -> Rereadable:
    """Return `source`, or all of its text in memory if it can be read only once."""
    if not reads_once(source) or isinstance(source, io.StringIO):
        return cast(Rereadable, source)
    with open_text(source) as lines:
        text = io.StringIO("".join(lines))
    text.name = lines.name
    return text


def expand(source: Source) -> list[Source]:
    """List the files `source` stands for: itself, or all files under it in sorted order if it is a folder.

    Pipes, devices and sockets in a folder are skipped with a warning.
    """
    if not isinstance(source, str | os.PathLike) or str(source) == "-":
        return [source]
    path = Path(source)
    if not path.is_dir():
        return [path]
    files: list[Source] = []
    for file in sorted(path.rglob("*")):
        if any(part.startswith(".") for part in file.relative_to(path).parts):
            continue
        if file.is_file():
            files.append(file)
        elif not file.is_dir():
            warn_special_file(file)
    if not files:
        raise InputError("no file in this folder", str(path), hint="name a folder that holds files")
    return files


def warn_special_file(path: str | os.PathLike[str]) -> None:
    """Log that something in a folder is skipped because it is not a regular file."""
    _log.warning("skipped %s: not a regular file", path)


class TextLines:
    r"""The lines of one source as text.

    Iterating yields lines with their ends; the last may have none. ``\r\n`` becomes ``\n``, a byte-order mark goes, and bytes that are not
    UTF-8 are an InputError; with `repair` they become U+FFFD, and `repaired` counts the lines that had some. A line longer than
    :func:`line_limit` is an InputError.
    """

    def __init__(self, stream: BinaryIO, name: str, repair: bool = False) -> None:
        self.name, self.repaired = name, 0
        self._stream, self._repair = stream, repair

    def __iter__(self) -> Iterator[str]:
        return whole_lines(self.segments())

    def segments(self) -> Iterator[str]:
        """Yield the same text in pieces that end with a line, or, where a line is very long, within it.

        The first piece of a line comes once the whole line is known to be within the limit, so that nothing is done with a part of one.
        """
        decode = codecs.getincrementaldecoder("utf-8-sig")("replace" if self._repair else "strict").decode
        line, length, limit = 1, 0, line_limit()
        held: list[bytes] = []
        try:
            while segment := self._stream.readline(_LONGEST_SEGMENT):
                if b"\0" in segment and not (self._repair and not segment.startswith(_UTF_16)):
                    raise self._binary(segment, line)
                held.append(segment)
                length += len(segment)
                if length > limit:
                    raise too_long("the line", self.name, line, limit)
                if segment.endswith(b"\n"):
                    yield from self._decoded(b"".join(held), decode)
                    held, length, line = [], 0, line + 1
            yield from self._decoded(b"".join(held), decode)
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
        except InputError as error:
            error.line = error.line or line  # of decompression
            raise

    def _decoded(self, line: bytes, decode: Callable[[bytes], str]) -> Iterator[str]:
        """Yield the text of a line in pieces."""
        if line.endswith(b"\r\n"):
            line = line[:-2] + b"\n"
        for start in range(0, len(line), _LONGEST_SEGMENT):
            segment = line[start : start + _LONGEST_SEGMENT]
            text = decode(segment)
            if self._repair:
                text = text.replace("\0", "\ufffd")
                self.repaired += text.count("\ufffd") > segment.count("\ufffd".encode())
            if text:
                yield text

    def _binary(self, segment: bytes, line: int) -> InputError:
        if segment.startswith(_UTF_16):
            return InputError(
                "this is UTF-16, not UTF-8",
                self.name,
                line,
                hint=f"convert the file: iconv -f UTF-16 -t UTF-8 {self.name}",
            )
        return InputError("this is a binary file, not text", self.name, line, hint="name a text file")


def whole_lines(segments: Iterable[str]) -> Iterator[str]:
    """Join the segments of long lines."""
    held: list[str] = []
    for segment in segments:
        if held or segment[-1] != "\n":
            held.append(segment)
            if segment[-1] != "\n":
                continue
            segment = "".join(held)
            held.clear()
        yield segment
    if held:
        yield "".join(held)


@contextmanager
def open_text(source: Source, *, repair: bool = False) -> Iterator[TextLines]:
    """Open a path, ``"-"`` (stdin) or a stream as UTF-8 lines, decompressing as its content asks; see :class:`TextLines`."""
    with ExitStack() as opened:
        stream = _opened(source)
        if isinstance(source, str | os.PathLike) and str(source) != "-":
            opened.enter_context(stream)
        name = source_name(source)
        yield TextLines(decompressed(stream, name), name, repair)


def peek_text(source: Source) -> tuple[Source, str]:
    """Return how the text of `source` starts, and a source that still has all of it to be read."""
    if not reads_once(source):
        with open_text(expand(source)[0]) as lines:
            # empty lines at the start say nothing
            return source, next(filter(str.strip, lines.segments()), "")
    stream = decompressed(_opened(source), source_name(source))
    start = cast(io.BufferedReader, stream).peek(4096).decode("utf-8-sig", "ignore")
    return stream, start


def _opened(source: Source) -> BinaryIO:
    """Return the bytes of a source as a stream."""
    if isinstance(source, str | os.PathLike):
        if str(source) == "-":
            return sys.stdin.buffer
        try:
            return open(source, "rb")
        except OSError as error:
            raise InputError.of_system(error, "opened", source) from None
        except ValueError as error:
            raise InputError(f"cannot be opened ({error})", str(source), hint="check the path") from None
    if not hasattr(source, "read"):
        raise OptionError(f"a source is a path, '-' or an open file, not {type(source).__name__}")
    if isinstance(source, io.TextIOBase):
        buffer = getattr(source, "buffer", None)
        # A StringIO has no bytes beneath; its text is already decoded.
        return cast(BinaryIO, buffer) if buffer is not None else io.BytesIO(source.read().encode("utf-8"))
    return cast(BinaryIO, source)
