"""Inside and outside feature templates, each one vectorised over all nodes of a treebank.

A template maps a :class:`NodeView` to one integer per node: equal integers mean equal feature values, -1 means that the template says
nothing about that node. The set ``paper`` follows Cohen et al. (2013), ``thesis`` the four-plus-four features of a plainer
reimplementation, ``plain`` the same with outside features joined to those below them; ``rich`` adds words and neighbouring tags.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.treebank import Treebank
from gramian.treebank.array_kernels import follow_heads, hash_children
from gramian.trees.heads import HeadRules
from gramian.trees.labels import is_intermediate, split_chain

Column = npt.NDArray[np.int64]
Template = Callable[["NodeView"], Column]

_MIX = np.uint64(0x9E3779B97F4A7C15)


def combine(*columns: npt.NDArray[np.signedinteger]) -> Column:
    """Mix integer columns into one; equal rows get equal values, and unequal rows unequal ones up to 2^-60 odds."""
    mixed = np.zeros(columns[0].shape, np.uint64)
    for column in columns:
        mixed ^= column.astype(np.int64).view(np.uint64) + np.uint64(1)
        mixed *= _MIX
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(2)).view(np.int64)


class NodeView:
    """Columns about every node of a treebank that templates are made from.

    Every column has one more entry than there are nodes, -1, so that index -1 (no such node) yields -1. `word_class` is what stands for
    each word: itself, or its signature when it is rare. `head` is the leaf of each node's head word; without it head templates say nothing.

    Examples
    --------
    >>> from gramian.learn import Observations
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")])
    >>> Observations(bank).view(heads=None, suffixes=False).side.shape
    (7,)
    """

    def __init__(
        self, treebank: Treebank, word_class: npt.NDArray[np.int64], head: npt.NDArray[np.int32] | None = None
    ) -> None:
        self.treebank, self.word_class, self._head = treebank, word_class, head
        self.label, self.parent = _closed(treebank.label), _closed(treebank.parent)
        self.left, self.right = _closed(treebank.left), _closed(treebank.right)
        self.start, self.end = _closed(treebank.start), _closed(treebank.end)
        self.none = np.full(len(self.label), -1, np.int64)

    @cached_property
    def word(self) -> Column:
        """Class of the word of a leaf."""
        words = _closed(self.treebank.word)
        return np.where(words >= 0, np.append(self.word_class, -1)[words], -1)

    @cached_property
    def rule(self) -> Column:
        """The rule at a node: its label over its children's labels, or over its word."""
        return combine(self.label, self.label[self.left], self.label[self.right], self.word)

    @cached_property
    def side(self) -> Column:
        """0 for a left child, 1 for a right child, 2 for an only child, 3 for a root."""
        nodes = np.arange(len(self.label))
        side = np.where(self.left[self.parent] == nodes, 0, 1)
        side[self.right[self.parent] == -1] = 2
        side[self.parent == -1] = 3
        return side.astype(np.int64)

    @cached_property
    def sibling(self) -> Column:
        """Node number of the sibling, -1 if there is none."""
        sisters = self.right[self.parent], self.left[self.parent]
        return np.select([self.side == 0, self.side == 1], sisters, -1)

    @cached_property
    def above(self) -> Column:
        """The rule above a node with the node's place in it."""
        rule = combine(self.label[self.parent], self.side, self.label, self.label[self.sibling])
        return np.where(self.parent < 0, -1, rule)

    @cached_property
    def head(self) -> Column:
        """Leaf of the head word."""
        return self.none if self._head is None else _closed(self._head)

    @cached_property
    def head_word(self) -> Column:
        """Class of the head word."""
        return self.word[self.head]

    @cached_property
    def outer_head(self) -> Column:
        """Leaf of the first head met on the way up that is not the node's own, -1 at the top."""
        if self._head is None:
            return self.none
        outer = self.none.copy()
        head = self.head
        pending = np.flatnonzero(self.parent >= 0)
        ancestor = self.parent[pending]
        while len(pending):
            differs = head[ancestor] != head[pending]
            outer[pending[differs]] = head[ancestor[differs]]
            pending, ancestor = pending[~differs], self.parent[ancestor[~differs]]
            alive = ancestor >= 0
            pending, ancestor = pending[alive], ancestor[alive]
        return outer

    @cached_property
    def _leaf_at(self) -> tuple[Column, Column, Column]:
        """Leaf node per token (with -1 after the last), first token of each node's sentence, and its length."""
        bank = self.treebank
        leaves = np.flatnonzero(bank.word >= 0)
        tree_of_node = np.repeat(np.arange(bank.n_trees), np.diff(bank.tree_start))
        lengths = bank.lengths
        first_token = np.concatenate([[0], np.cumsum(lengths)])[:-1]
        order = np.empty(len(leaves), np.int64)
        order[first_token[tree_of_node[leaves]] + bank.start[leaves]] = leaves
        first = np.append(first_token[tree_of_node], 0)
        return np.append(order, -1), first, np.append(lengths[tree_of_node], 0)

    def leaf_near(self, column: Column, offset: int) -> Column:
        """Leaf at `offset` from the sentence position in `column`, -1 outside the sentence."""
        order, first, length = self._leaf_at
        position = column + offset
        inside = (position >= 0) & (position < length) & (column >= 0)
        return np.where(inside, order[np.where(inside, first + position, -1)], -1)

    @cached_property
    def edges(self) -> tuple[Column, Column]:
        """First and last leaf under a node."""
        return self.leaf_near(self.start, 0), self.leaf_near(self.end, -1)

    @cached_property
    def neighbours(self) -> tuple[Column, Column]:
        """Leaf just left and just right of a node."""
        return self.leaf_near(self.start, -1), self.leaf_near(self.end, 0)


