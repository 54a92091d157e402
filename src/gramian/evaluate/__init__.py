"""How good an output is: brackets (EVALB), attachments, and whether a difference means anything.

Names are imported when first used, so that scoring trees does not wait for numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramian.evaluate.brackets import GoldBrackets, score
    from gramian.evaluate.parameters import COLLINS, SPMRL, Parameters
    from gramian.evaluate.scores import METRICS, BracketScores, LabelScore, SentenceScore, Status

_HOME = {
    **dict.fromkeys(("GoldBrackets", "score"), "brackets"),
    **dict.fromkeys(("COLLINS", "SPMRL", "Parameters"), "parameters"),
    **dict.fromkeys(("METRICS", "BracketScores", "LabelScore", "SentenceScore", "Status"), "scores"),
}

__all__ = [
    "COLLINS",
    "METRICS",
    "SPMRL",
    "BracketScores",
    "GoldBrackets",
    "LabelScore",
    "Parameters",
    "SentenceScore",
    "Status",
    "score",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
