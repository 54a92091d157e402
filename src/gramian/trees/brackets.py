"""Penn bracket text: a streaming reader that reports errors with file, line and column, and an atomic writer.

Any white space, several trees a line or many lines a tree. The unlabelled outer bracket of Penn files,
``( (S ...))``, is kept as a node with label ``""`` (so that text -> Tree -> text changes nothing) and
removed by :func:`~gramian.trees.normalise`; ``()`` is the empty tree ``Tree("")``, by which parsers mark
a failure, and ``(())`` is that tree in an outer bracket. All other phrases have a label.

Text is cut into records, whole trees by bracket balance, so that memory is bounded by the longest tree. A
record is split at ``(``: each piece then is one node and the brackets closing after it, and equal leaves
are looked up and shared.
"""

from __future__ import annotations

import io
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, cast

from gramian.errors import InputError, OptionError
from gramian.io.output import write_lines
from gramian.io.reading import Source, TextLines
from gramian.trees.tree import SPACE, Tree, phrase, preterminal, unescape_word, with_line
from gramian.trees.treebank_reading import Tally, read_items, whole_trees

_CONLLU_TABS = 9  # on a line
_CONLLU_COMMENT = re.compile(r"# ?(?:newdoc|newpar|sent_id|text|global\.columns)\b")
_TOKEN = re.compile(rf"[^{SPACE}]+")
_CACHED_PIECES = 1 << 17
_LONGEST_EXCERPT = 1 << 15  # of a line; a longer one, copied for each of its faults, would take for ever

Callback = Callable[["BracketError"], None]


class BracketError(InputError):
    """A tree that cannot be read, with its position; also passed to the callbacks of :func:`read_trees`.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> try:
    ...     Tree.parse("(S (NP dog)")
    ... except BracketError as error:
    ...     print(error.line)
    1
    """


def read_trees(
    source: Source,
    *,
    broken: Literal["raise", "skip"] = "raise",
    spaces: Literal["join", "reject"] = "join",
    on_skip: Callback | None = None,
    on_join: Callback | None = None,
) -> Iterator[Tree]:
    r"""Read trees one by one, in memory bounded by the longest tree.

    Parameters
    ----------
    source : path, "-" or open file
        A file (plain, gzip or xz, detected by content), a folder whose files are read in sorted order, or stdin.
    broken : {"raise", "skip"}
        What to do about a tree that cannot be read.
    spaces : {"join", "reject"}
        A tag over several tokens, ``(NN New York)``, is a word with a space inside: join it with ``_``,
        or treat the tree as broken.
    on_skip, on_join : callable, optional
        Called with a :class:`BracketError` for every tree skipped and every word joined. Without a
        callback, one warning with the count is given at the end.

    Yields
    ------
    Tree
        With `line` set to the line its first bracket stands on.

    Raises
    ------
    BracketError
        With file, line, column and a caret, if `broken` is ``"raise"``.
    gramian.errors.InputError
        If the source cannot be opened or decoded, or holds no tree at all.

    Examples
    --------
    >>> import io
    >>> [str(tree) for tree in read_trees(io.StringIO("(X (A a)) (Y\n(B b)) ()"))]
    ['(X (A a))', '(Y (B b))', '()']
    """
    if spaces not in ("join", "reject"):
        raise OptionError(f"spaces is 'join' or 'reject', not {spaces!r}")
    joined = Tally("words with a space inside were joined with '_'", on_join)
    cache: dict[str, _Piece] = {}

    def trees(lines: TextLines) -> Iterator[Tree | BracketError]:
        for first_line, text in whole_trees(lines.segments()):
            yield from _parse_record(text, lines.name, first_line, spaces == "join", cache, joined)

    return read_items(
        source,
        trees,
        noun="tree",
        broken=broken,
        on_skip=on_skip,
        hint="name a file of bracketed trees, such as (S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
        other_tallies=[joined],
    )


