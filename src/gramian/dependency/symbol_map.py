"""The map from words to symbols of the automata: a tag, a tag and a form, or the value of a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias
from zlib import crc32

from gramian.errors import OptionError
from gramian.trees import Sentence, Token

SymbolFunction: TypeAlias = Callable[[Token], str]
SymbolChoice: TypeAlias = Literal["auto", "upos", "xpos"] | SymbolFunction

UNKNOWN = "<unknown>"
"""The symbol of words whose symbol does not occur in training."""

_LARGEST_TAG_SET = 100


@dataclass(frozen=True)
class SymbolMap:
    """A map from words to symbols.

    `names` are the symbols of the training sentences, sorted, then ``<unknown>``. A symbol is the tag of a `column`, followed, if `buckets`
    is positive, by a hash of the lower-cased form with this number of values; or the value of `function` for a token.
    """

    names: tuple[str, ...]
    column: Literal["upos", "xpos"]
    buckets: int = 0
    function: SymbolFunction | None = None

    @classmethod
    def fit(
        cls,
        sentences: Sequence[Sentence],
        choice: SymbolChoice = "auto",
        *,
        frequent_words: int = 0,
        buckets: int = 0,
    ) -> SymbolMap:
        """Choose and collect the symbols of training sentences; see :class:`~gramian.dependency.SymbolOptions`."""
        if callable(choice):
            names = {choice(token) for sentence in sentences for token in sentence.tokens}
            return cls((*sorted(names), UNKNOWN), "upos", 0, choice)
        if choice not in ("auto", "upos", "xpos"):
            raise OptionError(f"symbols must be one of auto, upos, xpos, got {choice!r}")
        column: Literal["upos", "xpos"] = "upos" if choice == "upos" else "xpos"
        if choice == "auto":
            fine = {token.xpos for sentence in sentences for token in sentence.tokens}
            column = "xpos" if 2 <= len(fine) <= _LARGEST_TAG_SET else "upos"
        bare = cls((), column, buckets)
        tokens = [token for sentence in sentences for token in sentence.tokens]
        pairs = Counter(bare._tag_and_word(token) for token in tokens)
        frequent = sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:frequent_words]
        names = {bare._symbol(token) for token in tokens}.union(frequent)
        return cls((*sorted(names), UNKNOWN), column, buckets)

    def __call__(self, tokens: Iterable[Token]) -> list[str]:
        """Return the symbol of each word, ``<unknown>`` for new symbols."""
        known = self._known
        if self.function is not None:
            symbols = [self.function(token) for token in tokens]
        else:
            pairs = [(self._tag_and_word(token), self._symbol(token)) for token in tokens]
            symbols = [pair if pair in known else tag for pair, tag in pairs]
        return [symbol if symbol in known else UNKNOWN for symbol in symbols]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    def _tag(self, token: Token) -> str:
        return token.upos if self.column == "upos" or token.xpos == "_" else token.xpos

    def _symbol(self, token: Token) -> str:
        if not self.buckets:
            return self._tag(token)
        form = token.form.lower().encode("utf-8", "surrogatepass")
        return f"{self._tag(token)}#{crc32(form) % self.buckets}"

    def _tag_and_word(self, token: Token) -> str:
        return f"{self._tag(token)}/{token.form.lower()}"
