"""Reading files of trees: their format, the loop over files and faults, and the division of bracket text into whole trees.

Brackets are only counted here, so that memory is bounded by the longest tree; :mod:`gramian.trees.brackets` parses the text.
"""

from __future__ import annotations

import re
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Generic, Literal, TypeAlias, TypeVar, cast

from gramian.errors import InputError, OptionError
from gramian.io.reading import Source, TextLines, expand, open_text, peek_text, source_name
from gramian.trees.tree import SPACE

TreebankFormat: TypeAlias = Literal["brackets", "conllu"]

Fault = TypeVar("Fault", bound=InputError)
Item = TypeVar("Item")

_ROOT = re.compile(rf"\([{SPACE}]*(\(|(?:ROOT|TOP|S1|VROOT)(?=[{SPACE}(]))")
# Characters to read after a line that starts with a bracket until the open tree counts as broken. They are read again, so each broken tree
# spends from a budget, and each complete tree adds to it: the time stays linear. A short lookahead costs more than the budget has; it
# becomes shorter still once the debt is large.
_MAX_LOOKAHEAD, _REGAINED, _MAX_DEBT = 1 << 18, 8, 1 << 20
_SHORT_LOOKAHEAD, _SHORTEST_LOOKAHEAD = 1 << 10, 1 << 4
_LABEL = re.compile(rf"\([{SPACE}]*([^{SPACE}()]*)")
_MAX_ROOTS = 1000  # labels of roots that are kept; treebanks have dozens
_BRACKET = re.compile(r"[()]")
_NO_BRACKETS = re.compile(r"[^()]+")
_LONG_TEXT = 1 << 17
_END_OF_TREES = SPACE + ")"


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


