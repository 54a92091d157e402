"""Vectorised pattern matching: every part of a pattern becomes a set of nodes of thousands of trees, computed by array operations.

A relation is evaluated from its targets: for ``<``, the parents of the target nodes are marked. The time depends on the length of the
pattern and the number of nodes, not on the number of partial matches. :mod:`gramian.search.tree_match` is the reference.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.search.node_table_kernels import CLOSE, NodeArrays, link_nodes
from gramian.search.pattern import AllOf, AnyOf, Formula, NodePattern, NodeTest, Relation
from gramian.treebank.encode import TokenCodes
from gramian.trees import HeadRules

Set: TypeAlias = npt.NDArray[np.bool_]
_MAX_TOKENS = 1 << 21  # labels and words in the cache
_MAX_PIECES = 1 << 20  # of bracket text, in their cache


class TableMatcher:
    """Counts the matches of a pattern that needs no captures, batch by batch; `rules` find heads, by default those of Collins."""

    def __init__(self, pattern: NodePattern, rules: HeadRules | None = None) -> None:
        self._pattern = pattern
        self._rules = rules or HeadRules.collins()
        self._codes = PieceCodes()
        self._known: dict[NodeTest, list[bytearray]] = {}
        self._known_heads: dict[tuple[int, ...], int] = {}

    def counts(self, trees: Sequence[str]) -> npt.NDArray[np.int64] | None:
        """Return the number of matching nodes of each tree; None unless each of the bracket texts is exactly one tree.

        Examples
        --------
        >>> from gramian.search.pattern_parser import parse_pattern
        >>> TableMatcher(parse_pattern("NP < of")).counts(["(NP (NP (NN end)) (IN of))", "(NP (NN of))"]).tolist()
        [1, 1]
        """
        if len(self._codes.tokens) > _MAX_TOKENS:
            self._codes, self._known, self._known_heads = PieceCodes(), {}, {}
        codes = self._codes.encode(" ".join(trees))
        if not _are_trees(trees, codes):
            return None
        n_nodes = int((codes != CLOSE).sum())
        nodes = NodeArrays(*(np.empty(n_nodes, np.int32) for _ in NodeArrays._fields))
        n_words = int(link_nodes(codes, nodes))
        matching = _Sets(nodes, n_words, self).matching(self._pattern)
        return np.bincount(nodes.tree[matching], minlength=len(trees))

    def passing(self, test: NodeTest, nodes: NodeArrays) -> Set:
        """Return the nodes whose label or word passes a test; each label and word is tested once."""
        known_tests = self._known.setdefault(test, [bytearray(), bytearray()])
        vocabulary = self._codes.tokens
        for tokens, known in zip((vocabulary.labels, vocabulary.words), known_tests, strict=True):
            known += bytes(test.fits(token) for token in tokens[len(known) :])
        labels, words = (np.frombuffer(bytes(known) or b"\0", np.bool_) for known in known_tests)
        number = nodes.code >> 1
        is_word = (nodes.code & 1).astype(np.bool_)
        result = np.zeros(len(number), np.bool_)
        result[is_word] = words[number[is_word]]
        result[~is_word] = labels[number[~is_word]]
        return result

    def standing_for_tags(self, nodes: NodeArrays, is_word: Set) -> Set:
        """Return the words that differ from their tags."""
        tokens = self._codes.tokens
        label_numbers = {label: number for number, label in enumerate(tokens.labels)}
        label_of_word = np.array([label_numbers.get(word, -1) for word in tokens.words] or [-1], np.int64)
        words = np.flatnonzero(is_word)
        result = np.zeros(len(is_word), np.bool_)
        result[words] = label_of_word[nodes.code[words] >> 1] != nodes.code[nodes.parent[words]] >> 1
        return result

    def heads(self, nodes: NodeArrays) -> Set:
        """Return the nodes that are the head children of their parents."""
        result = nodes.parent >= 0
        several = np.flatnonzero(result & (nodes.children[nodes.parent] > 1))
        result[several] = False
        by_parent = several[np.argsort(nodes.parent[several], kind="stable")]
        labels = self._codes.tokens.labels
        code, known = nodes.code.tolist(), self._known_heads
        ends = np.flatnonzero(np.diff(nodes.parent[by_parent], append=-2)) + 1
        start, children = 0, by_parent.tolist()
        for end in ends.tolist():
            siblings = children[start:end]
            start = end
            key = (code[nodes.parent[siblings[0]]], *[code[child] for child in siblings])
            if (head := known.get(key)) is None:
                names = [labels[number >> 1] for number in key]
                head = known[key] = self._rules.find(names[0], names[1:])
            result[siblings[head]] = True
        return result


class _Sets:
    """Evaluates patterns as sets of the nodes of one batch."""

    def __init__(self, nodes: NodeArrays, n_words: int, matcher: TableMatcher) -> None:
        self._nodes, self._n_words, self._matcher = nodes, n_words, matcher
        self._is_word = (nodes.code & 1).astype(np.bool_)
        self._all = np.arange(len(nodes.code))
        self._stands_for_tag = matcher.standing_for_tags(nodes, self._is_word)
        self._chains: dict[str, npt.NDArray[np.int64]] = {}

    def matching(self, pattern: NodePattern) -> Set:
        """Return the nodes that match a pattern."""
        passing = self._matcher.passing(pattern.test, self._nodes)
        return passing & self._holding(pattern.formula, pattern.test.is_by_name)

    def _holding(self, formula: Formula, by_name: bool) -> Set:
        """Return the nodes of which a formula holds, found by name or not."""
        if not isinstance(formula, AnyOf) and formula.optional:
            return np.ones(len(self._all), np.bool_)
        if isinstance(formula, Relation):
            result = self._related(formula, self.matching(formula.target), by_name)
            return ~result if formula.negated else result
        parts = [self._holding(part, by_name) for part in formula.parts]
        if isinstance(formula, AllOf):
            return np.logical_and.reduce(parts) if parts else np.ones(len(self._all), np.bool_)
        result = np.logical_or.reduce(parts)
        return ~result if formula.negated else result

    def _related(self, relation: Relation, targets: Set, by_name: bool) -> Set:
        """Return the nodes that have a relation to one of the targets."""
        kind, nodes = relation.kind, self._nodes
        if kind == "==":
            return targets
        if kind == ":":
            return (np.bincount(nodes.tree[targets], minlength=int(nodes.tree[-1]) + 1) > 0)[nodes.tree]
        if relation.path is not None:
            return self._along(kind[0], targets, self._matcher.passing(relation.path, nodes))
        if kind.startswith(("<<", ">>")):
            return self._above(kind[2:], targets) if kind[0] == "<" else self._below(kind[2:], targets)
        tags = self._with_tags(targets) if relation.target.test.is_by_name else targets
        if kind.startswith("<"):
            parents = self._parents(tags & self._chosen(kind[1:].strip("="), relation.child))
            return parents | targets if kind == "<=" else parents
        if kind.startswith(">"):
            has_parent = _at(targets, nodes.parent) & self._chosen(kind[1:], relation.child)
            return self._with_words(has_parent) if by_name else has_parent
        if kind.startswith("$"):
            has_sibling = self._siblings(kind, tags)
            return self._with_words(has_sibling) if by_name else has_sibling
        return self._in_order(kind, targets)

    def _chain(self, which: str) -> npt.NDArray[np.int64]:
        """Return a number for every node: that of its chain of first (``,``), last, only or head children.

        Every child that continues the chain of its parent has the same number as the parent; parents come first.
        """
        if which not in self._chains:
            nodes = self._nodes
            if which == ":":
                # the node before it is its parent, and has only this child
                continues = np.roll(nodes.children == 1, 1)
                continues[0] = False
            elif which == ",":
                continues = nodes.order == 1
                continues &= nodes.parent >= 0
            elif which == "-":
                return self._chains.setdefault(which, nodes.last.astype(np.int64))
            else:
                continues = self._matcher.heads(nodes)
            top = np.where(continues, nodes.parent, self._all)
            while not np.array_equal(above := top[top], top):
                top = above
            self._chains[which] = top
        return self._chains[which]

    def _above(self, which: str, targets: Set) -> Set:
        """Return the ancestors of targets, along a chain if `which` is not empty."""
        if not which:
            targets_before = np.concatenate([[0], np.cumsum(targets)])
            return targets_before[self._nodes.last] > targets_before[self._all + 1]
        chain, marked = self._chain(which), np.flatnonzero(targets)
        lowest = np.full(len(self._all) + 1, -1, np.int64)
        np.maximum.at(lowest, chain[marked], marked)
        return lowest[chain] > self._all

    def _below(self, which: str, targets: Set) -> Set:
        """Return the descendants of targets, along a chain if `which` is not empty."""
        marked = np.flatnonzero(targets)
        if not which:
            change = np.zeros(len(self._all) + 1, np.int64)
            change[marked + 1] += 1  # the descendants of a target follow it
            np.subtract.at(change, self._nodes.last[marked], 1)
            return np.cumsum(change)[:-1] > 0
        chain = self._chain(which)
        highest = np.full(len(self._all) + 1, len(self._all), np.int64)
        np.minimum.at(highest, chain[marked], marked)
        return highest[chain] < self._all

    def _along(self, axis: str, targets: Set, path: Set) -> Set:
        """Return the nodes from which a path of nodes that pass a test leads to a target."""
        while True:
            if axis == "<":
                result = self._parents(targets & (self._nodes.parent >= 0))
            elif axis == ">":
                result = _at(targets, self._nodes.parent)
            else:
                result = self._in_order(axis, targets)
            further = targets | (result & path)
            if np.array_equal(further, targets):
                return result
            targets = further

    def _chosen(self, which: str, child: int) -> Set:
        """Return the children that a relation considers: first, last, only or head children, those with a number, or all."""
        nodes = self._nodes
        has_parent = nodes.parent >= 0
        if which:
            chain = self._chain(which)
            return has_parent & (chain == chain[nodes.parent])
        if not child:
            return has_parent
        return has_parent & (
            nodes.order == (child if child > 0 else nodes.children[nodes.parent] + 1 + child)
        )

    def _parents(self, children: Set) -> Set:
        result = np.zeros(len(self._all), np.bool_)
        result[self._nodes.parent[children]] = True
        return result

    def _with_tags(self, nodes: Set) -> Set:
        """Return nodes, and the tags of words for which these stand."""
        return nodes | self._parents(nodes & self._stands_for_tag)

    def _with_words(self, nodes: Set) -> Set:
        """Return nodes, and the words that stand for tags among them."""
        return nodes | (self._stands_for_tag & _at(nodes, self._nodes.parent))

    def _siblings(self, kind: str, targets: Set) -> Set:
        nodes = self._nodes
        if kind in ("$.", "$,"):
            return _at(targets, nodes.following if kind == "$." else nodes.previous)
        first = np.full(len(self._all), 1 << 30, np.int32)
        last = np.zeros(len(self._all), np.int32)
        marked = np.flatnonzero(targets & (nodes.parent >= 0))
        np.minimum.at(first, nodes.parent[marked], nodes.order[marked])
        np.maximum.at(last, nodes.parent[marked], nodes.order[marked])
        has_later = (nodes.parent >= 0) & (nodes.order < last[nodes.parent])
        has_earlier = (nodes.parent >= 0) & (nodes.order > first[nodes.parent])
        return {"$": has_later | has_earlier, "$..": has_later, "$,,": has_earlier}[kind]

    def _in_order(self, kind: str, targets: Set) -> Set:
        """Return the nodes before or after a target in the order of words."""
        nodes, marked = self._nodes, np.flatnonzero(targets)
        edges = np.zeros(self._n_words + 2, np.bool_)
        edges[(nodes.start if kind.startswith(".") else nodes.end)[marked]] = True
        boundary = nodes.end if kind.startswith(".") else nodes.start
        tree_of_word = np.empty(self._n_words, np.int32)
        tree_of_word[nodes.start[self._is_word]] = nodes.tree[self._is_word]
        if kind in (".", ","):
            # Adjacent trees share a boundary: the neighbouring word must be of the same tree.
            neighbour = boundary if kind == "." else boundary - 1
            inside = (neighbour >= 0) & (neighbour < self._n_words)
            inside[inside] = tree_of_word[neighbour[inside]] == nodes.tree[inside]
            return edges[boundary] & inside
        n_trees = int(nodes.tree[-1]) + 1 if len(nodes.tree) else 0
        if kind == "..":
            furthest = np.full(n_trees, -1, np.int64)
            np.maximum.at(furthest, nodes.tree[marked], nodes.start[marked])
            return furthest[nodes.tree] >= boundary
        nearest = np.full(n_trees, np.iinfo(np.int64).max, np.int64)
        np.minimum.at(nearest, nodes.tree[marked], nodes.end[marked])
        return nearest[nodes.tree] <= boundary


def _at(members: Set, nodes: npt.NDArray[np.int32]) -> Set:
    """Return whether each of some nodes is in a set; -1 is in none."""
    return (nodes >= 0) & members[nodes]


def _are_trees(trees: Sequence[str], codes: npt.NDArray[np.int32]) -> bool:
    """Return whether each text, given the codes of all their tokens, is exactly one tree."""
    if any(tree[0] != "(" or tree.count("(") != tree.count(")") for tree in trees):
        return False
    is_close = codes == CLOSE
    opens = ~is_close & (codes & 1 == 0)
    depth = np.cumsum(opens.astype(np.int32) - is_close)
    roots = opens & (depth == 1)
    return int(roots.sum()) == len(trees) and bool((depth[~is_close] > 0).all())


class PieceCodes(dict[str, int]):
    """A cache from pieces of bracket text, between one ``(`` and the next, which recur, to the codes of their tokens.

    Clearing it leaves the codes of labels and words unchanged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tokens = TokenCodes()
        self._codes: list[npt.NDArray[np.int32]] = []
        self._flat = np.empty(0, np.int32)
        self._starts = np.empty(0, np.int64)
        self._sizes = np.empty(0, np.int64)

    def __missing__(self, piece: str) -> int:
        number = self[piece] = len(self._codes)
        self._codes.append(self.tokens.encode(f"({piece}"))
        return number

    def encode(self, text: str) -> npt.NDArray[np.int32]:
        """Return the codes of all tokens of `text`, which starts with a bracket.

        Examples
        --------
        >>> PieceCodes().encode("(NP (NN dog)) (NP (NN dog))").tolist()
        [0, 2, 1, -1, -1, 0, 2, 1, -1, -1]
        """
        if len(self) > _MAX_PIECES:
            self.clear()
            self._codes.clear()
            self._starts = self._starts[:0]
        pieces = np.fromiter(map(self.__getitem__, text.split("(")[1:]), np.int64)
        if len(self._codes) != len(self._starts):
            self._sizes = np.array([len(codes) for codes in self._codes], np.int64)
            self._starts = np.cumsum(self._sizes) - self._sizes
            self._flat = np.concatenate(self._codes)
        sizes = self._sizes[pieces]
        ends = np.cumsum(sizes)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)
        return self._flat[np.repeat(self._starts[pieces], sizes) + within]
