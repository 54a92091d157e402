"""What is said of the sentences of ``gramian parse`` before they are parsed: how many there are, and how they are tokenized."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from gramian.cli.console import count_lines

if TYPE_CHECKING:
    from gramian.parsing.parser import Parser
    from gramian.parsing.sentences import SentenceFormat

_COUNTED = 2000  # lines whose sentences stand for those of a longer text, where a bar wants to know how many there are
_LEAST_RIGHT = 0.97  # of the words, cut as in the treebank; below, it is said


_FALLBACKS = {
    "narrow": "with a narrower beam",
    "wide": "with a wider beam",
    "glued": "with phrases forced together",
    "parts": "split",
    "flat": "flat",
    "stopped": "stopped at the time limit",
}


def is_literal_text(argument: str) -> bool:
    """Return whether an argument is text to be parsed: it holds white space, and stands for no file, list, pattern or URL."""
    if not any(map(str.isspace, argument)) or "://" in argument.split()[0]:
        return False
    try:
        return not os.path.exists(argument.removeprefix("@")) and not glob.glob(argument)
    except (OSError, ValueError):  # too long for a name, or with a zero in it
        return True


def fallback_counts(statuses: Mapping[str, int]) -> list[str]:
    """Return how many sentences needed each fallback, in words."""
    return [f"{statuses[name]:,} {text}" for name, text in _FALLBACKS.items() if statuses.get(name)]


def expected_sentences(file: str, form: SentenceFormat, parser: Parser) -> int | None:
    """Return about how many sentences a file has, for a bar; None of stdin, or where there is no terminal to show it on."""
    from gramian.io.reading import open_text, reads_once
    from gramian.text.text_processor import sentences_in

    if form != "text":
        return count_lines(file)
    if reads_once(file) or not sys.stderr.isatty():
        return None
    with open_text(file, repair=True) as lines:
        first = list(islice(lines, _COUNTED))
    read = sum(len(line.encode()) for line in first)
    count = sum(1 for _ in sentences_in(first, parser.segmenter))
    return count if len(first) < _COUNTED else max(count, count * os.path.getsize(file) // read)


def reading_faults(parser: Parser, form: SentenceFormat) -> str | None:
    """Return what is to be said before text is cut into words in a way that may not be the treebank's."""
    model = parser.model
    if form not in ("text", "lines"):
        return None
    tokenizer = None if model.text is None else model.text.tokenizer
    if tokenizer is None:
        from gramian.trees.scheme import DEFAULT_SCHEME, annotation_scheme

        if model.tokens != "penn" or annotation_scheme(model.preset) is DEFAULT_SCHEME:
            return None
        return "the model has not learnt to read text, which is cut as in English; --tokens takes words as they are"
    if tokenizer.f1 >= _LEAST_RIGHT:
        return None
    return f"{tokenizer.f1:.0%} of the words of a text are cut as in the model's treebank; --tokens takes words as they are"