def _closed(column: npt.NDArray[np.int32]) -> Column:
    return np.append(column, -1).astype(np.int64)


def register_template(side: Literal["inside", "outside"], name: str, template: Template) -> None:
    """Add a feature template; ``Features(templates="rich+NAME")`` adds it to those of a set.

    Parameters
    ----------
    name : str
        New on its side.
    template : callable
        It takes a :class:`NodeView` and returns int64 of shape (n_nodes + 1,), -1 where it has no value.

    Examples
    --------
    >>> register_template("inside", "width-is-even", lambda view: (view.end - view.start) % 2)
    >>> "width-is-even" in INSIDE
    True
    >>> _ = INSIDE.pop("width-is-even")
    """
    table = INSIDE if side == "inside" else OUTSIDE
    if name in table:
        raise OptionError(f"there is already an {side} template called {name!r}; choose another name")
    table[name] = template


def _if_any(value: Column, condition: npt.NDArray[np.bool_]) -> Column:
    return np.where(condition, value, -1)


INSIDE: dict[str, Template] = {
    "word": lambda v: v.word,
    "left": lambda v: v.label[v.left],
    "right": lambda v: v.label[v.right],
    "rule": lambda v: v.rule,
    "rule-left-rule": lambda v: _if_any(combine(v.rule, v.rule[v.left]), v.left >= 0),
    "rule-right-rule": lambda v: _if_any(combine(v.rule, v.rule[v.right]), v.right >= 0),
    "head-tag": lambda v: v.label[v.head],
    "width": lambda v: v.end - v.start,
    "head-word": lambda v: v.head_word,
    "first-word": lambda v: v.word[v.edges[0]],
    "last-word": lambda v: v.word[v.edges[1]],
    "edge-tags": lambda v: combine(v.label[v.edges[0]], v.label[v.edges[1]]),
}

