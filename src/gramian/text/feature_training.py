"""Learning weights of features by logistic regression, for what :class:`~gramian.text.feature_scores.FeatureScores` decide."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from gramian.text.feature_scores import FeatureScores, feature_hash

_MIN_COUNT = 2  # features seen less often are left out
_STRENGTH = 3.0  # inverse of the penalty on large weights
_LEAST = 0.02  # smaller weights say nothing


def learn_scores(examples: Iterable[tuple[Sequence[str], bool, int]]) -> FeatureScores | None:
    """Return scores that are above zero where outcomes are true; None if all outcomes are the same.

    Parameters
    ----------
    examples : iterable of (sequence of str, bool, int)
        The features of a place, the outcome there, and how often it was seen so; of features only their hashes are kept.

    Examples
    --------
    >>> scores = learn_scores([(["dot", "capital"], True, 9), (["dot", "small"], False, 9)])
    >>> scores.total(["dot", "capital"]) > 0 > scores.total(["dot", "small"])
    True
    """
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    found, starts, outcomes, times = array("I"), array("q", [0]), array("b"), array("q")
    for features, outcome, seen in examples:
        found.extend({feature_hash(feature): None for feature in features})
        starts.append(len(found))
        outcomes.append(outcome)
        times.append(seen)
    if not 0 < sum(outcomes) < len(outcomes):
        return None
    hashes, column = np.unique(np.frombuffer(found, np.uint32), return_inverse=True)
    weight = np.array(times, np.float32)
    count = np.bincount(column, np.repeat(weight, np.diff(starts)))
    ones = np.ones(len(column), np.float32)
    matrix = sparse.csr_matrix((ones, column.astype(np.int32), np.array(starts)), (len(times), len(hashes)))
    kept = np.flatnonzero(count >= _MIN_COUNT)
    if not len(kept):
        return None
    model = LogisticRegression(C=_STRENGTH, fit_intercept=False, solver="newton-cg")
    weights = model.fit(matrix[:, kept], np.array(outcomes), sample_weight=weight).coef_[0]
    weights = np.round(weights.astype(np.float64), 3).astype(np.float32)
    heavy = np.abs(weights) >= _LEAST
    return FeatureScores(hashes[kept][heavy], weights[heavy])
