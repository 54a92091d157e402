"""Patterns over trees: a node and what is around it, as ``NP < (PP < of)``; how they are written, and what is read from that.

The notation is that of tgrep2, whose commonest relations Tregex shares. Relations all speak of the first node, ``S < NP < VP`` of an S with
both children; brackets make the target the speaker: ``S < (NP < PP)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from gramian.errors import InputError

_SAME = {"$+": "$.", "$-": "$,", "$++": "$..", "$--": "$,,", "<,": "<1", ">,": ">1", "<-": "<-1", ">-": ">-1"}
_PLACED = re.compile(r"([<>])(-?[1-9][0-9]*)\Z")

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
    """What a node is called: one of some names, by a regular expression, or anything; or it is the node that has a name already."""

    names: frozenset[str] = frozenset()
    regex: str | None = None
    back: str = ""
    negated: bool = False

    def fits(self, label: str) -> bool:
        """Whether a label or a word is one that is asked for."""
        if self.regex is not None:
            return (re.search(self.regex, label) is not None) != self.negated
        return (not self.names or label in self.names) != self.negated


@dataclass(frozen=True)
class Relation:
    """That a node has, or has not, another in some relation; `place` counts children, from the end if negative."""

    kind: str
    target: NodePattern
    place: int = 0
    negated: bool = False


@dataclass(frozen=True)
class AllOf:
    """Several things that all hold."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class AnyOf:
    """Several things of which one holds; or, negated, none."""

    parts: tuple[Formula, ...]
    negated: bool = False


Formula: TypeAlias = Relation | AllOf | AnyOf


@dataclass(frozen=True)
class NodePattern:
    """A node: what it is called, what holds of it, and the name by which it can be asked for."""

    test: NodeTest
    formula: Formula = AllOf(())
    capture: str = ""


def parse_pattern(text: str) -> NodePattern:
    """Read a pattern; an InputError shows where it cannot be read.

    Examples
    --------
    >>> pattern = parse_pattern("NP < (PP < of)")
    >>> sorted(pattern.test.names), pattern.formula.parts[0].kind
    (['NP'], '<')
    """
    return _Reader(text).whole()


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._place = text, _tokens(text), 0
        self._captured: set[str] = set()

    def whole(self) -> NodePattern:
        pattern = self._node(relations=True)
        if self._ahead()[0]:
            raise self._fault("this is too much")
        return pattern

    def _ahead(self) -> tuple[str, str]:
        """Return kind and text of the next token; empty at the end."""
        return self._tokens[self._place][:2] if self._place < len(self._tokens) else ("", "")

    def _take(self, kind: str, text: str | None = None) -> str | None:
        """Return the text of the next token and go on, if it is the one that is asked for."""
        found, what = self._ahead()
        if found != kind or (text is not None and what != text):
            return None
        self._place += 1
        return what

    def _fault(self, what: str) -> InputError:
        place = self._tokens[self._place][2] if self._place < len(self._tokens) else len(self._text)
        hint = "write for example NP < (PP < of), VP << /^VB/=verb, or S !< VP"
        return InputError(what, "pattern", 1, place + 1, excerpt=self._text, hint=hint)

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
                self._place -= 1
                raise self._fault(f"nothing is called {back!r} yet")
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
            self._place -= 1
            raise self._fault(f"this is no regular expression ({error})") from None
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
                placed = _PLACED.match(kind)
                place = int(placed[2]) if placed else 0
                parts.append(
                    Relation(placed[1] if placed else kind, self._node(relations=False), place, negated)
                )
            elif joined or negated:
                raise self._fault("a relation is missing, such as < or $.")
            else:
                return AllOf(tuple(parts))


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Return kind, text and place of each token."""
    found, place = [], 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            start = place + len(text[place:]) - len(text[place:].lstrip())
            raise InputError(
                "this cannot be read",
                "pattern",
                1,
                start + 1,
                excerpt=text,
                hint='put words with signs in quotes: "."',
            )
        kind = match.lastgroup or ""
        found.append((kind, match[kind], match.start(kind)))
        place = match.end()
    return found


def has_backreference(pattern: NodePattern) -> bool:
    """Whether a pattern asks for a node that has a name already."""

    def within(formula: Formula) -> bool:
        if isinstance(formula, Relation):
            return has_backreference(formula.target)
        return any(map(within, formula.parts))

    return bool(pattern.test.back) or within(pattern.formula)


def needed_names(pattern: NodePattern) -> list[frozenset[str]]:
    """Return sets of names of each of which every tree that the pattern fits has one: what is cheap to look for."""

    def within(formula: Formula) -> list[frozenset[str]]:
        if isinstance(formula, Relation):
            return [] if formula.negated else needed_names(formula.target)
        if isinstance(formula, AllOf):
            return [names for part in formula.parts for names in within(part)]
        return []

    test = pattern.test
    own = [test.names] if test.names and not test.negated else []
    return own + within(pattern.formula)
