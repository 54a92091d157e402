"""Trees that can be changed in place, with words as nodes of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gramian.errors import InputError
from gramian.trees import Tree, escape_word, unescape_word
from gramian.trees.tree import phrase, preterminal, with_line


class MutableNode:
    """A node with parent and children; a word is a node without children."""

    __slots__ = ("children", "is_word", "label", "parent")

    def __init__(self, label: str, is_word: bool = False) -> None:
        self.label = label
        self.is_word = is_word
        self.parent: MutableNode | None = None
        self.children: list[MutableNode] = []

    def add(self, index: int, node: MutableNode) -> None:
        """Insert a node that has no parent among the children."""
        node.parent = self
        self.children.insert(index, node)

    def adopt(self, nodes: Sequence[MutableNode]) -> None:
        """Append nodes to the children; they leave their parents."""
        for node in list(nodes):
            node.detach()
            self.add(len(self.children), node)

    def index(self) -> int:
        """Return the position among the siblings."""
        assert self.parent is not None
        return next(index for index, node in enumerate(self.parent.children) if node is self)

    def detach(self) -> None:
        """Remove the node, with all below it, from its parent."""
        if self.parent is not None:
            del self.parent.children[self.index()]
            self.parent = None

    def replace_by(self, nodes: Sequence[MutableNode]) -> None:
        """Put nodes in the place of this one."""
        parent, index = self.parent, self.index()
        assert parent is not None
        self.detach()
        for offset, node in enumerate(nodes):
            node.detach()
            parent.add(index + offset, node)

    def nodes(self) -> Iterator[MutableNode]:
        """Yield all nodes, parents before children and left before right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += node.children[::-1]

    def is_below(self, other: MutableNode) -> bool:
        """Return whether `other` is this node or an ancestor."""
        node: MutableNode | None = self
        while node is not None and node is not other:
            node = node.parent
        return node is other

    def copy(self) -> MutableNode:
        """Return a copy of the node and all below it."""
        holder = MutableNode("")
        stack = [(self, holder)]
        while stack:
            node, parent = stack.pop()
            duplicate = MutableNode(node.label, node.is_word)
            parent.adopt([duplicate])
            stack += [(child, duplicate) for child in node.children[::-1]]
        duplicate = holder.children[0]
        duplicate.detach()
        return duplicate


def thaw(tree: Tree) -> list[MutableNode]:
    """Return the nodes of a mutable copy of a tree, numbered as matches of patterns number them; the root is below a holder."""
    holder = MutableNode("")
    numbered = []
    stack = [(tree, holder)]
    while stack:
        tree, parent = stack.pop()
        node = MutableNode(tree.label)
        parent.adopt([node])
        numbered.append(node)
        if tree.word is not None:
            word = MutableNode(escape_word(tree.word), is_word=True)
            node.adopt([word])
            numbered.append(word)
        stack += [(child, node) for child in tree.children[::-1]]
    return numbered


def freeze(root: MutableNode, line: int | None) -> Tree:
    """Return the immutable tree; an InputError names a node that a tree cannot have."""
    trees: list[Tree] = []
    for node in reversed(list(root.nodes())):
        words = [child for child in node.children if child.is_word]
        if node.is_word:
            continue
        if words and len(node.children) > 1:
            raise InputError(f"the tag {node.label} gets another child beside its word", line=line)
        if words:
            trees.append(preterminal(node.label, unescape_word(words[0].label)))
        elif node.children:
            children = tuple(trees[: -len(node.children) - 1 : -1])
            del trees[-len(node.children) :]
            trees.append(phrase(node.label, children))
        else:
            problem = f"{node.label} is left without children"
            raise InputError(problem, line=line, hint="use prune instead of delete")
    return with_line(trees[0], line)
