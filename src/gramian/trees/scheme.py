"""Which scheme a treebank follows, told by its labels, so that the right preset is found without being named."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from gramian.errors import InputError
from gramian.io.reading import Source
from gramian.trees.brackets import read_trees
from gramian.trees.normalise import NormaliseOptions, preset
from gramian.trees.tree import Tree

_ENOUGH = 300  # trees that are looked at
_SHARE = 0.3  # of them have one of a scheme's labels
_PHRASES = {
    "cess": re.compile(r"grup\.|espec\b|s[np]\b"),
    "floresta": re.compile(r"(fcl|icl|np|pp|cu)-"),
    "ftb": re.compile(r"(VN|VPinf|VPpart|Ssub|Srel)\b"),
    "icepahc": re.compile(r"IP-(MAT|SUB|INF|IMP|REL|ADV|EMB)\b"),
}
_KEYAKI_TAGS = frozenset({"AX", "AXD", "VB2", "ADJI", "PU"})


def detect_preset(trees: Iterable[Tree]) -> str:
    """Return the preset (see :func:`gramian.trees.preset`) that the labels of trees, as read, call for; else ``"penn"``."""
    found: Counter[str] = Counter()
    number = keyaki = 0
    for tree in islice(trees, _ENOUGH):
        number += 1
        labels = {node.label for node in tree.subtrees() if node.word is None}
        keyaki += any(node.label in _KEYAKI_TAGS for node in tree.subtrees() if node.word is not None)
        found.update(
            scheme for scheme, form in _PHRASES.items() if any(form.match(label) for label in labels)
        )
    scheme, times = found.most_common(1)[0] if found else ("penn", 0)
    if times < max(1, _SHARE * number):
        return "penn"
    return "keyaki" if scheme == "icepahc" and keyaki >= _SHARE * number else scheme


class FoundScheme(NamedTuple):
    """The preset of some trees, what it stands for, and all of the trees."""

    preset: str
    options: NormaliseOptions
    trees: Iterator[Tree]


def find_scheme(trees: Iterable[Tree], name: str = "auto") -> FoundScheme:
    """Return the scheme called `name`; with ``"auto"``, the one that the labels of the trees call for.

    Examples
    --------
    >>> find_scheme([Tree.parse("(SENT (VN (CLS-SUJ il) (V dort)))")]).preset
    'ftb'
    """
    if name != "auto":
        return FoundScheme(name, preset(name), iter(trees))
    trees = iter(trees)
    first = list(islice(trees, _ENOUGH))
    name = detect_preset(first)
    return FoundScheme(name, preset(name), chain(first, trees))


def preset_of(source: Source) -> str:
    """Return the preset that the trees of a file, a folder or a seekable text call for; faults are left to who reads all of them."""
    try:
        return detect_preset(
            read_trees(source, broken="skip", on_skip=lambda _: None, on_join=lambda _: None)
        )
    except InputError:
        return "penn"
    finally:
        if isinstance(source, io.StringIO):
            source.seek(0)
