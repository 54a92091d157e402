"""The readable reference of patterns: the nodes of one tree that match, and the nodes that its names capture.

Words are nodes of their own, below their tags. A word that a pattern names also stands for its tag as child or sister: in
``(PP (IN of) (NP ...))`` both ``IN < of`` and ``PP < of`` hold. :mod:`gramian.search.table_match` counts matches in thousands of trees
at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from gramian.search.pattern import AllOf, AnyOf, Formula, NodePattern, NodeTest, Relation
from gramian.trees import HeadRules, Tree, escape_word


class TreeNodes:
    """The numbered nodes of a tree, parents before children, words below their tags."""

    def __init__(self, tree: Tree, rules: HeadRules) -> None:
        self.labels: list[str] = []  # as bracket text holds them
        self.parents: list[int] = []
        self.children: list[list[int]] = []
        self.starts: list[int] = []  # first word; `ends` holds the word after the last one
        self.trees: list[Tree] = []  # for a word, the tree of its tag
        self.is_word: list[bool] = []
        self._rules = rules
        stack, n_words = [(tree, -1)], 0
        while stack:
            node, parent = stack.pop()
            number = self._add(node.label, parent, n_words, node, is_word=False)
            if node.word is not None:
                self._add(escape_word(node.word), number, n_words, node, is_word=True)
                n_words += 1
            stack.extend((child, number) for child in reversed(node.children))
        self.ends = [start + 1 for start in self.starts]  # right for words and tags
        for number in reversed(range(len(self.labels))):
            if self.children[number]:
                self.ends[number] = self.ends[self.children[number][-1]]

    def _add(self, label: str, parent: int, start: int, tree: Tree, is_word: bool) -> int:
        number = len(self.labels)
        self.labels.append(label)
        self.parents.append(parent)
        self.children.append([])
        self.starts.append(start)
        self.trees.append(tree)
        self.is_word.append(is_word)
        if parent >= 0:
            self.children[parent].append(number)
        return number

    def related(self, number: int, relation: Relation, by_name: bool) -> Iterator[int]:
        """Yield the nodes to which a node, found `by_name` or not, has a relation."""
        kind = relation.kind
        targets_by_name = relation.target.test.is_by_name
        subject = self.parents[number] if by_name and self._stands_for_tag(number) else number
        if kind in ("==", ":"):
            yield from [number] if kind == "==" else range(len(self.labels))
        elif kind in ("<+", ">+", ".+", ",+"):
            yield from self._along(number, kind[0], relation.path or NodeTest())
        elif kind.startswith("<<"):
            stack = self._chosen(number, kind[2:], 0)[::-1]
            while stack:
                yield (child := stack.pop())
                stack += self._chosen(child, kind[2:], 0)[::-1]
        elif kind.startswith(">>"):
            while (parent := self.parents[number]) >= 0 and number in self._chosen(parent, kind[2:], 0):
                yield parent
                number = parent
        elif kind.startswith("<"):
            if kind == "<=":
                yield number
            children = self._chosen(number, kind[1:].strip("="), relation.child)
            yield from self._with_words(children) if targets_by_name else children
        elif kind.startswith(">"):
            for child in dict.fromkeys([number, subject]):
                parent = self.parents[child]
                if parent >= 0 and child in self._chosen(parent, kind[1:], relation.child):
                    yield parent
        elif kind.startswith("$"):
            siblings = self._siblings(subject, kind)
            yield from self._with_words(siblings) if targets_by_name else siblings
        else:
            yield from self._in_order(number, kind)

    def _chosen(self, parent: int, which: str, child_number: int) -> list[int]:
        """Return the children that a relation considers: the first, last, only or head child, the one with a number, or all."""
        children = self.children[parent]
        if which == "#" and children:
            return [children[self._rules(self.trees[parent])]]
        if which == ":":
            return children if len(children) == 1 else []
        child_number = {",": 1, "-": -1}.get(which, child_number)
        if not child_number:
            return children
        return [children[child_number - (child_number > 0)]] if abs(child_number) <= len(children) else []

    def _siblings(self, number: int, kind: str) -> list[int]:
        parent = self.parents[number]
        siblings = self.children[parent] if parent >= 0 else [number]
        index = siblings.index(number)
        return {
            "$": siblings[:index] + siblings[index + 1 :],
            "$.": siblings[index + 1 : index + 2],
            "$,": siblings[max(0, index - 1) : index],
            "$..": siblings[index + 1 :],
            "$,,": siblings[:index],
        }[kind]

    def _in_order(self, number: int, kind: str) -> Iterator[int]:
        """Yield the nodes that precede or follow a node."""
        start, end = self.starts[number], self.ends[number]
        for other in range(len(self.labels)):
            first, last = self.starts[other], self.ends[other]
            if {".": first == end, "..": first >= end, ",": last == start, ",,": last <= start}[kind]:
                yield other

    def _along(self, number: int, axis: str, path: NodeTest) -> Iterator[int]:
        """Yield the nodes that a path of nodes that pass a test leads to."""
        seen: set[int] = set()
        agenda = [number]
        while agenda:
            current = agenda.pop()
            if axis == "<":
                following = self.children[current]
            elif axis == ">":
                following = [self.parents[current]] if self.parents[current] >= 0 else []
            else:
                following = list(self._in_order(current, axis))
            for other in following:
                if other not in seen:
                    seen.add(other)
                    yield other
                    if path.fits(self.labels[other]):
                        agenda.append(other)

    def _with_words(self, nodes: list[int]) -> Iterator[int]:
        for node in nodes:
            yield node
            yield from (child for child in self.children[node] if self._stands_for_tag(child))

    def _stands_for_tag(self, number: int) -> bool:
        """Return whether a node is a word that differs from its tag: of ``(. .)``, the tag is meant."""
        return self.is_word[number] and self.labels[number] != self.labels[self.parents[number]]


@dataclass(frozen=True)
class Match:
    """A node that matches a pattern."""

    tree: Tree  # the subtree; for a word, that of its tag
    start: int  # first word
    end: int  # word after the last one
    captures: Mapping[str, tuple[Tree, int, int]]  # tree, start and end of every named node
    nodes: Mapping[str, int]  # number of every named node, "" for the match; words count as nodes
    variables: Mapping[str, str]  # values of the variables of regular expressions


@dataclass(frozen=True)
class _Bindings:
    """The nodes that names capture, and the values of variables."""

    nodes: dict[str, int] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


def matches(pattern: NodePattern, tree: Tree, rules: HeadRules | None = None) -> list[Match]:
    """Return the matching nodes of a tree, each once; `rules` find heads, by default those of Collins.

    Examples
    --------
    >>> from gramian.search.pattern_parser import parse_pattern
    >>> tree = Tree.parse("(S (NP (NP (DT the) (NN end)) (PP (IN of) (NP (NN war)))) (VP (VBD came)))")
    >>> for match in matches(parse_pattern("NP < (PP < of < NP=whose)"), tree):
    ...     print(match.start, match.end, match.captures["whose"][0])
    0 4 (NP (NN war))
    """
    return list(_matches(pattern, tree, rules, first_only=True))


def matches_in_every_way(pattern: NodePattern, tree: Tree, rules: HeadRules | None = None) -> Iterator[Match]:
    """Yield the matching nodes of a tree, each with every way in which its names capture nodes."""
    return _matches(pattern, tree, rules, first_only=False)


def _matches(pattern: NodePattern, tree: Tree, rules: HeadRules | None, first_only: bool) -> Iterator[Match]:
    if tree.is_empty:
        return
    view = TreeNodes(tree, rules or _default_rules())
    for number in range(len(view.labels)):
        for bound in islice(_bindings(pattern, number, view, _Bindings()), 1 if first_only else None):
            captures = {name: _subtree(view, node) for name, node in bound.nodes.items()}
            nodes = bound.nodes | {"": number}
            yield Match(*_subtree(view, number), captures, nodes, bound.variables)


@cache
def _default_rules() -> HeadRules:
    return HeadRules.collins()


def _subtree(view: TreeNodes, number: int) -> tuple[Tree, int, int]:
    return view.trees[number], view.starts[number], view.ends[number]


def _bindings(pattern: NodePattern, number: int, view: TreeNodes, bound: _Bindings) -> Iterator[_Bindings]:
    """Yield the bindings of every way in which a node matches a pattern, given the bindings so far."""
    test, label = pattern.test, view.labels[number]
    if test.same_node:
        fits = bound.nodes.get(test.same_node) == number
    elif test.same_label:
        fits = test.same_label in bound.nodes and view.labels[bound.nodes[test.same_label]] == label
    else:
        fits = test.fits(label)
    if not fits:
        return
    for regex in test.regexes if not test.negated else ():
        if regex.variables and (values := regex.bound(label)) is not None:
            if any(bound.variables.get(name, value) != value for name, value in values.items()):
                return
            bound = _Bindings(bound.nodes, bound.variables | values)
    if pattern.capture:
        bound = _Bindings(bound.nodes | {pattern.capture: number}, bound.variables)
    yield from _ways(pattern.formula, number, view, bound, test.is_by_name)


def _ways(
    formula: Formula, number: int, view: TreeNodes, bound: _Bindings, by_name: bool
) -> Iterator[_Bindings]:
    """Yield the bindings of every way in which a formula holds of a node."""
    if isinstance(formula, Relation):
        targets = dict.fromkeys(view.related(number, formula, by_name))
        ways: Iterator[_Bindings] = (
            way for target in targets for way in _bindings(formula.target, target, view, bound)
        )
    elif isinstance(formula, AllOf):
        ways = _all_ways(formula.parts, number, view, bound, by_name)
    else:
        ways = (way for part in formula.parts for way in _ways(part, number, view, bound, by_name))
    if not isinstance(formula, AllOf) and formula.negated:
        if next(ways, None) is None:
            yield bound
        return
    holds = False
    for way in ways:
        holds = True
        yield way
    if not holds and not isinstance(formula, AnyOf) and formula.optional:
        yield bound


def _all_ways(
    parts: tuple[Formula, ...], number: int, view: TreeNodes, bound: _Bindings, by_name: bool
) -> Iterator[_Bindings]:
    if not parts:
        yield bound
        return
    for way in _ways(parts[0], number, view, bound, by_name):
        yield from _all_ways(parts[1:], number, view, way, by_name)
