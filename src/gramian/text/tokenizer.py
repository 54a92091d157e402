"""Text to the words of a treebank, whatever its language: where to cut is learnt from the treebank itself.

White space always cuts. Inside what stands between two white spaces, every place beside a mark, and every place where the treebank
has cut words before, gets a score from its features: above zero the text is cut there (``l'|eau``, ``Mr.``, ``do|n't``, ``行っ|た``).
Then contractions become the words they stand for (``da``: ``de a``), and words that the treebank writes as one are joined
(``parce_que``). Addresses, ``@names``, ``#tags`` and emoji stay whole. All of it takes time linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

from gramian.errors import OptionError
from gramian.io.bounded_cache import BoundedCache
from gramian.text.feature_scores import FeatureScores
from gramian.text.rule_tokenizer import WHOLE, TextToken, penn_quote

JOINT = "_"
CHUNK = re.compile(r"[^\s\0]+")
_WHOLE = re.compile(WHOLE, re.VERBOSE)
_REACH = 3  # characters to either side of a place that are looked at one by one
_CONTEXT = 64  # characters to either side of a place that are looked at in all
_NOT_IN_MARK = re.compile(r"[\s()\0\ud800-\udfff]")


@dataclass(frozen=True, eq=False, repr=False)
class Tokenizer:
    """Cuts a sentence into words.

    Parameters
    ----------
    scores : FeatureScores
        What the features of a place say of a cut there.
    tails : tuple of str
        Ends of words that may be words of their own, in small letters.
    dense : bool
        Whether words stand without spaces between: then any place may be one.
    written, meant : tuple of str
        Contractions, in small letters, and the words, spaces between, that each stands for.
    compounds : tuple of str
        What is one word with underscores in the treebank and several in text.
    mark : str
        Stands at either side of a cut between two letters, as ``$`` in ``vetur$ $inn``.
    quotes : bool
        Whether double quotes become two backquotes or two apostrophes, as in the Penn Treebank.
    right : float
        Share of words that came out as in the treebank, on sentences held out.

    Examples
    --------
    >>> from gramian.text.tokenizer_training import Written, learn_cutter
    >>> text = "l'eau de l'hiver"
    >>> tokens = [TextToken("l'", 0, 2), TextToken("eau", 2, 5), TextToken("de", 6, 8), TextToken("l'", 9, 11), TextToken("hiver", 11, 16)]
    >>> [token.word for token in learn_cutter([Written(text, tokens)] * 5).cut("l'hiver")]
    ["l'", 'hiver']
    """

    STORED_AS: ClassVar[str] = "WordCutter"

    scores: FeatureScores
    tails: tuple[str, ...] = ()
    dense: bool = False
    written: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    compounds: tuple[str, ...] = ()
    mark: str = ""
    quotes: bool = False
    right: float = 1.0

    def __post_init__(self) -> None:
        if len(self.written) != len(self.meant) or not all(words.split() for words in self.meant):
            raise OptionError("contractions must each stand for at least one word")
        if not 0 <= self.right <= 1:
            raise OptionError(f"right must be between 0 and 1, got {self.right}")
        if _NOT_IN_MARK.search(self.mark):
            raise OptionError(f"mark must stand in words, got {self.mark!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def cut(self, text: str) -> list[TextToken]:
        """Return the words of a sentence, each with its place; words that stand in one contraction have the same place."""
        tokens: list[TextToken] = []
        chunks = list(CHUNK.finditer(text))
        for number, match in enumerate(chunks, 1):
            at = match.start()
            for start, end, whole in _stretches(match[0]):
                if whole:
                    tokens.append(TextToken(match[0][start:end], at + start, at + end))
                else:
                    last = number == len(chunks) and end == len(match[0])
                    tokens += self._words(match[0][start:end], at + start, last)
        return self._joined(tokens)

    def _words(self, chunk: str, at: int, last: bool) -> Iterator[TextToken]:
        """Yield the words of what stands between two white spaces."""
        start, opened = 0, False
        cuts = self._cuts(chunk, last) if self.dense else self._known[chunk, last]
        for end in (*cuts, len(chunk)):
            piece = chunk[start:end]
            inside = end < len(chunk) and piece[-1].isalnum() and chunk[end].isalnum()
            words = self._meanings.get(plain(piece))
            if words is not None:
                for word in _as_written(words, piece):
                    yield TextToken(word, at + start, at + end)
            elif self.quotes and piece == '"':
                yield TextToken(penn_quote(chunk, start), at + start, at + end)
            else:
                before, behind = self.mark if opened else "", self.mark if inside else ""
                yield TextToken(f"{before}{piece}{behind}", at + start, at + end)
            start, opened = end, inside

    @cached_property
    def _known(self) -> BoundedCache[tuple[str, bool], tuple[int, ...]]:
        """Cuts of what was met before: most words of a text are."""
        return BoundedCache(lambda key: self._cuts(*key))

    def _cuts(self, chunk: str, last: bool) -> tuple[int, ...]:
        return tuple(
            [
                place
                for place in places(chunk, self._tails, self.dense)
                if self.scores.total(features(chunk, place, last, self.dense)) > 0
            ]
        )

    @cached_property
    def _tails(self) -> frozenset[str]:
        return frozenset(self.tails)

    @cached_property
    def _meanings(self) -> dict[str, list[str]]:
        return {name: words.split() for name, words in zip(self.written, self.meant, strict=True)}

    @cached_property
    def _compounds(self) -> dict[str, list[tuple[str, ...]]]:
        """The compounds that begin with a word, the longest first."""
        found: dict[str, list[tuple[str, ...]]] = {}
        for compound in sorted(self.compounds, key=lambda one: (-one.count(JOINT), one)):
            words = tuple(compound.split(JOINT))
            found.setdefault(words[0], []).append(words)
        return found

    def _joined(self, tokens: list[TextToken]) -> list[TextToken]:
        if not self.compounds:
            return tokens
        joined: list[TextToken] = []
        place = 0
        while place < len(tokens):
            size = self._size(tokens, place)
            if size > 1:
                word = JOINT.join([token.word for token in tokens[place : place + size]])
                joined.append(TextToken(word, tokens[place].start, tokens[place + size - 1].end))
            else:
                joined.append(tokens[place])
            place += size
        return joined

    def _size(self, tokens: list[TextToken], place: int) -> int:
        """Return how many words from `place` on are one in the treebank."""
        first = tokens[place].word
        for word in dict.fromkeys((first, first[:1].lower() + first[1:])):
            for words in self._compounds.get(word, ()):
                ahead = tokens[place + 1 : place + len(words)]
                if words[1:] == tuple([token.word for token in ahead]):
                    return len(words)
        return 1


def _stretches(chunk: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of a chunk, and whether each stays whole."""
    start = 0
    for match in _WHOLE.finditer(chunk):
        if start < match.start():
            yield start, match.start(), False
        yield *match.span(), True
        start = match.end()
    if start < len(chunk):
        yield start, len(chunk), False


