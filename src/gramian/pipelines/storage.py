"""Where corpora lie: folders of this machine, or of whatever ``fsspec`` has an address for (``s3://``, ``gs://``, ``memory://``).

Names are relative to a root, with slashes, and stay below it: one that leads elsewhere is an InputError, and nothing is written or
removed behind a symbolic link that leaves the root. What is written is there whole or not at all: locally by a rename, on object
stores since an object appears when it is closed.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from gramian.errors import InputError, MissingExtraError, OptionError
from gramian.io.lock import is_locked, locked
from gramian.io.output import replace_file, write_bytes
from gramian.io.reading import reads_once, warn_special_file

_LOCK = "run"  # what a run of parse holds: the file .run.lock


@dataclass(frozen=True)
class Entry:
    """A file: its name below a root, its size, and something that is another when its content is."""

    name: str
    size: int
    stamp: str


def below(name: str) -> str:
    """Return a name that stays below a root; an InputError if it leads elsewhere."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or name.startswith(("/", "\\")) or "\0" in name or os.path.isabs(name):
        raise InputError("the name leads out of the folder", name, hint="remove the file that has it")
    return name


def storage_at(address: str) -> Storage:
    """Return the storage of an address: a path, or a URL."""
    return RemoteStorage(address) if "://" in address else LocalStorage(address)


class LocalStorage:
    """A folder of this machine."""

    def __init__(self, address: str) -> None:
        self.address = os.path.abspath(address)
        self._root = Path(self.address)

    def entry(self, name: str) -> Entry | None:
        """Return what is known of a file, None if there is none."""
        try:
            status = (self._root / below(name)).stat()
        except OSError:
            return None
        return Entry(name, status.st_size, f"{status.st_size} {status.st_mtime_ns}")

    def entries(self, folder: str = "") -> Iterator[Entry]:
        """Yield the regular files below a folder in sorted order, without hidden ones; others are skipped with a warning."""
        for folder_path, folders, files in os.walk(self._root / folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(name for name in files if not name.startswith(".")):
                path = Path(folder_path) / name
                if reads_once(path):
                    warn_special_file(path)
                elif (entry := self.entry(path.relative_to(self._root).as_posix())) is not None:
                    yield entry

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading; InputError if it cannot be opened."""
        try:
            return open(self._root / below(name), "rb")
        except OSError as error:
            raise InputError.of_system(error, "opened", self._root / name) from None

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if there is none."""
        try:
            return (self._root / below(name)).read_bytes()
        except OSError:
            return None

    def _owned(self, name: str) -> Path:
        """Return the path of what may be written or removed: it lies in the root, whatever links there are on the way."""
        path = self._root / below(name)
        folder, root = os.path.realpath(path.parent), os.path.realpath(self._root)
        if os.path.commonpath([folder, root]) != root:
            raise InputError(f"a symbolic link leads out of {root}", str(path), hint="remove the link")
        return path

    def create(self, name: str) -> BinaryIO:
        """Open a new file for writing; its folder is created if needed."""
        path = self._owned(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "xb")

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        path = self._owned(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():  # gramian makes none here, and none may lead out
            path.unlink()
        write_bytes(path, content)

    def move(self, name: str, to: str) -> None:
        """Rename a file; an existing one of the new name is replaced."""
        path = self._owned(to)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        replace_file(self._owned(name), path)

    def remove(self, name: str) -> None:
        """Remove a file if it exists; a folder stays."""
        path = self._owned(name)
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)

    def remove_written(self, folder: str, names: re.Pattern[str]) -> None:
        """Remove the files directly in a folder whose names match, and the folder if it is empty then."""
        path = self._owned(f"{folder}/x").parent
        with suppress(OSError):  # it may not be there, or not be empty
            for name in os.listdir(path):
                if names.fullmatch(name):
                    (path / name).unlink(missing_ok=True)
            path.rmdir()

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from writing here meanwhile; OptionError if one is writing."""
        self._root.mkdir(parents=True, exist_ok=True)
        return locked(self._root / _LOCK)

    def is_locked(self) -> bool:
        """Return whether a process is writing here."""
        return is_locked(self._root / _LOCK)


class RemoteStorage:
    """A folder that ``fsspec`` reaches."""

    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ModuleNotFoundError:
            raise MissingExtraError("fsspec", "corpora", f"{address}: a URL") from None
        try:
            self._files, root = url_to_fs(address)
        except (ValueError, ImportError) as error:
            raise OptionError(f"{address}: {error}") from None
        self.address = address.rstrip("/")
        self._root = str(root).rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{below(name)}" if name else self._root

    def _entry(self, name: str, details: dict[str, Any]) -> Entry:
        versions = [
            str(details[key])
            for key in ("ETag", "etag", "md5Hash", "mtime", "created", "LastModified")
            if key in details
        ]
        return Entry(name, int(details.get("size") or 0), " ".join([str(details.get("size")), *versions]))

    def entry(self, name: str) -> Entry | None:  # noqa: D102
        try:
            return self._entry(name, self._files.info(self._path(name)))
        except OSError:
            return None

    def entries(self, folder: str = "") -> Iterator[Entry]:  # noqa: D102
        listed = self._files.find(self._path(folder), detail=True)
        for path in sorted(listed):
            name = str(path)[len(self._root) :].lstrip("/")
            if not any(part.startswith(".") for part in name.split("/")):
                yield self._entry(name, listed[path])

    def open(self, name: str) -> BinaryIO:  # noqa: D102
        try:
            return cast(BinaryIO, self._files.open(self._path(name), "rb"))
        except OSError as error:
            raise InputError.of_system(error, "opened", f"{self.address}/{name}") from None

    def read(self, name: str) -> bytes | None:  # noqa: D102
        try:
            return cast(bytes, self._files.cat_file(self._path(name)))
        except OSError:
            return None

    def create(self, name: str) -> BinaryIO:  # noqa: D102
        self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
        return cast(BinaryIO, self._files.open(self._path(name), "wb"))

    def write(self, name: str, content: bytes) -> None:  # noqa: D102
        with self.create(name) as file:
            file.write(content)

    def move(self, name: str, to: str) -> None:  # noqa: D102
        self._files.makedirs(self._path(to).rpartition("/")[0], exist_ok=True)
        self.remove(to)
        self._files.mv(self._path(name), self._path(to))

    def remove(self, name: str) -> None:  # noqa: D102
        with suppress(FileNotFoundError):
            self._files.rm(self._path(name))

    def remove_written(self, folder: str, names: re.Pattern[str]) -> None:  # noqa: D102
        with suppress(OSError):  # it may not be there, or not be empty
            for path in self._files.ls(self._path(folder), detail=False):
                name = str(path).rstrip("/").rpartition("/")[2]
                if names.fullmatch(name):
                    self.remove(f"{folder}/{name}")
            self._files.rmdir(self._path(folder))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing here; object stores have no locks, so two that begin in the same instant are not told apart."""
        name, holder = f".{_LOCK}.lock", f"{socket.gethostname()} {os.getpid()}"
        if (owner := self.read(name)) is not None:
            raise OptionError(
                f"{self.address}: another process ({owner.decode(errors='replace')}) is writing it; "
                f"try: choose another folder, or wait (if there is no such process, remove {name} there)"
            )
        self.write(name, holder.encode())
        try:
            yield
        finally:
            self.remove(name)

    def is_locked(self) -> bool:  # noqa: D102
        return self.read(f".{_LOCK}.lock") is not None


Storage: TypeAlias = LocalStorage | RemoteStorage
