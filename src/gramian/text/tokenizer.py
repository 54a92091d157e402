"""Learned tokenization of text in any language, as in a treebank.

White space separates chunks. Inside a chunk, every position next to a punctuation mark and every position before a known clitic gets a
score from its features; a positive score is a token boundary (``l'|eau``, ``Mr.``, ``do|n't``, ``行っ|た``). Then contractions are
expanded (``da``: ``de a``) and the compounds of the treebank joined (``parce_que``). URLs, ``@names``, ``#tags`` and emoji stay whole.
The time is linear in the length of the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import ClassVar

from gramian.errors import OptionError
from gramian.io.bounded_cache import BoundedCache
from gramian.text.feature_scores import FeatureScores
from gramian.text.rule_tokenizer import WHOLE, TextToken, penn_quote

JOINT = "_"
CHUNK = re.compile(r"[^\s\0]+")
_WHOLE = re.compile(WHOLE, re.VERBOSE)
_WINDOW = 3  # characters on either side of a position that features name one by one
_CONTEXT = 64  # characters on either side of a position that features depend on at all
_NOT_IN_MARK = re.compile(r"[\s()\0\ud800-\udfff]")


@dataclass(frozen=True, eq=False, repr=False)
class Tokenizer:
    """Splits a sentence into tokens."""

    STORED_AS: ClassVar[str] = "WordCutter"

    scores: FeatureScores  # of token boundaries
    # Lower-case word endings that may be tokens.
    clitics: tuple[str, ...] = field(default=(), metadata={"stored_as": "tails"})
    dense: bool = False  # whether the script has no spaces between words: every position may be a boundary
    # Lower-case contractions, and the words, separated by spaces, that each stands for.
    contractions: tuple[str, ...] = field(default=(), metadata={"stored_as": "written"})
    expansions: tuple[str, ...] = field(default=(), metadata={"stored_as": "meant"})
    compounds: tuple[str, ...] = ()  # words with underscores in the treebank that are several words in text
    # Mark on either side of a boundary between two letters, such as $ in vetur$ $inn.
    boundary_mark: str = field(default="", metadata={"stored_as": "mark"})
    quotes: bool = False  # whether double quotes become two backquotes or apostrophes
    f1: float = field(default=1.0, metadata={"stored_as": "right"})  # of tokens in held-out sentences

    def __post_init__(self) -> None:
        if len(self.contractions) != len(self.expansions) or not all(map(str.split, self.expansions)):
            raise OptionError("each contraction must stand for at least one word")
        if not 0 <= self.f1 <= 1:
            raise OptionError(f"f1 must be between 0 and 1, got {self.f1}")
        if _NOT_IN_MARK.search(self.boundary_mark):
            raise OptionError(
                f"boundary_mark must not contain brackets or white space, got {self.boundary_mark!r}"
            )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def tokenize(self, text: str) -> list[TextToken]:
        """Return the tokens of a sentence with their offsets; the words of a contraction have the same offsets."""
        tokens: list[TextToken] = []
        chunks = list(CHUNK.finditer(text))
        for number, match in enumerate(chunks, 1):
            offset = match.start()
            for start, end, is_whole in _parts(match[0]):
                if is_whole:
                    tokens.append(TextToken(match[0][start:end], offset + start, offset + end))
                else:
                    is_last = number == len(chunks) and end == len(match[0])
                    tokens += self._tokens(match[0][start:end], offset + start, is_last)
        return self._join_compounds(tokens) if self.compounds else tokens

    def _tokens(self, chunk: str, offset: int, is_last: bool) -> Iterator[TextToken]:
        """Yield the tokens of a chunk."""
        start, starts_inside = 0, False  # whether the token starts inside a word
        boundaries = self._find_boundaries(chunk, is_last) if self.dense else self._boundaries[chunk, is_last]
        for end in (*boundaries, len(chunk)):
            form = chunk[start:end]
            ends_inside = end < len(chunk) and form[-1].isalnum() and chunk[end].isalnum()
            words = self._expansions.get(fold_case(form))
            if words is not None:
                for word in like_case(words, form):
                    yield TextToken(word, offset + start, offset + end)
            elif self.quotes and form == '"':
                yield TextToken(penn_quote(chunk, start), offset + start, offset + end)
            else:
                before = self.boundary_mark if starts_inside else ""
                after = self.boundary_mark if ends_inside else ""
                yield TextToken(f"{before}{form}{after}", offset + start, offset + end)
            start, starts_inside = end, ends_inside

    @cached_property
    def _boundaries(self) -> BoundedCache[tuple[str, bool], tuple[int, ...]]:
        """The boundaries in chunks that occurred before."""
        return BoundedCache(lambda key: self._find_boundaries(*key))

    def _find_boundaries(self, chunk: str, is_last: bool) -> tuple[int, ...]:
        return tuple(
            [
                position
                for position in candidate_positions(chunk, self._clitics, self.dense)
                if self.scores.total(boundary_features(chunk, position, is_last, self.dense)) > 0
            ]
        )

    @cached_property
    def _clitics(self) -> frozenset[str]:
        return frozenset(self.clitics)

    @cached_property
    def _expansions(self) -> dict[str, list[str]]:
        return {form: words.split() for form, words in zip(self.contractions, self.expansions, strict=True)}

    @cached_property
    def _compounds(self) -> dict[str, list[tuple[str, ...]]]:
        """The compounds by their first words, the longest first."""
        by_first_word: dict[str, list[tuple[str, ...]]] = {}
        for compound in sorted(self.compounds, key=lambda compound: (-compound.count(JOINT), compound)):
            words = tuple(compound.split(JOINT))
            by_first_word.setdefault(words[0], []).append(words)
        return by_first_word

    def _join_compounds(self, tokens: list[TextToken]) -> list[TextToken]:
        joined: list[TextToken] = []
        index = 0
        while index < len(tokens):
            parts = tokens[index : index + self._compound_size(tokens, index)]
            word = JOINT.join([token.word for token in parts])
            joined.append(TextToken(word, parts[0].start, parts[-1].end))
            index += len(parts)
        return joined

    def _compound_size(self, tokens: list[TextToken], index: int) -> int:
        """Return how many words from `index` on are one word in the treebank."""
        first = tokens[index].word
        for word in dict.fromkeys((first, first[:1].lower() + first[1:])):
            for words in self._compounds.get(word, ()):
                following = tokens[index + 1 : index + len(words)]
                if words[1:] == tuple([token.word for token in following]):
                    return len(words)
        return 1


def _parts(chunk: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of the parts of a chunk, and whether each stays whole."""
    start = 0
    for match in _WHOLE.finditer(chunk):
        if start < match.start():
            yield start, match.start(), False
        yield *match.span(), True
        start = match.end()
    if start < len(chunk):
        yield start, len(chunk), False


