"""Patterns over trees, such as ``NP < (PP < of)``: data classes of parsed patterns, and what a search needs to know of them.

The notation is that of Tregex and tgrep2. All relations of a chain apply to its first node: ``S < NP < VP`` is an S with both children.
Brackets apply relations to the target: ``S < (NP < PP)``. :mod:`gramian.search.pattern_parser` parses patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gramian.search.linear_regex import compile_regex
from gramian.trees.labels import category

ROOT = "ROOT"
"""Stands for the unlabelled outer bracket as well."""


@dataclass(frozen=True)
class LabelRegex:
    """A regular expression that is found in a label or word; groups are bound to variables, as in ``/^(.+)-SBJ/#1%x``."""

    text: str
    ignore_case: bool = False
    variables: tuple[tuple[int, str], ...] = ()

    def matches(self, label: str) -> bool:
        """Return whether the expression is found in a label."""
        return compile_regex(self.text, self.ignore_case).matches(label)

    def bound(self, label: str) -> dict[str, str] | None:
        """Return the values that a label gives the variables; None if the expression is not found or a variable gets two values."""
        groups = compile_regex(self.text, self.ignore_case).groups(label)
        if groups is None:
            return None
        values: dict[str, str] = {}
        for number, variable in self.variables:
            if values.setdefault(variable, groups[number] or "") != (groups[number] or ""):
                return None
        return values


@dataclass(frozen=True)
class NodeTest:
    """A test of a node: its label is among `names` or has one of `regexes`, or any label if there are neither."""

    names: frozenset[str] = frozenset()  # labels and words as bracket text holds them
    regexes: tuple[LabelRegex, ...] = ()
    basic: bool = False  # whether the category of the label (NP of NP-SBJ) may pass as well
    negated: bool = False
    same_node: str = ""  # name that captured the node
    same_label: str = ""  # name that captured a node with the same label

    @property
    def is_by_name(self) -> bool:
        """Whether a word that passes may stand for its tag as child or sibling."""
        return bool(self.names) and not self.negated

    @property
    def needs_captures(self) -> bool:
        """Whether the test depends on nodes or variables that were bound before."""
        has_variables = any(regex.variables for regex in self.regexes)
        return bool(self.same_node or self.same_label) or has_variables

    def fits(self, token: str) -> bool:
        """Return whether a label or word, as bracket text holds it, passes the test."""
        if not self.names and not self.regexes:
            return not self.negated
        return (self._passes(token) or (self.basic and self._passes(category(token)))) != self.negated

    def _passes(self, token: str) -> bool:
        if token in self.names or (not token and ROOT in self.names):
            return True
        return any(regex.matches(token) for regex in self.regexes)


@dataclass(frozen=True)
class Relation:
    """A relation to another node."""

    kind: str  # the axis and, for parents and ancestors, which child: <, <#, >>,, $.., ==
    target: NodePattern
    child: int = 0  # number of the child, from the end if negative; 0 for any
    path: NodeTest | None = None  # every node between must pass it: <+(VP)
    negated: bool = False
    optional: bool = False


@dataclass(frozen=True)
class AllOf:
    """A conjunction of formulas, possibly optional."""

    parts: tuple[Formula, ...]
    optional: bool = False


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


def relations(formula: Formula, *, required_only: bool = False) -> Iterator[Relation]:
    """Yield the relations of a formula and of their targets; with `required_only`, those that hold in every matching tree."""
    if isinstance(formula, Relation):
        if not (required_only and (formula.negated or formula.optional)):
            yield formula
            yield from relations(formula.target.formula, required_only=required_only)
    elif not required_only or (isinstance(formula, AllOf) and not formula.optional):
        for part in formula.parts:
            yield from relations(part, required_only=required_only)


def pattern_nodes(pattern: NodePattern, *, required_only: bool = False) -> Iterator[NodePattern]:
    """Yield the nodes of a pattern; with `required_only`, those that every matching tree contains."""
    yield pattern
    yield from (relation.target for relation in relations(pattern.formula, required_only=required_only))


def needs_captures(pattern: NodePattern) -> bool:
    """Return whether a match depends on captured nodes or variables."""
    return any(node.test.needs_captures for node in pattern_nodes(pattern))


def uses_heads(pattern: NodePattern) -> bool:
    """Return whether a pattern asks for heads."""
    return any(relation.kind.endswith("#") for relation in relations(pattern.formula))


def names_in(pattern: NodePattern) -> set[str]:
    """Return the labels and words that a pattern names."""
    return {name for node in pattern_nodes(pattern) for name in node.test.names}


def needed_names(pattern: NodePattern) -> list[frozenset[str]]:
    """Return sets of names; every matching tree contains a name of each set, which makes a cheap filter."""
    tests = [node.test for node in pattern_nodes(pattern, required_only=True)]
    return [
        test.names
        for test in tests
        if test.names and not (test.negated or test.basic or test.regexes or ROOT in test.names)
    ]
