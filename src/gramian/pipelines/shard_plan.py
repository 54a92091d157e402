"""A file cut into shards of bounded size, so that each can be parsed for itself and gives what it would within the whole.

Cuts lie between sentences: between lines, empty lines, sentences of CoNLL-U, or rows of a table; of decompressed text they are
places in bytes, of tables numbers of rows. What a reader must know of all that lies before, the number of the line say, goes with each cut.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Annotated, BinaryIO

from msgspec import Meta

from gramian.errors import InputError
from gramian.io.csv_rows import CsvRows
from gramian.io.decompression import decompressed
from gramian.io.reading import TextLines, check_plain_text, reads_once
from gramian.io.schema import Count, Sha256
from gramian.parsing.sentences import SentenceFormat
from gramian.pipelines.inputs import Input, Kind
from gramian.pipelines.parquet_rows import ParquetRows

_LONGEST_PARAGRAPH = 8  # shards; a text without an empty line is cut at the end of a line then
_HELD = 256  # lines
_LOOKED_AT = 1 << 13  # bytes at the start of a file, in which a binary one has a zero


@dataclass(frozen=True)
class InputLayout:
    """What a file holds and how it is cut: all that its cuts depend on."""

    kind: Kind
    form: SentenceFormat
    text_field: str
    id_field: str
    shard_size: Annotated[int, Meta(ge=1, le=2**53)]


@dataclass(frozen=True)
class Shard:
    """A part of a file: from where to where, a hash of what lies there, and what lies before it."""

    number: Count
    start: Count
    end: Count
    sha256: Sha256
    line: Count = 0  # lines before
    character: Count = 0  # characters before
    document: str = ""  # of CoNLL-U, the one that continues
    sentence: Count = 0  # sentences of it that lie before


@dataclass(frozen=True)
class ShardPlan:
    """The shards of a file, or why there are none; good for as long as neither the file's stamp nor its layout is another."""

    stamp: str
    layout: InputLayout
    size: Count
    shards: tuple[Shard, ...] = ()
    fault: str = ""
    repaired: Count = 0
    address: str = ""  # of the file

    def __post_init__(self) -> None:
        end = 0
        for number, shard in enumerate(self.shards):
            if (shard.number, shard.start) != (number, end) or shard.end <= shard.start:
                raise ValueError(f"field 'shards[{number}]' must begin where the shard before it ends")
            end = shard.end

    def share(self, shard: Shard) -> float:
        """Return how many bytes of the file, as it lies there, a shard stands for."""
        return self.size * (shard.end - shard.start) / max(1, self.shards[-1].end)


def make_plan(source: Input, layout: InputLayout) -> ShardPlan:
    """Read a file once and cut it; what cannot be read is the plan's fault."""
    plan = ShardPlan(source.stamp, layout, source.size, address=source.address)
    storage, name = source.storage
    if reads_once(source.address):
        return replace(plan, fault=f"{source.name}: a pipe or device cannot be part of a corpus")
    try:
        with closing(storage.open(name)) as file:
            if layout.kind in ("parquet", "csv"):
                return replace(plan, shards=tuple(_rows(text_rows(file, source.name, layout), layout)))
            cutter = _Cutter(layout)
            shards = tuple(cutter.cut(_text(file, source.name), source.name))
            return replace(plan, shards=shards, repaired=cutter.repaired)
    except InputError as error:
        return replace(plan, fault=str(error))
    except OSError as error:
        return replace(plan, fault=f"{source.name}: cannot be read ({error.strerror or error})")


def _text(file: BinaryIO, name: str) -> BinaryIO:
    """Return the content of a file; an InputError if it is no text."""
    stream = decompressed(file, name)
    start = stream.peek(_LOOKED_AT)[:_LOOKED_AT]  # type: ignore[attr-defined]
    if b"\0" in start:
        raise InputError("this is a binary file, not text", name, hint="leave it out")
    check_plain_text(start.decode("utf-8", "replace"), name)
    return stream


