"""Constraints on arcs: what is known about the heads of a sentence before it is parsed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gramian.errors import InputError
from gramian.trees import Sentence

_IN_MISC = re.compile(r"(Head|NotHead)=([0-9]{1,9}(?:,[0-9]{1,9})*)")


@dataclass(frozen=True)
class ArcConstraints:
    """Known and forbidden heads of words; words count from 1, and 0 is the root.

    Examples
    --------
    >>> from gramian.trees import Token
    >>> words = Token(1, "old", misc="NotHead=0"), Token(2, "men", misc="Head=3|SpaceAfter=No"), Token(3, "sleep")
    >>> ArcConstraints.of(Sentence(words))
    ArcConstraints(heads={2: 3}, forbidden={1: (0,)})
    """

    heads: Mapping[int, int] = field(default_factory=dict)  #: the head of words
    #: words that are not the head of a word
    forbidden: Mapping[int, Collection[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, sentence: Sentence) -> ArcConstraints:
        """Return the constraints in MISC: ``Head=3`` and ``NotHead=2,5``."""
        heads, forbidden = {}, {}
        for token in sentence.tokens:
            for key, value in map(
                re.Match.groups, filter(None, map(_IN_MISC.fullmatch, token.misc.split("|")))
            ):
                numbers = tuple(map(int, value.split(",")))
                if key == "NotHead":
                    forbidden[token.id] = numbers
                elif len(numbers) == 1:
                    heads[token.id] = numbers[0]
                else:
                    raise InputError(f"word {token.id} has several known heads ({value})", line=sentence.line)
        return cls(heads, forbidden)

    def allowed(self, sentence: Sentence) -> npt.NDArray[np.float64]:
        """Return 1 for each arc [head, modifier] that the constraints allow, else 0."""
        size = len(sentence) + 1
        allowed = np.ones((size, size))
        rows = [(word, (head,)) for word, head in self.heads.items()]
        for word, heads in (*rows, *self.forbidden.items()):
            wrong = next((number for number in (word, *heads) if not 0 <= number < size), None)
            if wrong is not None or word == 0 or self.heads.get(word) == word:
                raise InputError(
                    f"the constraint on the head of word {word} must name another word of the sentence",
                    line=sentence.line,
                )
        for word, head in self.heads.items():
            allowed[:, word] = np.arange(size) == head
        for word, heads in self.forbidden.items():
            allowed[list(heads), word] = 0.0
        return allowed
