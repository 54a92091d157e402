"""Strings for ``gramian wfa``: of files of strings, or the tag sequences of treebanks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from gramian.automata import Sequences

Layout: TypeAlias = Literal["auto", "strings", "brackets", "conllu"]
Tags: TypeAlias = Literal["xpos", "upos", "universal"]


def read_sample(file: str, layout: Layout, tags: Tags) -> Sequences:
    """Read strings, or the tag sequences of a treebank."""
    from gramian.automata import Sequences
    from gramian.automata.string_formats import read_strings
    from gramian.automata.tagset import universal_tag
    from gramian.io.reading import peek_text
    from gramian.trees import read_conllu, read_trees

    source, start = peek_text(file)
    if layout == "auto":
        first = start.strip().split("\n", 1)[0]
        is_conllu = first.count("\t") == 9 or first.startswith("# ")
        layout = "brackets" if first.startswith("(") else "conllu" if is_conllu else "strings"
    if layout == "strings":
        return read_strings(source)
    if layout == "brackets":
        rows = [[tag for tag in tree.tags if tag != "-NONE-"] for tree in read_trees(source)]
    else:
        column = "upos" if tags == "upos" else "xpos"
        rows = [[getattr(token, column) for token in sentence.tokens] for sentence in read_conllu(source)]
    if tags == "universal":
        rows = [[universal_tag(tag) for tag in row] for row in rows]
    return Sequences.from_strings(rows)