def trees_of(trees: Source | Iterable[Tree]) -> Iterable[Tree]:
    """Return trees as they are, or those of a file, folder or stream; one tree stands for itself."""
    if isinstance(trees, Tree):
        return [trees]
    if isinstance(trees, str | os.PathLike):
        return read_trees(trees)
    return read_trees(cast(Source, trees)) if hasattr(trees, "read") else trees


def parse_bracketed(text: str, *, spaces: Literal["join", "reject"] = "join") -> list[Tree]:
    """Read all trees in `text`; `spaces` as for :func:`read_trees`.

    Examples
    --------
    >>> parse_bracketed("(A a) (B b)")
    [Tree.parse('(A a)'), Tree.parse('(B b)')]
    """
    trees = []
    cache: dict[str, _Piece] = {}
    joined: Tally[BracketError] = Tally("", lambda error: None)
    for first_line, record in whole_trees(io.StringIO(text)):
        for result in _parse_record(record, "<string>", first_line, spaces == "join", cache, joined):
            if isinstance(result, BracketError):
                raise result
            trees.append(result)
    return trees


def parse_one(text: str) -> Tree:
    """Read exactly one tree from `text`; this is :meth:`Tree.parse`."""
    if not isinstance(text, str):
        raise OptionError(f"a tree must be a string of brackets, not {type(text).__name__}")
    trees = parse_bracketed(text, spaces="reject")
    if len(trees) != 1:
        raise BracketError(f"expected one tree, got {len(trees)}", excerpt=text[:100])
    return trees[0]


