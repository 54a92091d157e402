"""Views of a word for the features of arcs: tags, form, lemma, affixes and morphological features, as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.io.bounded_cache import BoundedCache
from gramian.trees import Sentence, Token

Tokens = npt.NDArray[np.int32]
_Columns: TypeAlias = tuple[str, str, str, str, str]  # form, lemma, UPOS, XPOS and FEATS

VIEWS = 9
MAX_FEATURES = 12  # names of morphological features with a row of their own
FORM, LEMMA = 1, 7
ABSENT = 6  # the number of a feature that a word does not have

_RARE = 1  # values of this training count are treated as unknown, so that the unknown value gets weights
_UNKNOWN = 5
_FIRST = 6


@dataclass(frozen=True)
class TokenTable:
    """Numbers for the views of a word.

    The views are tag, form, suffix of three, coarse tag, suffixes of two and five, prefix of five, lemma, and all features (FEATS),
    followed by each of the most frequent features (`features`), such as Case. Value v of a view has the number v + 6. Numbers 0-4 are
    positions outside the sentence and the root, 5 is the unknown value. A word without a lemma has its form instead.
    """

    column: Literal["upos", "xpos"]  # the column of the tag
    values: tuple[tuple[str, ...], ...]  # the known values of each view
    counts: tuple[npt.NDArray[np.int64], ...]  # training counts of forms and lemmas; empty in a loaded model
    features: tuple[str, ...] = ()  # names of morphological features

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], column: Literal["upos", "xpos"]) -> TokenTable:
        """Collect the values that occur more than once in training."""
        tokens = [token for sentence in sentences for token in sentence.tokens]
        names = Counter(name for token in tokens for name in feature_values(token.feats))
        features = tuple(sorted(names, key=lambda name: (-names[name], name))[:MAX_FEATURES])
        bare = cls(column, (), (), features)
        counters: list[Counter[str]] = [Counter() for _ in range(VIEWS + len(features))]
        for columns, count in Counter(map(_columns, tokens)).items():
            for counter, value in zip(counters, bare._views(columns), strict=True):
                counter[value] += count
        values = [sorted(value for value in seen if seen[value] > _RARE) for seen in counters]
        for known in values[VIEWS:]:
            known[:] = ["", *filter(None, known)]  # the absent feature is first, ABSENT
        counts = tuple(
            np.asarray([counters[row][value] for value in values[row]], np.int64) for row in (FORM, LEMMA)
        )
        return cls(column, tuple(map(tuple, values)), counts, features)

    def encode(self, tokens: Sequence[Token]) -> Tokens:
        """Return the views of a sentence, shape (views, N + 5): position i of the sentence is column i + 2."""
        n_views = VIEWS + len(self.features)
        rows = np.empty((n_views, len(tokens) + 5), np.int32)
        rows[:, :3] = 0, 1, 2  # two positions before the sentence, and the root
        rows[:, -2:] = 3, 4  # two positions after it
        columns = [self._numbers_of[_columns(token)] for token in tokens]
        rows[:, 3:-2] = np.asarray(columns, np.int32).reshape(-1, n_views).T
        return rows

    def dropout_rates(self, strength: float) -> tuple[npt.NDArray[np.float64], ...]:
        """Return the probability, strength / (strength + count), with which training drops each form and each lemma."""
        return tuple(np.append(np.zeros(_FIRST), strength / (strength + counts)) for counts in self.counts)

    def drop_words(
        self, tokens: Tokens, rates: Sequence[npt.NDArray[np.float64]], rng: np.random.Generator
    ) -> Tokens:
        """Return `tokens` with some forms and lemmas replaced by unknown ones."""
        tokens = tokens.copy()
        draws = rng.random(tokens.shape[1])  # shared, so that a rare word mostly loses both
        for row, row_rates in zip((FORM, LEMMA), rates, strict=True):
            tokens[row, draws < row_rates[tokens[row]]] = _UNKNOWN
        return tokens

    def _views(self, columns: _Columns) -> tuple[str, ...]:
        form, lemma, upos, xpos, feats = columns
        form = form.lower()
        tag = xpos if self.column == "xpos" and xpos != "_" else upos
        lemma = form if lemma == "_" else lemma.lower()
        by_name = feature_values(feats)
        features = [by_name.get(name, "") for name in self.features]
        return tag, form, form[-3:], upos, form[-2:], form[-5:], form[:5], lemma, f"{upos} {feats}", *features

    @cached_property
    def _numbers_of(self) -> BoundedCache[_Columns, tuple[int, ...]]:
        """Cached numbers of the views of words."""

        def numbers_of(columns: _Columns) -> tuple[int, ...]:
            seen = zip(self._numbers, self._views(columns), strict=True)
            return tuple(numbers.get(value, _UNKNOWN) for numbers, value in seen)

        return BoundedCache(numbers_of)

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], ...]:
        return tuple({value: number for number, value in enumerate(view, _FIRST)} for view in self.values)


def feature_values(feats: str) -> dict[str, str]:
    """Return the values of morphological features by name.

    Examples
    --------
    >>> feature_values("Case=Nom|Number=Sing"), feature_values("_")
    ({'Case': 'Nom', 'Number': 'Sing'}, {})
    """
    return dict(pair.split("=", 1) for pair in feats.split("|") if "=" in pair)


def _columns(token: Token) -> _Columns:
    return token.form, token.lemma, token.upos, token.xpos, token.feats
