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
from typing import Any, TypeAlias

import numba
from numba.core import event
from numba.extending import is_jitted

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
        _path()(dispatcher)
    return dispatcher


@cache
def _path() -> Callable[[Any], None]:
    """Return what prepares a dispatcher for the best path that this version of numba allows."""

    def prepare(dispatcher: Any) -> None:
        """Keep nothing: each process compiles what it needs."""

    try:
        from gramian.kernels import plain

        prepare = plain.keep
        if ".".join(numba.__version__.split(".")[:2]) in TESTED:
            from gramian.kernels import linking

            if os.environ.get("GRAMIAN_PLAIN_NUMBA"):
                linking.mend_boxing()
            else:
                prepare = linking.accelerate
    except Exception as error:  # numba's internals have changed
        _logger.debug("plain numba compiles all kernels: %s: %s", type(error).__name__, error)
    return prepare


class _Notice(event.TimingListener):
    """Says what takes so long, once, if more is compiled after some compilation."""

    def __init__(self, patience: float = 0.5) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._patience = patience

    def on_start(self, event: object) -> None:
        if self._depth == 0 and self.done and self.duration > self._patience:
            self._patience = float("inf")
            _logger.warning(
                "Compiling kernels for this machine. This takes about half a minute when a command first needs them."
            )
        super().on_start(event)  # type: ignore[no-untyped-call]


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