def whole_trees(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Cut the lines of a text, or pieces of long lines, into ``(first line, text)`` with whole trees in each."""
    segments = iter(lines)
    again: deque[str] = deque()
    layout = _Layout()
    record = _OpenText(1, layout)
    budget = _MAX_LOOKAHEAD
    while True:
        segment = again.popleft() if again else next(segments, None)
        if record.balance > 0 and (segment is None or (segment[0] == "(" and record.ends_line)):
            shortest = _SHORT_LOOKAHEAD if budget > -_MAX_DEBT else _SHORTEST_LOOKAHEAD
            keep = record.broken_at(segment, max(budget, shortest))
            if keep is not None:
                budget = max(-_MAX_DEBT, budget - sum(map(len, record.segments[keep:])))
                if segment is not None:
                    again.appendleft(segment)
                again.extendleft(reversed(record.segments[keep:]))
                yield record.line, "".join(record.segments[:keep])
                next_line = record.line + sum(part[-1] == "\n" for part in record.segments[:keep])
                record = _OpenText(next_line, layout)
                continue
        if segment is None:
            break
        record.add(segment)
        if record.balance <= 0 and segment[-1] in _END_OF_TREES:
            budget = min(_MAX_LOOKAHEAD, budget + _REGAINED * record.size)
            layout.add(record)
            yield record.line, "".join(record.segments)
            record = _OpenText(record.next_line, layout)
        elif record.size > record.scan_at:
            text = "".join(record.segments)
            cut = _last_balanced(text)
            record.scan_at = 2 * record.size
            if cut:
                yield record.line, text[:cut]
                record = _OpenText(record.line + text.count("\n", 0, cut), layout)
                record.add(text[cut:])
    if record.segments:
        yield record.line, "".join(record.segments)


def read_items(
    source: Source,
    items: Callable[[TextLines], Iterator[Item | Fault]],
    *,
    noun: str,
    broken: str,
    on_skip: Callable[[Fault], None] | None,
    hint: str,
    may_be_empty: bool = False,
    other_tallies: Sequence[Tally[Fault]] = (),
) -> Iterator[Item]:
    """Yield the items of all files of a source; raise the first fault, or skip faults if `broken` says so."""
    if broken not in ("raise", "skip"):
        raise OptionError(f"broken is 'raise' or 'skip', not {broken!r}")
    skipped = Tally(f"broken {noun}s were skipped", on_skip)

    def read() -> Iterator[Item]:
        is_empty = True
        for part in expand(source):
            with open_text(part) as lines:
                for item in items(lines):
                    if not isinstance(item, InputError):
                        is_empty = False
                        yield item
                    elif broken == "skip":
                        skipped.add(cast(Fault, item))
                    else:
                        raise item
        for tally in (skipped, *other_tallies):
            tally.warn()
        if is_empty and (skipped.count or not may_be_empty):
            problem = f"not one {noun} in it can be read" if skipped.count else f"no {noun} in it"
            raise InputError(problem, source_name(source), hint=hint)

    return read()


class Tally(Generic[Fault]):
    """Hands faults to a callback, or counts them for one warning at the end."""

    def __init__(self, message: str, callback: Callable[[Fault], None] | None) -> None:
        self.message, self.callback = message, callback
        self.count = 0
        self.first: Fault | None = None

    def add(self, error: Fault) -> None:
        """Count a fault, and pass it on to the callback."""
        self.count += 1
        self.first = self.first or error
        if self.callback is not None:
            self.callback(error)

    def warn(self) -> None:
        """Warn once of all faults that were counted, if there is no callback."""
        if self.first is not None and self.callback is None:
            position = f"{self.first.source}:{self.first.line}"
            warnings.warn(
                f"{self.count} {self.message}, the first at {position}: {self.first.what}", stacklevel=3
            )


class _Layout:
    """How the trees of a file are distributed over its lines: the complete trees read so far that fill one line each."""

    def __init__(self) -> None:
        self.roots: set[str] = set()  # labels of trees that fill a line
        self.last_fills_line = False

    def add(self, record: _OpenText) -> None:
        """Take note of complete trees."""
        first = record.segments[0]
        self.last_fills_line = len(record.segments) == 1 and first[0] == "(" and record.balance == 0
        if self.last_fills_line and len(self.roots) < _MAX_ROOTS:
            self.roots.add(_root_label(first))


class _OpenText:
    """Segments of text from the start of a tree to where all brackets are closed.

    A tree whose brackets do not close would swallow the trees that follow: the rest of the file, or all up to a tree with a bracket too
    many. Therefore a line that starts with the root of the open tree over again (``( (``, ``(ROOT``, ...) starts a new record. So does, in
    hindsight, the first line that starts with a bracket, if the tree stays open to the end of the file or for many pages, or if a later
    line is a tree by itself and `layout` says that trees fill lines.
    """

    def __init__(self, line: int, layout: _Layout) -> None:
        self.line = self.next_line = line
        self._layout = layout
        self.segments: list[str] = []
        self.balance = self.size = 0
        self.scan_at = _LONG_TEXT
        self._doubtful: tuple[int, int] | None = None  # first segment that may be a new tree, and size there

    def add(self, segment: str) -> None:
        self.segments.append(segment)
        self.size += len(segment)
        self.balance += segment.count("(") - segment.count(")")
        self.next_line += segment.count("\n")

    @property
    def ends_line(self) -> bool:
        return self.segments[-1][-1] == "\n"

    def broken_at(self, segment: str | None, lookahead: int) -> int | None:
        """Return how many segments belong to the open tree, if it is broken and ends before `segment`."""
        if segment is None:
            return self._doubtful[0] if self._doubtful else len(self.segments)
        root, open_root = _ROOT.match(segment), _ROOT.match(self.segments[0])
        if root is not None and open_root is not None and root[1] == open_root[1]:
            return len(self.segments)
        if self._doubtful is None:
            self._doubtful = len(self.segments), self.size
        if self.size - self._doubtful[1] > lookahead or self._is_other_tree(segment):
            return self._doubtful[0]
        return None

    def _is_other_tree(self, segment: str) -> bool:
        """Whether a line is a tree by itself, not a part of the open tree."""
        first = self.segments[0]
        seems_complete = first.rstrip(SPACE)[-1:] == ")"  # except for a missing bracket
        label = _root_label(segment)
        if not (
            label in self._layout.roots
            or (seems_complete and (self._layout.last_fills_line or label == _root_label(first)))
        ):
            return False
        steps = accumulate(1 if bracket == "(" else -1 for bracket in _NO_BRACKETS.sub("", segment))
        return any(balance == 0 for balance in steps)


def _root_label(text: str) -> str:
    """Return the label of the first tree in a text."""
    match = _LABEL.search(text)
    return match[1] if match else ""


def _last_balanced(text: str) -> int:
    """Return the end of the last whole tree in `text`, 0 if there is none."""
    steps = [1 if bracket == "(" else -1 for bracket in _NO_BRACKETS.sub("", text)]
    closed = [count for count, balance in enumerate(accumulate(steps), 1) if balance == 0]
    if not closed:
        return 0
    last = next(islice(_BRACKET.finditer(text), closed[-1] - 1, None))
    return last.end()
