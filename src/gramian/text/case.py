"""Case restoration: words of a line in title case or in capitals, spelt as they usually are.

A grammar knows words as they stand in sentences. In a headline (``Museum to Reopen After Long Renovation``) or in capitals most of them
look like names. The counts of a lexicon tell how a word is usually spelt. Only lines in which several words are spelt otherwise change.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

_LONGEST_PARTICLE = 4  # letters of words that are small in titles: of, from, with
_MIN_CAPITALS = 2  # words after the first that begin with a capital letter
_MIN_UNUSUAL = 0.34  # share of these that are usually spelt in small letters
_BIAS = 4.0  # titles and names of offices make capitals more frequent than they are in running text
_SUFFIXES = re.compile(r"(?:'?s|es|e?d|ing|e?r|ers|ly|ion|ions|ment|able|ness|al|n't)\Z")
_PREFIXES = re.compile(r"\A(?:re|un|dis|over|pre|non|co)-?")


class CaseRestorer:
    """Restores the case of words by how often each spelling occurs."""

    def __init__(self, words: Sequence[str], counts: Sequence[int] | npt.NDArray[np.int32]) -> None:
        self._words, self._word_counts = words, counts

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(dict(zip(self._words, np.asarray(self._word_counts).tolist(), strict=True)))

    def restore(self, words: Sequence[str]) -> list[str] | None:
        """Return the words in their usual case; None if the line is neither in title case nor in capitals."""
        for word in words:
            if len(word) > _LONGEST_PARTICLE and word[0].islower():
                return None
        if is_upper_case(words):
            restored = [self._from_capitals(word) for word in words]
        elif is_title_case(words):
            restored = [self._from_title(word) for word in words]
        else:
            return None
        first = next((index for index, word in enumerate(words) if word[:1].isalpha()), 0)
        capitals = [index for index, word in enumerate(words) if index > first and word[:1].isupper()]
        unusual = [index for index in capitals if restored[index] != words[index]]
        if not unusual or len(unusual) < _MIN_UNUSUAL * len(capitals):
            return None
        restored[first] = restored[first][:1].upper() + restored[first][1:]
        return restored

    def _from_title(self, word: str) -> str:
        if not word[:1].isupper() or not word[1:].islower():
            return word
        return word.lower() if self._is_lower(word) else word

    def _from_capitals(self, word: str) -> str:
        if not word[:1].isalpha() or (len(word) == 1 and word != "A"):
            return word
        title, lower = word.capitalize(), word.lower()
        if self._counts[word] > self._counts[title] + self._counts[lower]:
            return word
        return lower if self._is_lower(title) or not self._counts[title] else title

    def _is_lower(self, title: str) -> bool:
        """Whether a word with a capital letter is usually spelt without."""
        lower = title.lower()
        n_lower, n_title = self._counts[lower], self._counts[title]
        if n_lower or n_title:
            return n_lower * _BIAS > n_title
        stems = {_SUFFIXES.sub("", lower), _PREFIXES.sub("", lower), lower.rpartition("-")[2]} - {lower}
        stems |= {stem + "e" for stem in stems} | {stem[:-1] for stem in stems if stem[-1:] == stem[-2:-1]}
        return any(self._counts[stem] for stem in stems if len(stem) > 2)


def is_upper_case(words: Sequence[str]) -> bool:
    """Whether a line is all in capitals: several words, and no small letter."""
    spelt = [word for word in words if any(map(str.isalpha, word))]
    return sum(len(word) > 1 for word in spelt) > 1 and all(word.isupper() for word in spelt)


def is_title_case(words: Sequence[str]) -> bool:
    """Whether all words of a line but short ones begin with a capital letter."""
    spelt = [word for word in words if word[:1].isalpha()]
    capitals = sum(word[0].isupper() for word in spelt[1:])
    small = [word for word in spelt if word[0].islower()]
    return (
        capitals >= _MIN_CAPITALS
        and spelt[0][0].isupper()
        and all(len(word) <= _LONGEST_PARTICLE for word in small)
        and len(small) <= capitals
    )
