"""Train :class:`~gramian.text.feature_scores.FeatureScores` by logistic regression."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from gramian.text.feature_scores import FeatureScores, feature_hash

_MIN_COUNT = 2  # features that occur less often are dropped
_INVERSE_PENALTY = 3.0  # C of the regression
_MIN_WEIGHT = 0.02  # smaller weights are dropped


def learn_scores(examples: Iterable[tuple[Sequence[str], bool, int]]) -> FeatureScores | None:
    """Return scores that are positive where outcomes are true; None if all outcomes are the same.

    An example has the features of a position, its outcome and its frequency; only hashes of features are kept.

    Examples
    --------
    >>> scores = learn_scores([(["dot", "capital"], True, 9), (["dot", "small"], False, 9)])
    >>> scores.total(["dot", "capital"]) > 0 > scores.total(["dot", "small"])
    True
    """
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    feature_hashes, row_start, outcomes, counts = array("I"), array("q", [0]), array("b"), array("q")
    for features, outcome, count in examples:
        feature_hashes.extend({feature_hash(feature): None for feature in features})
        row_start.append(len(feature_hashes))
        outcomes.append(outcome)
        counts.append(count)
    if not 0 < sum(outcomes) < len(outcomes):
        return None
    hashes, column = np.unique(np.frombuffer(feature_hashes, np.uint32), return_inverse=True)
    weight = np.array(counts, np.float32)
    feature_count = np.bincount(column, np.repeat(weight, np.diff(row_start)))
    ones = np.ones(len(column), np.float32)
    shape = len(counts), len(hashes)
    matrix = sparse.csr_matrix((ones, column.astype(np.int32), np.array(row_start)), shape)
    frequent = np.flatnonzero(feature_count >= _MIN_COUNT)
    if not len(frequent):
        return None
    model = LogisticRegression(C=_INVERSE_PENALTY, fit_intercept=False, solver="newton-cg")
    weights = model.fit(matrix[:, frequent], np.array(outcomes), sample_weight=weight).coef_[0]
    weights = np.round(weights.astype(np.float64), 3).astype(np.float32)
    large = np.abs(weights) >= _MIN_WEIGHT
    return FeatureScores(hashes[frequent][large], weights[large])
