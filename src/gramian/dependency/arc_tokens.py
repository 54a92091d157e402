"""Views of a word for the features of arcs: tags, form and affixes, as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from gramian.io.bounded_cache import BoundedCache
from gramian.trees import Sentence, Token

Tokens = npt.NDArray[np.int32]

VIEWS = 7

_RARE = 1  # values of this training count are treated as unknown, so that the unknown value gets weights
_UNKNOWN = 5
_FIRST = 6


@dataclass(frozen=True)
class TokenTable:
    """Numbers for the views of a word: tag, form, suffix of three, coarse tag, suffixes of two and five, prefix of five.

    Value v of a view has the number v + 6. Numbers 0-4 are positions outside the sentence and the root, 5 is the unknown value.
    """

    column: Literal["upos", "xpos"]  # the column of the tag
    values: tuple[tuple[str, ...], ...]  # the known values of each view
    counts: npt.NDArray[np.int64]  # training counts of the forms; empty in a loaded model

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], column: Literal["upos", "xpos"]) -> TokenTable:
        """Collect the values that occur more than once in training."""
        bare = cls(column, ((),) * VIEWS, np.zeros(0, np.int64))
        counters: list[Counter[str]] = [Counter() for _ in range(VIEWS)]
        for token in (token for sentence in sentences for token in sentence.tokens):
            for counter, value in zip(counters, bare._views(token.form, token.upos, token.xpos), strict=True):
                counter[value] += 1
        values = tuple(tuple(sorted(value for value in seen if seen[value] > _RARE)) for seen in counters)
        return cls(column, values, np.asarray([counters[1][form] for form in values[1]], np.int64))

    def encode(self, tokens: Sequence[Token]) -> Tokens:
        """Return the views of a sentence, shape (7, N + 5): position i of the sentence is column i + 2."""
        columns = [self._columns[token.form, token.upos, token.xpos] for token in tokens]
        rows = np.empty((VIEWS, len(columns) + 5), np.int32)
        rows[:, :3] = 0, 1, 2  # two positions before the sentence, and the root
        rows[:, -2:] = 3, 4  # two positions after it
        rows[:, 3:-2] = np.asarray(columns, np.int32).reshape(-1, VIEWS).T
        return rows

    def dropout_rates(self, strength: float) -> npt.NDArray[np.float64]:
        """Return the probability, strength / (strength + count), with which training replaces each form by the unknown form."""
        rates = np.zeros(len(self.values[1]) + _FIRST)
        rates[_FIRST:] = strength / (strength + self.counts)
        return rates

    def drop_words(self, tokens: Tokens, rates: npt.NDArray[np.float64], rng: np.random.Generator) -> Tokens:
        """Return `tokens` with some forms replaced by the unknown form."""
        tokens = tokens.copy()
        tokens[1, rng.random(tokens.shape[1]) < rates[tokens[1]]] = _UNKNOWN
        return tokens

    def _views(self, form: str, upos: str, xpos: str) -> tuple[str, ...]:
        form = form.lower()
        tag = xpos if self.column == "xpos" and xpos != "_" else upos
        return tag, form, form[-3:], upos, form[-2:], form[-5:], form[:5]

    def _column(self, key: tuple[str, str, str]) -> tuple[int, ...]:
        seen = zip(self._numbers, self._views(*key), strict=True)
        return tuple(numbers.get(value, _UNKNOWN) for numbers, value in seen)

    @cached_property
    def _columns(self) -> BoundedCache[tuple[str, str, str], tuple[int, ...]]:
        """Cached columns of words."""
        return BoundedCache(self._column)

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], ...]:
        return tuple({value: number for number, value in enumerate(view, _FIRST)} for view in self.values)
