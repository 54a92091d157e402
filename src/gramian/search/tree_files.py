"""Trees where they lie: shards of a parsed corpus (JSON lines, Parquet, brackets) and treebanks, as bracket texts with their places."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import NamedTuple, TypedDict

from gramian.errors import InputError
from gramian.io.files import TextLines, decompressed
from gramian.io.schema import SchemaError, parse_document
from gramian.parsing.sentence_forms import whole_lines
from gramian.pipelines.inputs import Input, find_inputs
from gramian.pipelines.parquet_rows import parquet
from gramian.trees.brackets import read_trees
from gramian.trees.records import whole_trees

_NO_TREES = re.compile(
    r"\.(json|conllu|conll|md|log)(\.(gz|xz|zst))?\Z|(\A|/)(readme|license)[^/]*\Z", re.IGNORECASE
)
_SHARD = re.compile(r"/[0-9]{5,}\.[a-z.]+\Z")  # behind the name of its input
_TREE, _BEHIND = '"tree": "', '", "status": "'
_BATCH = 4096  # rows

Note = Callable[[InputError], None]


class _Record(TypedDict, total=False):
    """What is read of a line of JSON."""

    tree: str
    document: str | int | float
    sentence: int


class StoredTree(NamedTuple):
    """A tree as text, of one line of a file; where it is from is read when it is asked for."""

    text: str
    line: str  # of JSON, all that is known; else empty
    document: str
    sentence: int

    def place(self) -> tuple[str, int]:
        """Return its document, and where it is there."""
        found: _Record = {}
        if self.line:
            with suppress(SchemaError):  # of a line of which only the tree could be read
                found = parse_document(_Record, self.line)
        return str(found.get("document", self.document)), found.get("sentence", self.sentence)


def tree_files(source: str) -> list[Input]:
    """Return the files of a file, folder, pattern or URL that may hold trees; an InputError if none does."""
    found = [one for one in find_inputs([source]) if not _NO_TREES.search(one.name)]
    if not found:
        raise InputError(
            "no file in it has trees",
            source,
            hint="a treebank, or what parse wrote --to jsonl, parquet or brackets",
        )
    return found


def stored_trees(file: Input, note: Note) -> Iterator[StoredTree]:
    """Yield the trees of a file; what is no tree is told to `note`, and left out."""
    storage, name = file.storage
    document = _SHARD.sub("", f"/{file.name}")[1:] or file.name
    with closing(storage.open(name)) as stream:
        if file.kind == "parquet":
            yield from _rows(stream, file.name, document)
            return
        lines = TextLines(decompressed(stream), file.name, repair=True)
        if file.kind == "jsonl":
            yield from _json_lines(lines, document, note)
        else:
            for line, text in whole_trees(lines):
                if text.strip() not in ("", "()"):
                    number = line + text[: len(text) - len(text.lstrip())].count("\n")
                    yield StoredTree(text.strip(), "", document, number)


def _json_lines(lines: TextLines, document: str, note: Note) -> Iterator[StoredTree]:
    for number, line in enumerate(whole_lines(lines), 1):
        start = line.find(_TREE) + len(_TREE)
        end = line.find(_BEHIND, start)
        text = line[start:end]
        if start < len(_TREE) or end < 0 or "\\" in text:
            try:
                text = parse_document(_Record, line)["tree"]
            except (SchemaError, KeyError):
                if line.strip():
                    note(InputError("no JSON object with a 'tree'", lines.name, number))
                continue
        if text:
            yield StoredTree(text, line, document, number)


def _rows(stream: object, name: str, document: str) -> Iterator[StoredTree]:
    try:
        file = parquet().ParquetFile(stream)
        there = [column for column in ("tree", "document", "sentence") if column in file.schema_arrow.names]
    except (OSError, ValueError) as error:
        raise InputError(f"this is not a Parquet file ({error})", name) from None
    if "tree" not in there:
        raise InputError("there is no column 'tree'", name, hint="what parse wrote --to parquet")
    number = 0
    for batch in file.iter_batches(_BATCH, columns=there):
        columns = [batch.column(place).to_pylist() for place in range(len(there))]
        for row in zip(*columns, strict=True):
            number += 1
            about = dict(zip(there, row, strict=True))
            if about["tree"]:
                yield StoredTree(
                    about["tree"], "", about.get("document", document), about.get("sentence", number)
                )


def trees_in(stored: StoredTree, note: Note) -> list[StoredTree]:
    """Return the well-formed trees of a text, each for itself; a fault is told."""

    def told(error: InputError) -> None:
        note(InputError(error.what, stored.document, stored.sentence + (error.line or 1) - 1))

    try:
        found = read_trees(io.StringIO(stored.text), broken="skip", on_skip=told, on_join=lambda error: None)
        return [stored._replace(text=str(tree)) for tree in found if not tree.is_empty]
    except InputError:
        return []  # there was none, and that was told
