"""Dependency parsing with split head-automata grammars.

Names are imported when first used: parsing needs no learner.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "SHAG": "gramian.dependency.shag",
    "DependencyParse": "gramian.dependency.parser",
    "DependencyParser": "gramian.dependency.parser",
    "SHAGParser": "gramian.dependency.estimator",
}

__all__ = ["SHAG", "DependencyParse", "DependencyParser", "SHAGParser"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'gramian.dependency' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
