"""Compressed streams, decompressed piece by piece: ``.gz``, ``.xz`` and ``.zst``, told apart by their first bytes.

No input makes a reader hold more than one buffer and the window of the format. A file that grows beyond all measure is refused.
"""

import io
import lzma
import zlib
from collections.abc import Callable
from functools import partial
from typing import IO, Any, BinaryIO, cast

from gramian.errors import InputError, MissingExtraError

LARGEST_WINDOW = 1 << 27  # bytes: the limit of the command zstd; xz -9 needs half of it
LARGEST_RATIO = 250  # of the content to the file; text shrinks to a third or a tenth, the same line repeated to a hundredth
_UNCHECKED = 1 << 26  # bytes of content that are let through before their ratio is looked at
_BLOCK = 1 << 17
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"


def decompressed(stream: BinaryIO, name: str) -> BinaryIO:
    """Return the content of a stream called `name`, decompressed as its first bytes ask; plain content in a stream with ``peek``."""
    if not hasattr(stream, "peek"):
        stream = cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream), _BLOCK))
    start = cast(io.BufferedReader, stream).peek(6)[:6]
    new: Callable[[], Any]
    if start.startswith(_GZIP):
        new = _GzipMember
    elif start.startswith(_XZ):
        new = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=LARGEST_WINDOW)
    elif start.startswith(_ZSTD):
        new = zstd_library(name).ZstdDecompressor
    else:
        return stream
    return cast(BinaryIO, io.BufferedReader(_Content(stream, name, new), _BLOCK))


def zstd_library(name: str) -> Any:
    """Return Python's module for Zstandard, or its backport before Python 3.14."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:
        try:
            from backports import zstd
        except ModuleNotFoundError:
            raise MissingExtraError("backports.zstd", "corpora", f"{name}: a Zstandard file") from None
    return zstd


def compressing(raw: IO[bytes], suffix: str) -> IO[bytes]:
    """Return a stream whose content goes to `raw`, compressed as the end of a file's name asks; equal content gives equal bytes."""
    if suffix == ".gz":
        import gzip

        return cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "wb")
    if suffix == ".zst":
        return cast("IO[bytes]", zstd_library(str(getattr(raw, "name", "output"))).ZstdFile(raw, "wb"))
    return raw


def check_ratio(content: int, compressed: int, name: str) -> None:
    """Raise an InputError if so many bytes of content from so many compressed ones are no text that anybody wrote."""
    if content > max(_UNCHECKED, LARGEST_RATIO * compressed):
        raise InputError(
            f"the decompressed file is more than {LARGEST_RATIO} times as large",
            name,
            hint="decompress the file first",
        )


class _Content(io.RawIOBase):
    """The content of a compressed stream of one or more members, each decompressed by a `new` decompressor."""

    def __init__(self, stream: BinaryIO, name: str, new: Callable[[], Any]) -> None:
        self.name = name
        self._stream, self._new = stream, new
        self._member = new()
        self._read = self._written = 0  # bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._next(min(len(buffer), _BLOCK))
        buffer[: len(content)] = content
        self._written += len(content)
        check_ratio(self._written, self._read, self.name)
        return len(content)

    def _next(self, size: int) -> bytes:
        """Return some content, nothing at the end of the last member."""
        while True:
            data = b""
            if self._member.eof:
                data = self._member.unused_data.lstrip(b"\0")  # members may be padded
                while not data:
                    if not (data := self._block()):
                        return b""
                    data = data.lstrip(b"\0")
                self._member = self._new()
            elif self._member.needs_input and not (data := self._block()):
                raise self._damaged("it ends too early")
            try:
                content = self._member.decompress(data, size)
            except Exception as error:  # each library has its own exceptions
                if "emory" in str(error):  # of xz and zstd, for windows beyond their limits
                    raise InputError(
                        f"decompression needs a window of more than {LARGEST_WINDOW >> 20} MB",
                        self.name,
                        hint="decompress the file first",
                    ) from None
                raise self._damaged(str(error)) from None
            if content:
                return content

    def _block(self) -> bytes:
        data = self._stream.read(_BLOCK)
        self._read += len(data)
        return data

    def _damaged(self, reason: str) -> InputError:
        return InputError(
            f"the compressed file is damaged or cut short ({reason})", self.name, hint="copy the file again"
        )


class _GzipMember:
    """A gzip member with the interface of the decompressors of :mod:`lzma` and ``zstd``."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        content = self._member.decompress(self._member.unconsumed_tail + data, max_length)
        self.needs_input = not self._member.unconsumed_tail and len(content) < max_length
        return content
