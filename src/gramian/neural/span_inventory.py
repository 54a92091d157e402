"""What a net knows by name, and treebanks in its numbers.

A span's label is the whole unary chain over it, such as ``S|VP`` (:mod:`gramian.trees.labels`); spans without a label are those that a
binarisation adds, and their score is fixed at zero. Words are lower-cased and their digits are all zeros; the characters show how they were
written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.neural.soft_trees import SoftTree
from gramian.trees import Tree
from gramian.trees.labels import chain_label, escape_label, split_chain

PADDING, UNKNOWN, BOUNDARY = 0, 1, 2
"""Numbers of what is no word, of words and characters never seen, and of the ends of sentences and words."""
_FIRST = 3
_DIGIT = re.compile(r"\d")
_MOST_CHARACTERS = 24  # of a word; of longer ones the beginning and the end are read

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


def folded(word: str) -> str:
    """Return a word as the inventory has it."""
    return _DIGIT.sub("0", word.lower())


def n_cells(n_words: int) -> int:
    """Return how many spans a sentence has."""
    return n_words * (n_words + 1) // 2


def cell(n_words: int, start: Any, end: Any) -> Any:
    """Return the number of a span, or of an array of spans: spans are ordered by width, then start, as in the charts."""
    width = end - start
    return (width - 1) * (2 * n_words - width + 2) // 2 + start


@dataclass(frozen=True)
class SpanTree:
    """A tree as spans with chains of labels, and its tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    #: start, end and chain of every node that has a label, each span once
    spans: tuple[tuple[int, int, str], ...]


def brackets(tree: Tree) -> SpanTree:
    """Take a tree apart."""
    chains: dict[tuple[int, int], list[str]] = {}
    for label, start, end in tree.spans(preterminals=False):
        chains.setdefault((start, end), []).append(escape_label(label))
    return SpanTree(
        tree.words, tree.tags, tuple((*span, chain_label(chain)) for span, chain in chains.items())
    )


@dataclass(frozen=True)
class Example:
    """A sentence in numbers, between two boundaries; with its tree or soft tree, if that is known."""

    #: shape (n_words + 2,); as if all were known; which are made unknown is decided anew in each epoch
    words: Ints
    forms: tuple[str, ...]  #: the words as written, without boundaries
    tags: Ints  #: shape (n_tags, 2); words and their tags
    spans: Ints  #: shape (n_spans, 3); start, end and chain of the spans that have a label
    #: tag_shares, span_shares: the probabilities of both: 1 in a tree
    tag_shares: Floats
    span_shares: Floats
    weight: float = 1.0  #: how much the sentence counts

    @property
    def n_words(self) -> int:
        """How many words the sentence has."""
        return len(self.forms)


class _Numbers(NamedTuple):
    """The numbers of all names of an inventory."""

    words: dict[str, int]
    characters: dict[str, int]
    chains: dict[str, int]
    tags: dict[str, int]
    vectors: dict[str, int]


def _numbered(names: Sequence[str], first: int = 0) -> dict[str, int]:
    return dict(zip(names, range(first, first + len(names)), strict=True))


