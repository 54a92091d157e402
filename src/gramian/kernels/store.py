"""Compiled kernels on disk: which directories are trusted, which files still fit, how files are read and written.

A directory is named after all that its kernels depend on: every source file that takes part in a kernel, the versions of gramian, numba,
llvmlite, NumPy and Python, numba's settings and the processor. A change of any of these leads to another directory; outdated ones are
removed. There are two places: kernels that came with the package, compiled for levels of processors (``tools/kernels.py`` makes them
for a wheel), and a private directory of the user with kernels compiled here. Compiled code is a pickle and can do anything, so it is
read from nowhere else, and only after its checksum was verified.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import time
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding as llvm

from gramian import __version__
from gramian.system import lock, open_private, unlock, user

PACKAGE = Path(__file__).parents[1]
SHIPPED = Path(__file__).parent / "compiled"

# Levels of processors, the best first, and the features that LLVM reports for a processor of that level.
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {"x86-64-v3": _V3, "x86-64-v2": _V2},
    "aarch64": {"generic": ()},
    "arm64": {"generic": ()},
}

config: Any = numba.config
# numba's settings that change the code it generates.
_SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "ENABLE_AVX",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USING_SVML",
)
_IMPORT = re.compile(rb"^[ \t]*from gramian\.([\w.]+) import", re.MULTILINE)
_DIRECTORY = re.compile(r"(linked|plain)-[0-9a-f]{16}-[0-9a-f]{16}")
_UNUSED = 30 * 86_400  # seconds after which a directory for another processor or other versions is removed


def sources() -> list[Path]:
    """Return every file that takes part in kernels: kernel files, this package, and all that they import from gramian.

    numba compiles the values of imported constants into a kernel, so the files that define them count too.
    """
    pending = {*PACKAGE.rglob("*_kernels.py"), *Path(__file__).parent.glob("*.py")}
    found: set[Path] = set()
    while pending:
        path = pending.pop()
        found.add(path)
        for name in _IMPORT.findall(path.read_bytes()):
            module = PACKAGE.joinpath(*name.decode().split("."))
            pending |= {module / "__init__.py" if module.is_dir() else module.with_suffix(".py")} - found
    return sorted(found)


def directory_name(processor: tuple[str, str, str], kind: str) -> str:
    """Return the name of the directory of kernels for a processor (system, name, features)."""
    files = [(path.relative_to(PACKAGE).as_posix(), _digest(path.read_bytes())) for path in sources()]
    numpy = np.__version__.split(".")[:2]  # numba distinguishes no finer versions of it
    versions = (__version__, numba.__version__, llvmlite.__version__, numpy, sys.implementation.cache_tag)
    settings = [getattr(config, name, None) for name in _SETTINGS]
    return f"{kind}-{_digest(files)[:16]}-{_digest((versions, settings, processor))[:16]}"


def fitting_levels(features: dict[str, bool], triple: str) -> tuple[str, ...]:
    """Return the levels of processors whose code runs on one with such features, the best first.

    Examples
    --------
    >>> fitting_levels(dict.fromkeys(_V2, True), "x86_64-unknown-linux-gnu")
    ('x86-64-v2',)
    """
    levels = LEVELS.get(triple.partition("-")[0], {})
    return tuple(level for level, needed in levels.items() if all(map(features.get, needed)))


@cache
def directories(kind: str) -> tuple[list[Path], Path | None]:
    """Return the directories of kernels that run here, and the one of those compiled here, None if no place is private and writable.

    The package's directories come first, the best level before others; there are none if the user named a processor.
    """
    triple, name, features = llvm.get_process_triple(), config.CPU_NAME, config.CPU_FEATURES
    host: dict[str, bool] = {}
    with suppress(RuntimeError):  # LLVM does not know this processor
        host.update(llvm.get_host_cpu_features())
    levels = fitting_levels(host, triple) if name is features is None and SHIPPED.is_dir() else ()
    found = [SHIPPED / directory_name((triple, level, ""), kind) for level in levels]
    if (root := private_root()) is not None:
        if features is None:
            features = ",".join(
                f"{'+' if there else '-'}{feature}" for feature, there in sorted(host.items())
            )
        own = root / directory_name((triple, name or llvm.get_host_cpu_name(), features), kind)
        with suppress(FileExistsError):
            own.mkdir(mode=0o700)
            _remove_outdated(own)
        os.utime(own)  # the day of its last use
        return [*found, own], own
    return found, None


@cache
def private_root() -> Path | None:
    """Return the first place for compiled kernels that is the user's alone: ``NUMBA_CACHE_DIR``, the package, the user's cache.

    If there is none, a directory is made that disappears with this process.
    """
    name = f"gramian-{_digest(str(PACKAGE))[:12]}"
    places = [Path(config.CACHE_DIR).absolute() / name] if config.CACHE_DIR else []
    places.append(PACKAGE / "__pycache__" / "compiled")
    with suppress(RuntimeError):  # there may be no home
        places.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / name)
    for place in places:
        with suppress(OSError):
            for missing in [path for path in (*reversed(place.parents), place) if not path.exists()]:
                missing.mkdir(mode=0o700, exist_ok=True)
            if is_private(place):
                tempfile.TemporaryFile(dir=place).close()
                return place
    with suppress(OSError):
        folder = tempfile.mkdtemp(prefix="gramian-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = folder  # of processes that this one starts
        place = Path(folder) / name
        place.mkdir(mode=0o700)
        return place
    return None


def is_private(directory: Path) -> bool:
    """Return whether a directory is the user's, closed to others, and nobody else can replace it."""
    owner, own = user(), directory.lstat()
    if owner is None:  # on Windows, the user's profile is closed to others
        return True
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != owner or own.st_mode & 0o077:
        return False
    above = [path.stat() for path in directory.resolve().parents]
    trusted = {owner, 0, above[-1].st_uid}
    return all(s.st_uid in trusted and (not s.st_mode & 0o022 or s.st_mode & stat.S_ISVTX) for s in above)


