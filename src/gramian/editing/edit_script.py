"""Scripts that rewrite trees: rules of a pattern and operations on its named nodes, in the notation of Tsurgeon.

A rule is a pattern on the first lines and an operation on each line after an empty one; an empty line ends it. Lines that begin with ``%``
are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from gramian.errors import InputError
from gramian.io.reading import Source, open_text, source_name
from gramian.search.linear_regex import LinearRegex, compile_regex
from gramian.search.pattern import NodePattern, pattern_nodes
from gramian.search.pattern_parser import parse_pattern

_TOKEN = re.compile(r"/(?:[^/\\]|\\.)*/(?:[^/\\]|\\.)*/|\|[^|]*\||[()\[\]]|[^\s()\[\]]+")
_REPLACEMENT = re.compile(r"/((?:[^/\\]|\\.)*)/((?:[^/\\]|\\.)*)/")
_QUOTED = re.compile(r"([/|])(.*)\1")
_POSITION = re.compile(r"\$[+-]|>-?[1-9][0-9]{0,5}")
_MAX_DEPTH = 100  # of a tree in a script
_HINT = "write for example: delete name; relabel name NP; insert (DT the) >1 name; move name $+ other"


@dataclass(frozen=True)
class TreeTemplate:
    """A tree or label in a script: children are templates; ``@`` marks the foot of an auxiliary tree, ``=name`` names a node."""

    label: str
    children: tuple[TreeTemplate, ...] = ()
    name: str = ""
    is_foot: bool = False

    def nodes(self) -> Iterator[TreeTemplate]:
        """Yield the template and all below it."""
        yield self
        for child in self.children:
            yield from child.nodes()


@dataclass(frozen=True)
class Position:
    """Where a node goes: left (``$+``) or right (``$-``) of a node, or below it as child number `child`."""

    side: str
    child: int
    anchor: str


@dataclass(frozen=True)
class Operation:
    """One operation; which fields it uses depends on `kind`."""

    kind: str
    names: tuple[str, ...] = ()
    template: TreeTemplate | None = None
    position: Position | None = None
    label: str = ""
    regex: LinearRegex | None = None
    condition: str = ""  # the node that must exist
    is_negated: bool = False  # whether that node must not exist


@dataclass(frozen=True)
class EditRule:
    """A pattern and the operations on its named nodes."""

    pattern: NodePattern
    operations: tuple[Operation, ...]
    text: str
    line: int


def read_script(source: Source) -> list[EditRule]:
    """Read a script from a file."""
    with open_text(source) as lines:
        return parse_script("".join(lines), source_name(source))


def parse_script(text: str, name: str = "script") -> list[EditRule]:
    r"""Parse a script; an InputError names the line of a mistake.

    Examples
    --------
    >>> [rule] = parse_script("NP=phrase < PRP\n\nrelabel phrase PRONOUN")
    >>> rule.operations[0].kind, rule.operations[0].names
    ('relabel', ('phrase',))
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.lstrip()[:1] != "%"]
    blocks = [list(block) for is_text, block in groupby(lines, lambda row: bool(row[1].strip())) if is_text]
    if not blocks:
        raise InputError("no rules", name, hint="write a pattern, an empty line, and operations")
    if len(blocks) % 2:
        number, line = blocks[-1][0]
        raise InputError("a pattern without operations", name, number, excerpt=line, hint=_HINT)
    rules = []
    for head, body in zip(blocks[::2], blocks[1::2], strict=True):
        first_line = head[0][0]
        pattern_text = " ".join(line.strip() for _, line in head)
        try:
            pattern = parse_pattern(pattern_text)
        except InputError as error:
            error.source, error.line = name, first_line
            raise
        known = {node.capture for node in pattern_nodes(pattern)} - {""}
        operations = tuple([_OperationParser(line, name, number, known).parse() for number, line in body])
        rules.append(EditRule(pattern, operations, pattern_text, first_line))
    return rules