def like_case(words: list[str], form: str) -> list[str]:
    """Return the words of a contraction with capitals as its form has them."""
    if len(form) > 1 and form.isupper():
        return [word.upper() for word in words]
    return [words[0][:1].upper() + words[0][1:], *words[1:]] if form[0].isupper() else words


def candidate_positions(chunk: str, clitics: frozenset[str], dense: bool) -> list[int]:
    """Return the positions in a chunk where a token may end."""
    if dense:
        return list(range(1, len(chunk)))
    folded = fold_case(chunk)
    end = word_end(folded)
    return [
        position
        for position in range(1, len(chunk))
        if not is_inside_word(chunk, position)
        or chunk[position - 1].isdigit() != chunk[position].isdigit()
        or word_ending(folded, position, end) in clitics
    ]


def is_inside_word(chunk: str, position: int) -> bool:
    """Tell whether a position lies between two letters or digits."""
    return chunk[position - 1].isalnum() and chunk[position].isalnum()


def fold_case(text: str) -> str:
    """Return a text in lower case and with straight apostrophes."""
    return text.lower().replace("’", "'")


def word_end(chunk: str) -> int:
    """Return where the punctuation at the end of a chunk starts."""
    end = len(chunk)
    while end and not chunk[end - 1].isalnum():
        end -= 1
    return end


def word_ending(folded: str, position: int, end: int) -> str:
    """Return the part of a case-folded chunk from a position to `end`; an empty text if it is too long for a clitic."""
    return folded[position:end] if end - position <= _CONTEXT else ""


def boundary_features(chunk: str, position: int, is_last: bool, dense: bool) -> list[str]:
    """Return the features of a position in a chunk; `is_last` says whether the chunk ends the sentence."""
    return _character_features(chunk, position) if dense else _word_features(chunk, position, is_last)


def _word_features(chunk: str, position: int, is_last: bool) -> list[str]:
    start = max(0, position - _CONTEXT)
    chunk, position = chunk[start : position + _CONTEXT], position - start
    folded = fold_case(chunk)
    left, right = folded[:position], folded[position:]
    before, after = left[-1], right[0]
    run_left, run_right = _alphanumeric_run(left, -1), _alphanumeric_run(right, 1)
    kinds = "".join(map(_kind, chunk[max(0, position - _WINDOW) : position + _WINDOW]))
    middle = min(position, _WINDOW)
    ending = right if len(right) <= _WINDOW else "..."
    return [
        "bias",
        f"kinds {kinds[:middle]}|{kinds[middle:]}",
        f"near {kinds[middle - 1 : middle]}|{kinds[middle : middle + 1]}",
        f"pair {before}|{after}",
        f"four {left[-2:]}|{right[:2]}",
        f"three left {left[-3:]}|{after}",
        f"three right {before}|{right[:3]}",
        f"left {left}",
        f"right {right}",
        f"run left {run_left}|{after}",
        f"run right {before}|{run_right}",
        f"runs {run_left}|{run_right}",
        f"chunk {folded}|{position}",
        f"ending {is_last} {before}|{ending}",
        f"ending run {is_last} {run_left}|{ending}",
        f"ending kinds {is_last} {kinds[middle - 1 : middle]}|{''.join(map(_kind, ending))}",
    ]


def _character_features(chunk: str, position: int) -> list[str]:
    start = max(0, position - _WINDOW)
    text = chunk[start : position + _WINDOW]
    kinds = "".join(map(_kind, text))
    features = ["bias"]
    for first in range(len(text)):
        for size in range(1, min(4, len(text) - first) + 1):
            distance = first + start - position
            features.append(f"{distance} {text[first : first + size]}")
            features.append(f"k{distance} {kinds[first : first + size]}")
    return features


def _alphanumeric_run(text: str, step: int) -> str:
    """Return the letters and digits at the end (-1) or the start (1) of a text."""
    size = 0
    for character in text[::step]:
        if not character.isalnum():
            break
        size += 1
    return text[len(text) - size :] if step < 0 else text[:size]


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if "\u3040" <= character <= "\u309f":
        return "h"
    if "\u30a0" <= character <= "\u30ff":
        return "k"
    if "\u3400" <= character <= "\u9fff":
        return "c"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return character
