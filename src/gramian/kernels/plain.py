"""The plain path: numba compiles each kernel by itself, and its cache keeps them, in a private directory and with checksums."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

from gramian.kernels import store

_config: Any = numba.config


def keep(dispatcher: Any) -> None:
    """Have numba keep a compiled kernel, as ``njit(cache=True)`` does."""
    directory = store.directories("plain")[1]
    if directory is None or not Path(dispatcher.py_func.__code__.co_filename).is_relative_to(store.PACKAGE):
        return
    _remove_damaged(directory)
    usual, _config.CACHE_DIR = _config.CACHE_DIR, str(directory)
    try:
        dispatcher.enable_caching()
    finally:
        _config.CACHE_DIR = usual
    usual_compile = dispatcher.compile

    def compile_and_seal(signature: Any) -> Any:
        misses = sum(dispatcher.stats.cache_misses.values())
        result = usual_compile(signature)
        if sum(dispatcher.stats.cache_misses.values()) > misses:
            seal(Path(dispatcher.stats.cache_path))
        return result

    dispatcher.compile = compile_and_seal


def _sums(directory: Path) -> list[tuple[Path, Path]]:
    """Return each file of numba's cache, and the one that has its checksum."""
    files = [file for file in directory.rglob("*.*") if file.suffix in {".nbi", ".nbc"}]
    return [(file, file.with_name(f"{file.name}.sum")) for file in files]


@cache
def _remove_damaged(directory: Path) -> None:
    for file, sum_file in _sums(directory):
        if store.read(sum_file) != hashlib.sha256(file.read_bytes()).digest():
            file.unlink(missing_ok=True)


def seal(directory: Path) -> None:
    """Write the checksums of new files of numba's cache; a file without one is removed at the next start."""
    for file, sum_file in _sums(directory):
        with suppress(OSError):
            if not sum_file.exists() or sum_file.stat().st_mtime_ns <= file.stat().st_mtime_ns:
                store.write(sum_file, hashlib.sha256(file.read_bytes()).digest())
