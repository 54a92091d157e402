"""Learning weights of features by logistic regression, for what :class:`~gramian.parsing.feature_scores.FeatureScores` decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gramian.errors import MissingExtraError
from gramian.parsing.feature_scores import FeatureScores

_MIN_COUNT = 2  # features seen less often are left out
_STRENGTH = 3.0  # inverse of the penalty on large weights
_LEAST = 0.02  # smaller weights say nothing


def learn_scores(examples: Iterable[tuple[Sequence[str], bool]]) -> FeatureScores | None:
    """Return scores that are above zero where outcomes are true; None if all outcomes are the same.

    Parameters
    ----------
    examples : iterable of (sequence of str, bool)
        The features of each place, and the outcome there; features are not kept.

    Examples
    --------
    >>> scores = learn_scores([(["dot", "capital"], True), (["dot", "small"], False)] * 9)
    >>> scores.total(["dot", "capital"]) > 0 > scores.total(["dot", "small"])
    True
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
    except ModuleNotFoundError:  # pragma: no cover - only without the extra
        raise MissingExtraError("scikit-learn", "train", "learning how text is read") from None
    outcomes: list[bool] = []

    def seen() -> Iterator[Sequence[str]]:
        for features, outcome in examples:
            outcomes.append(outcome)
            yield features

    vectoriser = CountVectorizer(analyzer=tuple, min_df=_MIN_COUNT, binary=True, dtype=np.float32)
    try:
        matrix = vectoriser.fit_transform(seen())
    except ValueError:  # no feature was seen twice
        return None
    if len(set(outcomes)) < 2:
        return None
    fitted = LogisticRegression(C=_STRENGTH, fit_intercept=False, max_iter=300).fit(matrix, outcomes)
    weights = np.round(fitted.coef_[0].astype(np.float64), 3)
    names = vectoriser.get_feature_names_out()
    return FeatureScores.of(
        {
            str(name): float(weight)
            for name, weight in zip(names, weights, strict=True)
            if abs(weight) >= _LEAST
        }
    )
