"""What the benchmarks ask of the machine: processor time, memory, and how fast it can multiply and add."""

import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gramian.system import peak_megabytes, processor

__all__ = ["about", "cpu_seconds", "multiply_adds_per_second", "peak_megabytes"]


def multiply_adds_per_second(size: int = 1024, repeats: int = 5) -> float:
    """Return how many single-precision multiply-adds one core does in a large matrix product, its arithmetic limit."""
    left, right = np.random.default_rng(0).random((2, size, size), np.float32)
    best = float("inf")
    with threadpool_limits(1):
        left @ right
        for _ in range(repeats):
            began = time.process_time()
            left @ right
            best = min(best, time.process_time() - began)
    return size**3 / best


def cpu_seconds(task: Callable[[], Any], repeats: int = 1) -> float:
    """Return the processor time of `task`, the least of some repeats: other programs do not count, but slow caches down."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        task()
        best = min(best, time.process_time() - began)
    return best


def about() -> dict[str, Any]:
    """Return what the figures were measured on."""
    load = [round(value, 1) for value in os.getloadavg()]
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
    }
