"""A log-linear classifier of the words of a sentence: the tagger and the lemmatiser are two of them.

The candidates of a frequent word are the classes that it had in training. Those of any other word are joined by the classes of words
with the same ending, from long endings to short ones, and with the same shape.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from gramian.dependency import word_class_kernels as kernels
from gramian.io.array_table import validate
from gramian.io.bounded_cache import BoundedCache
from gramian.loglinear.adagrad import ascend, new_tables
from gramian.loglinear.hashing import Templates, templates
from gramian.treebank.vocab import shape

Ints: TypeAlias = npt.NDArray[np.int32]
Views: TypeAlias = npt.NDArray[np.int64]
Word: TypeAlias = tuple[str, str]  # a form, and what else is known about the word, such as its tag

VIEWS = "wsbcdefghijxtuklmnoqyzarv"
"""Rows of views: form, shape, six suffixes, three prefixes, most frequent class of the form, the tag and the coarse tag that are given;
two more suffixes; what follows the stem, the class of the stem, and their lengths; six trigrams before the end. The stem is the longest
other word that the word begins with."""

_PADDING = 2
_TRUSTED = 5  # occurrences of a word after which its classes are believed to be complete
_RARE = 10  # words of at most this count show which classes unknown words have
_LONGEST = 5  # characters of an ending
_MOST = 32  # candidates from endings and shape
_PER_KEY = 16  # classes kept for an ending
_SHORTEST_STEM = 2
_TRIGRAMS = 6
_DROPOUT = 2.0
_RATE = 0.1
_SLOTS_OF_WORD = 120  # more slots, fewer collisions: half as many cost 0.2 points of accuracy
_MAX_SIZE = 23  # logarithm of the number of slots

_CONTEXT_TEXT = """
    wi | wi wi-1 | wi wi+1 | si | si di | bi | ci | di | ei | fi | gi | hi | ii | ji | wi-1 | wi+1 | wi-2 | wi+2
    | xi-1 | xi+1 | xi xi+1 | xi-1 xi xi+1 | xi+1 xi+2 | xi di | di xi+1 | di xi-1 | fi xi+1 | si si+1 | si si-1 | di-1 | di+1
    | t | t . wi | u v | t . xi | t . xi+1 | t . di | t . fi | u v xi | u . xi xi+1 | u . wi wi+1 | u v xi+1
"""
_STEM_TEXT = """
    | ki | li | mi | mi ni | ni oi | ni ei | ni fi
    | 200: qi | 200: yi | 200: zi | 200: ai | 200: ri | 200: vi
