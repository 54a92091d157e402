"""A discriminative expert: a log-linear model of trees with surface features, alone or beside grammars with states.

:class:`SpanCRF` learns a :class:`SpanModel` from a treebank; an :class:`Expert` gives its posteriors of the items and
edges of a chart's forest. Names are imported when first used: parsing needs none of what learning needs.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "Expert": "model", "Posteriors": "model", "SpanCRF": "crf", "SpanModel": "model", "load": "store", "save": "store",
}  # fmt: skip

__all__ = ["Expert", "Posteriors", "SpanCRF", "SpanModel", "load", "save"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
