"""Text in and out: plain, ``.gz``, ``.xz`` and ``.zst`` told apart by content; files, folders and stdin; atomic writing.

Every reader of gramian gets its lines from :func:`open_text`, so that a byte-order mark, Windows line ends, a truncated archive or a
binary file mean the same everywhere; every writer goes through :func:`writing`.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import lzma
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO, TypeAlias, cast

from gramian.errors import InputError, OptionError
from gramian.io import zstd

Source: TypeAlias = "str | os.PathLike[str] | IO[str] | IO[bytes]"

_LONGEST_SEGMENT = 1 << 16
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
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


def is_written_through(path: str | os.PathLike[str]) -> bool:
    """Whether something else than a file is of this name, a device or a pipe: it is written to, and never replaced."""
    place = os.path.abspath(path)
    if place.startswith(("/dev/", "/proc/")) and os.path.islink(place) and os.path.exists(place):
        return True  # /dev/stdout may stand for a file, but its name is not that file's
    return os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place)


def no_links(path: str, flags: int) -> int:
    """Open a file, as an ``opener``; one that a link of this name stands for is not followed, and a new one is this user's alone."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise an OptionError now if a file could not be written at the end of work that may take hours."""
    if is_written_through(path):
        if not os.access(path, os.W_OK):
            raise OptionError(f"{path}: cannot be written; try: another name or folder")
        return
    folder = Path(path).parent
    if not folder.is_dir():
        raise OptionError(f"{path}: there is no folder {folder}; try: mkdir -p {folder}")
    if not os.access(folder, os.W_OK) or (Path(path).exists() and not Path(path).is_file()):
        raise OptionError(f"{path}: cannot be written; try: another name or folder")


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an OptionError now if a folder, which is made if it is not there, could not be written to at the end of work."""
    place = Path(path).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise OptionError(f"{path}: this folder cannot be written to; try: another one")


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Write UTF-8 text to `path` through a temporary file that is renamed at the end, or removed if anything fails.

    A name ending in ``.gz``, ``.xz`` or ``.zst`` is compressed (without a time stamp, so that equal text gives equal bytes); ``"-"`` is
    stdout. What is no file, such as ``/dev/null`` or a named pipe, is written to as it is.
    """
    if str(path) == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(path)
    if is_written_through(path):
        with _saying_why(str(target)), open(path, "wb") as raw, as_text(raw, target.suffix) as text:
            yield text
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", str(target), hint="check the folder and its permissions"
        ) from None
    try:
        with _saying_why(str(target)):
            with os.fdopen(handle, "wb") as raw, as_text(raw, target.suffix) as text:
                yield text
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def as_text(raw: IO[bytes], suffix: str) -> io.TextIOWrapper:
    """Return a stream of text that ends in `raw`, compressed as the end of the file's name says."""
    if suffix == ".gz":
        packed: IO[bytes] = cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
    elif suffix == ".xz":
        packed = lzma.LZMAFile(raw, "wb")  # noqa: SIM115 - closed by the text layer
    elif suffix == ".zst":
        packed = zstd.packing(raw)
    else:
        packed = raw
    return io.TextIOWrapper(packed, encoding="utf-8", newline="\n")


def is_no_room(error: OSError) -> bool:
    """Whether an error of the system says that there is no room for what is written."""
    return error.errno in _NO_ROOM


@contextmanager
def _saying_why(name: str) -> Iterator[None]:
    """Say in a sentence that there is no room for what is written meanwhile."""
    try:
        yield
    except OSError as error:
        if is_no_room(error):
            raise InputError(
                f"cannot be written ({error.strerror})", name, hint="making room, or another folder"
            ) from None
        raise


def write_lines(items: Iterable[object], path: str | os.PathLike[str]) -> int:
    """Write each item as text and a line end, as :func:`writing` does; return how many."""
    count = 0
    with writing(path) as out:
        for item in items:
            out.write(f"{item}\n")
            count += 1
    return count


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` as :func:`writing` does: whole or not at all."""
    with writing(path) as out:
        cast(io.TextIOWrapper, out).buffer.write(content)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
