"""Output that goes on where a stopped command was: what is finished lies in a hidden file beside it until all is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gramian import __version__
from gramian.errors import InputError
from gramian.io.files import writing
from gramian.io.lock import locked


@contextmanager
def resumed(output: str, files: list[str], options: object, *, blocks: bool) -> Iterator[tuple[IO[str], int]]:
    """Write `output`, which appears when it is whole; give the stream, and how many records an earlier call has finished.

    Only a call with the same `files` and `options` goes on, and none to stdout (``-``) or a compressed file. With `blocks`, a record is
    lines up to an empty one, otherwise one line.
    """
    if output == "-" or output.endswith((".gz", ".xz")) or "-" in files:
        with writing(output) as out:
            yield out, 0
        return
    target = Path(output)
    partial = target.with_name(f".{target.name}.{_mark(files, options)}.partial")
    try:
        with locked(target):
            with open(partial, "a+b") as file:
                end, done = _finished(file, blocks)
                file.truncate(end)
            with open(partial, "a", encoding="utf-8", newline="\n") as out:
                yield out, done
            os.replace(partial, target)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})",
            output,
            hint="another folder; the same command then goes on",
        ) from None


def _mark(files: list[str], options: object) -> str:
    digest = hashlib.sha256(f"{__version__} {options!r}".encode())  # another version may write something else
    for name in files:
        try:
            with open(name, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise InputError(f"cannot be opened ({error.strerror})", name, hint="check the path") from None
    return digest.hexdigest()[:16]


def _finished(file: IO[bytes], blocks: bool) -> tuple[int, int]:
    """Return where the last whole record ends, and how many there are."""
    file.seek(0)
    place = end = done = 0
    inside = False
    for line in file:
        place += len(line)
        if not line.endswith(b"\n"):
            break
        inside = blocks and line != b"\n"
        if not inside:
            end, done = place, done + 1
    return end, done
