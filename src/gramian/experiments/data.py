"""The data of an experiment: which files, their digest, and trees read once in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from gramian.errors import InputError
from gramian.trees import Tree, normalise, preset, read_trees
from gramian.trees.scheme import detect_preset

__all__ = [
    "Data",
    "GoldTree",
    "find_dependencies",
    "find_treebank",
    "find_treebanks",
    "gold_trees",
    "preset_of",
    "sizes",
    "split_trees",
]

_SUFFIXES = (".mrg", ".ptb", ".txt", ".mrg.gz", ".mrg.xz")


@dataclass(frozen=True)
class Data:
    """What an experiment reads.

    Attributes
    ----------
    name : str
        What the user named.
    files : dict of str to str
        By their part: ``"train"``, ``"dev"``; with the set in front (``"icon-id/train"``) where there are several.
    digest : str
        Of the content of all files.
    """

    name: str
    files: dict[str, str]
    digest: str

    @classmethod
    def of(cls, name: str, files: dict[str, Path]) -> Data:
        """Return the data of these files."""
        total = hashlib.sha256()
        for part, path in files.items():
            total.update(f"{part} {_digest(path)}\n".encode())
        return cls(name, {part: str(path.resolve()) for part, path in files.items()}, total.hexdigest()[:16])


@cache
def _digest(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path), hint="check the path") from None


def find_treebank(name: str) -> Data:
    """Find one treebank: a file of trees, or a folder with a train and a dev file."""
    path = Path(name)
    if path.is_dir():
        parts = {part: _part(path, part) for part in ("train", "dev")}
        files = {part: file for part, file in parts.items() if file is not None}
        if len(files) == 2:
            return Data.of(name, files)
        raise InputError(
            "this folder has no train.mrg and dev.mrg", name, hint="name such a folder, or one file of trees"
        )
    return Data.of(name, {"trees": path})


def find_treebanks(name: str) -> Data:
    """Find all treebanks of a folder, each in a folder of its own."""
    path = Path(name)
    files: dict[str, Path] = {}
    for folder in sorted(path.iterdir()) if path.is_dir() else []:
        train, dev = (_part(folder, part) if folder.is_dir() else None for part in ("train", "dev"))
        if train is not None and dev is not None:
            files |= {f"{folder.name}/train": train, f"{folder.name}/dev": dev}
    if not files:
        raise InputError(
            "no folder in it has a train.mrg and a dev.mrg", name, hint="name a folder of treebanks"
        )
    return Data.of(name, files)


def find_dependencies(name: str) -> Data:
    """Find a folder with a train and a dev file in CoNLL-U."""
    parts = {
        part: _part(Path(name), part, (".conllu", ".conllu.gz", ".conllu.xz")) for part in ("train", "dev")
    }
    files = {part: file for part, file in parts.items() if file is not None}
    if len(files) < 2:
        raise InputError(
            "there is no train.conllu and dev.conllu in it", name, hint="name a folder that has them"
        )
    return Data.of(name, files)


def _part(folder: Path, part: str, suffixes: Sequence[str] = _SUFFIXES) -> Path | None:
    return next((folder / f"{part}{end}" for end in suffixes if (folder / f"{part}{end}").exists()), None)


@cache
def preset_of(path: str) -> str:
    """Return the habits (see :func:`gramian.trees.preset`) of the treebank in a file, by its labels."""
    return detect_preset(read_trees(path))


class GoldTree(NamedTuple):
    """A tree in its normal form, to learn from, and as it is to be scored: Penn trees as they stand in the file, as EVALB has them."""

    normal: Tree
    scored: Tree

    @property
    def length(self) -> int:
        """How many words it has."""
        return len(self.normal.words)


@lru_cache(maxsize=4)
def gold_trees(path: str, scheme: str) -> tuple[GoldTree, ...]:
    """Return the trees of a file, those without words left out."""
    found = ((normalise(tree, preset(scheme)).tree, tree) for tree in read_trees(path))
    return tuple(
        GoldTree(normal, tree if scheme == "penn" else normal)
        for normal, tree in found
        if not normal.is_empty
    )


def split_trees(
    files: dict[str, str], scheme: str, shortest: int = 1
) -> tuple[list[GoldTree], list[GoldTree]]:
    """Return the trees to learn from and those to test on; of a single file, the last tenth is the test."""
    parts = [
        [tree for tree in gold_trees(path, scheme) if tree.length >= shortest] for path in files.values()
    ]
    if len(parts) == 1:
        tested = max(1, len(parts[0]) // 10)
        return parts[0][:-tested], parts[0][-tested:]
    return parts[0], parts[1]


def sizes(most: int, shares: Sequence[float]) -> list[int]:
    """Return shares of a number, rounded down to two digits that count.

    Examples
    --------
    >>> sizes(3396, [0.1, 0.5, 1.0])
    [330, 1600, 3300]
    """
    found = set()
    for share in shares:
        unit = 10 ** max(0, len(str(int(share * most))) - 2)
        found.add(max(1, int(share * most // unit * unit)))
    return sorted(found)
