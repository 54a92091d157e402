"""What gramian runs on: versions of packages and the processor; and memory that is given back."""

import ctypes
import gc
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def processor() -> str:
    """Return the name of the processor."""
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
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # not glibc
        return
