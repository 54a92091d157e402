"""What a parser takes: text, tokens or tagged tokens, with or without constraints, one a line or as JSON records; and parses as records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from gramian.chart.constraints import Constraints, Span
from gramian.errors import InputError, OptionError
from gramian.io.csv_rows import CsvRows
from gramian.io.reading import TextLines, check_plain_text
from gramian.text.rule_tokenizer import TextToken, tokenize
from gramian.text.sentence_segmenter import PlacedText
from gramian.text.text_processor import sentences_in
from gramian.trees import BracketError, Tree
from gramian.trees.token_lines import split_pairs, split_tokens
from gramian.trees.tree import SPACE, unescape_word

if TYPE_CHECKING:
    from gramian.grammar import LPCFG
    from gramian.parsing.parser import Parser

TaggedToken: TypeAlias = tuple[str, str | Mapping[str, float]]
Plain: TypeAlias = (
    PlacedText
    | str
    | Sequence[str]
    | Sequence[TextToken]
    | Sequence[TaggedToken]
    | Sequence[str | TaggedToken]
)
TagPriors: TypeAlias = Sequence[Mapping[str, float] | None]
"""Of each word, the tags it is given with their probabilities."""

_NOT_A_WORD = re.compile(rf"[{SPACE}\0]")


@dataclass(frozen=True)
class ParseRequest:
    """A sentence and what is wanted of it; where a field is None, what the call says holds for all of its sentences."""

    sentence: Plain  #: as for :meth:`gramian.Parser.parse`
    constraints: Constraints | None = None  #: what is known about its tree
    k: int | None = None  #: how many of its best trees
    decoder: str | None = None


Sentence: TypeAlias = Plain | ParseRequest


class ReadSentence(NamedTuple):
    """A sentence as it is parsed."""

    tokens: list[str]  #: its words, in restored case where that was done
    offsets: tuple[tuple[int, int], ...] | None  #: their places in the text
    tag_priors: TagPriors | None  #: the tags that they are given
    original: list[str] | None = None  #: the words as they were given, if their case was restored
    language: str | None = None  #: the language that the sentence seems to be in, if it is not the model's

    @property
    def chunks(self) -> list[str]:
        """The tokens, joined where no white space stood between them in the text; none if they have no places in it."""
        chunks: list[str] = []
        end = -1
        for token, (start, next_end) in zip(self.tokens, self.offsets or (), strict=False):
            if start == end:
                chunks[-1] += token
            else:
                chunks.append(token)
            end = next_end
        return chunks


def read_sentence(sentence: Plain, cut: Callable[[str], Sequence[TextToken]] = tokenize) -> ReadSentence:
    """Read a sentence; `cut` is how text is cut into words. A token that is empty or has white space in it is an InputError."""
    first = 0
    if isinstance(sentence, PlacedText):
        first = sentence.start
        sentence = sentence.text
    if isinstance(sentence, str):
        sentence = cut(sentence)
    if not isinstance(sentence, Iterable):
        raise _no_sentence(sentence)
    items = list(sentence)
    plain = set(map(type, items)) <= {str}
    tokens: list[str] = items if plain else []  # type: ignore[assignment]
    offsets: list[tuple[int, int]] = []
    given: dict[int, Mapping[str, float]] = {}
    for item in () if plain else items:
        if isinstance(item, str):
            tokens.append(item)
        elif isinstance(item, TextToken):
            tokens.append(item.word)
            offsets.append((first + item.start, first + item.end))
        else:
            if not (isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str)):
                raise _no_sentence(item)
            word, tag = item
            given[len(tokens)] = {tag: 1.0} if isinstance(tag, str) else tag
            tokens.append(word)
    text = "".join(tokens)
    if not all(tokens) or _NOT_A_WORD.search(text):
        index = next(index for index, word in enumerate(tokens) if not word or _NOT_A_WORD.search(word))
        raise InputError(
            f"token {index + 1}, {tokens[index]!r}, is not a word",
            "sentence",
            hint="give tokens without white space, or the sentence as one text",
        )
    tags = [given.get(index) for index in range(len(tokens))] if given else None
    words = [unescape_word(word) for word in tokens] if "RB-" in text else tokens
    return ReadSentence(words, tuple(offsets) or None, tags)


def _no_sentence(value: object) -> InputError:
    problem = (
        f"a sentence is text, or tokens with or without tags, not {type(value).__name__} ({value!r:.40})"
    )
    return InputError(problem, "sentence", hint="give one text, a list of words, or a list of (word, tag)")


SentenceFormat: TypeAlias = Literal["text", "lines", "tokens", "tagged", "records"]

_FIRST_LINES = 3  # that may tell a document with markup
_SPANS = ("uncrossed", "required", "forbidden")
_KEYS = ("text", "tokens", "tags", *_SPANS)


def read_sentences(
    lines: TextLines, form: SentenceFormat, parser: Parser, *, at_once: bool = False
) -> Iterator[Sentence]:
    """Yield the sentences of an input as the parser takes them; text with its place, an empty line as an empty sentence.

    With `at_once`, the sentences of a line of running text come before the next line is read.
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
    """Yield the cells of a column of a CSV or TSV file, each a sentence; empty ones, too."""
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
    """Return the sentence of one line, empty of a blank one; constraints are checked against the labels of `grammar`."""
    if not text.strip():
        return ""

    def fault(problem: str, hint: str = 'write for example {"tokens": ["the", "dog"]}') -> InputError:
        return InputError(problem, source, line, hint=hint)

    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise fault(f"this is not JSON ({error})") from None
    if not isinstance(record, dict) or ("text" in record) == ("tokens" in record):
        raise fault("a sentence is a JSON object with 'tokens' or 'text'")
    if unknown := sorted(set(record) - set(_KEYS)):
        raise fault(f"{unknown[0]!r} is not a key of a sentence", f"use {', '.join(_KEYS)}")
    if "text" in record:
        if not isinstance(record["text"], str) or len(record) > 1:
            raise fault("'text' must be a string without other keys; tags and spans require 'tokens'")
        return str(record["text"])
    tokens = record["tokens"]
    if not isinstance(tokens, list) or not all(isinstance(token, str) and token for token in tokens):
        raise fault("'tokens' is a list of words")
    sentence = _tagged(tokens, record["tags"], fault) if "tags" in record else tokens
    if not any(record.get(name) for name in _SPANS):
        return sentence

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
    """Return the tree of one line that ``gramian parse --json`` wrote, and the confidence of each of its nodes."""

    def fault(problem: str) -> InputError:
        return InputError(problem, source, line, hint="give what 'gramian parse --json' writes")

    try:
        record = json.loads(text)
        tree = Tree.parse(record["tree"]) if record["tree"] else Tree("")
        sure = [float(span["confidence"]) for span in record["spans"]]
    except BracketError as error:
        raise fault(f"its tree is malformed ({error.what})") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise fault("this is not a parse with confidences") from None
    nodes = 0 if tree.is_empty else sum(1 for _ in tree.subtrees())
    if len(sure) != nodes or not all(0 <= value <= 1 for value in sure):
        raise fault("confidences lie between 0 and 1, one for each node of the tree")
    return tree, sure
