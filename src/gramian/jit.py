"""How kernels are compiled: one policy for all of them.

Compiled code is kept between runs, the interpreter's lock is let go, and division by zero gives inf or NaN as in NumPy. This is the only
module that imports numba for kernels: where nothing is compiled, no place for compiled code is looked for.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from numba import config, njit
from numba.core.dispatcher import Dispatcher


def _find_room_for_compiled_code() -> None:
    """Let numba keep compiled code in a temporary folder of this process if it can neither beside the package nor at home.

    Where numba finds no room at all it refuses to work. The folder is new and ours alone: others could put code in one that they know.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    while not os.path.exists(home):
        home = os.path.dirname(home) or "."
    if "NUMBA_CACHE_DIR" in os.environ or any(
        os.access(place, os.W_OK) for place in (os.path.dirname(__file__), home)
    ):
        return
    folder = tempfile.mkdtemp(prefix="gramian-")
    os.environ["NUMBA_CACHE_DIR"] = folder  # of processes that this one starts
    config.CACHE_DIR = folder  # type: ignore[attr-defined]
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


_find_room_for_compiled_code()

Kernel: TypeAlias = Callable[..., Any]

_ORDER_FREE = {"reassoc", "contract", "nsz"}


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers when it is first called."""
    return _compiled(function)


def order_free_kernel(function: Kernel) -> Kernel:
    """Compile a kernel whose sums may be taken in any order, so that they run in vectors; zero, inf and NaN keep their meaning."""
    return _compiled(function, fastmath=_ORDER_FREE)


def inlined_kernel(function: Kernel) -> Kernel:
    """Compile an order-free kernel that is written out wherever another calls it."""
    return _compiled(function, fastmath=_ORDER_FREE, inline="always")


def helper_kernel(function: Kernel) -> Kernel:
    """Compile a kernel that becomes part of those that call it, so that structures of many arrays need not be handed over."""
    return _compiled(function, forceinline=True)


def _compiled(function: Kernel, **options: Any) -> Kernel:
    compiled: Kernel = njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    if isinstance(compiled, Dispatcher):  # not where compilation is switched off
        _notice_other_files(compiled, function)
    return compiled


def _notice_other_files(compiled: Any, function: Any) -> None:
    """Let numba's cache of a kernel notice changes not only in the kernel's own file, as it does by itself.

    Kernels that a file imports by name are there before its own are made, so what is kept of these also carries the stamps of the files
    that those come from, and of theirs; and of named tuples, wherever they are defined, it carries the names of their fields.
    """
    others: list[Any] = [value for value in function.__globals__.values() if isinstance(value, Dispatcher)]
    imported = {
        str(other._cache._cache_file._source_stamp)
        for other in others
        if other.py_func.__code__.co_filename != function.__code__.co_filename
    }
    cache, file = compiled._cache, compiled._cache._cache_file
    if imported:
        file._source_stamp = (file._source_stamp, *sorted(imported))
    file._load_index = partial(_readable_index, file._load_index)
    key_of = cache._index_key

    def index_key(signature: Any, codegen: Any) -> Any:
        kinds: Any = getattr(signature, "args", signature)
        return (*key_of(signature, codegen), tuple(_field_names(kind) for kind in kinds))

    cache._index_key = index_key


def _readable_index(load: Callable[[], dict[Any, str]]) -> dict[Any, str]:
    """Return numba's index of what it keeps of a kernel; none if it names things that are no longer where they were."""
    try:
        return load()
    except (AttributeError, ImportError, EOFError, TypeError, ValueError, pickle.UnpicklingError):
        return {}


def _field_names(kind: Any) -> Any:
    """Return the names of the fields of a named tuple's type, and of those within it."""
    parts: Any = getattr(kind, "types", ())  # of tuples
    return getattr(kind, "fields", None), tuple(_field_names(part) for part in parts)
