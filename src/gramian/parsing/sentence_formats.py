"""Formats of sentences: running text, or one a line as text, tokens, tagged tokens or a JSON record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from gramian.parsing.json_sentences import read_record
from gramian.text.running_text import sentences_in
from gramian.trees.token_lines import split_pairs, split_tokens

if TYPE_CHECKING:
    from gramian.io.reading import TextLines
    from gramian.parsing.parser import Parser
    from gramian.parsing.sentences import Sentence

SentenceFormat: TypeAlias = Literal["text", "lines", "tokens", "tagged", "records"]


def read_sentences(
    lines: TextLines, form: SentenceFormat, parser: Parser, *, at_once: bool = False
) -> Iterator[Sentence]:
    """Yield the sentences of an input as the parser takes them; text with its place, an empty line as an empty sentence.

    Parameters
    ----------
    lines : TextLines
    form : str
        Running text, or what stands on each line: a sentence, tokens, tagged tokens, a record.
    parser : Parser
        Its model says where sentences end and which labels constraints may name.
    at_once : bool
        Whether the sentences of a line of running text are wanted before the next line is read.
    """
    if form == "text":
        yield from sentences_in(lines.segments(), parser.segmenter, at_once=at_once)
        return
    for number, line in enumerate(lines, 1):
        yield read_line(line, form, parser, lines.name, number)


def read_line(line: str, form: SentenceFormat, parser: Parser, source: str, number: int) -> Sentence:
    """Return the sentence of one line; `source` and `number` say where it stands."""
    if form == "records":
        return read_record(line, source, number, parser.model.grammar)
    if form == "tagged":
        return split_pairs(line, source, number, "write token/TAG, or use --tokens")
    return split_tokens(line) if form == "tokens" else line
