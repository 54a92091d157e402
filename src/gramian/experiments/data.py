"""The data of an experiment: which files, their digest, and trees read once in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from gramian.errors import InputError
from gramian.experiments.plan import Options, Task
from gramian.io.reading import file_sha256
from gramian.trees import Tree, annotation_scheme, normalise, read_trees
from gramian.trees.scheme import detect_scheme

_SUFFIXES = (".mrg", ".ptb", ".txt", ".mrg.gz", ".mrg.xz")


@dataclass(frozen=True)
class Data:
    """What an experiment reads: what the user named, its files by their part (``"train"``, ``"icon-id/dev"``), and a digest of them."""

    name: str
    files: dict[str, str]
    digest: str

    @classmethod
    def of(cls, name: str, files: dict[str, Path], problem: str = "no files", hint: str = "") -> Data:
        """Return the data of these files; InputError with `problem` and `hint` if there are none."""
        if not files:
            raise InputError(problem, name, hint=hint)
        total = hashlib.sha256()
        for part, path in files.items():
            total.update(f"{part} {_digest(path)}\n".encode())
        return cls(name, {part: str(path.resolve()) for part, path in files.items()}, total.hexdigest()[:16])


_digest = cache(file_sha256)


def find_treebank(name: str) -> Data:
    """Find one treebank: a file of trees, or a folder with a train and a dev file."""
    path = Path(name)
    files = _parts(path, _SUFFIXES) if path.is_dir() else {"trees": path}
    problem, hint = "this folder has no train.mrg and dev.mrg", "name such a folder, or one file of trees"
    return Data.of(name, files, problem, hint)


def find_treebanks(name: str) -> Data:
    """Find all treebanks of a folder, each in a folder of its own, with a test file where there is one."""
    files = {
        f"{folder.name}/{part}": file
        for folder in sorted(Path(name).glob("*"))
        for part, file in _parts(folder, _SUFFIXES, ("test",)).items()
    }
    problem = "no folder in it has a train.mrg and a dev.mrg"
    return Data.of(name, files, problem, "name a folder of treebanks")


def find_dependencies(name: str) -> Data:
    """Find a folder with a train and a dev file in CoNLL-U."""
    files = _parts(Path(name), (".conllu", ".conllu.gz", ".conllu.xz"))
    problem = "there is no train.conllu and dev.conllu in it"
    return Data.of(name, files, problem, "name a folder that has them")


def _parts(folder: Path, suffixes: Sequence[str], others: Sequence[str] = ()) -> dict[str, Path]:
    """Return the train and the dev file of a folder, and `others` if they are there; none if train or dev is missing."""
    names = {part: [folder / f"{part}{suffix}" for suffix in suffixes] for part in ("train", "dev", *others)}
    existing = {part: path for part, paths in names.items() for path in reversed(paths) if path.exists()}
    return existing if {"train", "dev"} <= set(existing) else {}


@cache
def preset_of(path: str) -> str:
    """Return the preset of the treebank in a file, by its labels."""
    return detect_scheme(read_trees(path)).name


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
    record = annotation_scheme(scheme)
    as_read = record.scoring == "collins"
    pairs = ((normalise(tree, record.options).tree, tree) for tree in read_trees(path))
    return tuple(
        GoldTree(normal, tree if as_read else normal) for normal, tree in pairs if not normal.is_empty
    )


Parts = tuple[list[GoldTree], list[GoldTree]]


def split_trees(files: dict[str, str], scheme: str, shortest: int = 1) -> Parts:
    """Return the trees to learn from and those to test on; of a single file, the last tenth is the test."""
    kept = [[tree for tree in gold_trees(path, scheme) if tree.length >= shortest] for path in files.values()]
    if len(kept) == 1:
        tested = max(1, len(kept[0]) // 10)
        return kept[0][:-tested], kept[0][-tested:]
    return kept[0], kept[1]


def tree_counts(data: Data, options: Options) -> tuple[int, int]:
    """Return how many trees the settings ask to learn from and to test on, of those there are."""
    train, test = (len(part) for part in split_trees(data.files, options["preset"]))
    return min(train, options["train"] or train), min(test, options["test_sentences"])


def task_trees(task: Task) -> Parts:
    """Return the trees that a run learns from and those it is tested on: the first ones, as many as its settings say."""
    settings = task["settings"]
    train, test = split_trees(task["files"], settings["preset"])
    longest = settings.get("longest", float("inf"))
    return train[: settings["train"]], [tree for tree in test if tree.length <= longest][: settings["test"]]


def sizes(most: int, shares: Sequence[float]) -> list[int]:
    """Return shares of a number, rounded down to two digits that count."""
    rounded = set()
    for share in shares:
        unit = 10 ** max(0, len(str(int(share * most))) - 2)
        rounded.add(max(1, int(share * most // unit * unit)))
    return sorted(rounded)
