"""What the benchmarks ask of the machine: processor time, memory, and how fast it can multiply and add."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


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


def peak_megabytes() -> float:
    """Return the most memory this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def about() -> dict[str, Any]:
    """Return what the figures were measured on."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next(
                (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model
            )
    except OSError:
        pass
    load = [round(value, 1) for value in os.getloadavg()]
    return {"processor": model, "cores": os.cpu_count(), "load": load, "python": platform.python_version()}
