"""How kernels are compiled: one policy for all of them.

Compiled code is kept between runs, the interpreter's lock is let go, and division by zero gives inf or NaN as in NumPy.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from numba import njit
from numba.core.dispatcher import Dispatcher

__all__ = ["helper_kernel", "inlined_kernel", "kernel", "order_free_kernel"]

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
    # By itself numba's cache of a kernel notices changes in the kernel's own file alone. Kernels that a file imports by name are there
    # before its own are made, so what is kept of these also carries the stamps of the files that those come from, and of theirs.
    if isinstance(compiled, Dispatcher):  # not where compilation is switched off
        own = _cache_file(compiled)
        own._load_index = partial(_readable_index, own._load_index)
        imported = {
            str(_cache_file(value)._source_stamp)
            for value in function.__globals__.values()
            if isinstance(value, Dispatcher)
            and value.py_func.__code__.co_filename != function.__code__.co_filename
        }
        if imported:
            own._source_stamp = (own._source_stamp, *sorted(imported))
    return compiled


def _readable_index(load: Callable[[], dict[Any, str]]) -> dict[Any, str]:
    """Return numba's index of what it keeps of a kernel; none if it names things that are no longer where they were."""
    try:
        return load()
    except (AttributeError, ImportError, EOFError, TypeError, ValueError, pickle.UnpicklingError):
        return {}


def _cache_file(compiled: Any) -> Any:
    return compiled._cache._cache_file
