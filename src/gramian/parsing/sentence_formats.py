"""Formats of sentences: running text, or one a line as text, tokens, tagged tokens or a JSON record; and parses as JSON records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gramian.errors import InputError, OptionError
from gramian.io.csv_rows import CsvRows
from gramian.io.reading import check_plain_text
from gramian.text.running_text import sentences_in
from gramian.trees.token_lines import split_pairs, split_tokens

if TYPE_CHECKING:
    from gramian.chart.constraints import Span
    from gramian.grammar import LPCFG
    from gramian.io.reading import TextLines
    from gramian.parsing.parser import Parser
    from gramian.parsing.sentences import Plain, Sentence
    from gramian.trees import Tree

SentenceFormat: TypeAlias = Literal["text", "lines", "tokens", "tagged", "records"]

_FIRST_LINES = 3  # that may tell a document with markup
_SPANS = ("uncrossed", "required", "forbidden")
_KEYS = ("text", "tokens", "tags", *_SPANS)


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
        Its model segments text and has the labels that constraints may name.
    at_once : bool
        Whether to yield the sentences of a line of running text before the next line is read.
    """
    if form == "text":
        yield from sentences_in(_plain(lines.segments(), lines.name), parser.segmenter, at_once=at_once)
        return
    for number, line in enumerate(_plain(lines, lines.name) if form == "lines" else lines, 1):
        yield read_line(line, form, parser, lines.name, number)


def _plain(lines: Iterable[str], name: str) -> Iterator[str]:
    """Yield lines of text that has no markup; a document with markup is an InputError."""
    for number, line in enumerate(lines):
        if number < _FIRST_LINES:
            check_plain_text(line, name)
        yield line


def read_cells(lines: TextLines, column: str) -> Iterator[str]:
    r"""Yield the cells of a column of a CSV or TSV file, each a sentence; empty ones, too.

    Examples
    --------
    >>> import io
    >>> from gramian.io.reading import TextLines
    >>> list(read_cells(TextLines(io.BytesIO(b"id,text\n1,It rains.\n2,\n"), "a.csv"), "text"))
    ['It rains.', '']
    """
    rows = CsvRows(lines, column, hint="name the column by --set corpus.text_field=NAME").rows()
    return (cell or "" for (cell,) in rows)


def read_line(line: str, form: SentenceFormat, parser: Parser, source: str, number: int) -> Sentence:
    """Return the sentence of one line; `source` and `number` say where it stands."""
    if form == "records":
        return read_record(line, source, number, parser.model.grammar)
    if form == "tagged":
        return split_pairs(line, source, number, "write token/TAG, or use --tokens")
    return split_tokens(line) if form == "tokens" else line


def read_record(text: str, source: str, line: int, grammar: LPCFG | None = None) -> Sentence:
    """Return the sentence of one line, empty of a blank one; constraints are checked against the labels of `grammar`.

    Examples
    --------
    >>> read_record('{"tokens": ["the", "dog"], "tags": ["DT", null]}', "<string>", 1)
    [('the', 'DT'), 'dog']
    """
    if not text.strip():
        return ""

    def fault(what: str, hint: str = 'write for example {"tokens": ["the", "dog"]}') -> InputError:
        return InputError(what, source, line, hint=hint)

    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise fault(f"this is not JSON ({error})") from None
    if not isinstance(record, dict) or ("text" in record) == ("tokens" in record):
        raise fault("a sentence is a JSON object with 'tokens' or 'text'")
    if unknown := sorted(set(record) - set(_KEYS)):
        raise fault(f"{unknown[0]!r} says nothing about a sentence", f"use {', '.join(_KEYS)}")
    if "text" in record:
        if not isinstance(record["text"], str) or len(record) > 1:
            raise fault("'text' is a string and stands alone; tags and spans speak of 'tokens'")
        return str(record["text"])
    tokens = record["tokens"]
    if not isinstance(tokens, list) or not all(isinstance(token, str) and token for token in tokens):
        raise fault("'tokens' is a list of words")
    sentence = _tagged(tokens, record["tags"], fault) if "tags" in record else tokens
    if not any(record.get(name) for name in _SPANS):
        return sentence

    from gramian.chart.constraints import Constraints
    from gramian.parsing.sentences import ParseRequest

    constraints = Constraints(*(_spans(name, record.get(name, []), fault) for name in _SPANS))
    if grammar is not None:
        try:
            constraints.check(grammar, len(tokens))
        except OptionError as error:
            raise InputError(str(error), source, line) from None
    return ParseRequest(sentence, constraints)


def _tagged(tokens: list[str], tags: Any, fault: Callable[[str], InputError]) -> Plain:
    if not isinstance(tags, list) or len(tags) != len(tokens):
        raise fault("'tags' has one entry for each token")
    for tag in tags:
        weights = tag.values() if isinstance(tag, dict) else ()
        weighted = all(isinstance(weight, int | float) for weight in weights)
        if not (isinstance(tag, str | dict | None) and weighted):
            raise fault(f"{tag!r} is not a tag: a name, null, or an object of tags and their probabilities")
    return [token if tag is None else (token, tag) for token, tag in zip(tokens, tags, strict=True)]


def _spans(name: str, spans: Any, fault: Callable[[str], InputError]) -> tuple[Span, ...]:
    from gramian.chart.constraints import Span

    read = []
    for span in spans if isinstance(spans, list) else [spans]:
        if (
            not isinstance(span, list)
            or len(span) not in (2, 3)
            or not all(type(position) is int for position in span[:2])
            or not all(isinstance(label, str) for label in span[2:])
        ):
            raise fault(f"{span!r} under {name!r} is not a span: [start, end] or [start, end, label]")
        read.append(Span(*span))
    return tuple(read)


def read_parse(text: str, source: str, line: int) -> tuple[Tree, list[float]]:
    """Return the tree of one line that ``gramian parse --json`` wrote, and the confidence of each of its nodes.

    Examples
    --------
    >>> tree, sure = read_parse('{"tree": "(NP (NN time))", "spans": [{"confidence": 0.9}, {"confidence": 1}]}', "<string>", 1)
    >>> print(tree, sure)
    (NP (NN time)) [0.9, 1.0]
    """
    from gramian.trees import BracketError, Tree

    def fault(what: str) -> InputError:
        return InputError(what, source, line, hint="give what 'gramian parse --json' writes")

    try:
        record = json.loads(text)
        tree = Tree.parse(record["tree"]) if record["tree"] else Tree("")
        sure = [float(span["confidence"]) for span in record["spans"]]
    except BracketError as error:
        raise fault(f"its tree is broken ({error.what})") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise fault("this is not a parse with confidences") from None
    nodes = 0 if tree.is_empty else sum(1 for _ in tree.subtrees())
    if len(sure) != nodes or not all(0 <= value <= 1 for value in sure):
        raise fault("confidences lie between 0 and 1, one for each node of the tree")
    return tree, sure
