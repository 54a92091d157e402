"""What patterns mean, in plain Python: the nodes of one tree that a pattern fits, and which nodes its names stand for.

Words are nodes of their own, below their tags. Where a child or a sister is asked for, a word takes part in its tag's place as well: in
``(PP (IN of) (NP ...))`` both ``IN < of`` and ``PP < of`` hold. This is the reference; :mod:`gramian.search.table_match` does the same for
thousands of trees at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gramian.search.pattern import AllOf, Formula, NodePattern, Relation
from gramian.trees import Tree


class TreeNodes:
    """The nodes of a tree in order, parents before children, words below their tags; each known by its number."""

    def __init__(self, tree: Tree) -> None:
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.children: list[list[int]] = []
        self.starts: list[int] = []  # first word; `ends` has that after the last
        self.trees: list[Tree] = []  # of a word, its tag's
        self.is_word: list[bool] = []
        stack, words = [(tree, -1)], 0
        while stack:
            node, parent = stack.pop()
            here = self._add(node.label, parent, words, node, is_word=False)
            if node.word is not None:
                self._add(node.word, here, words, node, is_word=True)
                words += 1
            stack.extend((child, here) for child in reversed(node.children))
        self.ends = [start + 1 for start in self.starts]  # of words, and tags
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

    def related(self, number: int, kind: str, place: int) -> Iterator[int]:
        """Yield the nodes that a node has in a relation."""
        above = number if not self.is_word[number] else self.parents[number]  # where its sisters are
        if kind in ("<", "<:"):
            yield from self._with_words(self._chosen(number, kind == "<:", place))
        elif kind in (">", ">:"):
            for one in dict.fromkeys([number, above]):
                parent = self.parents[one]
                if parent >= 0 and one in self._chosen(parent, kind == ">:", place):
                    yield parent
        elif kind == "<<":
            for child in self.children[number]:
                yield child
                yield from self.related(child, kind, place)
        elif kind == ">>":
            while (number := self.parents[number]) >= 0:
                yield number
        elif kind.startswith("$"):
            sisters = self.children[self.parents[above]] if self.parents[above] >= 0 else [above]
            own = sisters.index(above)
            chosen = {
                "$": sisters[:own] + sisters[own + 1 :],
                "$.": sisters[own + 1 : own + 2],
                "$,": sisters[max(0, own - 1) : own],
                "$..": sisters[own + 1 :],
                "$,,": sisters[:own],
            }
            yield from self._with_words(chosen[kind])
        else:
            start, end = self.starts[number], self.ends[number]
            for other in range(len(self.labels)):
                first, last = self.starts[other], self.ends[other]
                if {".": first == end, "..": first >= end, ",": last == start, ",,": last <= start}[kind]:
                    yield other

    def _chosen(self, parent: int, only: bool, place: int) -> list[int]:
        """Return the children that count: that in a place, the only one, or all."""
        children = self.children[parent]
        if only:
            return children if len(children) == 1 else []
        if not place:
            return children
        return [children[place - (place > 0)]] if abs(place) <= len(children) else []

    def _with_words(self, nodes: list[int]) -> Iterator[int]:
        for node in nodes:
            yield node
            below = self.children[node]
            if below and self.is_word[below[0]]:
                yield below[0]


@dataclass(frozen=True)
class Match:
    """A node that a pattern fits.

    Attributes
    ----------
    tree : Tree
        What stands there; of a word, its tag.
    start, end : int
        Its words.
    captures : mapping of str to (Tree, int, int)
        The same of what the pattern has names for.
    """

    tree: Tree
    start: int
    end: int
    captures: Mapping[str, tuple[Tree, int, int]]


def matches(pattern: NodePattern, tree: Tree) -> list[Match]:
    """Return the nodes of a tree that a pattern fits, each once.

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
    found = []
    for number in range(len(view.labels)):
        bound = next(_bindings(pattern, number, view, {}), None)
        if bound is not None:
            captures = {name: _place(view, node) for name, node in bound.items()}
            found.append(Match(*_place(view, number), captures))
    return found


def _place(view: TreeNodes, number: int) -> tuple[Tree, int, int]:
    return view.trees[number], view.starts[number], view.ends[number]


def _bindings(
    pattern: NodePattern, number: int, view: TreeNodes, bound: dict[str, int]
) -> Iterator[dict[str, int]]:
    """Yield what names stand for in each way in which a pattern fits a node, given what some stand for already."""
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
    """Yield what names stand for in each way in which a formula holds of a node."""
    if isinstance(formula, Relation):
        targets = dict.fromkeys(view.related(number, formula.kind, formula.place))
        found = (way for target in targets for way in _bindings(formula.target, target, view, bound))
        if not formula.negated:
            yield from found
        elif next(found, None) is None:
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
