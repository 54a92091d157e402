"""One annotation scheme for the trees of CRAFT, GUM and MASC, and copies of trees as people also write them.

CRAFT and parts of MASC mark noun groups inside noun phrases (`NML`), GUM and the Penn Treebank before 2009 do not: such nodes are spliced
out, as are MASC's `EDITED` (words that a speaker takes back), which GUM does not mark. CRAFT's `TITLE`, `HEADING` and `CAPTION` are
places in an article, not phrases: their content becomes a plain root. Marks of transcribers (`CODE`, `SU`) are not words and are removed.
All four treebanks split hyphenated words (`HYPH`) except newswire, where both forms occur. GUM calls a wh-phrase `NP` where it is a
subject, and interjections `ADVP` at times: models learn Penn's labels.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from gramian.trees import Tree, normalise, read_trees
from gramian.trees.tree import bottom_up, phrase, preterminal

_SPLICED = ("NML", "EDITED", "ROOT")
_PLACES = ("TITLE", "HEADING", "CAPTION", "CIT")
_MARKS = ("CODE", "SU")
_TAGS = {
    "NFP": ":",
    "-LSB-": "-LRB-",
    "-RSB-": "-RRB-",
}  # tags of few treebanks, and Penn's of the same tokens
_WH_TAGS = ("WDT", "WP", "WP$")
_WH_PARENTS = ("SBAR", "SBARQ", "WHNP")
_SMALL = ("IN", "TO", "CC", "POS")  # tags of what headlines write small
_STOPS = (".", ":")  # tags of what may stand at the end of a sentence


def gold_trees(path: Path) -> list[Tree]:
    """Read a treebank in the scheme of the English model."""
    trees = (normalise(tree).tree for tree in read_trees(path, on_join=lambda _: None))
    return [plain(tree) for tree in trees if not set(tree.tags) <= set(_MARKS)]


def plain(tree: Tree) -> Tree:
    """Return a tree without noun groups, edited nodes and transcribers' marks, under a plain root.

    Examples
    --------
    >>> str(plain(Tree.parse("(TITLE (NP (NML (NN stem) (NN cell)) (NNS lines)))")))
    '(NP (NN stem) (NN cell) (NNS lines))'
    >>> str(plain(Tree.parse("(S (EDITED (NP (PRP we)) (CODE <x>)) (NP (PRP I)) (VP (VBP agree)) (NFP ...) (SU /))")))
    '(S (NP (PRP we)) (NP (PRP I)) (VP (VBP agree)) (: ...))'
    """

    def make(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        if node.is_preterminal:
            tag = _TAGS.get(node.label, node.label)
            return [] if tag in _MARKS else [preterminal(tag, node.word or "")]
        children = [child for part in below for child in part]
        return children if node.label in _SPLICED or not children else [phrase(node.label, tuple(children))]

    parts = bottom_up(list(tree.subtrees()), make)[0]
    root = parts[0] if len(parts) == 1 else phrase("FRAG", tuple(parts))
    while root.label in _PLACES:
        single = len(root) == 1 and not root[0].is_preterminal
        root = root[0] if single else phrase("FRAG", tuple(root))
    return root


def penn_labels(tree: Tree) -> Tree:
    """Return a tree whose wh-phrases, questions and interjections are as in the Penn Treebank.

    Examples
    --------
    >>> str(penn_labels(Tree.parse("(SBAR (NP (WP who)) (S (VP (VBZ knows))))")))
    '(SBAR (WHNP (WP who)) (S (VP (VBZ knows))))'
    >>> str(penn_labels(Tree.parse("(S (ADVP (UH please)) (VP (VB go)))")))
    '(S (INTJ (UH please)) (VP (VB go)))'
    >>> str(penn_labels(Tree.parse("(SBARQ (WHNP (WRB how) (JJ many)) (VP (VBD came)))")))
    '(SBARQ (WHNP (WHADJP (WRB how) (JJ many))) (SQ (VP (VBD came))))'
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
        if node.label in ("SBAR", "SBARQ"):
            below = [phrase("WHADVP", (child,)) if child.label == "WRB" else child for child in below]
        if node.label == "WHNP" and [child.label for child in below[:2]] == ["WRB", "JJ"]:
            below = [phrase("WHADJP", tuple(below[:2])), *below[2:]]
        if node.label == "SBARQ" and below[0].label.startswith("WH"):
            below = [_asked(child) for child in below]
        return phrase(node.label, tuple(below))

    return bottom_up(list(tree.subtrees()), make)[0]


def _asked(node: Tree) -> Tree:
    """Return the clause of a question after its wh-phrase."""
    if node.label == "VP":
        return phrase("SQ", (node,))
    return phrase("SQ", tuple(node)) if node.label == "S" else node


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


def headline(tree: Tree) -> Tree:
    """Return a statement as a headline: no articles, no mark at the end, most words with a capital; other trees as they are.

    Examples
    --------
    >>> str(headline(Tree.parse("(S (NP (DT The) (NN storm)) (VP (VBZ hits) (NP (DT a) (NN coast))) (. .))")))
    '(S (NP (NN Storm)) (VP (VBZ Hits) (NP (NN Coast))))'
    """
    if tree.label != "S":
        return tree

    def make(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        if not node.is_preterminal:
            children = tuple(child for part in below for child in part)
            return [phrase(node.label, children)] if children else []
        word = node.word or ""
        if node.label == "DT" and word.lower() in ("the", "a", "an"):
            return []
        return [preterminal(node.label, word if node.label in _SMALL else word[:1].upper() + word[1:])]

    parts = bottom_up(list(unstopped(tree).subtrees()), make)[0]
    return parts[0] if parts else tree


def is_request(tree: Tree) -> bool:
    """Whether a tree is a question or a command, which written treebanks have few of.

    Examples
    --------
    >>> is_request(Tree.parse("(S (VP (VB go) (ADVP (RB home))))")), is_request(Tree.parse("(S (NP (PRP I)) (VP (VBP go)))"))
    (True, False)
    """
    if tree.label in ("SQ", "SBARQ"):
        return True
    labels = [child.label for child in tree if not child.is_preterminal]
    verb = next((child for child in tree if child.label == "VP"), None)
    return tree.label == "S" and "NP" not in labels and verb is not None and verb[0].label == "VB"


VARIANTS: dict[Callable[[Tree], Tree], float] = {
    lower: 0.10, upper: 0.03, unstopped: 0.15, curly: 0.10, headline: 0.04,
}  # fmt: skip
"""What else people write, and for which share of the trees a copy is made."""


def variants(trees: Iterable[Tree], random_state: int = 0) -> Iterator[Tree]:
    """Yield changed copies of some trees; questions and commands once more, and as in a chat."""
    rng = np.random.default_rng(random_state)
    for tree in trees:
        for change, share in VARIANTS.items():
            if rng.random() < share and (copy := change(tree)) != tree:
                yield copy
        if is_request(tree):
            yield from (tree, lower(unstopped(tree)))


def _respelt(tree: Tree, change: Callable[[str], str]) -> Tree:
    def make(node: Tree, below: list[Tree]) -> Tree:
        if node.is_preterminal:
            return preterminal(node.label, change(node.word or ""))
        return phrase(node.label, tuple(below))

    return bottom_up(list(tree.subtrees()), make)[0]
