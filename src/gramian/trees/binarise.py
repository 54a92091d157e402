"""Markovised binarisation of trees, and its exact inverse (the preprocessing of Klein and Manning 2003).

Every node of a binarised tree has two children, or is a preterminal, or is a phrase over one preterminal
(which `collapse_tags` removes as well). For any tree and any options ``debinarise(binarise(tree)) == tree``;
how labels are composed is described in :mod:`gramian.trees.labels`.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from gramian.errors import InputError, OptionError
from gramian.trees.labels import (
    annotated_label,
    chain_label,
    escape_label,
    intermediate_label,
    is_intermediate,
    split_chain,
)
from gramian.trees.tree import Tree, bottom_up, phrase, preterminal, with_line

Direction: TypeAlias = Literal["right", "left", "head"]
HeadFinder: TypeAlias = Callable[[Tree], int]


def binarise(
    tree: Tree,
    *,
    direction: Direction = "right",
    horizontal: int | None = 0,
    vertical: int = 1,
    heads: HeadFinder | None = None,
    collapse_tags: bool = False,
) -> Tree:
    """Return `tree` with at most two children a node and its unary chains collapsed; :func:`debinarise` is the inverse.

    Parameters
    ----------
    tree : Tree
        Any tree; an unlabelled outer bracket counts as a label like others.
    direction : {"right", "left", "head"}
        ``"right"`` splits children off from the right, so that the chain of intermediate nodes leans to the
        left: X -> @X C, @X -> A B. ``"left"`` is its mirror image. ``"head"`` splits off what stands
        right of the head, from the right, then what stands left of it, from the left: the head is deepest.
    horizontal : int or None
        How many of the siblings split off last an intermediate label remembers; None is all of them.
        A sibling is remembered by its label in `tree`.
    vertical : int
        1 is no vertical context; 2 adds the parent's label to every phrase below the root, 3 the
        grandparent's too. A chain has the context of its top node.
    heads : callable, optional
        Returns the index of the head among the children of a phrase, such as
        :class:`~gramian.trees.HeadRules`; needed by ``direction="head"``.
    collapse_tags : bool
        Whether a chain that ends in a preterminal is joined into it: ``NP|NN`` instead of NP over NN.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (DT the) (JJ old) (NN dog)) (VP (VBZ barks)))")
    >>> print(binarise(tree))
    (S (NP (@NP (DT the) (JJ old)) (NN dog)) (VP (VBZ barks)))
    >>> print(binarise(tree, direction="left", horizontal=1, vertical=2, collapse_tags=True))
    (S (NP^S (DT the) (@NP[DT]^S (JJ old) (NN dog))) (VP|VBZ barks))
    """
    if direction not in ("right", "left", "head"):
        raise OptionError(f"direction is 'right', 'left' or 'head', not {direction!r}")
    if horizontal is not None and horizontal < 0:
        raise OptionError(f"horizontal is 0, 1, 2, ... or None for all, not {horizontal!r}")
    if vertical < 1:
        raise OptionError(f"vertical is 1 or more, not {vertical!r}")
    if direction == "head" and heads is None:
        raise OptionError("direction 'head' needs head rules; try: heads=HeadRules.collins()")

    # Bottom-up: when a node is met, its children are the last results, the leftmost on top.
    built: list[Tree] = []
    for node, labels, ancestors in reversed(_collapsed(tree, vertical, collapse_tags)):
        label = chain_label(labels)
        if node.word is not None:
            built.append(preterminal(label, node.word))
            continue
        if not node.children:
            built.append(node)
            continue
        count = len(node.children)
        children = built[: -count - 1 : -1]
        del built[-count:]
        label = annotated_label(label, ancestors)
        if count <= 2:
            built.append(phrase(label, tuple(children)))
            continue
        head = heads(node) if direction == "head" and heads is not None else 0
        outer = _outermost_first(count, direction, head)
        siblings = [escape_label(node.children[index].label) for index in outer] if horizontal != 0 else []
        built.append(_nest(children, outer, label, labels[-1], ancestors, siblings, horizontal))
    return with_line(built[0], tree.line)


def _collapsed(
    tree: Tree, vertical: int, collapse_tags: bool
) -> list[tuple[Tree, list[str], tuple[str, ...]]]:
    """List the nodes, top-down, whose unary chains are collapsed: the lowest node, the labels of the chain, and its vertical context."""
    order: list[tuple[Tree, list[str], tuple[str, ...]]] = []
    stack: list[tuple[Tree, tuple[str, ...]]] = [(tree, ())]
    while stack:
        node, ancestors = stack.pop()
        labels = [escape_label(node.label)]
        while len(node.children) == 1 and (
            node.children[0].children or (collapse_tags and node.children[0].word is not None)
        ):
            node = node.children[0]
            labels.append(escape_label(node.label))
        order.append((node, labels, ancestors))
        if node.children:
            below = (*labels[::-1], *ancestors)[: vertical - 1] if vertical > 1 else ()
            stack.extend([(child, below) for child in node.children[::-1]])
    return order


def _outermost_first(count: int, direction: Direction, head: int) -> list[int]:
    """List the children to split off, from the top node down; two are left for the lowest node."""
    if direction == "right":
        return list(range(count - 1, 1, -1))
    if direction == "left":
        return list(range(count - 2))
    return [*range(count - 1, head, -1), *range(head)][: count - 2]


def _nest(
    children: list[Tree],
    outer: list[int],
    label: str,
    parent: str,
    ancestors: tuple[str, ...],
    siblings: list[str],
    horizontal: int | None,
) -> Tree:
    """Build the chain of intermediate nodes of one phrase, from the inside out."""
    bare = annotated_label(intermediate_label(parent), ancestors)

    def name(depth: int) -> str:
        if horizontal == 0:
            return bare
        first = 0 if horizontal is None else max(0, depth - horizontal)
        return annotated_label(intermediate_label(parent, siblings[first:depth]), ancestors)

    split_off = set(outer)
    left, right = (index for index in range(len(children)) if index not in split_off)
    inner = phrase(name(len(outer)), (children[left], children[right]))
    for depth in range(len(outer) - 1, -1, -1):
        index = outer[depth]
        pair = (children[index], inner) if index < left else (inner, children[index])
        inner = phrase(name(depth) if depth else label, pair)
    return inner


def debinarise(tree: Tree) -> Tree:
    """Return the tree that :func:`binarise` was given, whatever its options were.

    Examples
    --------
    >>> print(debinarise(Tree.parse("(S (NP^S (DT the) (@NP[DT]^S (JJ old) (NN dog))) (VP|VBZ barks))")))
    (S (NP (DT the) (JJ old) (NN dog)) (VP (VBZ barks)))
    """

    def original(node: Tree, below: list[Any]) -> Any:
        """Return the node as it was, or what is below an intermediate one, which the phrase above will take as it comes."""
        if below and is_intermediate(node.label):
            return below
        if node.is_empty:
            return node
        children = tuple(_flattened(below))
        labels = split_chain(node.label)
        last = labels.pop()
        result = phrase(last, children) if node.word is None else preterminal(last, node.word)
        while labels:
            result = phrase(labels.pop(), (result,))
        return result

    if is_intermediate(tree.label):
        raise InputError(
            f"the root '{tree.label}' is an intermediate node",
            line=tree.line,
            hint="pass a complete binarised tree",
        )
    return with_line(bottom_up(list(tree.subtrees()), original)[0], tree.line)


def _flattened(parts: list[Any]) -> Iterator[Tree]:
    """Yield the trees in lists of trees and of lists, however deep."""
    stack = parts[::-1]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += item[::-1]
        else:
            yield item
