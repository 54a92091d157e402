"""What gramian runs on: the processor, versions, memory, and what differs between POSIX and Windows.

No other module asks which system it runs on. Windows has locks of files by ``msvcrt``; links are followed there, files have no numeric
owner, memory is not measured, and worker processes are refused.
"""

import gc
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # a flag of os.open
REMOVES_OPEN_FILES = os.name == "posix"  # where Windows must close a file first
HAS_WORKER_PROCESSES = os.name == "posix"  # process groups and inherited sockets, which they need

if sys.platform == "win32":
    import msvcrt

    def lock(handle: int, *, wait: bool = False) -> bool:
        """Lock an open file, at once or after waiting for other processes; return whether it is locked now."""
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Release the lock of an open file."""
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

    def user() -> int | None:
        """Return the number of the user that this process acts for; None where there are no numbers."""
        return None

    def peak_megabytes() -> float:
        """Return the most memory that this process has had, in megabytes; 0 where the system does not say."""
        return 0.0

else:
    import fcntl
    import resource

    def lock(handle: int, *, wait: bool = False) -> bool:
        """Lock an open file, at once or after waiting for other processes; return whether it is locked now."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Release the lock of an open file."""
        fcntl.flock(handle, fcntl.LOCK_UN)

    def user() -> int | None:
        """Return the number of the user that this process acts for; None where there are no numbers."""
        return os.geteuid()

    def peak_megabytes() -> float:
        """Return the most memory that this process has had, in megabytes; 0 where the system does not say."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def open_private(path: str, flags: int) -> int:
    """Open a file, as an ``opener``: a symbolic link is not followed, and a new file is readable by this user only."""
    return os.open(path, flags | NO_LINKS, 0o600)


def processor() -> str:
    """Return the name of the processor."""
    import platform

    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each package, None of those that are not installed."""
    from importlib import metadata

    installed: dict[str, str | None] = {}
    for package in packages:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed[package] = None
    return installed


@contextmanager
def without_cycle_search() -> Iterator[None]:
    """Pause the search for reference cycles: trees and modules have none, and it takes a good part of the time to load them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def give_back_memory() -> None:
    """Return to the system what was freed, where the C library can; it keeps a good part of what many large arrays took."""
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # not glibc
        return
