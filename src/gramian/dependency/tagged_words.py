"""Reading what is to be parsed: CoNLL-U whose arcs are not looked at, whatever they are."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from gramian.io.files import Source, expand, open_text
from gramian.trees import ConlluError, Sentence, read_conllu

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["read_words"]


def read_words(source: Source) -> Iterator[Sentence]:
    r"""Read sentences one by one, with HEAD, DEPREL and DEPS emptied before anything checks them.

    An empty source has no sentences, which is no error: there is nothing to parse.

    Examples
    --------
    >>> text = io.StringIO("1\ta\t_\tX\t_\t_\t1\tself\t_\t_\n")
    >>> next(read_words(text)).tokens[0].head is None
    True
    """
    for part in expand(source):
        with open_text(part) as lines:
            segments = iter(lines)
            start: list[str] = []
            for segment in segments:
                start.append(segment)
                if not segment.isspace():
                    break
            else:
                continue
            text = _WithoutArcs(lines.name, chain(start, segments))
            try:
                yield from read_conllu(io.BufferedReader(text))
            except ConlluError as error:
                error.hint = "mend the line: ten columns with tabs between them, and _ where there is nothing"
                raise


class _WithoutArcs(io.RawIOBase):
    """The bytes of CoNLL-U lines, with ``_`` in the three columns of arcs."""

    def __init__(self, name: str, lines: Iterator[str]) -> None:
        self.name = name
        self._lines = lines
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        while not self._rest:
            line = next(self._lines, None)
            if line is None:
                return 0
            columns = line.split("\t")
            if len(columns) == 10 and columns[0].isdecimal():
                columns[6:9] = "_", "_", "_"
            self._rest = "\t".join(columns).encode()
        size = min(len(view), len(self._rest))
        view[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
