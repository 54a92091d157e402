"""How good an output is: brackets (EVALB), attachments, confidences, and whether a difference means anything.

Names are imported when first used, so that scoring trees does not wait for numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramian.evaluate.attachments import AttachmentScores, attachment_scores
    from gramian.evaluate.brackets import GoldBrackets, score
    from gramian.evaluate.calibration import Reliability, judged, reliability
    from gramian.evaluate.parameters import COLLINS, SPMRL, Parameters
    from gramian.evaluate.scores import METRICS, BracketScores, LabelScore, SentenceScore, Status
    from gramian.evaluate.significance import Comparison, approximate_randomisation, paired_bootstrap

_HOME = {
    **dict.fromkeys(("AttachmentScores", "attachment_scores"), "attachments"),
    **dict.fromkeys(("GoldBrackets", "score"), "brackets"),
    **dict.fromkeys(("Reliability", "judged", "reliability"), "calibration"),
    **dict.fromkeys(("COLLINS", "SPMRL", "Parameters"), "parameters"),
    **dict.fromkeys(("METRICS", "BracketScores", "LabelScore", "SentenceScore", "Status"), "scores"),
    **dict.fromkeys(("Comparison", "approximate_randomisation", "paired_bootstrap"), "significance"),
}

__all__ = [
    "COLLINS",
    "METRICS",
    "SPMRL",
    "AttachmentScores",
    "BracketScores",
    "Comparison",
    "GoldBrackets",
    "LabelScore",
    "Parameters",
    "Reliability",
    "SentenceScore",
    "Status",
    "approximate_randomisation",
    "attachment_scores",
    "judged",
    "paired_bootstrap",
    "reliability",
    "score",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
