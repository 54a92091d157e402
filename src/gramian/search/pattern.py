"""Patterns over trees, such as ``NP < (PP < of)``: data classes of parsed patterns, and their parser.

The notation is that of tgrep2, whose commonest relations Tregex shares. All relations of a chain apply to its first node: ``S < NP < VP``
is an S with both children. Brackets apply relations to the target: ``S < (NP < PP)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from gramian.errors import InputError

_SAME = {"$+": "$.", "$-": "$,", "$++": "$..", "$--": "$,,", "<,": "<1", ">,": ">1", "<-": "<-1", ">-": ">-1"}
_NUMBERED = re.compile(r"([<>])(-?[1-9][0-9]*)\Z")

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<mark>[()\[\]!&])
  | (?P<relation>[<>]-?[1-9][0-9]*|<<|>>|<:|>:|<,|>,|<-|>-|<|>|\$(?:\.\.|,,|\+\+|--|[.,+-])?|\.\.|,,|\.|,)
  | /(?P<regex>(?:[^/\\]|\\.)*)/
  | "(?P<quoted>(?:[^"\\]|\\.)*)"
  | (?P<name>(?:[^\s()\[\]<>!&|=/".,$][^\s()\[\]<>!&|=/"$]*(?:\$(?=[\s()\]|=]|\Z))?)
             (?:\|[^\s()\[\]<>!&|=/".,$][^\s()\[\]<>!&|=/"$]*(?:\$(?=[\s()\]|=]|\Z))?)*)
  | =(?P<capture>\w+)
  | (?P<bar>\|)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class NodeTest:
    """A test of a node: its label is among `names`, matches `regex` or is arbitrary; or the node is the one captured as `back`."""

    names: frozenset[str] = frozenset()
    regex: str | None = None
    back: str = ""
    negated: bool = False

    def fits(self, label: str) -> bool:
        """Return whether a label or word passes the test."""
        if self.regex is not None:
            return (re.search(self.regex, label) is not None) != self.negated
        return (not self.names or label in self.names) != self.negated


@dataclass(frozen=True)
class Relation:
    """A relation to another node, possibly negated; `child` is the number of the child, from the end if negative."""

    kind: str
    target: NodePattern
    child: int = 0
    negated: bool = False


@dataclass(frozen=True)
class AllOf:
    """A conjunction of formulas."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class AnyOf:
    """A disjunction of formulas, possibly negated."""

    parts: tuple[Formula, ...]
    negated: bool = False


Formula: TypeAlias = Relation | AllOf | AnyOf


@dataclass(frozen=True)
class NodePattern:
    """A node: a test of its label, a formula that must hold of it, and the name that captures it."""

    test: NodeTest
    formula: Formula = AllOf(())
    capture: str = ""


def parse_pattern(text: str) -> NodePattern:
    """Parse a pattern; an InputError points to the position of a mistake.

    Examples
    --------
    >>> pattern = parse_pattern("NP < (PP < of)")
    >>> sorted(pattern.test.names), pattern.formula.parts[0].kind
    (['NP'], '<')
    """
    return _PatternParser(text).parse()


