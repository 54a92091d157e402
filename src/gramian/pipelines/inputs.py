"""The files that arguments stand for: files, folders, patterns with ``*``, lists of such (``@files.txt``), and URLs."""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, TypeAlias

from gramian.errors import InputError, OptionError
from gramian.io.reading import open_text
from gramian.pipelines.storage import Entry, LocalStorage, RemoteStorage, Storage, storage_at

Kind: TypeAlias = Literal["text", "jsonl", "conllu", "parquet", "csv"]

_MAGIC = re.compile(r"[*?[]")
_PACKED = re.compile(r"\.(gz|xz|zst)\Z")
_KINDS: dict[str, Kind] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conllu": "conllu",
    ".conll": "conllu",
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
}


@dataclass(frozen=True)
class Input:
    """A file of a corpus: where it is, the name by which its output is called, its size, and what changes when it does."""

    address: str
    name: str
    size: int
    stamp: str

    @property
    def kind(self) -> Kind:
        """What it holds, by the end of its name."""
        return _KINDS.get(os.path.splitext(_PACKED.sub("", self.name.lower()))[1], "text")

    @property
    def storage(self) -> tuple[Storage, str]:
        """The folder that it lies in, and its name there."""
        folder, _, name = self.address.rpartition("/")
        return storage_at(folder or "/"), name


def is_corpus(argument: str) -> bool:
    """Whether an argument stands for more than one local file, or for something else than one."""
    return (
        argument.startswith("@")
        or "://" in argument
        or os.path.isdir(argument)
        or (_MAGIC.search(argument) is not None and not os.path.exists(argument))
    )


def find_inputs(arguments: Iterable[str], output: str = "") -> list[Input]:
    """Return the files that arguments stand for, sorted by name, each once; those under `output` are left out.

    The name of a file is its path below the folder that all arguments have in common: of ``corpus/``, what follows it.
    An argument that stands for nothing is an InputError; a file of a list that is not there is found out when it is to be read.
    """
    expanded = [file for argument in arguments for file in _expanded(argument)]
    if not expanded:
        raise OptionError("no input files; try: files, a folder, or a list as @FILE")
    folders = {folder for folder, _ in expanded}
    base = _common(folders)
    output_prefix = (
        f"{output.rstrip('/') if '://' in output else os.path.abspath(output)}/" if output else None
    )
    inputs: dict[str, Input] = {}
    for folder, entry in expanded:
        address = f"{folder.rstrip('/')}/{entry.name}"
        if output_prefix is not None and address.startswith(output_prefix):
            continue
        name = address[len(base) :].lstrip("/")
        inputs[name] = Input(address, name, entry.size, entry.stamp)
    return [inputs[name] for name in sorted(inputs)]


def _common(folders: set[str]) -> str:
    """Return the folder that all of some folders lie in."""
    schemes = {folder.partition("://")[0] if "://" in folder else "" for folder in folders}
    if len(schemes) > 1:
        raise OptionError(
            f"inputs must be in one storage system, not in {' and '.join(sorted(schemes))} at once"
        )
    parts = [folder.rstrip("/").split("/") for folder in folders]
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*parts, strict=False))
    return "/".join(names[0] for names in shared)


def _expanded(argument: str, lists: tuple[str, ...] = ()) -> Iterator[tuple[str, Entry]]:
    """Yield, of each file that an argument stands for, a folder that counts for its name, and the file below it.

    `lists` are the lists of files that the argument was found in, the outermost first.
    """
    if argument.startswith("@"):
        path = os.path.realpath(argument[1:])
        if path in lists:
            raise InputError("this list of files contains itself", argument[1:], hint="remove that line")
        with open_text(argument[1:]) as lines:
            for line in filter(None, map(str.strip, lines)):
                try:
                    yield from _expanded(line, (*lists, path))
                except InputError:
                    if line.startswith("@"):
                        raise
                    folder, name = os.path.split(line if "://" in line else os.path.abspath(line))
                    yield folder, Entry(name, 0, "")
        return
    folder = argument.rstrip("/")
    if match := _MAGIC.search(argument):
        folder = argument[: match.start()].rpartition("/")[0] or ("." if "://" not in argument else "")
    if "://" in argument:
        yield from _remote(argument, folder, match is not None)
    elif os.path.isdir(argument):
        storage = LocalStorage(argument)
        yield from ((storage.address, entry) for entry in storage.entries())
    else:
        names = [argument]
        if match and not os.path.exists(argument):
            names = sorted(filter(os.path.isfile, glob.glob(argument, recursive=True)))
        else:
            folder = os.path.dirname(argument)
        storage = LocalStorage(folder or ".")
        entries = [storage.entry(os.path.relpath(name, folder or ".")) for name in names]
        if not names or None in entries:
            raise InputError(
                "no file is called so" if match else "cannot be opened (No such file or directory)",
                argument,
                hint="check the path",
            )
        yield from ((storage.address, entry) for entry in entries if entry is not None)


def _remote(argument: str, folder: str, is_pattern: bool) -> Iterator[tuple[str, Entry]]:
    storage = RemoteStorage(folder)
    if is_pattern:
        pattern = re.compile(_translated(argument[len(folder) + 1 :]))
        entries = [entry for entry in storage.entries() if pattern.match(entry.name)]
    else:
        entries = list(storage.entries())
        if not any(entry.name for entry in entries):  # a file, or nothing
            above, _, name = folder.rpartition("/")
            storage = RemoteStorage(above)
            entries = [entry for entry in [storage.entry(name)] if entry is not None]
    if not entries:
        raise InputError("no such file or folder", argument, hint="check the address")
    yield from ((storage.address, entry) for entry in entries)


def _translated(pattern: str) -> str:
    """Return a regular expression for a pattern: ``*`` and ``?`` stop at slashes, ``**/`` is any folders."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    meaning = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return "".join(meaning.get(part, re.escape(part)) for part in parts) + r"\Z"
