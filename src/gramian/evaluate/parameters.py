"""What a bracket score counts: the settings of an EVALB parameter file (Sekine and Collins, 1997-2008).

`COLLINS` holds the settings of ``COLLINS.prm``, the usual ones for Penn-style English; `SPMRL` keeps
punctuation, as the shared tasks on morphologically rich languages do. `Parameters.from_file` reads others.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from gramian.errors import InputError
from gramian.io.reading import open_text
from gramian.trees import Tree
from gramian.trees.binarise import binarise
from gramian.trees.normalise import EMPTY_TAG

_NUMBERS = ("DEBUG", "MAX_ERROR", "CUTOFF_LEN", "LABELED")
_VALUES = {
    **dict.fromkeys(_NUMBERS, 1),
    **dict.fromkeys(("DELETE_LABEL", "DELETE_LABEL_FOR_LENGTH", "QUOTE_LABEL"), 1),
    **dict.fromkeys(("EQ_LABEL", "EQ_WORD"), 2),
}
_HINT = f"write one of {', '.join(_VALUES)} and its value, or start the line with #"


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Settings of a bracket score.

    Examples
    --------
    >>> COLLINS.bracket_label("NP-SBJ-1"), COLLINS.bracket_label("TOP")
    ('NP', None)
    >>> COLLINS.labels_equal("PRT", "ADVP")
    True
    """

    name: str = field(default="custom", compare=False)  #: how a signature calls these settings
    labelled: bool = True  #: whether the labels of two brackets must agree (``LABELED``)
    cutoff: int = 40  #: greatest length of the sentences that are also scored apart (``CUTOFF_LEN``)
    #: tags whose words, and labels whose brackets, are left out (``DELETE_LABEL``)
    deleted: frozenset[str] = frozenset()
    #: tags that do not count towards the length of a sentence (``DELETE_LABEL_FOR_LENGTH``)
    deleted_for_length: frozenset[str] = frozenset()
    #: equal_labels, equal_words: pairs that count as equal, either way round (``EQ_LABEL``, ``EQ_WORD``)
    equal_labels: frozenset[tuple[str, str]] = frozenset()
    equal_words: frozenset[tuple[str, str]] = frozenset()
    #: tags among which a quotation mark may be mistaken without losing the sentence (``QUOTE_LABEL``)
    quotes: frozenset[str] = frozenset()
    #: more errors than this deserve a warning; EVALB would stop (``MAX_ERROR``)
    max_errors: int = field(default=10, compare=False)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Parameters:
        """Read an EVALB parameter file: lines of ``KEYWORD value``; those that start with ``#`` are comments.

        The settings are named after the built-in ones if equal, else after the file and a digest of them.
        """
        source = os.fspath(path)
        with open_text(source) as text:
            lines = [line.removesuffix("\n") for line in text]
        settings: dict[str, list[list[str]]] = {keyword: [] for keyword in _VALUES}
        for number, line in enumerate(lines, start=1):
            if line.startswith("#") or len(line.strip()) < 3:
                continue
            keyword, *values = line.split()
            if fault := _fault(keyword, values):
                raise InputError(fault, source, number, excerpt=line, hint=_HINT)
            settings[keyword].append(values)

        def single(keyword: str) -> frozenset[str]:
            return frozenset(value for (value,) in settings[keyword])

        def pair(keyword: str) -> frozenset[tuple[str, str]]:
            return frozenset((first, second) for first, second in settings[keyword])

        def whole(keyword: str, default: int) -> int:
            return int(settings[keyword][-1][0]) if settings[keyword] else default

        parameters = cls(
            labelled=whole("LABELED", 1) != 0,
            cutoff=whole("CUTOFF_LEN", cls.cutoff),
            deleted=single("DELETE_LABEL"),
            deleted_for_length=single("DELETE_LABEL_FOR_LENGTH"),
            equal_labels=pair("EQ_LABEL"),
            equal_words=pair("EQ_WORD"),
            quotes=single("QUOTE_LABEL"),
            max_errors=whole("MAX_ERROR", cls.max_errors),
        )
        return replace(parameters, name=parameters._name_for(Path(source).stem))

    def bracket_label(self, label: str) -> str | None:
        """Return `label` without what follows the first ``-`` or ``=``; None if such brackets are deleted."""
        bare = label.split("-", 1)[0].split("=", 1)[0]
        if any(self.labels_equal(bare, deleted) for deleted in self.deleted):
            return None
        return bare

    def labels_equal(self, first: str, second: str) -> bool:
        """Whether two labels, or two tags, count as the same."""
        pairs = self.equal_labels
        return first == second or (first, second) in pairs or (second, first) in pairs

    def words_equal(self, first: str, second: str) -> bool:
        """Whether two words count as the same."""
        pairs = self.equal_words
        return first == second or (first, second) in pairs or (second, first) in pairs

    @property
    def signature(self) -> str:
        """The part of a score's signature that these settings decide."""
        equal = sorted("=".join(sorted(pair)) for pair in self.equal_labels)
        labels = ",".join(["cut", *equal]) if self.labelled else "none"
        marks = [tag for tag in self.deleted if not any(map(str.isalnum, tag))]
        return f"prm:{self.name}|labels:{labels}|punct:{'deleted' if marks else 'kept'}"

    def _name_for(self, stem: str) -> str:
        for known in (COLLINS, SPMRL):
            if self == known:
                return known.name
        content = [
            f"{key}={sorted(value) if isinstance(value, frozenset) else value}"
            for key, value in sorted(vars(self).items())
            if key not in {"name", "max_errors"}
        ]
        return f"{stem}#{hashlib.sha256(repr(content).encode()).hexdigest()[:8]}"


def _fault(keyword: str, values: list[str]) -> str | None:
    """Return what is wrong with one line of a parameter file, if anything."""
    if keyword not in _VALUES:
        return f"unknown keyword {keyword!r}"
    if len(values) != _VALUES[keyword]:
        return f"{keyword} needs {'two values' if _VALUES[keyword] == 2 else 'one value'}, got {len(values)}"
    if keyword in _NUMBERS and not values[0].isdecimal():
        return f"{keyword} needs a whole number, got {values[0]!r}"
    return None


COLLINS = Parameters(
    name="collins",
    deleted=frozenset({"TOP", EMPTY_TAG, ",", ":", "``", "''", "."}),
    deleted_for_length=frozenset({EMPTY_TAG}),
    equal_labels=frozenset({("ADVP", "PRT")}),
)
"""The settings of COLLINS.prm: punctuation is left out, ADVP and PRT are the same."""

SPMRL = Parameters(
    name="spmrl",
    deleted=frozenset({"TOP", "ROOT", "S1", "VROOT", EMPTY_TAG}),
    deleted_for_length=frozenset({EMPTY_TAG}),
)
"""Punctuation counts as words, no labels are equal; for treebanks without Penn tags."""


CNF = Parameters(name="cnf")
"""Nothing is left out: punctuation and the intermediate labels of binary trees count."""


def chomsky_normal_form(tree: Tree) -> Tree:
    """Return a tree whose phrases have two children each: right-binarised, chains of single children joined, into tags too.

    Two trees of the same n > 1 words then have n - 1 brackets each, so that recall, precision and F1 are equal.

    Examples
    --------
    >>> print(chomsky_normal_form(Tree.parse("(S (NP (PRP it)) (VP (VBZ has) (RB not) (NP (NN time))))")))
    (S (NP|PRP it) (VP (@VP (VBZ has) (RB not)) (NP|NN time)))
    """
    return binarise(tree, collapse_tags=True)
