"""The readable reference of patterns: the nodes of one tree that match, and the nodes that its names capture.

Words are nodes of their own, below their tags. A word that a pattern names also stands for its tag as child or sibling: in
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


@dataclass(eq=False, slots=True)
class _Node:
    number: int  # in the tree, parents before children
    label: str  # as bracket text holds it
    tree: Tree  # for a word, the tree of its tag
    parent: _Node | None
    start: int  # first word
    end: int = 0  # word after the last one
    is_word: bool = False
    children: list[_Node] = field(default_factory=list)

    @property
    def stands_for_tag(self) -> bool:
        """Whether this is a word that differs from its tag: of ``(. .)``, the tag is meant."""
        return self.is_word and self.parent is not None and self.label != self.parent.label


class TreeNodes:
    """The nodes of a tree, parents before children, words below their tags, and the relations between them."""

    def __init__(self, tree: Tree, rules: HeadRules) -> None:
        self.nodes: list[_Node] = []
        self._rules = rules
        stack: list[tuple[Tree, _Node | None]] = [(tree, None)]
        n_words = 0
        while stack:
            subtree, parent = stack.pop()
            node = self._add(subtree.label, subtree, parent, n_words)
            if subtree.word is not None:
                self._add(escape_word(subtree.word), subtree, node, n_words, is_word=True)
                n_words += 1
            stack.extend((child, node) for child in reversed(subtree.children))
        for node in reversed(self.nodes):
            node.end = node.children[-1].end if node.children else node.start + 1

    def _add(self, label: str, tree: Tree, parent: _Node | None, start: int, is_word: bool = False) -> _Node:
        node = _Node(len(self.nodes), label, tree, parent, start, is_word=is_word)
        self.nodes.append(node)
        if parent is not None:
            parent.children.append(node)
        return node

    def related(self, node: _Node, relation: Relation, by_name: bool) -> Iterator[_Node]:
        """Yield the nodes to which a node, found `by_name` or not, has a relation."""
        kind = relation.kind
        targets_by_name = relation.target.test.is_by_name
        subject = node.parent if by_name and node.stands_for_tag and node.parent is not None else node
        if kind in ("==", ":"):
            yield from [node] if kind == "==" else self.nodes
        elif relation.path is not None:
            yield from self._along(node, kind[0], relation.path)
        elif kind.startswith("<<"):
            stack = self._chosen(node, kind[2:])[::-1]
            while stack:
                yield (child := stack.pop())
                stack += self._chosen(child, kind[2:])[::-1]
        elif kind.startswith(">>"):
            while node.parent is not None and node in self._chosen(node.parent, kind[2:]):
                node = node.parent
                yield node
        elif kind.startswith("<"):
            if kind == "<=":
                yield node
            children = self._chosen(node, kind[1:].strip("="), relation.child)
            yield from _with_words(children) if targets_by_name else children
        elif kind.startswith(">"):
            for child in dict.fromkeys([node, subject]):
                if child.parent is not None and child in self._chosen(child.parent, kind[1:], relation.child):
                    yield child.parent
        elif kind.startswith("$"):
            siblings = _siblings(subject, kind)
            yield from _with_words(siblings) if targets_by_name else siblings
        else:
            yield from self._in_order(node, kind)

    def _chosen(self, parent: _Node, which: str, child_number: int = 0) -> list[_Node]:
        """Return the children that a relation considers: the first, last, only or head child, the one with a number, or all."""
        children = parent.children
        if which == "#" and children:
            return [children[self._rules(parent.tree)]]
        if which == ":":
            return children if len(children) == 1 else []
        child_number = {",": 1, "-": -1}.get(which, child_number)
        if not child_number:
            return children
        return [children[child_number - (child_number > 0)]] if abs(child_number) <= len(children) else []

    def _in_order(self, node: _Node, kind: str) -> list[_Node]:
        """Return the nodes that precede or follow a node."""
        if kind == ".":
            return [other for other in self.nodes if other.start == node.end]
        if kind == "..":
            return [other for other in self.nodes if other.start >= node.end]
        if kind == ",":
            return [other for other in self.nodes if other.end == node.start]
        return [other for other in self.nodes if other.end <= node.start]

    def _along(self, node: _Node, axis: str, path: NodeTest) -> Iterator[_Node]:
        """Yield the nodes that a path of nodes that pass a test leads to."""
        seen: set[_Node] = set()
        agenda = [node]
        while agenda:
            current = agenda.pop()
            if axis == "<":
                following = current.children
            elif axis == ">":
                following = [current.parent] if current.parent is not None else []
            else:
                following = self._in_order(current, axis)
            for other in following:
                if other not in seen:
                    seen.add(other)
                    yield other
                    if path.fits(other.label):
                        agenda.append(other)


def _siblings(node: _Node, kind: str) -> list[_Node]:
    siblings = node.parent.children if node.parent is not None else [node]
    index = siblings.index(node)
    return {
        "$": siblings[:index] + siblings[index + 1 :],
        "$.": siblings[index + 1 : index + 2],
        "$,": siblings[max(0, index - 1) : index],
        "$..": siblings[index + 1 :],
        "$,,": siblings[:index],
    }[kind]


def _with_words(nodes: list[_Node]) -> Iterator[_Node]:
    for node in nodes:
        yield node
        yield from (child for child in node.children if child.stands_for_tag)


@dataclass(frozen=True)
class Match:
    """A node that matches a pattern."""

    tree: Tree  # the subtree; for a word, that of its tag
    start: int  # first word
    end: int  # word after the last one
    captures: Mapping[str, tuple[Tree, int, int]]  # tree, start and end of every named node
    nodes: Mapping[str, int]  # number of every named node; words count as nodes
    variables: Mapping[str, str]  # values of the variables of regular expressions


@dataclass(frozen=True)
class _Bindings:
    """The nodes that names capture, and the values of variables."""

    nodes: dict[str, _Node] = field(default_factory=dict)
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
    return list(matches_in_every_way(pattern, tree, rules, most=1))


def matches_in_every_way(
    pattern: NodePattern, tree: Tree, rules: HeadRules | None = None, most: int | None = None
) -> Iterator[Match]:
    """Yield the matching nodes of a tree, each with every way, or at most `most`, in which its names capture nodes."""
    if tree.is_empty:
        return
    view = TreeNodes(tree, rules or _default_rules())
    for node in view.nodes:
        for bound in islice(_bindings(pattern, node, view, _Bindings()), most):
            captures = {name: (named.tree, named.start, named.end) for name, named in bound.nodes.items()}
            numbers = {name: named.number for name, named in bound.nodes.items()}
            yield Match(node.tree, node.start, node.end, captures, numbers, bound.variables)


@cache
def _default_rules() -> HeadRules:
    return HeadRules.collins()


def _bindings(pattern: NodePattern, node: _Node, view: TreeNodes, bound: _Bindings) -> Iterator[_Bindings]:
    """Yield the bindings of every way in which a node matches a pattern, given the bindings so far."""
    test, label = pattern.test, node.label
    if test.same_node:
        fits = bound.nodes.get(test.same_node) is node
    elif test.same_label:
        fits = test.same_label in bound.nodes and bound.nodes[test.same_label].label == label
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
        bound = _Bindings(bound.nodes | {pattern.capture: node}, bound.variables)
    yield from _ways(pattern.formula, node, view, bound, test.is_by_name)


def _ways(
    formula: Formula, node: _Node, view: TreeNodes, bound: _Bindings, by_name: bool
) -> Iterator[_Bindings]:
    """Yield the bindings of every way in which a formula holds of a node."""
    if isinstance(formula, Relation):
        targets = dict.fromkeys(view.related(node, formula, by_name))
        ways: Iterator[_Bindings] = (
            way for target in targets for way in _bindings(formula.target, target, view, bound)
        )
    elif isinstance(formula, AllOf):
        ways = _all_ways(formula.parts, node, view, bound, by_name)
    else:
        ways = (way for part in formula.parts for way in _ways(part, node, view, bound, by_name))
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
    parts: tuple[Formula, ...], node: _Node, view: TreeNodes, bound: _Bindings, by_name: bool
) -> Iterator[_Bindings]:
    if not parts:
        yield bound
        return
    for way in _ways(parts[0], node, view, bound, by_name):
        yield from _all_ways(parts[1:], node, view, way, by_name)
