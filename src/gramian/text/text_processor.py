"""The part of a model that turns text into sentences and words; at most one paragraph of running text is in memory."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from gramian.errors import OptionError
from gramian.text.sentence_segmenter import PlacedText, SentenceSegmenter
from gramian.text.tokenizer import Tokenizer

_LANGUAGE_CODE = re.compile("[a-z]{2,3}")


@dataclass(frozen=True, eq=False, repr=False)
class TextProcessor:
    """Segments and tokenizes text as in the treebank of a model; without a tokenizer, the model's ``tokens`` select the rules."""

    STORED_AS: ClassVar[str] = "TextHabits"

    language: str | None = None  # ISO 639 code
    segmenter: SentenceSegmenter = field(
        default_factory=SentenceSegmenter, metadata={"stored_as": "splitter"}
    )
    tokenizer: Tokenizer | None = field(default=None, metadata={"stored_as": "cutter"})

    def __post_init__(self) -> None:
        if self.language is not None and not _LANGUAGE_CODE.fullmatch(self.language):
            raise OptionError(f"language must be a code such as 'en', got {self.language!r}")


_MAX_PARAGRAPH = 1 << 16  # characters; a longer paragraph is segmented in parts


def sentences_in(
    lines: Iterable[str], segmenter: SentenceSegmenter, *, at_once: bool = False
) -> Iterator[PlacedText]:
    """Yield the sentences of a text with their offsets in the whole text.

    Lines have their line ends; long lines may come in pieces. With `at_once`, the sentences of a line are yielded before the next line is
    read, for interactive input.
    """
    held: list[str] = []
    size = start = 0
    for line in lines:
        if not at_once and line.strip():
            held.append(line)
            size += len(line)
            if size < _MAX_PARAGRAPH:
                continue
            text = "".join(held)
            spans = segmenter.segment(text)
            end = spans[-1].start if len(spans) > 1 else len(text)  # the last sentence may continue
            rest = [text[end:]] if end < len(text) else []
            text = text[:end]
        else:
            text, rest = "".join([*held, line]), []
        yield from _sentences(text, start, segmenter)
        start += len(text)
        held, size = rest, sum(map(len, rest))
    yield from _sentences("".join(held), start, segmenter)


def _sentences(text: str, offset: int, segmenter: SentenceSegmenter) -> Iterator[PlacedText]:
    for start, end in segmenter.segment(text):
        yield PlacedText(text[start:end], offset + start)
