"""Zstandard streams, by Python's own module where it has one (3.14), else by the package ``zstandard``."""

from __future__ import annotations

import io
from typing import IO, Any, BinaryIO, cast

from gramian.errors import MissingExtraError

MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 17


def _library() -> tuple[Any, Any]:
    """Return what makes a decompressor of one frame, and what wraps a stream to be written to."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd.ZstdDecompressor, lambda raw: zstd.ZstdFile(raw, "wb")
    except ModuleNotFoundError:
        pass
    try:
        import zstandard
    except ModuleNotFoundError:
        raise MissingExtraError("zstandard", "corpora", "a file that ends in .zst") from None
    return (
        lambda: zstandard.ZstdDecompressor().decompressobj(),
        lambda raw: zstandard.ZstdCompressor().stream_writer(raw),
    )


class _Frames(io.RawIOBase):
    """The content of a stream of frames; an EOFError if it is damaged, or ends within one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._new, self._ready = stream, _library()[0], b""
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
            data = data or self._stream.read(_BLOCK)
            if not data:
                if self._frame is not None and not self._frame.eof:
                    raise EOFError("the last frame does not end")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._new()
            try:
                self._ready = self._frame.decompress(data)
            except Exception as error:  # each library has a class of its own
                raise EOFError(str(error)) from None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def reading(stream: BinaryIO) -> BinaryIO:
    """Return the content of a compressed stream."""
    return cast(BinaryIO, io.BufferedReader(_Frames(stream), _BLOCK))


def packing(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream whose content goes to `raw`, compressed."""
    return cast("IO[bytes]", _library()[1](raw))
