"""Which scheme a treebank follows, told by its labels, so that the right preset is found without being named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

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
