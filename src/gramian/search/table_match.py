"""Patterns fitted to thousands of trees at a time: every part of a pattern becomes the set of nodes it fits, by operations on whole arrays.

Of a relation, the nodes that have it to one of a set are marked from there: parents of the set's nodes, say. So a pattern takes time that
depends on its length and on the number of nodes, not on how often it nearly fits. :mod:`gramian.search.tree_match` is the reference.
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
_MOST_TOKENS = 1 << 21  # that are remembered


class TableMatcher:
    """Finds the trees that a pattern without backreferences fits; made once, for all batches."""

    def __init__(self, pattern: NodePattern) -> None:
        self._pattern = pattern
        self._codes = PieceCodes()
        self._known: dict[NodeTest, list[bytearray]] = {}

    def counts(self, trees: Sequence[str]) -> npt.NDArray[np.int64] | None:
        """Return how many nodes of each tree the pattern fits; None if not each of the bracket texts is one tree.

        Examples
        --------
        >>> from gramian.search.pattern import parse_pattern
        >>> TableMatcher(parse_pattern("NP < of")).counts(["(NP (NP (NN end)) (IN of))", "(NP (NN of))"]).tolist()
        [1, 1]
        """
        if len(self._codes.tokens) > _MOST_TOKENS:
            self._codes, self._known = PieceCodes(), {}
        codes = self._codes.encode(" ".join(trees))
        if not _are_trees(trees, codes):
            return None
        size = int((codes != CLOSE).sum())
        nodes = NodeArrays(*(np.empty(size, np.int32) for _ in NodeArrays._fields))
        words = int(link_nodes(codes, nodes))
        found = _Sets(nodes, words, self._named).of(self._pattern)
        return np.bincount(nodes.tree[found], minlength=len(trees))

    def _named(self, test: NodeTest, nodes: NodeArrays) -> Set:
        """Return the nodes whose label or word is as asked; each label and word is looked at once."""
        kept = self._known.setdefault(test, [bytearray(), bytearray()])
        vocabulary = self._codes.tokens
        for tokens, known in zip((vocabulary.labels, vocabulary.words), kept, strict=True):
            known += bytes(test.fits(unescape_word(token)) for token in tokens[len(known) :])
        labels, words = (np.frombuffer(bytes(known) or b"\0", np.bool_) for known in kept)
        number = nodes.code >> 1
        is_word = (nodes.code & 1).astype(np.bool_)
        found = np.zeros(len(number), np.bool_)
        found[is_word] = words[number[is_word]]
        found[~is_word] = labels[number[~is_word]]
        return found


class _Sets:
    """Sets of the nodes of one batch."""

    def __init__(self, nodes: NodeArrays, words: int, named: Callable[[NodeTest, NodeArrays], Set]) -> None:
        self._nodes, self._words, self._named = nodes, words, named
        self._is_word = (nodes.code & 1).astype(np.bool_)
        self._all = np.arange(len(nodes.code))

    def of(self, pattern: NodePattern) -> Set:
        """Return the nodes that a pattern fits."""
        return self._named(pattern.test, self._nodes) & self._holding(pattern.formula)

    def _holding(self, formula: Formula) -> Set:
        if isinstance(formula, Relation):
            found = self._related(formula.kind, formula.place, self.of(formula.target))
            return ~found if formula.negated else found
        parts = [self._holding(part) for part in formula.parts]
        if isinstance(formula, AllOf):
            return np.logical_and.reduce(parts) if parts else np.ones(len(self._all), np.bool_)
        found = np.logical_or.reduce(parts)
        return ~found if formula.negated else found

    def _related(self, kind: str, place: int, targets: Set) -> Set:
        """Return the nodes that have one of the targets in a relation."""
        nodes = self._nodes
        if kind in ("<", "<:"):
            return self._parents(self._with_tags(targets) & self._chosen(kind == "<:", place))
        if kind in (">", ">:"):
            below = _at(targets, nodes.parent) & self._chosen(kind == ">:", place)
            return self._with_words(below)
        if kind == "<<":
            before = np.concatenate([[0], np.cumsum(targets)])
            return before[nodes.last] > before[self._all + 1]
        if kind == ">>":
            change = np.zeros(len(self._all) + 1, np.int64)
            marked = np.flatnonzero(targets)
            change[marked + 1] += 1  # of each target, that which follows it begins
            np.subtract.at(change, nodes.last[marked], 1)
            return np.cumsum(change)[:-1] > 0
        if kind.startswith("$"):
            return self._sisters(kind, self._with_tags(targets))
        return self._beside(kind, targets)

    def _chosen(self, only: bool, place: int) -> Set:
        """Return the children that count: those in a place, only ones, or all."""
        nodes = self._nodes
        if not only and not place:
            return nodes.parent >= 0
        count = np.where(nodes.parent >= 0, nodes.children[nodes.parent], 0)
        if only:
            return count == 1
        return (nodes.order == place) & (count > 0) if place > 0 else nodes.order == count + 1 + place

    def _parents(self, children: Set) -> Set:
        found = np.zeros(len(self._all), np.bool_)
        found[self._nodes.parent[children]] = True
        return found

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
            beside = nodes.following if kind == "$." else nodes.previous
            return self._with_words(_at(targets, beside) & ~self._is_word)
        first = np.full(len(self._all), 1 << 30, np.int32)
        last = np.zeros(len(self._all), np.int32)
        marked = np.flatnonzero(targets & (nodes.parent >= 0))
        np.minimum.at(first, nodes.parent[marked], nodes.order[marked])
        np.maximum.at(last, nodes.parent[marked], nodes.order[marked])
        inner = (nodes.parent >= 0) & ~self._is_word
        before, after = (
            inner & (nodes.order < last[nodes.parent]),
            inner & (nodes.order > first[nodes.parent]),
        )
        return self._with_words({"$": before | after, "$..": before, "$,,": after}[kind])

    def _beside(self, kind: str, targets: Set) -> Set:
        """Return the nodes before or after a target, by their words."""
        nodes, marked = self._nodes, np.flatnonzero(targets)
        edges = np.zeros(self._words + 2, np.bool_)
        edges[(nodes.start if kind.startswith(".") else nodes.end)[marked]] = True
        own = nodes.end if kind.startswith(".") else nodes.start
        tree_of_word = np.empty(self._words, np.int32)
        tree_of_word[nodes.start[self._is_word]] = nodes.tree[self._is_word]
        # A tree ends where the next begins: what is found there counts only within the tree.
        if kind == ".":
            inside = own < self._words
            inside[inside] = tree_of_word[own[inside]] == nodes.tree[inside]
            return edges[own] & inside
        if kind == ",":
            inside = own > 0
            inside[inside] = tree_of_word[own[inside] - 1] == nodes.tree[inside]
            return edges[own] & inside
        n_trees = int(nodes.tree[-1]) + 1 if len(nodes.tree) else 0
        if kind == "..":
            furthest = np.full(n_trees, -1, np.int64)
            np.maximum.at(furthest, nodes.tree[marked], nodes.start[marked])
            return furthest[nodes.tree] >= own
        nearest = np.full(n_trees, np.iinfo(np.int64).max, np.int64)
        np.minimum.at(nearest, nodes.tree[marked], nodes.end[marked])
        return nearest[nodes.tree] <= own


def _at(found: Set, places: npt.NDArray[np.int32]) -> Set:
    """Return whether what stands at each place is in a set; nothing stands at -1."""
    return (places >= 0) & found[places]


def _are_trees(trees: Sequence[str], codes: npt.NDArray[np.int32]) -> bool:
    """Whether each of some texts, whose tokens these are, is one tree with words below labels."""
    if any(tree[0] != "(" or tree.count("(") != tree.count(")") for tree in trees):
        return False
    is_close = codes == CLOSE
    opens = ~is_close & (codes & 1 == 0)
    depth = np.cumsum(opens.astype(np.int32) - is_close)
    roots = opens & (depth == 1)
    return int(roots.sum()) == len(trees) and bool((depth[~is_close] > 0).all())
