"""Reranking: features of whole trees choose among the best trees of a model (Charniak and Johnson 2005).

:class:`MaxEntReranker` learns a :class:`RerankModel` from candidates of sentences that their model has not seen. Names are imported
when first used: parsing needs none of what learning needs.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {"MaxEntReranker": "learn", "RerankModel": "model"}

__all__ = ["MaxEntReranker", "RerankModel"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