OUTSIDE: dict[str, Template] = {
    "above": lambda v: v.above,
    "above-two": lambda v: _if_any(combine(v.above, v.above[v.parent]), v.parent >= 0),
    "above-three": lambda v: _if_any(
        combine(v.above, v.above[v.parent], v.above[v.parent[v.parent]]), v.parent >= 0
    ),
    "parent": lambda v: v.label[v.parent],
    "parent-grandparent": lambda v: combine(v.label[v.parent], v.label[v.parent[v.parent]]),
    "grandparent": lambda v: v.label[v.parent[v.parent]],
    "rule-above": lambda v: _if_any(v.rule[v.parent], v.parent >= 0),
    "rule-two-above": lambda v: _if_any(v.rule[v.parent[v.parent]], v.parent[v.parent] >= 0),
    "outer-head-tag": lambda v: v.label[v.outer_head],
    "words-left": lambda v: v.start,
    "words-right": lambda v: v._leaf_at[2] - v.end,
    "outer-head-word": lambda v: v.word[v.outer_head],
    "sibling-head-word": lambda v: v.head_word[v.sibling],
    "tag-before": lambda v: v.label[v.neighbours[0]],
    "tag-after": lambda v: v.label[v.neighbours[1]],
    "word-before": lambda v: v.word[v.neighbours[0]],
    "word-after": lambda v: v.word[v.neighbours[1]],
    "sibling-rule": lambda v: v.rule[v.sibling],
}

_PAPER_IN = "word left right rule rule-left-rule rule-right-rule head-tag width"
_PAPER_OUT = "above above-two above-three parent parent-grandparent outer-head-tag words-left words-right"
_RICH_IN = "head-word first-word last-word edge-tags"
_RICH_OUT = "outer-head-word sibling-head-word tag-before tag-after word-before word-after sibling-rule"

SETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    name: (tuple(inside.split()), tuple(outside.split()))
    for name, inside, outside in (
        ("thesis", "rule left right width", "parent grandparent rule-above rule-two-above"),
        ("plain", "rule left right width", "parent parent-grandparent above above-two"),
        ("paper", _PAPER_IN, _PAPER_OUT),
        ("rich", f"{_PAPER_IN} {_RICH_IN}", f"{_PAPER_OUT} {_RICH_OUT}"),
    )
}
"""Named feature sets: inside and outside template names."""


def template_names(templates: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the inside and the outside templates of a set and of single templates behind it, all joined by ``+``."""
    name, *added = templates.split("+")
    sides = zip(SETS[name], (INSIDE, OUTSIDE), strict=True)
    inside, outside = (
        (*names, *(other for other in added if other in table and other not in names))
        for names, table in sides
    )
    return inside, outside


def head_leaves(bank: Treebank, rules: HeadRules) -> npt.NDArray[np.int32]:
    """Return the number of the leaf that is the head of each node.

    An intermediate node has the head that its label's rules find among the children it has so far.
    """
    inner = np.array([is_intermediate(name) for name in bank.symbols])
    inner[bank.n_phrases :] = False
    code, length = np.zeros(len(bank.label), np.int64), np.zeros(len(bank.label), np.int32)
    hash_children(bank.label, bank.left, bank.right, inner, code, length)
    phrases = np.flatnonzero(bank.word < 0)
    _, representative, number = np.unique(
        combine(code[phrases], bank.label[phrases]), return_index=True, return_inverse=True
    )
    top, bottom = zip(*map(_ends, bank.symbols), strict=True)
    chosen = np.zeros(len(representative), np.int32)
    for row, node in enumerate(phrases[representative]):
        children = [top[bank.label[child]] for child in _children(bank, inner, int(node))]
        chosen[row] = rules.find(bottom[bank.label[node]], children)
    index = np.zeros(len(bank.label), np.int32)
    index[phrases] = chosen[number]
    head = np.empty(len(bank.label), np.int32)
    follow_heads(bank.label, bank.left, bank.right, inner, length, index, head)
    return head


def _ends(name: str) -> tuple[str, str]:
    """Return the uppermost and the lowest category of a binarised label."""
    chain = split_chain(name.removeprefix("@").partition("[")[0])
    return chain[0], chain[-1]


def _children(bank: Treebank, inner: npt.NDArray[np.bool_], node: int) -> list[int]:
    """Return the children that `node` had before binarisation, or has so far."""
    children: list[int] = []
    stack = [int(child) for child in (bank.right[node], bank.left[node]) if child >= 0]
    while stack:
        child = stack.pop()
        if inner[bank.label[child]]:
            stack += [int(bank.right[child]), int(bank.left[child])]
        else:
            children.append(child)
    return children