def write_trees(trees: Iterable[Tree], path: str | os.PathLike[str]) -> int:
    """Write trees one a line, through a temporary file; return how many.

    A name ending in ``.gz`` or ``.xz`` is compressed; ``"-"`` is stdout.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_trees([Tree.parse("(S (VP (VB Stop)))")], f"{folder}/one.mrg")
    1
    """
    return write_lines(trees, path)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The text between one ``(`` and the next."""

    leaf: Tree | None  # a whole node: preterminal or empty tree
    label: str  # of the phrase that opens, if it is no leaf
    closing: int  # brackets that close phrases after it
    fault: str | None = None
    offset: int = 0  # of the fault


_EMPTY = Tree("")


def _analyse(piece: str, join: bool) -> _Piece:
    body, *tails = piece.split(")")
    tokens = _TOKEN.findall(body)
    offset = len(body) + 1
    for tail in tails:
        if stray := _TOKEN.search(tail):
            token = stray[0]
            return _Piece(None, "", 0, f"'{token}' stands outside a tag", offset + stray.start())
        offset += len(tail) + 1
    count = len(tokens)
    if not tails:
        if count > 1:
            return _Piece(
                None, "", 0, f"'{tokens[1]}' stands beside phrases, without a tag", body.index(tokens[1])
            )
        return _Piece(None, tokens[0] if tokens else "", 0)
    closing = len(tails) - 1
    if count == 2:
        return _Piece(preterminal(tokens[0], unescape_word(tokens[1])), "", closing)
    if count == 0:
        return _Piece(_EMPTY, "", closing)
    if count == 1:
        return _Piece(None, "", 0, f"'{tokens[0]}' has neither children nor a word", 0)
    word = "_".join(tokens[1:])
    fault = f"'{' '.join(tokens[1:])}' is {count - 1} words under one tag"
    leaf = preterminal(tokens[0], unescape_word(word)) if join else None
    return _Piece(leaf, "", closing, fault, body.index(tokens[1], len(tokens[0])))


def _parse_record(
    text: str, source: str, first_line: int, join: bool, cache: dict[str, _Piece], joined: Tally[BracketError]
) -> Iterator[Tree | BracketError]:
    """Yield the trees of a record in order, and a :class:`BracketError` in the place of each broken one."""
    pieces = text.split("(")
    locator = _FaultLocator(text, pieces, source, first_line)
    if token := _TOKEN.search(pieces[0]):
        outside = "')' closes nothing" if token[0].startswith(")") else "text outside brackets"
        if pieces[0].split("\n", 1)[0].count("\t") == _CONLLU_TABS or _CONLLU_COMMENT.match(pieces[0]):
            yield locator.error(
                "this is CoNLL-U, not bracketed trees", 0, token.start(), "'gramian dep' takes CoNLL-U"
            )
        else:
            yield locator.error(outside, 0, token.start())
    many_lines = "\n" in text[:-1]
    line, counted = first_line, 0
    labels: list[str] = []  # of the open phrases
    families: list[list[Tree]] = []  # their children so far
    children: list[Tree] = []  # of the innermost open phrase
    start = 0  # index of the piece that opened the current tree
    fault: BracketError | None = None
    for index in range(1, len(pieces)):
        text_of_piece = pieces[index]
        piece = cache.get(text_of_piece)
        if piece is None:
            piece = _analyse(text_of_piece, join)
            if piece.fault is None:
                if len(cache) >= _CACHED_PIECES:
                    cache.clear()
                cache[text_of_piece] = piece
        if not labels:
            start, fault, children = index, None, []
            if many_lines:
                line += sum([pieces[passed].count("\n") for passed in range(counted, index)])
                counted = index
        closing = piece.closing
        if piece.fault is not None:
            if piece.leaf is not None:
                joined.add(locator.error(piece.fault, index, piece.offset))
                children.append(piece.leaf)
            else:
                # The tree is lost, but its brackets still say where it ends.
                fault = fault or locator.error(piece.fault, index, piece.offset)
                children.append(_EMPTY)
                closing = text_of_piece.count(")") - 1
                if closing < 0:
                    labels.append("")
                    families.append(children)
                    children = []
        elif piece.leaf is not None:
            children.append(piece.leaf)
        else:
            if not piece.label and labels and labels[-1]:
                fault = fault or locator.error("a phrase within a tree has no label", index, -1)
            labels.append(piece.label)
            families.append(children)
            children = []
            continue
        while closing > 0 and labels:
            closing -= 1
            node = phrase(labels.pop(), tuple(children), None if labels else line)
            children = families.pop()
            children.append(node)
        if not labels:
            if fault is not None:
                yield fault
            else:
                tree = children[0]
                yield tree if tree.children else with_line(tree, line)
            if closing > 0:
                brackets = [match.start() for match in re.finditer(r"\)", text_of_piece)]
                yield locator.error("')' closes nothing", index, brackets[-closing])
    if labels:
        yield locator.error("'(' is never closed", start, -1)


class _FaultLocator:
    """Finds line and column of faults in a text; the indices are computed for the first fault."""

    def __init__(self, text: str, pieces: list[str], source: str, first_line: int) -> None:
        self._text, self._pieces, self._source, self._first_line = text, pieces, source, first_line

    @cached_property
    def _starts(self) -> list[int]:
        """Where each piece starts in the text."""
        return list(accumulate((len(piece) + 1 for piece in self._pieces), initial=0))

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    def error(self, message: str, index: int, offset: int, hint: str | None = None) -> BracketError:
        """Return the error for a fault at `offset` in a piece; -1 is its opening bracket."""
        position = self._starts[index] + offset
        n_lines = bisect_left(self._line_ends, position)
        start = self._line_ends[n_lines - 1] + 1 if n_lines else 0
        end = min(len(self._text), position + _LONGEST_EXCERPT)
        if n_lines < len(self._line_ends):
            end = min(end, self._line_ends[n_lines])
        return BracketError(
            message,
            self._source,
            self._first_line + n_lines,
            position - start + 1,
            excerpt=self._text[start:end] if end - start <= _LONGEST_EXCERPT else None,
            hint=hint or "mend the tree, or leave it out with --skip-broken (in Python: broken='skip')",
        )
