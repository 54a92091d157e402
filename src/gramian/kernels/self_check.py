"""A small kernel that uses what larger ones use; if it computes what Python does, kernels may be accelerated here."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.kernels import helper_kernel, kernel, order_free_kernel


class _Values(NamedTuple):
    values: Any
    factor: float


@helper_kernel
def _scaled(given):
    result = np.zeros(given.values.size)
    for i in range(given.values.size):
        result[i] = given.values[i] * given.factor
    return _Values(result, given.factor)


@order_free_kernel
def _total(values):
    return values.sum()


@kernel
def _factorial(n):
    return 1 if n < 2 else n * _factorial(n - 1)


@kernel
def _computed(given, n):
    return _total(_scaled(given).values) + _factorial(n)


def passes() -> bool:
    """Return whether the kernel computes 2 (1 + 2 + 3) + 3!."""
    return bool(_computed(_Values(np.array([1.0, 2.0, 3.0]), 2.0), 3) == 18)
