"""What a word of any language looks like (shapes, suffixes, features of word forms), and how often it has each tag in tagged text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gramian.errors import InputError
from gramian.io.reading import open_text, peek_text
from gramian.trees import read_conllu, read_trees
from gramian.trees.token_lines import split_pairs
from gramian.trees.tree import unescape_word

if TYPE_CHECKING:
    from gramian.treebank.arrays import Treebank


def frequencies(
    words: Sequence[str], counts: npt.NDArray[np.number], ignore_case: bool
) -> npt.NDArray[np.number]:
    """Return how often words occur, those that differ in case only together if `ignore_case`."""
    if not ignore_case:
        return counts
    number: dict[str, int] = {}
    lower = np.array([number.setdefault(word.lower(), len(number)) for word in words], np.int64)
    return np.bincount(lower, counts)[lower]


def word_classes(
    bank: Treebank, min_count: int, signature: Callable[[str], str], ignore_case: bool = False
) -> npt.NDArray[np.int64]:
    """Number the words of a treebank, lower-cased, and those that occur less often than `min_count` by their signature alone."""
    counts = np.bincount(bank.word[bank.word >= 0], minlength=len(bank.words))
    rare = (frequencies(bank.words, counts, ignore_case) < min_count).tolist()
    keys = [
        (is_rare, signature(word) if is_rare else word.lower())
        for word, is_rare in zip(bank.words, rare, strict=True)
    ]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)


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


def word_features(
    word: str, initial: bool = False, top_tag: Callable[[str], str | None] = lambda word: None
) -> list[str]:
    """Return the features of a word form from which tags of unknown words are guessed.

    `top_tag` returns the most frequent tag of a known word: features name those of the lower-cased word, and of the part after its
    last hyphen.
    """
    lower = word.lower()
    features = [f"s{size}:{lower[-size:]}" for size in range(1, min(5, len(lower)) + 1)]
    features += [f"p{size}:{lower[:size]}" for size in range(1, min(4, len(lower)) + 1)]
    form = shape(word, initial)
    features += [f"f:{form}", f"f:{form}/{lower[-3:]}", f"n:{min(len(word), 12)}"]
    features += [f"c:{character}" for character in sorted(set(word)) if not character.isalnum()]
    if lower != word and (tag := top_tag(lower)) is not None:
        features.append(f"l:{tag}:{initial:d}")
    capital = lower.capitalize()
    if capital != word and (tag := top_tag(capital)) is not None:
        features.append(f"C:{tag}")
    part = word.rpartition("-")[2]
    if part != word and (tag := top_tag(part)) is not None:
        features.append(f"h:{tag}")
    return features


@dataclass(frozen=True)
class TaggedWords:
    """How often words have each tag."""

    count: dict[tuple[str, str], int]
    initial: dict[tuple[str, str], int]  # at the beginning of a sentence

    @classmethod
    def read(cls, path: str) -> TaggedWords:
        """Read CoNLL-U (the language's own tags, or the universal ones where there are none), trees, or token/TAG pairs."""
        count: Counter[tuple[str, str]] = Counter()
        initial: Counter[tuple[str, str]] = Counter()
        for sentence in _sentences(path):
            count.update(sentence)
            initial.update(sentence[:1])
        if not count:
            raise InputError("no tagged words", path, hint="token/TAG pairs, or CoNLL-U")
        return cls(dict(count), dict(initial))


def _sentences(path: str) -> Iterator[list[tuple[str, str]]]:
    source, start = peek_text(path)
    first = start.lstrip()[:1]
    if first == "(":
        for tree in read_trees(source):
            yield [(unescape_word(leaf.word or ""), leaf.label) for leaf in tree.leaves()]
    elif first == "#" or "\t" in start.strip().split("\n", 1)[0]:
        for sentence in read_conllu(source):
            pairs = [
                (token.form, token.xpos if token.xpos != "_" else token.upos) for token in sentence.tokens
            ]
            yield [(word.replace(" ", "_"), tag) for word, tag in pairs if tag != "_"]
    else:
        with open_text(source) as lines:
            for number, line in enumerate(lines, 1):
                pairs = split_pairs(line, path, number, "write token/TAG, or give CoNLL-U")
                yield [(unescape_word(word), tag) for word, tag in pairs]