def read(path: Path) -> bytes | None:
    """Return what :func:`write` wrote; None if there is no such file, or it is damaged."""
    with suppress(OSError):
        checksum, _, content = path.read_bytes().partition(b"\n")
        if checksum == _checksum(path, content):
            return content
    return None


def write(path: Path, content: bytes) -> None:
    """Write a file whole, or leave everything as it was; nothing is written through a link."""
    draft = path.with_suffix(".draft")
    with suppress(OSError):
        draft.unlink(missing_ok=True)  # of a process that was killed
        try:
            with open(draft, "xb", opener=open_private) as file:
                file.write(_checksum(path, content) + b"\n" + content)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


@contextmanager
def alone(path: Path | None) -> Iterator[None]:
    """Have other processes that want the same file wait meanwhile."""
    if path is None:
        yield
        return
    # One of sixteen locks. It is released before the file is closed: a process forked meanwhile has it open too.
    with open(path.with_name(f"{_digest(path.name)[0]}.lock"), "ab", opener=open_private) as file:
        lock(file.fileno(), wait=True)
        try:
            yield
        finally:
            unlock(file.fileno())


def _checksum(path: Path, content: bytes) -> bytes:
    """Return a checksum of a file's content and place, so that a file that was moved does not fit."""
    return _digest((path.parent.name, path.name, _digest(content))).encode()


def _digest(value: object) -> str:
    return hashlib.sha256(value if isinstance(value, bytes) else repr(value).encode()).hexdigest()


def _remove_outdated(directory: Path) -> None:
    """Remove directories of other sources, and those that were not used for long."""
    kind, sources, _ = directory.name.split("-")
    for other in filter(lambda path: _DIRECTORY.fullmatch(path.name), directory.parent.iterdir()):
        has_other_sources = other.name.startswith(kind) and sources not in other.name
        if has_other_sources or time() - other.stat().st_mtime > _UNUSED:
            shutil.rmtree(other, ignore_errors=True)
