"""gramian: learn grammars and automata by spectral methods, and parse with them.

Only names live here; each is imported when first used, so that ``import gramian`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "ParseResult": "gramian.result",
    "Parser": "gramian.parser",
    "Tree": "gramian.trees",
    "load": "gramian.parser",
    "read_trees": "gramian.trees",
}

__all__ = ["ParseResult", "Parser", "Tree", "__version__", "load", "read_trees"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'gramian' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
