"""How kernels are compiled: one policy for all of them.

Compiled code is kept between runs (:mod:`gramian.compiled`), the interpreter's lock is let go, and division by zero gives inf or NaN as in
NumPy. This is the only module that decorates kernels: where nothing is compiled, no place for compiled code is looked for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

from numba import njit
from numba.core import event
from numba.core.dispatcher import Dispatcher

from gramian.compiled import KeptKernel
from gramian.linking import in_one_piece

Kernel: TypeAlias = Callable[..., Any]

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
    compiled: Kernel = njit(**options)(function)
    if isinstance(compiled, Dispatcher):  # not where compilation is switched off
        kept = KeptKernel(function, {**options, "fastmath": sorted(options.get("fastmath", ()))})
        in_one_piece(compiled, kept)
    return compiled


class _Notice(event.Listener):
    """Says what takes so long, once, if compilation takes more than some seconds."""

    def __init__(self, patience: float = 2.0) -> None:
        self._depth = 0  # kernels compile others that they call
        self._left = patience
        self._began = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: object) -> None:
        self._depth += 1
        if self._depth == 1 and self._left > 0:
            self._began = perf_counter()
            self._timer = threading.Timer(self._left, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left -= perf_counter() - self._began

    def _say(self) -> None:
        _logger.warning("compiling kernels for this machine, which takes half a minute, once ...")


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
