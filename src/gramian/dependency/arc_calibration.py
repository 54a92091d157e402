"""Calibration of the confidences of arcs (Platt 1999): of all arcs with a confidence of 80 %, 80 % should be correct.

Marginals come from weights that were fitted to the training trees, so that they are too close to 0 and 1 in new sentences. A scorer that
is trained without a tenth of the trees shows by how much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian.dependency.half_constituents import decode
from gramian.dependency.held_out_scores import HeldOutScores
from gramian.dependency.split_head_automata import SHAG, Array

_CERTAIN = 1e-9  # arcs that are this close to 1 have no alternative


@dataclass(frozen=True)
class ArcCalibration:
    """The confidence of an arc with marginal p is sigmoid(slope logit(p) + bias).

    Examples
    --------
    >>> ArcCalibration(0.5, 0.0)(np.array([0.5, 0.9, 1.0])).round(2).tolist()
    [0.5, 0.75, 1.0]
    """

    slope: float = 1.0
    bias: float = 0.0

    def __call__(self, marginals: Array) -> Array:
        """Return the confidences of arcs."""
        confidences = 1.0 / (1.0 + np.exp(-self.slope * _logits(marginals) - self.bias))
        return np.where(marginals >= 1.0 - _CERTAIN, 1.0, confidences)


def fit_arc_calibration(
    grammar: SHAG, scores: Sequence[HeldOutScores], factors: Sequence[Array]
) -> ArcCalibration:
    """Fit a calibration to the factors of held-out sentences; without sentences, it changes nothing."""
    if not scores:
        return ArcCalibration()
    decoded = [decode(grammar, None, row.symbols, table) for row, table in zip(scores, factors, strict=True)]
    outcomes = [result.heads == row.tree[1:] for result, row in zip(decoded, scores, strict=True)]
    return _fit(np.concatenate([result.confidences for result in decoded]), np.concatenate(outcomes))


def _fit(confidences: Array, outcomes: Array) -> ArcCalibration:
    """Fit a logistic regression of outcomes on logits."""
    from sklearn.linear_model import LogisticRegression

    undecided = confidences < 1.0 - _CERTAIN
    confidences, outcomes = confidences[undecided], outcomes[undecided]
    if not 0 < outcomes.sum() < len(outcomes):
        return ArcCalibration()
    model = LogisticRegression(C=1e4).fit(_logits(confidences)[:, None], outcomes)
    return ArcCalibration(max(float(model.coef_[0, 0]), 0.0), float(model.intercept_[0]))


def _logits(marginals: Array) -> Array:
    clipped = np.clip(marginals, _CERTAIN, 1.0 - _CERTAIN)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))
