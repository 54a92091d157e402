"""Bracket text to token codes: the only part of corpus reading that touches strings.

Each distinct token is looked up once in a dictionary; kernels get one int32 per token.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from gramian.io.reading import Source, expand, open_text
from gramian.trees.tree import SPACE, Tree, escape_word

_TOKEN = re.compile(rf"\([{SPACE}]*[^{SPACE}()]*|[^{SPACE}()]+|\)")
_PIECE = 1 << 22


class TokenCodes(dict[str, int]):
    """A dictionary from bracket tokens to codes that numbers new labels and words as they come."""

    def __init__(self) -> None:
        super().__init__()
        self[")"] = -1
        self.labels: list[str] = []
        self.words: list[str] = []

    def __missing__(self, token: str) -> int:
        if token[0] == "(":
            name = token[1:].strip(SPACE)
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

    def encode_tree(self, tree: Tree) -> npt.NDArray[np.int32]:
        """Return the codes of the tokens of a tree."""
        codes: list[int] = []
        pending: list[Tree | None] = [tree]
        while pending:
            node = pending.pop()
            if node is None:
                codes.append(-1)
                continue
            codes.append(self[f"({node.label}"])
            if node.word is not None:
                codes.append(self[escape_word(node.word)])
            pending += [None, *reversed(node.children)]
        return np.array(codes, np.int32)

    def encode_files(self, source: Source) -> npt.NDArray[np.int32] | None:
        """Return the codes of all tokens of a file, folder or stream; None if there are none, or a bracket may be missing."""
        tokens: list[npt.NDArray[np.int32]] = []
        for file in expand(source):
            with open_text(file) as lines:
                try:
                    tokens += map(self.encode, _pieces(_balanced(lines.segments())))
                except _UnbalancedError:
                    return None
        return np.concatenate(tokens) if any(map(len, tokens)) else None

    def join_words(self, tokens: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], list[str]]:
        """Join words that stand side by side under one tag with ``_``; return the tokens, and what was joined."""
        is_word = np.append((tokens & 1 == 1) & (tokens >= 0), False)
        joined: list[str] = []
        starts = is_word[:-1] & is_word[1:]
        starts[1:] &= ~is_word[:-2]
        for first in np.flatnonzero(starts):
            last = first + int(np.argmin(is_word[first:]))
            words = [self.words[code // 2] for code in tokens[first:last]]
            tokens[first] = self["_".join(words)]
            joined.append(" ".join(words))
        return (tokens[~(is_word[:-1] & np.insert(is_word[:-2], 0, False))] if joined else tokens), joined


class _UnbalancedError(Exception):
    """A bracket may be missing."""


def _balanced(lines: Iterable[str]) -> Iterator[str]:
    """Pass lines on as long as none starts with a bracket within a tree: it may be a tree that follows a broken one."""
    balance, ends_line = 0, True
    for line in lines:
        if balance and ends_line and line[0] == "(":
            raise _UnbalancedError
        balance += line.count("(") - line.count(")")
        ends_line = line[-1] == "\n"
        yield line
    if balance:
        raise _UnbalancedError


def _pieces(lines: Iterable[str]) -> Iterator[str]:
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
