"""Trees of NLTK as trees of gramian; :meth:`gramian.trees.Tree.to_nltk` is the inverse.

NLTK keeps words as bracket files write them (``-LRB-``); the conversion escapes and unescapes them, so that
``nltk.Tree.fromstring(str(tree)) == tree.to_nltk()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gramian.trees.tree import Tree

if TYPE_CHECKING:
    import nltk


def from_nltk(tree: nltk.Tree) -> Tree:
    """Return an ``nltk.Tree`` as a :class:`~gramian.trees.Tree`.

    Raises
    ------
    ValueError
        If a word does not stand alone under a tag, or a label is not text.

    Examples
    --------
    >>> import nltk
    >>> print(from_nltk(nltk.Tree("NP", [nltk.Tree("DT", ["the"]), nltk.Tree("NN", ["dog"])])))
    (NP (DT the) (NN dog))
    """
    order: list[Any] = []
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        order.append(node)
        if not isinstance(node, str):
            stack.extend(reversed(list(node)))
    built: list[Tree | str] = []
    for node in reversed(order):
        if isinstance(node, str):
            built.append(node)
            continue
        count = len(node)
        children = built[: -count - 1 : -1] if count else []
        del built[len(built) - count :]
        first = children[0] if children else None
        if isinstance(first, str) and count == 1:
            built.append(Tree(node.label(), word=first))
            continue
        if any(isinstance(child, str) for child in children):
            words = [child for child in children if isinstance(child, str)]
            raise ValueError(f"the word {words[0]!r} below {node.label()!r} needs its own tag")
        built.append(Tree(node.label(), [child for child in children if isinstance(child, Tree)]))
    result = built[0]
    if isinstance(result, str):
        raise ValueError("a word is not a tree")
    return result