class _OperationParser:
    """Parses one operation; nodes that it creates with a name become known to the next ones."""

    def __init__(self, line: str, source: str, number: int, known: set[str]) -> None:
        self._line, self._source, self._number, self._known = line, source, number, known
        self._tokens = _TOKEN.findall(line)
        self._index = 0

    def parse(self) -> Operation:
        bracketed = self._take("[")
        condition, is_negated = "", False
        if self._take("if"):
            is_negated = self._take("not")
            if not self._take("exists"):
                raise self._fault("'exists' is missing after 'if'")
            condition = self._name()
        operation = self._operation(self._next("an operation"))
        if bracketed and not self._take("]"):
            raise self._fault("']' is missing")
        if self._ahead():
            raise self._fault(f"unexpected text: {self._ahead()}")
        return replace(operation, condition=condition, is_negated=is_negated)

    def _operation(self, kind: str) -> Operation:
        if kind in ("delete", "prune", "coindex"):
            return Operation(kind, self._names())
        if kind == "excise":
            return Operation(kind, (self._name(), self._name()))
        if kind == "relabel":
            return self._relabel()
        if kind == "insert":
            return Operation(kind, *self._node_or_template(), self._position())
        if kind == "move":
            return Operation(kind, (self._name(),), position=self._position())
        if kind == "replace":
            target = self._name()
            names, template = self._node_or_template()
            return Operation(kind, (target, *names), template)
        if kind in ("adjoin", "adjoinH", "adjoinF"):
            template = self._template()
            if sum(node.is_foot for node in template.nodes()) != 1:
                raise self._fault("the auxiliary tree needs one foot, marked by @")
            if template.is_foot:
                raise self._fault("the foot must be below the root of the auxiliary tree")
            return Operation(kind, (self._name(),), template)
        if kind == "createSubtree":
            template = self._template()
            names = self._names()
            if len(names) > 2:
                raise self._fault("createSubtree takes one node, or the first and the last of siblings")
            return Operation(kind, names, template)
        self._index -= 1
        raise self._fault(f"unknown operation {kind!r}")

    def _relabel(self) -> Operation:
        """Read ``name LABEL``, where the label may be quoted (``|LABEL|``, ``/LABEL/``), or ``name /REGEX/REPLACEMENT/``."""
        name, label = self._name(), self._next("a label")
        replacement = _REPLACEMENT.fullmatch(label)
        if replacement is not None:
            search, label = (part.replace("\\/", "/") for part in replacement.groups())
            return Operation("relabel", (name,), label=label, regex=self._regex(search))
        quoted = _QUOTED.fullmatch(label)
        return Operation("relabel", (name,), label=quoted[2] if quoted else label)

    def _fault(self, problem: str) -> InputError:
        return InputError(problem, self._source, self._number, excerpt=self._line, hint=_HINT)

    def _ahead(self) -> str:
        return self._tokens[self._index] if self._index < len(self._tokens) else ""

    def _take(self, token: str) -> bool:
        if self._ahead() != token:
            return False
        self._index += 1
        return True

    def _next(self, wanted: str) -> str:
        token = self._ahead()
        if not token:
            raise self._fault(f"{wanted} is missing")
        self._index += 1
        return token

    def _name(self) -> str:
        name = self._next("the name of a node")
        if name not in self._known:
            raise self._fault(f"no node is named {name!r}; name it in the pattern, as in NP={name}")
        return name

    def _names(self) -> tuple[str, ...]:
        names = [self._name()]
        while self._ahead() not in ("", "]"):
            names.append(self._name())
        return tuple(names)

    def _regex(self, text: str) -> LinearRegex:
        try:
            return compile_regex(text, False)
        except ValueError as error:
            raise self._fault(f"invalid regular expression ({error})") from None

    def _position(self) -> Position:
        side = self._next("a position ($+, $- or >1)")
        if not _POSITION.fullmatch(side):
            raise self._fault(f"{side!r} is not a position; write $+, $-, >1 or >-1")
        child = int(side[1:]) if side[0] == ">" else 0
        return Position(side if not child else ">", child, self._name())

    def _node_or_template(self) -> tuple[tuple[str, ...], TreeTemplate | None]:
        if self._ahead() in self._known:
            return (self._name(),), None
        return (), self._template()

    def _template(self, depth: int = 0) -> TreeTemplate:
        """Read a tree in brackets, or a label."""
        if depth > _MAX_DEPTH:
            raise self._fault(f"the tree is deeper than {_MAX_DEPTH} nodes")
        is_phrase = self._take("(")
        text = self._next("a tree or label")
        label, _, name = text.partition("=") if not text.startswith("=") else (text, "", "")
        is_foot = label.endswith("@") and len(label) > 1
        if name:
            self._known.add(name)
        children = []
        while is_phrase and not self._take(")"):
            children.append(self._template(depth + 1))
        return TreeTemplate(label.removesuffix("@") if is_foot else label, tuple(children), name, is_foot)
