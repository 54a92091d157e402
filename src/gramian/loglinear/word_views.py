"""Views of the words of a sentence for feature templates: rows of numbers with two columns of padding on either side."""

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from gramian.io.bounded_cache import BoundedCache
from gramian.treebank.vocab import shape

Views = npt.NDArray[np.int64]
"""Shape (8, n_words + 4): word, form, spelling, shape, suffixes of two and four letters, prefix, and predicted tag, from 1."""

VIEWS = "wfxselpt"
"""The letter of each row in templates."""

PADDING = 2
TAG = 7


class WordForms:
    """Numbers of words and their affixes; words not in `frequent` (lower-cased) are represented by shape and suffix."""

    def __init__(self, frequent: Sequence[str]) -> None:
        self.frequent = tuple(frequent)
        self.known = frozenset(self.frequent)
        self.numbers: BoundedCache[str, tuple[int, ...]] = BoundedCache(self._numbers)

    def views(self, words: Sequence[str]) -> Views:
        """Return the rows of a sentence, without tags."""
        rows = np.zeros((TAG + 1, len(words) + 2 * PADDING), np.int64)
        for column, word in enumerate(words, PADDING):
            rows[:TAG, column] = self.numbers[word]
        return rows

    def _numbers(self, word: str) -> tuple[int, ...]:
        lower, outline = word.lower(), shape(word)
        form = f"f {outline} {lower[-3:]}"
        parts = (
            f"w {lower}" if lower in self.known else form,
            form,
            f"x {lower}",
            f"s {outline}",
            f"e {outline} {lower[-2:]}",
            f"e {lower[-4:]}",
            f"b {lower[:3]}",
        )
        return tuple(zlib.crc32(part.encode("utf-8", "surrogatepass")) for part in parts)


def frequent_words(words: Iterable[tuple[str, int]], min_count: int) -> list[str]:
    """Return the lower-cased words whose total count is at least `min_count`, given words with counts."""
    total: dict[str, int] = {}
    for word, count in words:
        total[word.lower()] = total.get(word.lower(), 0) + count
    return [word for word, count in total.items() if count >= min_count]
