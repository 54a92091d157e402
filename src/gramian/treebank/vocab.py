"""What a word looks like: signatures that stand for rare and unknown words, and features of word forms.

Signatures follow the unknown-word classes of the split-merge parsers (Petrov et al. 2006); shapes and suffixes need no language.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gramian.treebank.arrays import Treebank

_ENGLISH_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")


def frequencies(
    words: Sequence[str], counts: npt.NDArray[np.number], ignore_case: bool
) -> npt.NDArray[np.number]:
    """Return how often words occur, those that differ in case only together if `ignore_case`.

    Examples
    --------
    >>> frequencies(("the", "The", "cat"), np.array([9, 7, 1]), ignore_case=True).tolist()
    [16.0, 16.0, 1.0]
    """
    if not ignore_case:
        return counts
    number: dict[str, int] = {}
    lower = np.array([number.setdefault(word.lower(), len(number)) for word in words], np.int64)
    return np.bincount(lower, counts)[lower]


@dataclass(frozen=True)
class Vocabulary:
    """The words of a treebank and how often each occurs.

    Examples
    --------
    >>> vocabulary = Vocabulary(("the", "The", "axolotl"), np.array([9, 7, 1]))
    >>> vocabulary.classes(2, lambda word: shape(word)).tolist()
    [0, 0, 1]
    """

    words: tuple[str, ...]
    counts: npt.NDArray[np.number]

    @classmethod
    def of(cls, bank: Treebank, ignore_case: bool = False) -> Vocabulary:
        """Count the words of a treebank."""
        counts = np.bincount(bank.word[bank.word >= 0], minlength=len(bank.words))
        return cls(bank.words, frequencies(bank.words, counts, ignore_case))

    def is_rare(self, min_count: int) -> npt.NDArray[np.bool_]:
        """Tell which words occur less often than `min_count`."""
        return self.counts < min_count

    def classes(self, min_count: int, signature: Callable[[str], str]) -> npt.NDArray[np.int64]:
        """Number the words, lower-cased, and rare ones by their signature alone."""
        numbers: dict[tuple[bool, str], int] = {}
        return np.array(
            [
                numbers.setdefault((rare, signature(word) if rare else word.lower()), len(numbers))
                for word, rare in zip(self.words, self.is_rare(min_count).tolist(), strict=True)
            ],
            np.int64,
        )


def english_signature(word: str, initial: bool = False, known: Collection[str] = ()) -> str:
    """Return the class of an English word: capitals, digits, hyphen and a suffix.

    Of one that begins a sentence (`initial`) it is noted whether its lower-cased form is among the `known` words.
    """
    capitals = sum(character.isupper() for character in word)
    has_digit = any(character.isdigit() for character in word)
    has_lower = any(character.islower() for character in word)
    dash = "-" in word
    signature = "UNK"
    if word[:1].isupper():
        if initial and capitals == 1:
            signature += "-INITC"
            if word.lower() in known:
                signature += "-KNOWNLC"
        else:
            signature += "-CAPS"
    elif not word[:1].isalpha() and capitals:
        signature += "-CAPS"
    elif has_lower:
        signature += "-LC"
    signature += "-NUM" * has_digit + "-DASH" * dash
    lower = word.lower()
    if len(lower) >= 3 and lower[-1] == "s" and lower[-2] not in "siu":
        signature += "-s"
    elif len(lower) >= 5 and not dash and not (has_digit and capitals):
        signature += next(("-" + suffix for suffix in _ENGLISH_SUFFIXES if lower.endswith(suffix)), "")
    return signature


_SEEN = 100  # characters at the beginning and at the end of a word that say what it looks like


def shape(word: str, initial: bool = False) -> str:
    """Return the shape class of a word of any language, such as ``Xx`` for Paris, ``X-d`` for IL-2 and ``d`` for 2,500."""
    if len(word) > 2 * _SEEN:  # no word, and looking at it would take as long as it is
        word = word[:_SEEN] + word[-_SEEN:]
    letters = list(filter(str.isalpha, word))
    digit = any(map(str.isdigit, word))
    if letters:
        capitals = sum(map(str.isupper, letters))
        if capitals == len(letters):
            kind = "X"
        elif letters[0].isupper() and word[0].isalpha():
            kind = "i" if initial else "Xx" if capitals == 1 else "XxX"
        else:
            kind = "xX" if capitals else "x"
    else:
        kind = "" if digit else "p"
    if "-" in word.strip("-"):
        kind += "-"
    return kind + "d" * digit


def suffix_chain(word: str, initial: bool = False, longest: int = 4) -> list[str]:
    """Return ever finer classes of a word: its shape, then the shape with suffixes of growing length."""
    form = shape(word, initial)
    lower = word.lower()
    return [form] + [f"{form}/{lower[-size:]}" for size in range(1, min(longest, len(lower) - 1) + 1)]


def word_features(word: str, initial: bool = False, top_tag: Mapping[str, str] | None = None) -> list[str]:
    """Return the features of a word form from which tags of unknown words are guessed.

    `top_tag`, the most frequent tag of known words, tells what the lower-cased word, and the part after its last hyphen, are.
    """
    lower = word.lower()
    features = [f"s{size}:{lower[-size:]}" for size in range(1, min(5, len(lower)) + 1)]
    features += [f"p{size}:{lower[:size]}" for size in range(1, min(4, len(lower)) + 1)]
    form = shape(word, initial)
    features += [f"f:{form}", f"f:{form}/{lower[-3:]}", f"n:{min(len(word), 12)}"]
    features += [f"c:{character}" for character in sorted(set(word)) if not character.isalnum()]
    if top_tag is not None:
        if lower != word and lower in top_tag:
            features.append(f"l:{top_tag[lower]}:{initial:d}")
        capital = lower.capitalize()
        if capital != word and capital in top_tag:
            features.append(f"C:{top_tag[capital]}")
        part = word.rpartition("-")[2]
        if part != word and part in top_tag:
            features.append(f"h:{top_tag[part]}")
    return features
