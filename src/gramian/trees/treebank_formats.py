"""Telling bracketed trees from CoNLL-U by how a file starts."""

from __future__ import annotations

from typing import Literal, TypeAlias

from gramian.errors import InputError
from gramian.io.reading import Source, peek_text, source_name

TreebankFormat: TypeAlias = Literal["brackets", "conllu"]


def detect_format(source: Source) -> tuple[Source, TreebankFormat]:
    """Return a source that still has all of `source` to be read, and what it holds; InputError if it starts like neither."""
    source_left, start = peek_text(source)
    first = start.strip().split("\n", 1)[0]
    if first.startswith("("):
        return source_left, "brackets"
    if first.startswith("#") or "\t" in first:
        return source_left, "conllu"
    if "(" in first or not first:
        return source_left, "brackets"
    raise InputError(
        "this is neither bracketed trees nor CoNLL-U",
        source_name(source),
        1,
        excerpt=first,
        hint="trees start with '(', CoNLL-U with '#' or ten columns separated by tabs",
    )