class _PatternParser:
    """A recursive-descent parser of patterns."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._position = text, _tokens(text), 0
        self._captured: set[str] = set()

    def parse(self) -> NodePattern:
        pattern = self._node(relations=True)
        if self._ahead()[0]:
            raise self._fault("unexpected text after the pattern")
        return pattern

    def _ahead(self) -> tuple[str, str]:
        """Return kind and text of the next token; empty at the end."""
        return self._tokens[self._position][:2] if self._position < len(self._tokens) else ("", "")

    def _take(self, kind: str, text: str | None = None) -> str | None:
        """Consume the next token and return its text if it has this kind (and text)."""
        next_kind, next_text = self._ahead()
        if next_kind != kind or (text is not None and next_text != text):
            return None
        self._position += 1
        return next_text

    def _fault(self, problem: str) -> InputError:
        column = self._tokens[self._position][2] if self._position < len(self._tokens) else len(self._text)
        hint = "write for example NP < (PP < of), VP << /^VB/=verb, or S !< VP"
        return InputError(problem, "pattern", 1, column + 1, excerpt=self._text, hint=hint)

    def _node(self, relations: bool) -> NodePattern:
        if self._take("mark", "("):
            node = self._node(relations=True)
            if self._take("mark", ")") is None:
                raise self._fault("')' is missing")
            return node
        negated = self._take("mark", "!") is not None
        if (regex := self._take("regex")) is not None:
            test = NodeTest(regex=self._checked(regex), negated=negated)
        elif (quoted := self._take("quoted")) is not None:
            test = NodeTest(frozenset([re.sub(r"\\(.)", r"\1", quoted)]), negated=negated)
        elif (name := self._take("name")) is not None:
            anything = name in ("*", "__")
            test = NodeTest(frozenset() if anything else frozenset(name.split("|")), negated=negated)
        elif (back := self._take("capture")) is not None:
            if back not in self._captured:
                self._position -= 1
                raise self._fault(f"no node is named {back!r} before this point")
            return NodePattern(NodeTest(back=back))
        else:
            raise self._fault("a node is missing: a label, a word, /an expression/ or *")
        capture = self._take("capture") or ""
        if capture:
            self._captured.add(capture)
        return NodePattern(test, self._any_of() if relations else AllOf(()), capture)

    def _checked(self, regex: str) -> str:
        regex = regex.replace("\\/", "/")
        try:
            re.compile(regex)
        except re.error as error:
            self._position -= 1
            raise self._fault(f"invalid regular expression ({error})") from None
        return regex

    def _any_of(self) -> Formula:
        parts = [self._all_of()]
        while self._take("bar") is not None:
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all_of(self) -> Formula:
        parts: list[Formula] = []
        while True:
            joined = bool(parts) and self._take("mark", "&") is not None
            negated = self._take("mark", "!") is not None
            if self._take("mark", "["):
                inside = self._any_of()
                if self._take("mark", "]") is None:
                    raise self._fault("']' is missing")
                parts.append(AnyOf((inside,), negated=True) if negated else inside)
            elif (kind := self._take("relation")) is not None:
                kind = _SAME.get(kind, kind)
                numbered = _NUMBERED.match(kind)
                child = int(numbered[2]) if numbered else 0
                kind = numbered[1] if numbered else kind
                parts.append(Relation(kind, self._node(relations=False), child, negated))
            elif joined or negated:
                raise self._fault("a relation is missing, such as < or $.")
            else:
                return AllOf(tuple(parts))


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Return kind, text and position of each token."""
    tokens, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            column = len(text) - len(text[position:].lstrip()) + 1
            hint = 'put words with punctuation in quotes: "."'
            raise InputError("unexpected character", "pattern", 1, column, excerpt=text, hint=hint)
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind], match.start(kind)))
        position = match.end()
    return tokens


def has_backreference(pattern: NodePattern) -> bool:
    """Return whether a pattern refers to a captured node."""

    def within(formula: Formula) -> bool:
        if isinstance(formula, Relation):
            return has_backreference(formula.target)
        return any(map(within, formula.parts))

    return bool(pattern.test.back) or within(pattern.formula)


def needed_names(pattern: NodePattern) -> list[frozenset[str]]:
    """Return sets of names; every matching tree contains a name of each set, which makes a cheap filter."""

    def within(formula: Formula) -> list[frozenset[str]]:
        if isinstance(formula, Relation):
            return [] if formula.negated else needed_names(formula.target)
        if isinstance(formula, AllOf):
            return [names for part in formula.parts for names in within(part)]
        return []

    test = pattern.test
    required = [test.names] if test.names and not test.negated else []
    return required + within(pattern.formula)
