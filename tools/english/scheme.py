"""One scheme for the trees of CRAFT and GUM, and copies of trees as people also write them.

CRAFT marks noun groups inside noun phrases (`NML`), GUM and the Penn Treebank before 2009 do not: such nodes are spliced out. CRAFT's
`TITLE`, `HEADING` and `CAPTION` are places in an article, not phrases: what stands in them becomes a plain root. GUM calls a wh-phrase `NP`
where it is a subject, and interjections `ADVP` at times: what is learnt from has Penn's labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from gramian.trees import Tree, normalise, read_trees
from gramian.trees.tree import bottom_up, phrase, preterminal

_NOUN_GROUP = "NML"
_PLACES = ("TITLE", "HEADING", "CAPTION")
_WH_TAGS = ("WDT", "WP", "WP$")
_WH_PARENTS = ("SBAR", "SBARQ", "WHNP")
_STOPS = (".", ":")  # tags of what may stand at the end of a sentence


def gold_trees(path: Path) -> list[Tree]:
    """Read a treebank in the scheme of the English model."""
    trees = (normalise(tree).tree for tree in read_trees(path, on_join=lambda _: None))
    return [plain(tree) for tree in trees if not tree.is_empty]


def plain(tree: Tree) -> Tree:
    """Return a tree without noun groups, under a plain root.

    Examples
    --------
    >>> str(plain(Tree.parse("(TITLE (NP (NML (NN stem) (NN cell)) (NNS lines)))")))
    '(NP (NN stem) (NN cell) (NNS lines))'
    """

    def make(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        if node.is_preterminal:
            return [node]
        children = [child for part in below for child in part]
        return children if node.label == _NOUN_GROUP else [phrase(node.label, tuple(children))]

    parts = bottom_up(list(tree.subtrees()), make)[0]
    root = parts[0] if len(parts) == 1 else phrase("FRAG", tuple(parts))
    while root.label in _PLACES:
        single = len(root) == 1 and not root[0].is_preterminal
        root = root[0] if single else phrase("FRAG", tuple(root))
    return root


def penn_labels(tree: Tree) -> Tree:
    """Return a tree whose wh-phrases and interjections are called as in the Penn Treebank.

    Examples
    --------
    >>> str(penn_labels(Tree.parse("(SBAR (NP (WP who)) (S (VP (VBZ knows))))")))
    '(SBAR (WHNP (WP who)) (S (VP (VBZ knows))))'
    >>> str(penn_labels(Tree.parse("(S (ADVP (UH please)) (VP (VB go)))")))
    '(S (INTJ (UH please)) (VP (VB go)))'
    """

    def make(node: Tree, below: list[Tree]) -> Tree:
        if node.is_preterminal:
            return node
        if node.label == "ADVP" and all(child.label == "UH" for child in below):
            return phrase("INTJ", tuple(below))
        if node.label in _WH_PARENTS:
            below = [
                phrase("WHNP", tuple(child)) if child.label == "NP" and child[0].label in _WH_TAGS else child
                for child in below
            ]
        return phrase(node.label, tuple(below))

    return bottom_up(list(tree.subtrees()), make)[0]


def lower(tree: Tree) -> Tree:
    """Return a tree whose words are all in lower case."""
    return _respelt(tree, str.lower)


def upper(tree: Tree) -> Tree:
    """Return a tree whose words are all in capitals."""
    return _respelt(tree, str.upper)


def unstopped(tree: Tree) -> Tree:
    """Return a tree without the mark at its end.

    Examples
    --------
    >>> str(unstopped(Tree.parse("(S (NP (PRP it)) (VP (VBZ rains)) (. .))")))
    '(S (NP (PRP it)) (VP (VBZ rains)))'
    """
    if len(tree) > 1 and tree[-1].is_preterminal and tree[-1].label in _STOPS:
        return phrase(tree.label, tuple(tree)[:-1])
    return tree


def curly(tree: Tree) -> Tree:
    """Return a tree with the other apostrophe."""
    return _respelt(tree, lambda word: word.replace("'", "\u2019") if word != "''" else word)


VARIANTS: dict[Callable[[Tree], Tree], float] = {lower: 0.10, upper: 0.03, unstopped: 0.15, curly: 0.10}
"""What else people write, and for which share of the trees a copy is made."""


def variants(trees: Iterable[Tree], random_state: int = 0) -> Iterator[Tree]:
    """Yield changed copies of some trees."""
    rng = np.random.default_rng(random_state)
    for tree in trees:
        for change, share in VARIANTS.items():
            if rng.random() < share and (copy := change(tree)) != tree:
                yield copy


def _respelt(tree: Tree, change: Callable[[str], str]) -> Tree:
    def make(node: Tree, below: list[Tree]) -> Tree:
        if node.is_preterminal:
            return preterminal(node.label, change(node.word or ""))
        return phrase(node.label, tuple(below))

    return bottom_up(list(tree.subtrees()), make)[0]
