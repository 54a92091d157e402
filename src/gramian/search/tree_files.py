"""Readers of stored trees: shards of a parsed corpus (JSON lines, Parquet, brackets) and treebanks, as bracket texts with positions."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import BinaryIO, NamedTuple, TypedDict

from gramian.errors import InputError
from gramian.io.decompression import decompressed
from gramian.io.reading import TextLines
from gramian.io.schema import SchemaError, parse_document
from gramian.pipelines.inputs import Input, find_inputs
from gramian.pipelines.parquet_rows import ParquetRows
from gramian.trees.brackets import read_trees
from gramian.trees.treebank_reading import whole_trees

_NO_TREES = re.compile(
    r"\.(json|conllu|conll|md|log)(\.(gz|xz|zst))?\Z|(\A|/)(readme|license)[^/]*\Z", re.IGNORECASE
)
_SHARD = re.compile(r"/[0-9]{5,}\.[a-z.]+\Z")  # suffix of a shard after the name of its input
_TREE, _BEHIND = '"tree": "', '", "status": "'

Note = Callable[[InputError], None]


class _Record(TypedDict, total=False):
    """What is read of a line of JSON."""

    tree: str
    document: str | int | float
    sentence: int


class StoredTree(NamedTuple):
    """A tree as text; its position is parsed only when needed."""

    text: str
    line: str  # the JSON line that holds the tree; else empty
    document: str
    sentence: int

    def position(self) -> tuple[str, int]:
        """Return the document and the position of the sentence in it."""
        record: _Record = {}
        if self.line:
            with suppress(SchemaError):  # of a line of which only the tree could be read
                record = parse_document(_Record, self.line)
        return str(record.get("document", self.document)), record.get("sentence", self.sentence)


def tree_files(source: str) -> list[Input]:
    """Return the files of a file, folder, pattern or URL that may hold trees; raise an InputError if there are none."""
    files = [file for file in find_inputs([source]) if not _NO_TREES.search(file.name)]
    if not files:
        raise InputError(
            "no files with trees found",
            source,
            hint="name a treebank, or an output of 'gramian parse' in the format jsonl, parquet or brackets",
        )
    return files


def stored_trees(file: Input, note: Note) -> Iterator[StoredTree]:
    """Yield the trees of a file; errors are passed to `note` and skipped."""
    storage, name = file.storage
    document = _SHARD.sub("", f"/{file.name}")[1:] or file.name
    with closing(storage.open(name)) as stream:
        if file.kind == "parquet":
            yield from _rows(stream, file.name, document)
            return
        lines = TextLines(decompressed(stream, file.name), file.name, repair=True)
        if file.kind == "jsonl":
            yield from _json_lines(lines, document, note)
        else:
            for line, text in whole_trees(lines.segments()):
                if text.strip() not in ("", "()"):
                    number = line + text[: len(text) - len(text.lstrip())].count("\n")
                    yield StoredTree(text.strip(), "", document, number)


def _json_lines(lines: TextLines, document: str, note: Note) -> Iterator[StoredTree]:
    for number, line in enumerate(lines, 1):
        start = line.find(_TREE) + len(_TREE)
        end = line.find(_BEHIND, start)
        text = line[start:end]
        if start < len(_TREE) or end < 0 or "\\" in text:
            try:
                text = parse_document(_Record, line)["tree"]
            except (SchemaError, KeyError):
                if line.strip():
                    note(InputError("not a JSON object with the key 'tree'", lines.name, number))
                continue
        if text:
            yield StoredTree(text, line, document, number)


def _rows(stream: BinaryIO, name: str, document: str) -> Iterator[StoredTree]:
    columns = ["document", "sentence"]
    table = ParquetRows(stream, name, "tree", columns, hint="name a file that parse wrote --to parquet")
    for number, (tree, row_document, sentence) in enumerate(table.rows(), 1):
        if tree:
            row_document = document if row_document is None else row_document
            yield StoredTree(tree, "", row_document, number if sentence is None else sentence)


def trees_in(stored: StoredTree, note: Note) -> list[StoredTree]:
    """Return the well-formed trees of a text one by one; errors are passed to `note`."""

    def report(error: InputError) -> None:
        note(InputError(error.what, stored.document, stored.sentence + (error.line or 1) - 1))

    try:
        text = io.StringIO(stored.text)
        trees = read_trees(text, broken="skip", on_skip=report, on_join=lambda error: None)
        return [stored._replace(text=str(tree)) for tree in trees if not tree.is_empty]
    except InputError:
        return []  # no tree at all, which was reported
