"""One process at a time writes an output: a file beside it says which."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gramian.errors import InputError, OptionError
from gramian.io.files import is_written_through

_held: set[Path] = set()  # by this process
_UNDECIDED = 0.05  # seconds within which another may have taken over the same lock


@contextmanager
def locked(output: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from writing `output` meanwhile; an OptionError if one is doing so.

    The lock is the hidden file ``.NAME.lock``, made by one process alone, with its number inside. That of a process that is gone
    (killed, say) is taken over.
    """
    if is_written_through(output):
        yield  # whoever opens a device or a pipe may write to it
        return
    lock = Path(output).absolute()
    lock = lock.with_name(f".{lock.name}.lock")
    own = f"{socket.gethostname()} {os.getpid()} {_born(os.getpid())}"
    if lock in _held or not (_made(lock, own) or _taken_over(lock, own)):
        raise OptionError(
            f"{output}: another process is writing it; try: another name, or wait (or remove {lock} if there is none)"
        )
    _held.add(lock)
    try:
        yield
    finally:
        _held.discard(lock)
        if _content(lock) == own:
            lock.unlink(missing_ok=True)


def _made(lock: Path, own: str) -> bool:
    """Whether there was no such file, and now there is."""
    try:
        handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except FileExistsError:
        return False
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", str(lock), hint="check the folder and its permissions"
        ) from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(own)
    return True


def _taken_over(lock: Path, own: str) -> bool:
    """Whether the process of a lock is gone, and of those that notice it now, this one is the last."""
    found = _content(lock)
    if found == "":  # just made, or of a process killed just then
        time.sleep(_UNDECIDED)
        found = _content(lock)
    if found is not None and _is_alive(found):
        return False
    fresh = lock.with_name(f"{lock.name}.{os.getpid()}")
    with suppress(OSError):
        fresh.unlink(missing_ok=True)  # of a process with this number, long ago
        with open(fresh, "x", encoding="utf-8") as file:
            file.write(own)
        os.replace(fresh, lock)
    time.sleep(_UNDECIDED)
    return _content(lock) == own


def _content(lock: Path) -> str | None:
    try:
        return lock.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _is_alive(owner: str) -> bool:
    """Whether the process of a lock may still be there; of other machines nobody knows."""
    host, _, rest = owner.partition(" ")
    number, _, born = rest.partition(" ")
    if not number.isdecimal() or host != socket.gethostname():
        return bool(owner) and number.isdecimal()
    if int(number) == os.getpid():
        return False  # of another process with this number, long ago
    if os.name != "posix":
        return True  # there is no harmless question
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is someone else's
    return _born(int(number)) == born  # numbers are given again


def _born(process: int) -> str:
    """Return when a process was started, as the system says it; empty where it does not."""
    try:
        return (
            Path(f"/proc/{process}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[19]
        )
    except (OSError, IndexError):
        return ""
