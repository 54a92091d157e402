"""Calibration of the confidences of arcs (Platt 1999): of all arcs with a confidence of 80 %, 80 % should be correct.

Marginals come from weights that were fitted to the training trees, so that they are too close to 0 and 1 in new sentences. A scorer that
is trained without a tenth of the trees shows by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian.dependency.arc_models import fit_arc_scorer
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.half_constituents import decode
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.trees import Sentence

_PARTS = 10  # one is held out
_MIN_SENTENCES = 50
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
    grammar: SHAG,
    sentences: Sequence[Sentence],
    symbols: Sequence[Symbols],
    trees: Sequence[Symbols],
    *,
    column: str,
    n_trees: int,
    max_iter: int,
    random_state: int,
    n_jobs: int,
) -> ArcCalibration:
    """Fit a calibration on held-out trees; parameters as of :func:`gramian.dependency.arc_models.fit_arc_scorer`.

    Sentences may be given in several versions; two whose indices differ by `n_trees` have the same tree. Too few sentences give a
    calibration that changes nothing.
    """
    if n_trees < _MIN_SENTENCES:
        return ArcCalibration()
    held_out = [index for index in range(len(sentences)) if index % n_trees % _PARTS == 0]
    seen = [index for index in range(len(sentences)) if index % n_trees % _PARTS]
    table = TokenTable.fit([sentences[index] for index in seen], "xpos" if column == "xpos" else "upos")
    scorer = fit_arc_scorer(
        grammar,
        table,
        [table.encode(sentences[index].tokens) for index in seen],
        [symbols[index] for index in seen],
        [trees[index] for index in seen],
        max_iter=max_iter,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    marginals, outcomes = [], []
    for index in held_out:
        decoded = decode(grammar, None, symbols[index], scorer.factors(table.encode(sentences[index].tokens)))
        marginals.append(decoded.confidences)
        outcomes.append(decoded.heads == trees[index][1:])
    return _fit(np.concatenate(marginals), np.concatenate(outcomes))


def _fit(marginals: Array, outcomes: Array) -> ArcCalibration:
    """Fit a logistic regression of outcomes on logits."""
    from sklearn.linear_model import LogisticRegression

    undecided = marginals < 1.0 - _CERTAIN
    marginals, outcomes = marginals[undecided], outcomes[undecided]
    if not 0 < outcomes.sum() < len(outcomes):
        return ArcCalibration()
    model = LogisticRegression(C=1e4).fit(_logits(marginals)[:, None], outcomes)
    return ArcCalibration(max(float(model.coef_[0, 0]), 0.0), float(model.intercept_[0]))


def _logits(marginals: Array) -> Array:
    clipped = np.clip(marginals, _CERTAIN, 1.0 - _CERTAIN)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))