@dataclass(frozen=True)
class Inventory:
    """The words, characters, chains of labels and tags of a treebank."""

    words: tuple[str, ...]  #: folded; numbered from 3
    characters: tuple[str, ...]  #: numbered from 3
    chains: tuple[str, ...]  #: escaped and joined, from 0
    tags: tuple[str, ...]
    #: folded words with fixed vectors, learnt from other text; numbered from 1
    vector_words: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        treebank: Iterable[SpanTree],
        min_count: int = 2,
        vector_words: Sequence[str] = (),
        text: Iterable[Sequence[str]] = (),
    ) -> Inventory:
        """Return what is in trees and the words of text; words and characters must occur `min_count` times."""
        words: Counter[str] = Counter()
        characters: Counter[str] = Counter()
        chains: Counter[str] = Counter()
        tags: set[str] = set()
        for tree in treebank:
            words.update(map(folded, tree.words))
            characters.update("".join(tree.words))
            chains.update(chain for _, _, chain in tree.spans)
            tags.update(tree.tags)
        for sentence in text:
            words.update(map(folded, sentence))
            characters.update("".join(sentence))
        return cls(
            tuple(sorted(word for word, count in words.items() if count >= min_count)),
            tuple(sorted(tree for tree, count in characters.items() if count >= min_count)),
            tuple(sorted(chains)),
            tuple(sorted(tags)),
            tuple(vector_words),
        )

    @cached_property
    def _numbers(self) -> _Numbers:
        return _Numbers(
            words=_numbered(self.words, _FIRST),
            characters=_numbered(self.characters, _FIRST),
            chains=_numbered(self.chains),
            tags=_numbered(self.tags),
            vectors=_numbered(self.vector_words, 1),
        )

    @property
    def n_words(self) -> int:
        """How many numbers of words there are, those that are no words included."""
        return len(self.words) + _FIRST

    @property
    def n_characters(self) -> int:
        """How many numbers of characters there are, those that are none included."""
        return len(self.characters) + _FIRST

    @cached_property
    def label_names(self) -> tuple[str, ...]:
        """The treebank's labels of phrases, sorted, then its tags: the columns of a table of labels."""
        labels: set[str] = set()
        for chain in self.chains:
            labels.update(split_chain(chain))
        return (*sorted(labels), *self.tags)

    @cached_property
    def membership(self) -> npt.NDArray[np.float32]:
        """Which chain has which label of a phrase, shape (n_chains, n_phrase_labels)."""
        labels = self.label_names[: -len(self.tags)]
        column = _numbered(labels)
        table = np.zeros((len(self.chains), len(labels)), np.float32)
        for row, chain in enumerate(self.chains):
            table[row, list(map(column.__getitem__, split_chain(chain)))] = 1
        return table

    def word(self, word: str) -> tuple[int, int, list[int]]:
        """Return the number of a word, that of its fixed vector (0 for none), and its characters between two boundaries."""
        numbers, lower = self._numbers, folded(word)
        if len(word) > _MOST_CHARACTERS:
            word = word[: _MOST_CHARACTERS // 2] + word[-_MOST_CHARACTERS // 2 :]
        characters = [BOUNDARY, *[numbers.characters.get(character, UNKNOWN) for character in word], BOUNDARY]
        return numbers.words.get(lower, UNKNOWN), numbers.vectors.get(lower, 0), characters

    def word_numbers(self, words: Sequence[str]) -> Ints:
        """Return a sentence between its boundaries, shape (n_words + 2,)."""
        number = self._numbers.words.get
        return np.array([BOUNDARY, *[number(folded(word), UNKNOWN) for word in words], BOUNDARY])

    def example(self, tree: SpanTree | SoftTree) -> Example:
        """Return a tree in numbers; spans and words whose chain or tag is not known are left out."""
        if isinstance(tree, SpanTree):
            certain = tuple((*span, 1.0) for span in tree.spans)
            tree = SoftTree(tree.words, certain, tuple((*tag, 1.0) for tag in enumerate(tree.tags)))
        chains, tags = self._numbers.chains, self._numbers.tags
        spans = [
            (start, end, chains[chain], share) for start, end, chain, share in tree.spans if chain in chains
        ]
        tagged = [(word, tags[tag], share) for word, tag, share in tree.tags if tag in tags]
        return Example(
            words=self.word_numbers(tree.words),
            forms=tree.words,
            tags=np.array([row[:2] for row in tagged], np.int64).reshape(-1, 2),
            spans=np.array([row[:3] for row in spans], np.int64).reshape(-1, 3),
            tag_shares=np.array([row[2] for row in tagged], np.float32),
            span_shares=np.array([row[3] for row in spans], np.float32),
            weight=tree.weight,
        )
