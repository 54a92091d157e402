"""How kernels are compiled: one policy for all of them.

Compiled code is kept between runs, the interpreter's lock is let go, and division by zero gives inf or NaN as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numba import njit

__all__ = ["inlined_kernel", "kernel", "order_free_kernel"]

Kernel: TypeAlias = Callable[..., Any]

_ORDER_FREE = {"reassoc", "contract", "nsz"}


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers when it is first called."""
    compiled: Kernel = njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def order_free_kernel(function: Kernel) -> Kernel:
    """Compile a kernel whose sums may be taken in any order, so that they run in vectors; zero, inf and NaN keep their meaning."""
    compiled: Kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath=_ORDER_FREE)(function)
    return compiled


def inlined_kernel(function: Kernel) -> Kernel:
    """Compile an order-free kernel that is written out wherever another calls it."""
    compiled: Kernel = njit(
        cache=True, nogil=True, error_model="numpy", fastmath=_ORDER_FREE, inline="always"
    )(function)
    return compiled
