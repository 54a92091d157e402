"""Bring the trees of a treebank into the form that grammars are learnt from, and say what was removed.

In this order: empty elements (traces) and the phrases they leave empty go; labels are cut to their
category; a phrase over one phrase of the same label is merged with it; the outer bracket or ROOT goes. What
is cut depends on the annotation scheme of the treebank (:mod:`gramian.trees.scheme`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

from gramian.errors import OptionError
from gramian.trees.tree import Tree, bottom_up, phrase, preterminal, with_line

ROOT_LABELS = frozenset({"", "ROOT", "TOP", "S1", "VROOT"})
"""Labels of nodes that only wrap a tree."""

EMPTY_TAG = "-NONE-"
"""Tag of empty elements (traces)."""

PENN_PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})
"""Tags of punctuation in the Penn Treebank."""

_INDEX = re.compile(r"(?<=.)[-=]\d+$")
_PENN_ESCAPES = {"\\/": "/", "\\*": "*", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}
_PENN_ESCAPE = re.compile("|".join(re.escape(escape) for escape in _PENN_ESCAPES))


@dataclass(frozen=True, slots=True)
class NormaliseOptions:
    """What :func:`normalise` removes.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> print(normalise(Tree.parse("(S (NP-SBJ (PRP It)) (VP (VBZ works)))"), NormaliseOptions(phrase_cut="")).tree)
    (S (NP-SBJ (PRP It)) (VP (VBZ works)))
    """

    empty_tags: frozenset[str] = frozenset({EMPTY_TAG})  #: tags of empty elements
    #: phrase_cut, tag_cut: characters at the first of which a phrase's label, or a tag, is cut; not in first place, so that ``-LRB-``
    #: stays. Empty keeps labels whole.
    phrase_cut: str = "-="
    tag_cut: str = ""
    #: regular expression; what it matches is taken out of phrase labels, before cutting
    phrase_strip: str = ""
    #: whether co-indices (``NP-SBJ-1``, ``NP=2``) go, where `phrase_cut` and `tag_cut` leave them
    indices: bool = True
    same_unaries: bool = True  #: whether a phrase over just one phrase of the same label is merged with it
    #: drop wrappers labelled as in :data:`ROOT_LABELS`, keep them, or put exactly one ``ROOT`` on top. A wrapper of several trees cannot
    #: be dropped; if it has no label, it becomes ``ROOT``.
    root: Literal["drop", "keep", "add"] = "drop"
    punctuation: Literal["keep", "drop"] = "keep"  #: drop punctuation and the phrases it leaves empty
    #: what counts as punctuation; None: words made of punctuation characters only
    punctuation_tags: frozenset[str] | None = None
    #: whether Penn's escapes ``\/ \* -LCB- -RCB- -LSB- -RSB-`` in words become the characters they stand for
    unescape: bool = False

    def __post_init__(self) -> None:
        if self.root not in ("drop", "keep", "add"):
            raise OptionError(f"root is 'drop', 'keep' or 'add', not {self.root!r}")
        if self.punctuation not in ("keep", "drop"):
            raise OptionError(f"punctuation is 'keep' or 'drop', not {self.punctuation!r}")
        try:
            re.compile(self.phrase_strip)
        except re.error as error:
            raise OptionError(
                f"phrase_strip {self.phrase_strip!r} is not a regular expression: {error}"
            ) from None


@dataclass(frozen=True, slots=True)
class Removed:
    """Counts of what :func:`normalise` changed; counts of several trees can be added up.

    Examples
    --------
    >>> (Removed(roots=1) + Removed(roots=2, labels_cut=1)).roots
    3
    """

    #: empty_elements, emptied_phrases: traces and the like, and phrases left without words
    empty_elements: int = 0
    emptied_phrases: int = 0
    labels_cut: int = 0  #: labels that lost a function, an index or a feature
    same_unaries: int = 0  #: phrases merged with the only phrase below them
    roots: int = 0  #: wrappers dropped
    punctuation: int = 0  #: punctuation marks dropped
    words_unescaped: int = 0  #: words in which an escape was undone
    trees_emptied: int = 0  #: trees that had no words left

    def __add__(self, other: Removed) -> Removed:
        return Removed(*[getattr(self, field.name) + getattr(other, field.name) for field in fields(self)])


@dataclass(frozen=True, slots=True)
class Normalised:
    """A tree in normal form and the counts of what was removed from it.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> print(normalise(Tree.parse("( (S (NP-SBJ (PRP It)) (VP (VBZ works))))")).tree)
    (S (NP (PRP It)) (VP (VBZ works)))
    """

    tree: Tree
    removed: Removed


def normalise(tree: Tree, options: NormaliseOptions = NormaliseOptions()) -> Normalised:
    """Return `tree` without what `options` say, by default those of the Penn Treebank; ``Tree("")`` if no word is left.

    Examples
    --------
    >>> result = normalise(Tree.parse("( (S (NP-SBJ-1 (PRP I)) (VP (VBP go) (NP (-NONE- *-1)))))"))
    >>> print(result.tree)
    (S (NP (PRP I)) (VP (VBP go)))
    >>> result.removed.empty_elements, result.removed.emptied_phrases, result.removed.labels_cut
    (1, 1, 1)
    """
    removed: Counter[str] = Counter()

    def kept(node: Tree, below: list[Tree | None]) -> Tree | None:
        label = bare_label(node.label, options, phrase=node.word is None)
        if node.word is not None:
            if node.label in options.empty_tags:
                removed["empty_elements"] += 1
                return None
            if options.punctuation == "drop" and _is_punctuation(node, options.punctuation_tags):
                removed["punctuation"] += 1
                return None
            word = unescape_penn(node.word) if options.unescape else node.word
            if label == node.label and word == node.word:
                return node
            removed["labels_cut"] += label != node.label
            removed["words_unescaped"] += word != node.word
            return preterminal(label, word)
        children = tuple([child for child in below if child is not None])
        if not children:
            removed["emptied_phrases"] += bool(below)
            return None
        removed["labels_cut"] += label != node.label
        (first, *others) = children
        if options.same_unaries and not others and first.label == label and first.children:
            removed["same_unaries"] += 1
            return first
        return phrase(label, children)

    result = bottom_up(list(tree.subtrees()), kept)[0]
    if result is None:
        result = Tree("")
        removed["trees_emptied"] += any(node.word is not None for node in tree.subtrees())
    else:
        result, removed["roots"] = _with_root(result, options.root)
    return Normalised(with_line(result, tree.line), Removed(**removed))


def bare_label(label: str, options: NormaliseOptions, *, phrase: bool) -> str:
    """Return what `options` leave of the label of a phrase or of a tag."""
    if phrase:
        return _bare(label, options.phrase_cut, options.phrase_strip, options.indices)
    return _bare(label, options.tag_cut, "", options.indices)


@lru_cache(maxsize=1 << 14)
def _bare(label: str, cut: str, strip: str, indices: bool) -> str:
    """Return the category in a label."""
    if strip:
        label = re.sub(strip, "", label) or label
    if indices:
        while shorter := _INDEX.sub("", label):
            if shorter == label:
                break
            label = shorter
    if label[:1] in cut:
        return label
    for index, character in enumerate(label):
        if index and character in cut:
            return label[:index]
    return label


def unescape_penn(word: str) -> str:
    """Undo the escapes of Penn files in a word."""
    return _PENN_ESCAPE.sub(lambda match: _PENN_ESCAPES[match[0]], word)


def _is_punctuation(leaf: Tree, tags: frozenset[str] | None) -> bool:
    if tags is not None:
        return leaf.label in tags
    return all(unicodedata.category(character).startswith("P") for character in leaf.word or "")


def _with_root(tree: Tree, policy: str) -> tuple[Tree, int]:
    """Apply the root policy; return the tree and how many wrappers were dropped."""
    if policy == "keep":
        return tree, 0
    dropped = 0
    while tree.label in ROOT_LABELS and len(tree.children) == 1:
        tree = tree.children[0]
        dropped += 1
    if tree.label == "":
        tree = phrase("ROOT", tree.children)
    elif policy == "add" and not (tree.label in ROOT_LABELS and tree.children):
        tree = phrase("ROOT", (tree,))
    elif policy == "add":
        tree = phrase("ROOT", tree.children)
    return tree, dropped