class _Counted:
    """A stream of lines that knows where it is, and the hash of what was read since it was asked."""

    def __init__(self, stream: BinaryIO) -> None:
        self._readline = stream.readline
        self._hash = hashlib.sha256()
        self._held: list[bytes] = []  # a hash takes much at once faster
        self.position = 0

    def readline(self, limit: int) -> bytes:
        data = self._readline(limit)
        self._held.append(data)
        self.position += len(data)
        if len(self._held) > _HELD:
            self._flush()
        return data

    def _flush(self) -> None:
        self._hash.update(b"".join(self._held))
        self._held.clear()

    def digest(self) -> str:
        self._flush()
        digest, self._hash = self._hash.hexdigest(), hashlib.sha256()
        return digest


class _Cutter:
    """Goes through the lines of a file, and cuts where it may."""

    def __init__(self, layout: InputLayout) -> None:
        self._layout = layout
        self._document, self._sentence, self._is_sentence = "", 0, False
        self.repaired = 0

    def cut(self, stream: BinaryIO, name: str) -> Iterator[Shard]:
        counted = _Counted(stream)
        lines = TextLines(counted, name, repair=True)  # type: ignore[arg-type]
        size, is_conllu = self._layout.shard_size, self._layout.kind == "conllu"
        shard, enough = Shard(0, 0, 0, ""), size
        line = characters = 0
        for text in lines:  # this loop reads all there is: it has few words
            characters += len(text)
            line += text[-1] == "\n"
            if is_conllu:
                self._follow(text)
            if counted.position >= enough and self._may_cut(text, counted.position - shard.start):
                end = counted.position
                yield replace(shard, end=end, sha256=counted.digest())
                position = line, characters, self._document, self._sentence
                shard, enough = Shard(shard.number + 1, end, end, "", *position), end + size
        if counted.position > shard.start:
            yield replace(shard, end=counted.position, sha256=counted.digest())
        self.repaired = lines.repaired

    def _follow(self, text: str) -> None:
        """Note which document and sentence of CoNLL-U a line is of."""
        if text.startswith("# newdoc"):
            self._document, self._sentence = text.partition("=")[2].strip(), 0
        elif text[0].isdigit():
            self._is_sentence = True
        elif self._is_sentence and not text.strip():
            self._sentence += 1
            self._is_sentence = False

    def _may_cut(self, text: str, size: int) -> bool:
        if text[-1] != "\n":
            return False
        if self._layout.kind == "conllu":
            return not self._is_sentence and not text.strip()
        if self._layout.kind == "jsonl" or self._layout.form != "text":
            return True
        return not text.strip() or size >= _LONGEST_PARAGRAPH * self._layout.shard_size


def text_rows(file: BinaryIO, name: str, layout: InputLayout) -> ParquetRows | CsvRows:
    """Return the rows of a table: the text, which may be a list of words, and the id of each document."""
    hint = "name the columns by --set corpus.text_field=NAME and corpus.id_field=NAME"
    if layout.kind == "csv":
        lines = TextLines(decompressed(file, name), name)
        return CsvRows(lines, layout.text_field, [layout.id_field], hint=hint)
    return ParquetRows(file, name, layout.text_field, [layout.id_field], lists=True, hint=hint)


def _rows(table: ParquetRows | CsvRows, layout: InputLayout) -> Iterator[Shard]:
    shard, size = Shard(0, 0, 0, ""), 0
    digest = hashlib.sha256()
    row = 0
    for row, (value, _) in enumerate(table.rows(), 1):
        data = json.dumps(value, ensure_ascii=False).encode()
        digest.update(data)
        size += len(data)
        if size >= layout.shard_size:
            yield replace(shard, end=row, sha256=digest.hexdigest())
            shard, size, digest = Shard(shard.number + 1, row, row, "", line=row), 0, hashlib.sha256()
    if row > shard.start:
        yield replace(shard, end=row, sha256=digest.hexdigest())
