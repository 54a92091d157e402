r"""The immutable phrase-structure tree that every part of gramian passes around.

A node is a phrase (label and children), a preterminal (a tag over one word), or the empty tree
``Tree("")`` that stands for a failed parse. Every method is iterative, so that depth is limited by memory
and not by Python's stack.

A word holds the characters of the text: ``(`` and ``)``, which cannot stand in bracket text, are written
``-LRB-`` and ``-RRB-`` and read back. No token of a bracket file can hold a parenthesis, so this is a
bijection between the tokens of files and the words of trees: reading and writing changes nothing, and
comparing words compares tokens. Other Penn escapes (``\/``, ``\*``, ``-LCB-``) are left as they stand,
since ``/`` and ``{`` occur in files as well; :func:`gramian.trees.normalise` can undo them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from gramian.errors import MissingExtraError

if TYPE_CHECKING:
    import nltk

SPACE = " \t\n\r\f\v"
"""What separates tokens in bracket text. Other white space (no-break, ideographic) may be part of a word."""
_DEEPEST = 40  # levels of lines drawn; below them, lines start further right than a terminal is wide

Value = TypeVar("Value")

_ESCAPED_BRACKET = re.compile("-([LR])RB-")
_NOT_IN_LABEL = re.compile(rf"[{SPACE}()\0]")
_NOT_IN_WORD = re.compile(rf"[{SPACE}\0]")


def escape_word(word: str) -> str:
    """Return `word` as bracket text holds it.

    Examples
    --------
    >>> escape_word("f(x)")
    'f-LRB-x-RRB-'
    """
    if "(" in word or ")" in word:
        return word.replace("(", "-LRB-").replace(")", "-RRB-")
    return word


def unescape_word(token: str) -> str:
    """Return the word that `token` of a bracket file stands for; the inverse of :func:`escape_word`.

    Examples
    --------
    >>> unescape_word("-LRB-")
    '('
    """
    if "RB-" in token:
        return _ESCAPED_BRACKET.sub(lambda match: "(" if match[1] == "L" else ")", token)
    return token


class Tree:
    """A labelled ordered tree; immutable and hashable.

    Parameters
    ----------
    label : str
        Category of a phrase or tag of a word. Empty for the unlabelled outer bracket of Penn files.
    children : iterable of Tree
        Parts of a phrase, left to right; empty for a preterminal.
    word : str, optional
        The word of a preterminal.
    line : int, optional
        Line of the file on which the tree began, on the root of a tree that was read; not part of equality.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> tree.words
    ('the', 'dog', 'barks')
    >>> list(tree.spans(preterminals=False))
    [('S', 0, 3), ('NP', 0, 2), ('VP', 2, 3)]
    >>> tree == Tree("S", [Tree("NP", [Tree("DT", word="the"), Tree("NN", word="dog")]),
    ...                    Tree("VP", [Tree("VBZ", word="barks")])])
    True
    >>> len(tree), tree[0].label, [child.label for child in tree]
    (2, 'NP', ['NP', 'VP'])
    """

    __slots__ = ("_hash", "children", "label", "line", "word")

    label: str
    children: tuple[Tree, ...]
    word: str | None
    line: int | None
    _hash: int | None

    def __init__(
        self, label: str, children: Iterable[Tree] = (), word: str | None = None, *, line: int | None = None
    ) -> None:
        if isinstance(children, Tree):
            raise TypeError("children are several Trees, not one; pass a single child as [tree]")
        children = tuple(children)
        _check(label, children, word)
        if word is not None and "RB" in word:
            word = unescape_word(escape_word(word))
        _fill(self, label, children, word, line)

    @classmethod
    def parse(cls, text: str) -> Tree:
        """Read exactly one tree from bracket text; :class:`gramian.trees.BracketError` if it is not one well-formed tree."""
        from gramian.trees.brackets import parse_one

        return parse_one(text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Tree is immutable; build a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Tree is immutable; build a new one")

    # -- what it is made of ----------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of children."""
        return len(self.children)

    def __iter__(self) -> Iterator[Tree]:
        """Iterate over the children."""
        return iter(self.children)

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tree, ...]: ...
    def __getitem__(self, index: int | slice) -> Tree | tuple[Tree, ...]:
        """Return a child, or several."""
        return self.children[index]

    def __bool__(self) -> bool:
        """Return True, although a preterminal has no children."""
        return True

    @property
    def is_preterminal(self) -> bool:
        """Whether this is a tag over a word."""
        return self.word is not None

    @property
    def is_empty(self) -> bool:
        """Whether this is ``Tree("")``, which stands for a failed parse; read from ``()``."""
        return self.word is None and not self.children

    def subtrees(self) -> Iterator[Tree]:
        """Yield every node, parents before children and left before right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.children:
                stack.extend(node.children[::-1])

    def leaves(self) -> Iterator[Tree]:
        """Yield the preterminals, left to right."""
        return (node for node in self.subtrees() if node.word is not None)

    @property
    def words(self) -> tuple[str, ...]:
        """The words, left to right."""
        return tuple([node.word for node in self.subtrees() if node.word is not None])

    @property
    def tags(self) -> tuple[str, ...]:
        """The labels of the preterminals, left to right."""
        return tuple([node.label for node in self.subtrees() if node.word is not None])

    def spans(self, preterminals: bool = True) -> Iterator[tuple[str, int, int]]:
        """Yield ``(label, start, end)`` of every node, tags only if `preterminals`, in the order of :meth:`subtrees`, words from 0."""
        nodes = list(self.subtrees())
        widths = bottom_up(nodes, lambda node, below: sum(below) if node.word is None else 1)
        start = 0
        for node, width in zip(nodes, widths, strict=True):
            if node.word is not None:
                if preterminals:
                    yield node.label, start, start + 1
                start += 1
            else:
                yield node.label, start, start + width

    @property
    def height(self) -> int:
        """Number of nodes on the longest way down; 1 for a preterminal."""
        height = 0
        layer: list[Tree] = [self]
        while layer:
            height += 1
            layer = [child for node in layer for child in node.children]
        return height

    # -- text ------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        """Return the tree on one line of bracket text."""
        out: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                out.append(")")
            elif node.word is not None:
                out.append(f" ({node.label} {escape_word(node.word)})")
            else:
                out.append(f" ({node.label}")
                stack.append(None)
                stack.extend(node.children[::-1])
        return "".join(out)[1:]

    def __repr__(self) -> str:
        text = str(self)
        return f"Tree.parse({text if len(text) <= 80 else text[:77] + '...'!r})"

    def to_nltk(self) -> nltk.Tree:
        """Return the tree as an ``nltk.Tree`` with words escaped as in bracket files; :func:`gramian.interop.nltk.from_nltk` undoes it.

        Examples
        --------
        >>> Tree.parse("(S (NP (PRP I)) (VP (VBP sleep)))").to_nltk().leaves()
        ['I', 'sleep']
        """
        try:
            from nltk.tree import Tree as NltkTree
        except ImportError:
            raise MissingExtraError("NLTK", "nltk", "the conversion to nltk.Tree") from None

        def converted(node: Tree, below: list[Any]) -> nltk.Tree:
            return NltkTree(node.label, below if node.word is None else [escape_word(node.word)])

        return bottom_up(list(self.subtrees()), converted)[0]

    def pretty(self, width: int = 80) -> str:
        """Return indented bracket text: what fits on the rest of a line stays on it.

        Examples
        --------
        >>> print(Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))").pretty(width=30))
        (S
          (NP (DT the) (NN dog))
          (VP (VBZ barks)))
        """

        def length(node: Tree, below: list[int]) -> int:
            inside = sum(below) + len(below) - 1 if node.word is None else len(escape_word(node.word))
            return len(node.label) + 3 + inside

        fits = bottom_up(list(self.subtrees()), length)
        lines: list[str] = []
        # Items are (tree, depth, closing brackets that follow it); its length is read in the same order.
        stack = [(self, 0, 0)]
        position = 0
        while stack:
            node, depth, closing = stack.pop()
            indent = "  " * min(depth, width // 4)
            if not node.children or len(indent) + fits[position] + closing <= width:
                lines.append(f"{indent}{node}{')' * closing}")
                position += sum(1 for _ in node.subtrees())
                continue
            lines.append(f"{indent}({node.label}")
            position += 1
            last = len(node.children) - 1
            stack.extend(
                (child, depth + 1, closing + 1 if index == last else 0)
                for index, child in reversed(list(enumerate(node.children)))
            )
        return "\n".join(lines)

    def outline(self) -> str:
        """Return a drawing with line characters, for terminals: one word a line; an only child stands beside its parent."""
        lines: list[str] = []
        # Items are (node, lines left of it, branch that leads to it).
        stack = [(self, "", "")]
        while stack:
            node, indent, branch = stack.pop()
            line = indent[-4 * _DEEPEST :] + branch + (node.label or "·")
            while len(node.children) == 1:
                node = node.children[0]
                line += f" ── {node.label or '·'}"
            lines.append(line if node.word is None else f"{line}  {node.word}")
            child_indent = indent + {"": "", "├── ": "│   ", "└── ": "    "}[branch]
            last = len(node.children) - 1
            stack.extend(
                (child, child_indent, "└── " if index == last else "├── ")
                for index, child in reversed(list(enumerate(node.children)))
            )
        return "\n".join(lines)

    def svg(self, **options: Any) -> str:
        """Return a drawing as SVG text; see :func:`gramian.trees.svg.draw_svg` for the options."""
        from gramian.trees.svg import draw_svg

        return draw_svg(self, **options)

    def _repr_svg_(self) -> str:
        return self.svg()

    # -- equality, hashing, copies ---------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Tree):
            return NotImplemented
        pairs = [(self, other)]
        while pairs:
            first, second = pairs.pop()
            if first is second:
                continue
            if (
                first.label != second.label
                or first.word != second.word
                or len(first.children) != len(second.children)
            ):
                return False
            pairs.extend(zip(first.children, second.children, strict=True))
        return True

    def __hash__(self) -> int:
        if self._hash is None:
            # Reversed preorder meets children before their parents.
            for node in reversed(list(self.subtrees())):
                if node._hash is None:
                    below = tuple([child._hash for child in node.children])
                    _set_hash(node, hash((node.label, node.word, below)))
        assert self._hash is not None
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_text, (str(self), self.line)

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tree:
        return self


_set_label = vars(Tree)["label"].__set__
_set_children = vars(Tree)["children"].__set__
_set_word = vars(Tree)["word"].__set__
_set_line = vars(Tree)["line"].__set__
_set_hash = vars(Tree)["_hash"].__set__
_new = object.__new__


def _fill(node: Tree, label: str, children: tuple[Tree, ...], word: str | None, line: int | None) -> Tree:
    _set_label(node, label)
    _set_children(node, children)
    _set_word(node, word)
    _set_line(node, line)
    _set_hash(node, None)
    return node


def phrase(label: str, children: tuple[Tree, ...], line: int | None = None) -> Tree:
    """Build a phrase without checks, for callers whose labels and children come from valid trees."""
    return _fill(_new(Tree), label, children, None, line)


def preterminal(label: str, word: str, line: int | None = None) -> Tree:
    """Build a preterminal without checks, for callers whose label and word come from valid trees."""
    return _fill(_new(Tree), label, (), word, line)


def bottom_up(nodes: Sequence[Tree], combine: Callable[[Tree, list[Value]], Value]) -> list[Value]:
    """Return the value of each node, in the order of :meth:`Tree.subtrees`: `combine` of the node and the values of its children."""
    pending: list[Value] = []  # when a node is met, its children are the last, the leftmost on top
    values: list[Value] = []
    for node in reversed(nodes):
        below = []
        if count := len(node.children):
            below = pending[: -count - 1 : -1]
            del pending[-count:]
        value = combine(node, below)
        values.append(value)
        pending.append(value)
    return values[::-1]


def _check(label: str, children: tuple[Tree, ...], word: str | None) -> None:
    if not isinstance(label, str) or _NOT_IN_LABEL.search(label):
        raise ValueError(f"a label is text without white space and brackets, not {label!r}")
    if word is not None:
        if children:
            raise ValueError("a node has children or a word, not both")
        if not label:
            raise ValueError(f"the word {word!r} needs a tag")
        if not word or _NOT_IN_WORD.search(word):
            raise ValueError(f"a word is text without white space, not {word!r}")
    elif not children and label:
        raise ValueError(f"{label!r} has neither children nor a word")
    for child in children:
        if not isinstance(child, Tree):
            raise TypeError(f"children are Trees, not {type(child).__name__}; pass a word as word=")


def with_words(tree: Tree, words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
    """Return a tree with other words, and other tags if they are given."""
    # nodes come from the right
    remaining = zip(words[::-1], (tree.tags if tags is None else tags)[::-1], strict=True)

    def respelt(node: Tree, children: list[Tree]) -> Tree:
        if node.word is None:
            return phrase(node.label, tuple(children), node.line)
        word, tag = next(remaining)
        return preterminal(tag, word, node.line)

    return bottom_up(list(tree.subtrees()), respelt)[0]


def with_line(tree: Tree, line: int | None) -> Tree:
    """Return `tree` with another line number."""
    if tree.line == line:
        return tree
    return _fill(_new(Tree), tree.label, tree.children, tree.word, line)


def _from_text(text: str, line: int | None) -> Tree:
    return with_line(Tree.parse(text), line)