def _as_written(words: list[str], piece: str) -> list[str]:
    if len(piece) > 1 and piece.isupper():
        return [word.upper() for word in words]
    return [words[0][:1].upper() + words[0][1:], *words[1:]] if piece[0].isupper() else words


def places(chunk: str, tails: frozenset[str], dense: bool) -> list[int]:
    """Return where a chunk may be cut."""
    if dense:
        return list(range(1, len(chunk)))
    low = plain(chunk)
    end = word_end(low)
    return [
        place
        for place in range(1, len(chunk))
        if not (chunk[place - 1].isalnum() and chunk[place].isalnum())
        or chunk[place - 1].isdigit() != chunk[place].isdigit()
        or tail(low, place, end) in tails
    ]


def plain(text: str) -> str:
    """Return a text in small letters and with straight apostrophes."""
    return text.lower().replace("’", "'")


def word_end(low: str) -> int:
    """Return where the marks at the end of a chunk begin."""
    end = len(low)
    while end and not low[end - 1].isalnum():
        end -= 1
    return end


def tail(low: str, place: int, end: int) -> str:
    """Return what lies between a place and the end of a chunk of small letters; nothing where that is too long to be a word's tail."""
    return low[place:end] if end - place <= _CONTEXT else ""


def features(chunk: str, place: int, last: bool, dense: bool) -> list[str]:
    """Return the features of a place in a chunk; `last` says whether the sentence ends with it."""
    return _of_characters(chunk, place) if dense else _of_word(chunk, place, last)


def _of_word(chunk: str, place: int, last: bool) -> list[str]:
    start = max(0, place - _CONTEXT)
    chunk, place = chunk[start : place + _CONTEXT], place - start
    low = plain(chunk)
    left, right = low[:place], low[place:]
    before, behind = left[-1], right[0]
    run_left, run_right = _run(left, -1), _run(right, 1)
    kinds = "".join(map(_kind, chunk[max(0, place - _REACH) : place + _REACH]))
    middle = min(place, _REACH)
    ending = right if len(right) <= _REACH else "..."
    return [
        "bias",
        f"kinds {kinds[:middle]}|{kinds[middle:]}",
        f"near {kinds[middle - 1 : middle]}|{kinds[middle : middle + 1]}",
        f"pair {before}|{behind}",
        f"four {left[-2:]}|{right[:2]}",
        f"three left {left[-3:]}|{behind}",
        f"three right {before}|{right[:3]}",
        f"left {left}",
        f"right {right}",
        f"run left {run_left}|{behind}",
        f"run right {before}|{run_right}",
        f"runs {run_left}|{run_right}",
        f"chunk {low}|{place}",
        f"ending {last} {before}|{ending}",
        f"ending run {last} {run_left}|{ending}",
        f"ending kinds {last} {kinds[middle - 1 : middle]}|{''.join(map(_kind, ending))}",
    ]


def _of_characters(chunk: str, place: int) -> list[str]:
    start = max(0, place - _REACH)
    text = chunk[start : place + _REACH]
    kinds = "".join(map(_kind, text))
    found = ["bias"]
    for first in range(len(text)):
        for size in range(1, min(4, len(text) - first) + 1):
            where = first + start - place
            found.append(f"{where} {text[first : first + size]}")
            found.append(f"k{where} {kinds[first : first + size]}")
    return found


def _run(text: str, step: int) -> str:
    """Return the letters and digits at the end (-1) or the beginning (1) of a text."""
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
