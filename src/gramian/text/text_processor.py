"""The part of a model that turns text into sentences and words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from gramian.errors import OptionError
from gramian.text.sentence_segmenter import SentenceSegmenter
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
