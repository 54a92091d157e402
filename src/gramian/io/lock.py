"""One process at a time writes an output: it holds a lock of the system on a hidden file beside it.

The system releases such a lock when its holder ends, however it ends, so there are no stale locks to recognise.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gramian.errors import InputError, OptionError
from gramian.io.output import CHECK_FOLDER, AnyPath, is_written_through, target_of
from gramian.system import NO_LINKS, REMOVES_OPEN_FILES, lock

_RETRIES = 3  # :func:`is_locked` of another process holds a lock for an instant
_RETRY_SECONDS = 0.05

_held: set[int] = set()  # handles of this process


def _close_all() -> None:
    for handle in _held:
        with suppress(OSError):
            os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    # A forked child shares the lock of its parent, and would hold it longer than the parent lives.
    os.register_at_fork(after_in_child=_close_all)


def lock_file(output: AnyPath) -> Path:
    """Return the file that is locked while `output` is written."""
    target = target_of(output).absolute()
    return target.with_name(f".{target.name}.lock")


@contextmanager
def locked(output: AnyPath) -> Iterator[None]:
    """Keep other processes and threads from writing `output` meanwhile; an OptionError if one is doing so."""
    if is_written_through(output):
        yield  # whoever opens a device or a pipe may write to it
        return
    path = lock_file(output)
    handle = _acquire(path, output)
    _held.add(handle)
    try:
        os.truncate(handle, 0)
        os.write(handle, f"{socket.gethostname()} {os.getpid()}\n".encode())  # for people who find it
        yield
    finally:
        if handle in _held:  # else this is a forked child, and the lock its parent's
            _held.discard(handle)
            _release(path, handle)


def _release(path: Path, handle: int) -> None:
    if not REMOVES_OPEN_FILES:
        os.close(handle)
    with suppress(OSError):
        path.unlink(missing_ok=True)  # while it is locked: see _acquire
    if REMOVES_OPEN_FILES:
        os.close(handle)


def _acquire(path: Path, output: AnyPath) -> int:
    """Return the handle of a file of this name that is locked.

    Whoever releases a lock removes its file, so what was locked may have been removed between opening and locking, and another process
    may hold a new file of the name: a lock counts only if the file still has its name.
    """
    refusals = 0
    while refusals < _RETRIES:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o666)
        except OSError as error:
            raise InputError.of_system(error, "written", path, CHECK_FOLDER) from None
        try:
            if not lock(handle):
                refusals += 1
                time.sleep(_RETRY_SECONDS)
            elif os.path.samestat(os.fstat(handle), os.lstat(path)):
                return handle
        except FileNotFoundError:
            pass  # its file was removed
        except OSError as error:
            os.close(handle)
            raise InputError.of_system(error, "locked", path, "choose a folder on a local disk") from None
        os.close(handle)
    raise OptionError(
        f"{output}: another process is writing it ({_holder(path)}); try: choose another name, or wait until it has ended"
    )


def is_locked(output: AnyPath) -> bool:
    """Whether some process writes `output` now; nothing is created."""
    path = lock_file(output)
    try:
        handle = os.open(path, os.O_RDWR | NO_LINKS)
    except OSError:
        return False
    try:
        return not lock(handle)
    except OSError:
        return False
    finally:
        os.close(handle)


def _holder(path: Path) -> str:
    """Return the machine and process that wrote itself into a lock file."""
    try:
        text = path.read_text(encoding="utf-8")[:200].strip()
    except (OSError, ValueError):
        text = ""
    return text if text.isprintable() and text else "unknown"
