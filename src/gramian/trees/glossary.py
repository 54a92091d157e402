"""Meanings of labels: of the Penn Treebank, of Universal Dependencies, and of the other annotation schemes.

The text is in ``labels.glossary``, next to this file; the page, the command line and the documentation read it from here.
"""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from gramian.trees.labels import SEPARATORS, unescape_label

_PARTS = re.compile(rf"(?<=.)[{re.escape(SEPARATORS)}]")
_LINE = re.compile(r"(\S+)\s+(.+)")


class Meaning(NamedTuple):
    """What a label means in a scheme (``"penn"``, ``"ud"``, ...); the kind is ``"phrase"``, ``"tag"``, ``"relation"`` or ``"part"``."""

    scheme: str
    kind: str
    label: str
    words: str


@cache
def entries() -> tuple[Meaning, ...]:
    """Return all entries; a label that ends in ``*`` matches the labels that start so."""
    text = files("gramian.trees").joinpath("labels.glossary").read_text("utf-8")
    meanings: list[Meaning] = []
    section = ("", "")
    for line in text.split("\n"):
        if line.startswith("["):
            scheme, kind = line.strip("[]").split()
            section = scheme, kind
        elif (match := _LINE.fullmatch(line)) and not line.startswith("#"):
            meanings.append(Meaning(*section, match[1].removeprefix("\\"), match[2]))
    return tuple(meanings)


def explain(label: str, scheme: str | None = None) -> list[Meaning]:
    """Return the meanings of a label, in one scheme or in all that have it, with those of its function tags.

    Examples
    --------
    >>> for entry in explain("SBAR"):
    ...     print(entry.scheme, entry.kind, entry.words)
    penn phrase subordinate clause, with a word such as that, if or who before it
    >>> explain("NP-SBJ", "penn")[0].words
    'noun phrase; subject'
    >>> [entry.scheme for entry in explain("nsubj")]
    ['ud']
    """
    label = unescape_label(label)
    if scheme is not None:
        return _explain_in(label, scheme, 1)
    schemes = dict.fromkeys(entry.scheme for entry in entries())
    for min_prefix in (99, 2):  # whole labels first
        if meanings := [entry for name in schemes for entry in _explain_in(label, name, min_prefix)]:
            return meanings
    return []


def meaning(label: str, scheme: str = "penn", kind: str | None = None) -> str | None:
    """Return the words for a label in a scheme, else in any other, or None; a `kind` of label goes before others."""
    meanings = explain(label, scheme) or explain(label)
    fitting = [entry for entry in meanings if entry.kind == kind] or meanings
    return fitting[0].words if fitting else None


def _explain_in(label: str, scheme: str, min_prefix: int) -> list[Meaning]:
    """Return the meanings of a label; entries such as ``nc*``, of at least `min_prefix` letters, match the labels that start so."""
    bare, *suffixes = _PARTS.split(label)
    whole = _look_up(label, scheme, min_prefix)
    if whole or not suffixes:
        return [entry._replace(label=label) for entry in whole]
    table = _table(scheme)
    parts = [entry.words for part in suffixes for entry in table.get(part, ()) if entry.kind == "part"]
    return [
        entry._replace(label=label, words="; ".join([entry.words, *parts]))
        for entry in _look_up(bare, scheme, min_prefix)
        if entry.kind != "part"
    ]


def _look_up(label: str, scheme: str, min_prefix: int) -> tuple[Meaning, ...]:
    table = _table(scheme)
    if label in table:
        return table[label]
    base = label.partition(":")[0] if scheme == "ud" else ""
    if base in table:
        return table[base]
    prefixes = (f"{label[:end]}*" for end in range(len(label), min_prefix - 1, -1))
    return next((table[prefix] for prefix in prefixes if prefix in table), ())


@cache
def _table(scheme: str) -> dict[str, tuple[Meaning, ...]]:
    table: dict[str, tuple[Meaning, ...]] = {}
    for entry in entries():
        if entry.scheme == scheme:
            table[entry.label] = (*table.get(entry.label, ()), entry)
    return table
