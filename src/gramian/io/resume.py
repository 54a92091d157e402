"""Output of a command that resumes after an interruption: finished records are kept in a hidden file beside it."""

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from gramian import __version__
from gramian.errors import InputError
from gramian.io.lock import locked
from gramian.io.output import FREE_SPACE, is_written_through, writing
from gramian.io.reading import file_sha256, reads_once
from gramian.system import open_private, user

_HEAD = re.compile(rb"([0-9]{1,12}) ([0-9a-f]{8})\n")
_LONGEST_HEAD = 24


class _Records:
    """Records that are added to a file, each with its length and checksum before it, so that what was damaged is noticed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Add a record."""
        data = text.encode()
        self._file.write(b"%d %08x\n" % (len(data), zlib.crc32(data)) + data)
        return len(text)

    def flush(self) -> None:
        """Let others see what was written."""
        self._file.flush()

    def isatty(self) -> bool:
        """Whether someone looks at it: nobody does."""
        return False


@contextmanager
def resumed(output: str, files: list[str], options: object) -> Iterator[tuple[IO[str], int]]:
    """Write `output`, which appears when it is whole; give a stream that takes a record at each ``write``, and how many there are.

    These are records that an earlier call with the same `files` and `options` has finished. They are only kept where all `files` and the
    output are regular files, and the output is not compressed: reading a pipe to compare it with the earlier call would drain it. Records
    count as far as their checksums fit; a full disk keeps them for the next call.
    """
    is_stream = output == "-" or output.endswith((".gz", ".xz", ".zst")) or is_written_through(output)
    if is_stream or any(map(reads_once, files)):
        with writing(output) as out:
            yield out, 0
        return
    target = Path(output)
    partial = target.with_name(f".{target.name}.{_mark(files, options)}.partial")
    try:
        with locked(target):
            with open(partial, "a+b", opener=open_private) as file:
                _check_owner(partial, file)
                ends = [end for end, _ in _records(file)]
                file.truncate(ends[-1] if ends else 0)
                yield cast("IO[str]", _Records(file)), len(ends)
                file.flush()
                with writing(target) as whole:
                    for _, data in _records(file):
                        whole.write(data.decode())
            partial.unlink()
    except OSError as error:
        raise InputError.of_system(error, "written", output, FREE_SPACE) from None


def _check_owner(partial: Path, file: IO[bytes]) -> None:
    """Make sure that the file is no one else's, and known by no other name."""
    status = os.fstat(file.fileno())
    foreign = user() not in (None, status.st_uid)
    if foreign or status.st_nlink != 1 or not stat.S_ISREG(status.st_mode):
        raise InputError("is not a file of this user alone", str(partial), hint="remove it")


def _mark(files: list[str], options: object) -> str:
    digest = hashlib.sha256(f"{__version__} {options!r}".encode())  # another version may write something else
    for name in files:
        digest.update(file_sha256(name).encode())
    return digest.hexdigest()[:16]


def _records(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield where each record ends, and what it holds, up to the first that is cut or damaged."""
    file.seek(0)
    end = 0
    while head := _HEAD.fullmatch(start := file.readline(_LONGEST_HEAD)):
        size, sum_ = int(head[1]), int(head[2], 16)
        data = file.read(size) if size <= os.fstat(file.fileno()).st_size else b""
        if len(data) < size or zlib.crc32(data) != sum_:
            break
        end += len(start) + size
        yield end, data
