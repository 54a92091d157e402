"""Learning where sentences end, from sentences that stand one after the other: logistic regression on the features of white spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gramian.errors import MissingExtraError
from gramian.parsing.sentence_splitter import SentenceSplitter, gaps

__all__ = ["learn_splitter"]

_MIN_COUNT = 2  # features seen less often are left out
_STRENGTH = 3.0  # inverse of the penalty on large weights
_LEAST = 0.01  # smaller weights say nothing


def learn_splitter(documents: Iterable[Sequence[str]]) -> SentenceSplitter:
    """Learn to find the ends of sentences.

    Parameters
    ----------
    documents : iterable of sequences of str
        Texts, each as its sentences in order; they are joined by spaces.

    Examples
    --------
    >>> text = ["We met Dr. Lee.", "She smiled.", "He saw Dr. Fox."] * 20
    >>> splitter = learn_splitter([text])
    >>> [span.end for span in splitter.split("I saw Dr. Lee. She ran.")]
    [14, 23]
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
    except ModuleNotFoundError:  # pragma: no cover - only without the extra
        raise MissingExtraError("scikit-learn", "train", "learning where sentences end") from None
    seen: list[tuple[str, ...]] = []
    ends: list[bool] = []
    for sentences in documents:
        text = " ".join(sentences)
        last = set(np.cumsum([len(sentence) + 1 for sentence in sentences]) - 1)
        for gap in gaps(text):
            seen.append(gap.features)
            ends.append(gap.end in last)
    if len(set(ends)) < 2:
        return SentenceSplitter()
    vectoriser = CountVectorizer(analyzer=tuple, min_df=_MIN_COUNT, binary=True)
    matrix = vectoriser.fit_transform(seen)
    fitted = LogisticRegression(C=_STRENGTH, fit_intercept=False, max_iter=300).fit(matrix, ends)
    names = vectoriser.get_feature_names_out()
    weights = {
        str(name): round(float(weight), 3)
        for name, weight in zip(names, fitted.coef_[0], strict=True)
        if abs(weight) >= _LEAST
    }
    return SentenceSplitter(weights)
