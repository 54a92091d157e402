"""The rules for everything that gramian writes; ``docs/reference/output.md`` states them for users.

1. A file is whole or absent: text goes to a hidden temporary file in the same folder, which is renamed at the end (:func:`writing`).
2. A command does not replace a file that holds something unless ``--force`` is given (:func:`check_output`), and a command that
   writes a folder does not replace results that other options made there (:func:`check_results`).
3. A file that exists keeps its mode and its owner; a new one gets the mode that the umask leaves.
4. A symbolic link stays: the file it points to is replaced, atomically (:func:`target_of`).
5. Devices and pipes are written to and never replaced (:func:`is_written_through`); ``-`` is stdout.
"""

import errno
import io
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from gramian.errors import InputError, OptionError
from gramian.io.decompression import compressing

AnyPath: TypeAlias = "str | os.PathLike[str]"

CHECK_FOLDER = "check the folder and its permissions"
FREE_SPACE = "free some space, or choose another folder"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_MAX_NAME = 100  # characters of a file's name that its temporary file repeats: names of files are limited


def is_written_through(path: AnyPath) -> bool:
    """Whether the name stands for a device or a pipe, which is written to and never replaced."""
    absolute = os.path.abspath(path)
    if absolute.startswith(("/dev/", "/proc/")) and os.path.islink(absolute) and os.path.exists(absolute):
        return True  # /dev/stdout may stand for a file, but its name is not that file's
    return os.path.exists(absolute) and not os.path.isfile(absolute) and not os.path.isdir(absolute)


def target_of(path: AnyPath) -> Path:
    """Return the file that is written for a name: what a symbolic link points to, whether it exists or not, else the file itself."""
    try:
        return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    except OSError:
        return Path(path)


def check_output(path: AnyPath, *, force: bool = False) -> None:
    """Raise an OptionError before work begins if a file cannot be written at its end, or would be replaced without `force`."""
    if str(path) == "-":
        return
    if is_written_through(path):
        if not os.access(path, os.W_OK):
            raise OptionError(f"{path}: cannot be written; try: choose another name or folder")
        return
    target = target_of(path)
    if os.path.islink(target):
        raise OptionError(f"{path}: this symbolic link points to itself; try: choose another name")
    if not target.parent.is_dir():
        raise OptionError(f"{path}: there is no folder {target.parent}; try: mkdir -p {target.parent}")
    can_replace = not target.exists() or (target.is_file() and os.access(target, os.W_OK))
    if not (can_replace and os.access(target.parent, os.W_OK)):
        raise OptionError(f"{path}: cannot be written; try: choose another name or folder")
    if not force and target.is_file() and target.stat().st_size > 0:
        raise OptionError(
            f"{path}: this file exists and would be replaced; try: choose another name, or pass --force"
        )


def check_folder(path: AnyPath) -> None:
    """Raise an OptionError before work begins if a folder, which is made if it is missing, cannot be written to at its end."""
    existing = Path(path).absolute()
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise OptionError(f"{path}: this folder cannot be written to; try: choose another one")


def changed_options(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Name the options whose values differ."""
    names = [*old, *(name for name in new if name not in old)]
    return [
        f"{name} is {new.get(name)!r}, was {old.get(name)!r}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def check_results(folder: str, changes: Iterable[str], *, force: bool) -> None:
    """Raise an OptionError if a folder holds finished results of a run from which this one differs by `changes`."""
    differences = "; ".join(dict.fromkeys(changes))
    if differences and not force:
        raise OptionError(
            f"{folder}: has results of other options that would be replaced ({differences}); "
            "try: choose another folder, or pass --force"
        )


@contextmanager
def writing(path: AnyPath) -> Iterator[IO[str]]:
    """Write UTF-8 text to `path`, by the rules of this module.

    A name ending in ``.gz``, ``.xz`` or ``.zst`` is compressed (without a time stamp, so that equal text gives equal bytes); ``"-"`` is
    stdout.
    """
    if str(path) == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
        sys.stdout.flush()
        return
    if is_written_through(path):
        with _explaining(str(path)), open(path, "wb") as raw, as_text(raw, Path(path).suffix) as text:
            yield text
        return
    target = target_of(path)
    try:
        is_new = not target.exists()
        temporary = target.with_name(f".{target.name[:_MAX_NAME]}.{secrets.token_hex(6)}.tmp")
        # What replaces a private file is private from the start; a new file gets what the umask leaves.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(temporary, flags, 0o666 if is_new else 0o600)
    except OSError as error:
        raise InputError.of_system(error, "written", path, CHECK_FOLDER) from None
    try:
        with _explaining(str(path)):
            with os.fdopen(handle, "wb") as raw, as_text(raw, Path(path).suffix) as text:
                yield text
            replace_file(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def replace_file(path: AnyPath, target: AnyPath) -> None:
    """Rename a file; one that has the name already is replaced, and its mode kept, and its owner where the system allows that."""
    with suppress(FileNotFoundError):
        before, new = os.stat(target), os.stat(path)
        if hasattr(os, "chown") and (before.st_uid, before.st_gid) != (new.st_uid, new.st_gid):
            with suppress(PermissionError):
                os.chown(path, before.st_uid, before.st_gid)
        os.chmod(path, stat.S_IMODE(before.st_mode))
    os.replace(path, target)


def as_text(raw: IO[bytes], suffix: str) -> io.TextIOWrapper:
    """Return a stream of text that ends in `raw`, compressed as the end of the file's name says."""
    return io.TextIOWrapper(compressing(raw, suffix), encoding="utf-8", newline="\n")


def is_no_room(error: OSError) -> bool:
    """Whether an error of the system says that there is no room for what is written."""
    return error.errno in _NO_ROOM


@contextmanager
def _explaining(name: str) -> Iterator[None]:
    """Turn an error of the system that means a full disk into an InputError."""
    try:
        yield
    except OSError as error:
        if is_no_room(error):
            raise InputError.of_system(error, "written", name, FREE_SPACE) from None
        raise


def write_lines(items: Iterable[object], path: AnyPath) -> int:
    """Write each item as text and a line end, as :func:`writing` does; return how many."""
    count = 0
    with writing(path) as out:
        for item in items:
            out.write(f"{item}\n")
            count += 1
    return count


def write_bytes(path: AnyPath, content: bytes) -> None:
    """Write `content` as :func:`writing` does."""
    with writing(path) as out:
        cast(io.TextIOWrapper, out).buffer.write(content)
