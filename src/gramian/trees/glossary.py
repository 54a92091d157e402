"""What labels mean, in words: those of the Penn Treebank, of Universal Dependencies, and of the treebanks that have presets.

The words stand in ``labels.glossary``, beside this file; the page, the command line and the documentation all read them from here.
"""

from __future__ import annotations

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
    """Return all that is known; labels that end in ``*`` stand for those that begin so."""
    text = files("gramian.trees").joinpath("labels.glossary").read_text("utf-8")
    found: list[Meaning] = []
    section = ("", "")
    for line in text.split("\n"):
        if line.startswith("["):
            scheme, kind = line.strip("[]").split()
            section = scheme, kind
        elif (match := _LINE.fullmatch(line)) and not line.startswith("#"):
            found.append(Meaning(*section, match[1].removeprefix("\\"), match[2]))
    return tuple(found)


def explain(label: str, scheme: str | None = None) -> list[Meaning]:
    """Say what a label means, in one scheme or in all that have it, with its parts where these are known.

    Examples
    --------
    >>> for found in explain("SBAR"):
    ...     print(found.scheme, found.kind, found.words)
    penn phrase subordinate clause, with a word such as that, if or who before it
    >>> explain("NP-SBJ", "penn")[0].words
    'noun phrase; subject'
    >>> [found.scheme for found in explain("nsubj")]
    ['ud']
    """
    label = unescape_label(label)
    if scheme is not None:
        return _explained(label, scheme, 1)
    schemes = dict.fromkeys(one.scheme for one in entries())
    return next(
        filter(
            None, ([found for one in schemes for found in _explained(label, one, least)] for least in (99, 2))
        ),
        [],
    )


def meaning(label: str, scheme: str = "penn", kind: str | None = None) -> str | None:
    """Return the words for a label in a scheme, else in any other, or None; a `kind` of label goes before others.

    Examples
    --------
    >>> meaning("VBD"), meaning("N-D", "icepahc"), meaning("ncms000", "cess"), meaning("QQQ")
    ('verb, past tense: went', 'noun, singular; dative', 'common noun', None)
    """
    found = explain(label, scheme) or explain(label)
    fitting = [one for one in found if one.kind == kind] or found
    return fitting[0].words if fitting else None


def _explained(label: str, scheme: str, least: int) -> list[Meaning]:
    """Look a label up; beginnings, of so many letters at `least`, stand for what begins so."""
    bare, *behind = _PARTS.split(label)
    whole = _looked_up(label, scheme, least)
    if whole or not behind:
        return [one._replace(label=label) for one in whole]
    known = _table(scheme)
    parts = [one.words for part in behind for one in known.get(part, ()) if one.kind == "part"]
    return [
        one._replace(label=label, words="; ".join([one.words, *parts]))
        for one in _looked_up(bare, scheme, least)
        if one.kind != "part"
    ]


def _looked_up(label: str, scheme: str, least: int) -> tuple[Meaning, ...]:
    known = _table(scheme)
    if label in known:
        return known[label]
    base = label.partition(":")[0] if scheme == "ud" else ""
    if base in known:
        return known[base]
    prefixes = (f"{label[:end]}*" for end in range(len(label), least - 1, -1))
    return next((known[prefix] for prefix in prefixes if prefix in known), ())


@cache
def _table(scheme: str) -> dict[str, tuple[Meaning, ...]]:
    table: dict[str, tuple[Meaning, ...]] = {}
    for one in entries():
        if one.scheme == scheme:
            table[one.label] = (*table.get(one.label, ()), one)
    return table
