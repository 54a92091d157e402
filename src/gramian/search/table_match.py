"""Vectorised pattern matching: every part of a pattern becomes a set of nodes of thousands of trees, computed by array operations.

A relation is evaluated from its targets: for ``<``, the parents of the target nodes are marked. The time depends on the length of the
pattern and the number of nodes, not on the number of partial matches. :mod:`gramian.search.tree_match` is the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.search.node_table_kernels import CLOSE, NodeArrays, link_nodes
from gramian.search.pattern import AllOf, Formula, NodePattern, NodeTest, Relation
from gramian.search.piece_codes import PieceCodes
from gramian.trees.tree import unescape_word

Set: TypeAlias = npt.NDArray[np.bool_]
_MAX_TOKENS = 1 << 21  # labels and words in the cache


class TableMatcher:
    """Counts the matches of a pattern without backreferences, batch by batch."""

    def __init__(self, pattern: NodePattern) -> None:
        self._pattern = pattern
        self._codes = PieceCodes()
        self._known: dict[NodeTest, list[bytearray]] = {}

    def counts(self, trees: Sequence[str]) -> npt.NDArray[np.int64] | None:
        """Return the number of matching nodes of each tree; None unless each of the bracket texts is exactly one tree.

        Examples
        --------
        >>> from gramian.search.pattern import parse_pattern
        >>> TableMatcher(parse_pattern("NP < of")).counts(["(NP (NP (NN end)) (IN of))", "(NP (NN of))"]).tolist()
        [1, 1]
        """
        if len(self._codes.tokens) > _MAX_TOKENS:
            self._codes, self._known = PieceCodes(), {}
        codes = self._codes.encode(" ".join(trees))
        if not _are_trees(trees, codes):
            return None
        size = int((codes != CLOSE).sum())
        nodes = NodeArrays(*(np.empty(size, np.int32) for _ in NodeArrays._fields))
        words = int(link_nodes(codes, nodes))
        fits = _Sets(nodes, words, self._named).of(self._pattern)
        return np.bincount(nodes.tree[fits], minlength=len(trees))

    def _named(self, test: NodeTest, nodes: NodeArrays) -> Set:
        """Return the nodes whose label or word passes a test; each label and word is tested once."""
        known_tests = self._known.setdefault(test, [bytearray(), bytearray()])
        vocabulary = self._codes.tokens
        for tokens, known in zip((vocabulary.labels, vocabulary.words), known_tests, strict=True):
            known += bytes(test.fits(unescape_word(token)) for token in tokens[len(known) :])
        labels, words = (np.frombuffer(bytes(known) or b"\0", np.bool_) for known in known_tests)
        number = nodes.code >> 1
        is_word = (nodes.code & 1).astype(np.bool_)
        result = np.zeros(len(number), np.bool_)
        result[is_word] = words[number[is_word]]
        result[~is_word] = labels[number[~is_word]]
        return result


class _Sets:
    """Evaluates patterns as sets of the nodes of one batch."""

    def __init__(self, nodes: NodeArrays, words: int, named: Callable[[NodeTest, NodeArrays], Set]) -> None:
        self._nodes, self._words, self._named = nodes, words, named
        self._is_word = (nodes.code & 1).astype(np.bool_)
        self._all = np.arange(len(nodes.code))

    def of(self, pattern: NodePattern) -> Set:
        """Return the nodes that match a pattern."""
        return self._named(pattern.test, self._nodes) & self._holding(pattern.formula)

    def _holding(self, formula: Formula) -> Set:
        if isinstance(formula, Relation):
            result = self._related(formula.kind, formula.child, self.of(formula.target))
            return ~result if formula.negated else result
        parts = [self._holding(part) for part in formula.parts]
        if isinstance(formula, AllOf):
            return np.logical_and.reduce(parts) if parts else np.ones(len(self._all), np.bool_)
        result = np.logical_or.reduce(parts)
        return ~result if formula.negated else result

    def _related(self, kind: str, child: int, targets: Set) -> Set:
        """Return the nodes that have a relation to one of the targets."""
        nodes = self._nodes
        if kind in ("<", "<:"):
            return self._parents(self._with_tags(targets) & self._chosen(kind == "<:", child))
        if kind in (">", ">:"):
            has_parent = _at(targets, nodes.parent) & self._chosen(kind == ">:", child)
            return self._with_words(has_parent)
        if kind == "<<":
            targets_before = np.concatenate([[0], np.cumsum(targets)])
            return targets_before[nodes.last] > targets_before[self._all + 1]
        if kind == ">>":
            change = np.zeros(len(self._all) + 1, np.int64)
            marked = np.flatnonzero(targets)
            change[marked + 1] += 1  # the descendants of a target follow it
            np.subtract.at(change, nodes.last[marked], 1)
            return np.cumsum(change)[:-1] > 0
        if kind.startswith("$"):
            return self._sisters(kind, self._with_tags(targets))
        return self._beside(kind, targets)

    def _chosen(self, only: bool, child: int) -> Set:
        """Return the children that a relation considers: those with a number, only children, or all."""
        nodes = self._nodes
        if not only and not child:
            return nodes.parent >= 0
        count = np.where(nodes.parent >= 0, nodes.children[nodes.parent], 0)
        if only:
            return count == 1
        return (nodes.order == child) & (count > 0) if child > 0 else nodes.order == count + 1 + child

    def _parents(self, children: Set) -> Set:
        result = np.zeros(len(self._all), np.bool_)
        result[self._nodes.parent[children]] = True
        return result

    def _with_tags(self, nodes: Set) -> Set:
        """Return nodes, and the tags of those that are words."""
        return nodes | self._parents(nodes & self._is_word)

    def _with_words(self, nodes: Set) -> Set:
        """Return nodes, and the words of those that are tags."""
        return nodes | (self._is_word & _at(nodes, self._nodes.parent))

    def _sisters(self, kind: str, targets: Set) -> Set:
        nodes = self._nodes
        targets = targets & ~self._is_word
        if kind in ("$.", "$,"):
            neighbour = nodes.following if kind == "$." else nodes.previous
            return self._with_words(_at(targets, neighbour) & ~self._is_word)
        first = np.full(len(self._all), 1 << 30, np.int32)
        last = np.zeros(len(self._all), np.int32)
        marked = np.flatnonzero(targets & (nodes.parent >= 0))
        np.minimum.at(first, nodes.parent[marked], nodes.order[marked])
        np.maximum.at(last, nodes.parent[marked], nodes.order[marked])
        inner = (nodes.parent >= 0) & ~self._is_word
        has_later = inner & (nodes.order < last[nodes.parent])
        has_earlier = inner & (nodes.order > first[nodes.parent])
        return self._with_words({"$": has_later | has_earlier, "$..": has_later, "$,,": has_earlier}[kind])

    def _beside(self, kind: str, targets: Set) -> Set:
        """Return the nodes before or after a target in the order of words."""
        nodes, marked = self._nodes, np.flatnonzero(targets)
        edges = np.zeros(self._words + 2, np.bool_)
        edges[(nodes.start if kind.startswith(".") else nodes.end)[marked]] = True
        boundary = nodes.end if kind.startswith(".") else nodes.start
        tree_of_word = np.empty(self._words, np.int32)
        tree_of_word[nodes.start[self._is_word]] = nodes.tree[self._is_word]
        if kind in (".", ","):
            # Adjacent trees share a boundary: the neighbouring word must be of the same tree.
            neighbour = boundary if kind == "." else boundary - 1
            inside = (neighbour >= 0) & (neighbour < self._words)
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
