"""How kernels are compiled: one policy for all of them.

Compiled code is kept between runs, the interpreter's lock is released, and division by zero gives inf or NaN as in NumPy. Plain numba
always works; where :mod:`gramian.kernels.linking` was tested with the installed version of numba, it compiles and loads the same code
in half the time. ``GRAMIAN_PLAIN_NUMBA=1`` forces plain numba.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any, TypeAlias

import numba
from numba.core import event
from numba.extending import is_jitted

from gramian.kernels import plain

Kernel: TypeAlias = Callable[..., Any]

TESTED = ("0.61", "0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""Versions of numba with which kernels are accelerated."""

_ORDER_FREE = {"reassoc", "contract", "nsz"}

_logger = logging.getLogger(__name__)


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers when it is first called."""
    return _compiled(function)


def order_free_kernel(function: Kernel) -> Kernel:
    """Compile a kernel whose sums may be taken in any order, so that they run in vectors; zero, inf and NaN keep their meaning."""
    return _compiled(function, fastmath=_ORDER_FREE)


def inlined_kernel(function: Kernel) -> Kernel:
    """Compile an order-free kernel that becomes part of those that call it."""
    return _compiled(function, fastmath=_ORDER_FREE, forceinline=True)


def helper_kernel(function: Kernel) -> Kernel:
    """Compile a kernel that becomes part of those that call it, so that structures of many arrays need not be handed over."""
    return _compiled(function, forceinline=True)


def _compiled(function: Kernel, **options: Any) -> Kernel:
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    dispatcher: Any = numba.njit(**options)(function)
    if is_jitted(dispatcher):  # not where compilation is switched off
        linking = _linking()
        if linking is None:
            plain.keep(dispatcher)
        elif os.environ.get("GRAMIAN_PLAIN_NUMBA") or not linking.is_active():
            linking.mend_boxing()
            plain.keep(dispatcher)
        else:
            linking.accelerate(dispatcher)
    return dispatcher


@cache
def _linking() -> Any:
    """Return what accelerates kernels and mends numba; None if the version of numba was not tested with it."""
    if ".".join(numba.__version__.split(".")[:2]) not in TESTED:
        return None
    try:
        from gramian.kernels import linking
    except Exception as error:  # numba's internals have changed
        _logger.debug("plain numba compiles all kernels: %s: %s", type(error).__name__, error)
        return None
    return linking


class _Notice(event.Listener):
    """Says what takes so long, once, if more is compiled after some compilation."""

    def __init__(self, patience: float = 0.5) -> None:
        self._depth = 0  # kernels compile others that they call
        self._left = patience
        self._is_said = False
        self._began = 0.0

    def on_start(self, event: object) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began = perf_counter()
            if self._left <= 0 and not self._is_said:
                self._is_said = True
                _logger.warning(
                    "Compiling kernels for this machine. This takes about half a minute when a command first needs them."
                )

    def on_end(self, event: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._left -= perf_counter() - self._began


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
