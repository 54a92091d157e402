"""What feature templates see of a sentence: rows of numbers, one a word, with two places of padding on either side."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gramian.corpus.vocab import shape

__all__ = ["PADDING", "TAG", "Views", "WordForms"]

Views = npt.NDArray[np.int64]
"""Shape (8, n_words + 4): word, form, spelling, shape, ends of two and four letters, beginning, and the tag guessed, from 1."""

PADDING = 2
TAG = 7
_LARGEST_CACHE = 1 << 17


class WordForms:
    """Numbers that stand for words and for what they look like.

    Parameters
    ----------
    frequent : sequence of str
        Lower-cased words that stand for themselves; others are known by their form, which is shape and ending.
    """

    def __init__(self, frequent: Sequence[str]) -> None:
        self.frequent = tuple(frequent)
        self._known = frozenset(self.frequent)
        self._cache: dict[str, tuple[int, ...]] = {}

    def views(self, words: Sequence[str]) -> Views:
        """Return the rows of a sentence whose tags are not known yet."""
        rows = np.zeros((TAG + 1, len(words) + 2 * PADDING), np.int64)
        for place, word in enumerate(words, PADDING):
            rows[:TAG, place] = self._cache.get(word) or self._numbers(word)
        return rows

    def _numbers(self, word: str) -> tuple[int, ...]:
        lower, outline = word.lower(), shape(word)
        form = f"{outline} {lower[-3:]}"
        parts = (
            f"w {lower}" if lower in self._known else f"f {form}", f"f {form}", f"x {lower}", f"s {outline}",
            f"e {outline} {lower[-2:]}", f"e {lower[-4:]}", f"b {lower[:3]}",
        )  # fmt: skip
        numbers = tuple(zlib.crc32(part.encode()) for part in parts)
        if len(self._cache) >= _LARGEST_CACHE:
            self._cache.clear()
        self._cache[word] = numbers
        return numbers
