"""How the labels of binarised trees are composed and taken apart; used by trees and by corpus arrays alike.

The marks ``@ | ^ [ ] ,`` have a meaning in a binarised label; where they (or ``%``) occur in a label of the
treebank they are percent-escaped, so that every label can be taken apart again:

==================  ==========================================================================================
``S|VP``            a unary chain, top-down: S over VP
``X^P^G``           X below P below G: vertical context (labels of the original tree, nearest first)
``@X``              an intermediate node that completes a phrase X; of a chain ``S|VP``, it is ``@VP``
``@X[A,B]``         the same, remembering the siblings generated last (nearest last)
``@X[A,B]^P``       the same with vertical context, which is that of the phrase it belongs to
==================  ==========================================================================================
"""

import re
from collections.abc import Sequence
from functools import lru_cache

SEPARATORS = "-=;"
"""Characters that separate the category in a treebank's label from functions and indices (``NP-SBJ-1``)."""

FUNCTION_SEPARATOR = "-"
"""The one before a function."""

_BEHIND_CATEGORY = re.compile(rf"(?<=.)[{re.escape(SEPARATORS)}|^].*")
_MARK = re.compile(r"[@|^\[\],%]")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")
_NOT_IN_LABEL = re.compile(r"[\s()\x00-\x1f\x7f\ud800-\udfff]")


def is_label(text: str) -> bool:
    """Tell whether a text can be a label in a file of trees: it has no brackets, no white space, and nothing that cannot be written."""
    return bool(text) and not _NOT_IN_LABEL.search(text)


@lru_cache(maxsize=1 << 14)
def escape_label(label: str) -> str:
    """Return `label` with the marks of binarisation percent-escaped."""
    return _MARK.sub(lambda match: f"%{ord(match[0]):02X}", label)


@lru_cache(maxsize=1 << 14)
def unescape_label(label: str) -> str:
    """Return the treebank's label; the inverse of :func:`escape_label`."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), label)


def intermediate_label(parent: str, siblings: Sequence[str] = ()) -> str:
    """Return the label of an intermediate node of `parent`, the last of a chain, that remembers `siblings`, nearest last; all escaped."""
    return f"@{parent}[{','.join(siblings)}]" if siblings else f"@{parent}"


def category(label: str) -> str:
    """Return the category in a label of a treebank, or in the first label of a binarised one.

    Examples
    --------
    >>> [category(label) for label in ("NP-SBJ-1", "PP;*SBJ*", "-LRB-", "S|VP")]
    ['NP', 'PP', '-LRB', 'S']
    """
    return _BEHIND_CATEGORY.sub("", label)


def is_intermediate(label: str) -> bool:
    """Tell whether a binarised label names a node that is not in the original tree."""
    return label.startswith("@")


def annotated_label(label: str, ancestors: Sequence[str]) -> str:
    """Append the (escaped) labels of the nearest `ancestors`, nearest first."""
    return "^".join([label, *ancestors])


def chain_label(labels: Sequence[str]) -> str:
    """Join the (escaped) labels of a unary chain, top-down."""
    return "|".join(labels)


def split_chain(label: str) -> list[str]:
    """Return the treebank's labels in a binarised label, top-down, without vertical context."""
    return [unescape_label(part) for part in label.partition("^")[0].split("|")]


def treebank_labels(symbols: Sequence[str], n_phrases: int) -> tuple[set[str], set[str]]:
    """Return the labels of phrases and of words that binarised symbols, phrases first, are made of."""
    phrases: set[str] = set()
    tags: set[str] = set()
    for number, symbol in enumerate(symbols):
        if not is_intermediate(symbol):
            chain = split_chain(symbol)
            if number >= n_phrases:
                tags.add(chain.pop())
            phrases.update(chain)
    return phrases, tags
