"""How the text of a treebank's language becomes sentences and words: the part of a model that reads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from gramian.errors import OptionError
from gramian.text.sentence_segmenter import SentenceSegmenter
from gramian.text.tokenizer import Tokenizer

_CODE = re.compile("[a-z]{2,3}")


@dataclass(frozen=True, eq=False, repr=False)
class TextProcessor:
    """What a model knows about text before it parses.

    Attributes
    ----------
    language : str, optional
        Its ISO 639 code, such as ``"fr"``.
    splitter : SentenceSegmenter
        Where sentences end.
    cutter : Tokenizer, optional
        How words are cut; without it as the model's ``tokens`` say.
    """

    STORED_AS: ClassVar[str] = "TextHabits"

    language: str | None = None
    splitter: SentenceSegmenter = field(default_factory=SentenceSegmenter)
    cutter: Tokenizer | None = None

    def __post_init__(self) -> None:
        if self.language is not None and not _CODE.fullmatch(self.language):
            raise OptionError(f"language must be a code such as 'en', got {self.language!r}")
