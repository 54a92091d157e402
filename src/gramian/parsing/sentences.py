"""What a parser takes: text, tokens or tagged tokens, with or without constraints, read into one form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from gramian.chart.constraints import Constraints
from gramian.errors import InputError
from gramian.text.rule_tokenizer import TextToken, tokenize
from gramian.text.sentence_segmenter import PlacedText
from gramian.trees.tree import SPACE, unescape_word

TaggedToken: TypeAlias = tuple[str, str | Mapping[str, float]]
Plain: TypeAlias = (
    PlacedText
    | str
    | Sequence[str]
    | Sequence[TextToken]
    | Sequence[TaggedToken]
    | Sequence[str | TaggedToken]
)
TagPriors: TypeAlias = Sequence[Mapping[str, float] | None]
"""Of each word, the tags it is given with their probabilities."""

_NOT_A_WORD = re.compile(rf"[{SPACE}\0]")


@dataclass(frozen=True)
class ParseRequest:
    """A sentence and what is wanted of it; where a field is None, what the call says holds for all of its sentences."""

    sentence: Plain  #: as for :meth:`gramian.Parser.parse`
    constraints: Constraints | None = None  #: what is known about its tree
    k: int | None = None  #: how many of its best trees
    decoder: str | None = None


Sentence: TypeAlias = Plain | ParseRequest


class ReadSentence(NamedTuple):
    """A sentence as it is parsed."""

    tokens: list[str]  #: its words, in restored case where that was done
    offsets: tuple[tuple[int, int], ...] | None  #: their places in the text
    tag_priors: TagPriors | None  #: the tags that they are given
    original: list[str] | None = None  #: the words as they were given, if their case was restored
    language: str | None = None  #: the language that the sentence seems to be in, if it is not the model's


def read_sentence(sentence: Plain, cut: Callable[[str], Sequence[TextToken]] = tokenize) -> ReadSentence:
    """Read a sentence; `cut` is how text is cut into words. A token that is empty or has white space in it is an InputError."""
    first = 0
    if isinstance(sentence, PlacedText):
        first = sentence.start
        sentence = sentence.text
    if isinstance(sentence, str):
        sentence = cut(sentence)
    if not isinstance(sentence, Iterable):
        raise _no_sentence(sentence)
    items = list(sentence)
    plain = set(map(type, items)) <= {str}
    tokens: list[str] = items if plain else []  # type: ignore[assignment]
    offsets: list[tuple[int, int]] = []
    given: dict[int, Mapping[str, float]] = {}
    for item in () if plain else items:
        if isinstance(item, str):
            tokens.append(item)
        elif isinstance(item, TextToken):
            tokens.append(item.word)
            offsets.append((first + item.start, first + item.end))
        else:
            if not (isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str)):
                raise _no_sentence(item)
            word, tag = item
            given[len(tokens)] = {tag: 1.0} if isinstance(tag, str) else tag
            tokens.append(word)
    text = "".join(tokens)
    if not all(tokens) or _NOT_A_WORD.search(text):
        place = next(place for place, word in enumerate(tokens) if not word or _NOT_A_WORD.search(word))
        raise InputError(
            f"token {place + 1}, {tokens[place]!r}, is not a word",
            "sentence",
            hint="give tokens without white space, or the sentence as one text",
        )
    tags = [given.get(place) for place in range(len(tokens))] if given else None
    words = [unescape_word(word) for word in tokens] if "RB-" in text else tokens
    return ReadSentence(words, tuple(offsets) or None, tags)


def _no_sentence(value: object) -> InputError:
    what = f"a sentence is text, or tokens with or without tags, not {type(value).__name__} ({value!r:.40})"
    return InputError(what, "sentence", hint="give one text, a list of words, or a list of (word, tag)")
