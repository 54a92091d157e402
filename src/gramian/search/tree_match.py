"""The readable reference of patterns: the nodes of one tree that match, and the nodes that its names capture.

Words are nodes of their own, below their tags. As a child or sister, a word also stands for its tag: in ``(PP (IN of) (NP ...))`` both
``IN < of`` and ``PP < of`` hold. :mod:`gramian.search.table_match` counts matches in thousands of trees at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gramian.search.pattern import AllOf, Formula, NodePattern, Relation
from gramian.trees import Tree


class TreeNodes:
    """The numbered nodes of a tree, parents before children, words below their tags."""

    def __init__(self, tree: Tree) -> None:
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.children: list[list[int]] = []
        self.starts: list[int] = []  # first word; `ends` holds the word after the last one
        self.trees: list[Tree] = []  # for a word, the tree of its tag
        self.is_word: list[bool] = []
        stack, words = [(tree, -1)], 0
        while stack:
            node, parent = stack.pop()
            number = self._add(node.label, parent, words, node, is_word=False)
            if node.word is not None:
                self._add(node.word, number, words, node, is_word=True)
                words += 1
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

    def related(self, number: int, kind: str, child_number: int) -> Iterator[int]:
        """Yield the nodes to which a node has a relation."""
        own_tag = number if not self.is_word[number] else self.parents[number]  # whose sisters count
        if kind in ("<", "<:"):
            yield from self._with_words(self._chosen(number, kind == "<:", child_number))
        elif kind in (">", ">:"):
            for child in dict.fromkeys([number, own_tag]):
                parent = self.parents[child]
                if parent >= 0 and child in self._chosen(parent, kind == ">:", child_number):
                    yield parent
        elif kind == "<<":
            for child in self.children[number]:
                yield child
                yield from self.related(child, kind, child_number)
        elif kind == ">>":
            while (number := self.parents[number]) >= 0:
                yield number
        elif kind.startswith("$"):
            siblings = self.children[self.parents[own_tag]] if self.parents[own_tag] >= 0 else [own_tag]
            index = siblings.index(own_tag)
            siblings_by_relation = {
                "$": siblings[:index] + siblings[index + 1 :],
                "$.": siblings[index + 1 : index + 2],
                "$,": siblings[max(0, index - 1) : index],
                "$..": siblings[index + 1 :],
                "$,,": siblings[:index],
            }
            yield from self._with_words(siblings_by_relation[kind])
        else:
            start, end = self.starts[number], self.ends[number]
            for other in range(len(self.labels)):
                first, last = self.starts[other], self.ends[other]
                if {".": first == end, "..": first >= end, ",": last == start, ",,": last <= start}[kind]:
                    yield other

    def _chosen(self, parent: int, only: bool, child_number: int) -> list[int]:
        """Return the children that a relation considers: the one with a number, an only child, or all."""
        children = self.children[parent]
        if only:
            return children if len(children) == 1 else []
        if not child_number:
            return children
        return [children[child_number - (child_number > 0)]] if abs(child_number) <= len(children) else []

    def _with_words(self, nodes: list[int]) -> Iterator[int]:
        for node in nodes:
            yield node
            below = self.children[node]
            if below and self.is_word[below[0]]:
                yield below[0]


@dataclass(frozen=True)
class Match:
    """A node that matches a pattern."""

    tree: Tree  # the subtree; for a word, that of its tag
    start: int  # first word
    end: int  # word after the last one
    captures: Mapping[str, tuple[Tree, int, int]]  # tree, start and end of every named node


def matches(pattern: NodePattern, tree: Tree) -> list[Match]:
    """Return the matching nodes of a tree, each once.

    Examples
    --------
    >>> from gramian.search.pattern import parse_pattern
    >>> tree = Tree.parse("(S (NP (NP (DT the) (NN end)) (PP (IN of) (NP (NN war)))) (VP (VBD came)))")
    >>> for found in matches(parse_pattern("NP < (PP < of < NP=whose)"), tree):
    ...     print(found.start, found.end, found.captures["whose"][0])
    0 4 (NP (NN war))
    """
    if tree.is_empty:
        return []
    view = TreeNodes(tree)
    results = []
    for number in range(len(view.labels)):
        bound = next(_bindings(pattern, number, view, {}), None)
        if bound is not None:
            captures = {name: _place(view, node) for name, node in bound.items()}
            results.append(Match(*_place(view, number), captures))
    return results


def _place(view: TreeNodes, number: int) -> tuple[Tree, int, int]:
    return view.trees[number], view.starts[number], view.ends[number]


def _bindings(
    pattern: NodePattern, number: int, view: TreeNodes, bound: dict[str, int]
) -> Iterator[dict[str, int]]:
    """Yield the captures of every way in which a node matches a pattern, given the captures so far."""
    test = pattern.test
    if test.back:
        if bound.get(test.back) == number:
            yield bound
        return
    if not test.fits(view.labels[number]):
        return
    if pattern.capture:
        bound = bound | {pattern.capture: number}
    yield from _ways(pattern.formula, number, view, bound)


def _ways(formula: Formula, number: int, view: TreeNodes, bound: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the captures of every way in which a formula holds of a node."""
    if isinstance(formula, Relation):
        targets = dict.fromkeys(view.related(number, formula.kind, formula.child))
        ways = (way for target in targets for way in _bindings(formula.target, target, view, bound))
        if not formula.negated:
            yield from ways
        elif next(ways, None) is None:
            yield bound
    elif isinstance(formula, AllOf):
        yield from _all_ways(formula.parts, number, view, bound)
    else:
        any_way = (way for part in formula.parts for way in _ways(part, number, view, bound))
        if not formula.negated:
            yield from any_way
        elif next(any_way, None) is None:
            yield bound


def _all_ways(
    parts: tuple[Formula, ...], number: int, view: TreeNodes, bound: dict[str, int]
) -> Iterator[dict[str, int]]:
    if not parts:
        yield bound
        return
    for way in _ways(parts[0], number, view, bound):
        yield from _all_ways(parts[1:], number, view, way)