"""  # trigrams have the same weights wherever they stand


def _read(text: str) -> Templates:
    return templates(text, first=1, views=VIEWS, places={"i": (0, 0)}, given=("t", "u", "v"))


CONTEXT = _read(_CONTEXT_TEXT)
"""Templates of words among others; t and u are the class and coarse class of the previous word, v the coarse class of the one before it."""

CONTEXT_AND_STEMS = _read(_CONTEXT_TEXT + _STEM_TEXT)
"""The same, with the stem and the inside of the word."""

ISOLATED = _read(
    """
    wi | wi ti | ti | ui bi | ui ci | ui di | ui ei | ui fi | ui gi | ti bi | ti ci | ti di | ti ei | ti fi | ti gi | di | ei | fi | gi
    | si ti | hi ti | ii ti
    """
)
"""Templates of a lemmatiser, which sees tags and no other words."""


@dataclass(frozen=True, eq=False, repr=False)
class WordClassifier:
    """Weights of parts of classes, and the candidates of words."""

    n_parts: int
    parts: Ints  #: shape (T, M); the parts of each class, then -1
    coarse: Ints  #: shape (T,); a coarser class for each class
    #: words (``w dogs``), words that are believed (``W dogs``), endings (``e ogs``) and shapes (``s Xx``)
    keys: tuple[str, ...]
    #: offsets, candidates: the classes of key k are ``candidates[offsets[k] : offsets[k + 1]]``, the most frequent first
    offsets: Ints
    candidates: Ints
    weights: npt.NDArray[np.float32]  #: a power of two of hashed weights

    def __post_init__(self) -> None:
        names = ("parts", "coarse", "offsets", "candidates", "weights")
        validate(
            "word-classifier",
            {name: getattr(self, name) for name in names},
            numbers=self.n_parts,
            keys=len(self.keys),
        )
        if "e " not in self.keys:
            raise ValueError("invalid model file: no candidates for unknown words")

    def classify(self, words: Sequence[Word], context: Templates) -> list[int]:
        """Return the class of each word of a sentence."""
        views = self._views_of(words)
        rows = [self._candidates_of[form] for form, _ in words]
        bounds = np.zeros((len(words), 2), np.int64)
        np.cumsum([len(row) for row in rows], out=bounds[:, 1])
        bounds[1:, 0] = bounds[:-1, 1]
        result = np.zeros(len(words), np.int64)
        kernels.classify(context, views, np.concatenate(rows), bounds, self._classes, self.weights, result)
        return result.tolist()

    @cached_property
    def _classes(self) -> kernels.WordClasses:
        return kernels.WordClasses(self.parts, self.coarse, self.n_parts)

    @cached_property
    def _rows(self) -> dict[str, Ints]:
        bounds = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        return {key: self.candidates[start:end] for key, (start, end) in zip(self.keys, bounds, strict=True)}

    @cached_property
    def _candidates_of(self) -> BoundedCache[str, Ints]:
        return BoundedCache(lambda form: _candidates(self._rows, form))

    @cached_property
    def _first_class(self) -> dict[str, int]:
        """The most frequent class of each known word."""
        return {key[2:]: int(row[0]) for key, row in self._rows.items() if key[0] in "wW"}

    @cached_property
    def _word_views(self) -> BoundedCache[Word, Views]:
        return BoundedCache(
            lambda word: _word_views(self._first_class, word, int(self._candidates_of[word[0]][0]))
        )

    def _views_of(self, words: Sequence[Word]) -> Views:
        views = np.zeros((len(VIEWS), len(words) + 2 * _PADDING), np.int64)
        views[:, _PADDING:-_PADDING] = np.array([self._word_views[word] for word in words]).T
        return views


def fit_word_classifier(
    sentences: Sequence[Sequence[Word]],
    targets: Sequence[Sequence[int]],
    parts: Sequence[Sequence[str]],
    context: Templates,
    *,
    max_iter: int,
    random_state: int,
) -> WordClassifier:
    """Train a classifier.

    Parameters
    ----------
    sentences : sequence of sequences of Word
    targets : sequence of sequences of int
        The class of each word.
    parts : sequence of sequences of str
        The parts of each class, the first of them the coarse class.
    context : Templates
        :data:`CONTEXT`, :data:`CONTEXT_AND_STEMS` or :data:`ISOLATED`.
    max_iter : int
        Epochs.
    random_state : int
    """
    counts: Counter[tuple[str, int]] = Counter()
    for words, classes in zip(sentences, targets, strict=True):
        counts.update((form.lower(), number) for (form, _), number in zip(words, classes, strict=True))
    rows = _candidate_rows(counts, {form for words in sentences for form, _ in words})
    numbers = {name: number for number, name in enumerate(sorted({part for row in parts for part in row}))}
    coarse = {name: number for number, name in enumerate(sorted({row[0] for row in parts}))}
    table = np.full((len(parts), max(map(len, parts))), -1, np.int32)
    for row, names in zip(table, parts, strict=True):
        row[: len(names)] = [numbers[name] for name in names]
    keys = tuple(sorted(rows))
    slots = math.ceil(math.log2(1 + _SLOTS_OF_WORD * sum(counts.values())))
    size = 1 << min(_MAX_SIZE, max(12, len(numbers).bit_length() + 1, slots))
    tables = new_tables(size, _RATE, smallest=0.01)
    untrained = WordClassifier(
        len(numbers),
        table,
        np.asarray([coarse[row[0]] for row in parts], np.int32),
        keys,
        np.cumsum([0, *(len(rows[key]) for key in keys)]).astype(np.int32),
        np.asarray([number for key in keys for number in rows[key]], np.int32),
        tables.weights,
    )
    examples = [
        _example(untrained, words, classes, counts) for words, classes in zip(sentences, targets, strict=True)
    ]

    def drop_words(example: _Example, rng: np.random.Generator) -> tuple[Views, npt.NDArray[np.int64]]:
        """Return the views and the bounds of the candidates, with some words as if they were unknown."""
        dropped = rng.random(len(example.targets)) < example.rates
        views = example.views.copy()
        for row in _WORD_ROWS:
            views[row, _PADDING:-_PADDING][dropped] = 0
        return views, np.where(dropped[:, None], example.unknown_bounds, example.bounds)

    def update(views: tuple[Views, npt.NDArray[np.int64]], example: _Example, _: None, step: float) -> None:
        kernels.learn_classes(
            context,
            *views[:1],
            example.candidates,
            views[1],
            example.targets,
            untrained._classes,
            step,
            tables,
        )

    weights = ascend(
        tables,
        examples,
        drop_words=drop_words,
        gradient=lambda *_: None,
        update=update,
        max_iter=max_iter,
        random_state=random_state,
    )
    return replace(untrained, weights=weights)


_WORD_ROWS = (VIEWS.index("w"), VIEWS.index("x"))


class _Example(NamedTuple):
    """A training sentence, with the candidates of its words as they are and as if they were unknown."""

    views: Views
    candidates: Ints
    bounds: npt.NDArray[np.int64]
    unknown_bounds: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    rates: npt.NDArray[np.float64]  # how often a word is to be unknown


def _example(
    classifier: WordClassifier,
    words: Sequence[Word],
    targets: Sequence[int],
    counts: Mapping[tuple[str, int], int],
) -> _Example:
    rows, bounds, end = [], [], 0
    frequency = []
    for (form, _), target in zip(words, targets, strict=True):
        for row in (classifier._candidates_of[form], _unknown_candidates(classifier._rows, form)):
            row = row if target in row else np.append(row, np.int32(target))
            rows.append(row)
            bounds.append((end, end + len(row)))
            end += len(row)
        frequency.append(counts[form.lower(), target])
    all_bounds = np.asarray(bounds, np.int64).reshape(-1, 2, 2)
    return _Example(
        classifier._views_of(words),
        np.concatenate(rows),
        np.ascontiguousarray(all_bounds[:, 0]),
        np.ascontiguousarray(all_bounds[:, 1]),
        np.asarray(targets, np.int64),
        _DROPOUT / (_DROPOUT + np.asarray(frequency)),
    )


def _candidate_rows(counts: Mapping[tuple[str, int], int], forms: Iterable[str]) -> dict[str, list[int]]:
    """Return the classes of words, endings and shapes, the most frequent first."""
    of_word: dict[str, Counter[int]] = {}
    for (form, number), count in counts.items():
        of_word.setdefault(form, Counter())[number] += count
    seen: dict[str, Counter[int]] = {}
    for form, numbers in of_word.items():
        total = numbers.total()
        seen[f"{'W' if total >= _TRUSTED else 'w'} {form}"] = numbers
        for key in _endings(form) if total <= _RARE else ():
            seen.setdefault(key, Counter()).update(numbers.keys())
    for form in forms:
        numbers = of_word[form.lower()]
        if numbers.total() <= _RARE:
            seen.setdefault(f"s {shape(form)}", Counter()).update(numbers.keys())
    seen.setdefault("e ", Counter()).update([number for _, number in counts])
    rows = {}
    for key, numbers in seen.items():
        ranked = sorted(numbers, key=lambda number: (-numbers[number], number))
        rows[key] = ranked if key[0] in "wW" else ranked[:_PER_KEY]
    return rows


def _endings(form: str) -> list[str]:
    return [f"e {form[-size:]}" for size in range(min(_LONGEST, len(form)), 0, -1)] + ["e "]


def _candidates(rows: Mapping[str, Ints], form: str) -> Ints:
    """Return the classes that a word may have."""
    known = rows.get(f"W {form.lower()}")
    if known is not None:
        return known
    rare, others = rows.get(f"w {form.lower()}"), _unknown_candidates(rows, form)
    return (
        others
        if rare is None
        else np.asarray(list(dict.fromkeys([*rare.tolist(), *others.tolist()])), np.int32)
    )


def _unknown_candidates(rows: Mapping[str, Ints], form: str) -> Ints:
    """Return the classes of words with the endings and the shape of a word."""
    numbers: dict[int, None] = {}
    for key in (*_endings(form.lower())[:-1], f"s {shape(form)}", "e "):
        if len(numbers) < _MOST:
            numbers.update(dict.fromkeys(rows[key].tolist() if key in rows else ()))
    return np.asarray(list(numbers), np.int32)


def _word_views(first_class: Mapping[str, int], word: Word, likely_class: int) -> Views:
    form, tag = word
    lower, coarse_tag = form.lower(), tag.partition("\t")[0]
    parts = (
        f"w {lower}" if lower in first_class else "",
        f"s {shape(form)}",
        *(f"e {lower[-size:]}" if len(lower) >= size else "" for size in range(1, 7)),
        *(f"p {lower[:size]}" if len(lower) > size else "" for size in (2, 3, 4)),
        f"x {likely_class}",
        f"t {tag}",
        f"u {coarse_tag}",
        *(f"e {lower[-size:]}" if len(lower) >= size else "" for size in (7, 8)),
        *_stem(first_class, lower),
        *(f"3 {lower[-end - 3 : -end]}" if len(lower) >= end + 3 else "" for end in range(1, _TRIGRAMS + 1)),
    )
    return np.array([crc32(part.encode("utf-8", "surrogatepass")) if part else 0 for part in parts])


def _stem(first_class: Mapping[str, int], lower: str) -> tuple[str, str, str]:
    """Return what follows the stem of a word, the class of the stem, and the length of what follows; empty texts without a stem."""
    for size in range(len(lower) - 1, _SHORTEST_STEM - 1, -1):
        number = first_class.get(lower[:size])
        if number is not None:
            return f"r {lower[size:]}", f"m {number}", f"n {len(lower) - size}"
    return "", "", ""
