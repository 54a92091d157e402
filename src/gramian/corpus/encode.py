"""Bracket text to token codes: the only part of corpus reading that touches strings.

Each distinct token is looked up once in a dictionary; what goes on to the kernels is one int32 per token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["TokenCodes", "pieces"]

_TOKEN = re.compile(r"\([ \t\n\r\f\v]*[^ \t\n\r\f\v()]*|[^ \t\n\r\f\v()]+|\)")
_PIECE = 1 << 22


class TokenCodes(dict[str, int]):
    """A dictionary from bracket tokens to codes that numbers new labels and words as they come.

    Examples
    --------
    >>> codes = TokenCodes()
    >>> codes.encode("(NP (DT the) (NN cat))").tolist()
    [0, 2, 1, -1, 4, 3, -1, -1]
    >>> codes.labels, codes.words
    (['NP', 'DT', 'NN'], ['the', 'cat'])
    """

    def __init__(self) -> None:
        super().__init__()
        self[")"] = -1
        self.labels: list[str] = []
        self.words: list[str] = []

    def __missing__(self, token: str) -> int:
        if token[0] == "(":
            name = token[1:].strip()
            plain = "(" + name
            if plain != token:
                code = self[plain]
            else:
                code = 2 * len(self.labels)
                self.labels.append(name)
        else:
            code = 2 * len(self.words) + 1
            self.words.append(token)
        self[token] = code
        return code

    def encode(self, text: str) -> npt.NDArray[np.int32]:
        """Return the codes of all tokens of `text`."""
        return np.fromiter(map(self.__getitem__, _TOKEN.findall(text)), np.int32)


def pieces(lines: Iterable[str]) -> Iterator[str]:
    """Join lines into pieces of some megabytes, each ending after a closing bracket."""
    parts: list[str] = []
    size = 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size >= _PIECE:
            text = "".join(parts)
            cut = text.rfind(")") + 1
            if cut:
                yield text[:cut]
                parts, size = [text[cut:]], 0
    yield "".join(parts)
