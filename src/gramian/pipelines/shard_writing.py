"""What is written of a shard: trees in brackets, JSON objects, a Parquet table, or dependencies in CoNLL-U."""

import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import IO, Any, Literal, TypeAlias, cast, get_args

from gramian.errors import OptionError
from gramian.escaping import json_line, one_line
from gramian.io.output import as_text
from gramian.parsing.result import ParseResult
from gramian.pipelines.parquet_rows import parquet
from gramian.pipelines.shard_reading import CorpusSentence
from gramian.text.sentence_segmenter import PlacedText
from gramian.trees import HeadRules, to_dependencies

OutputFormat: TypeAlias = Literal["brackets", "jsonl", "parquet", "conllu"]
_ENDINGS = {"brackets": ".mrg", "jsonl": ".jsonl", "parquet": ".parquet", "conllu": ".conllu"}
_PACKINGS = ("", "gz", "xz", "zst")
_NAME = r"([0-9]{5,})\.(?:parquet|(?:mrg|jsonl|conllu)(?:\.(?:gz|xz|zst))?)"
_SHARD_NAME = re.compile(_NAME)
_ROWS = 2000  # that are held before they are written to a table


def ending(to: str) -> str:
    """Return how the name of an output ends: of ``jsonl.gz`` in .jsonl.gz; an OptionError if there is no such format.

    Examples
    --------
    >>> ending("brackets"), ending("jsonl.gz")
    ('.mrg', '.jsonl.gz')
    """
    name, _, packing = to.partition(".")
    if name not in _ENDINGS or packing not in _PACKINGS or (packing and name == "parquet"):
        known = f"{', '.join(get_args(OutputFormat))}, those of text also with .gz, .xz or .zst"
        raise OptionError(f"to must be one of {known}, got {to!r}")
    return _ENDINGS[name] + (f".{packing}" if packing else "")


def is_shard_name(name: str, number: int) -> bool:
    """Whether the output of a shard may have this name.

    Examples
    --------
    >>> is_shard_name("00012.jsonl.gz", 12), is_shard_name("../../00012.jsonl", 12)
    (True, False)
    """
    match = _SHARD_NAME.fullmatch(name)
    return match is not None and match[1] == f"{number:05}"


class HashedFile(io.RawIOBase):
    """A file that is written to, and the size and hash of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash = file, hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write on."""
        data = bytes(data)
        self._hash.update(data)
        self.size += len(data)
        self._file.write(data)
        return len(data)

    @property
    def sha256(self) -> str:
        """The hash of all that was written."""
        return self._hash.hexdigest()


def as_record(piece: CorpusSentence, result: ParseResult) -> dict[str, Any]:
    """Return what is written of one sentence, as JSON holds it; nothing in it depends on when or where it was parsed."""
    record = result.as_dict()
    del record["seconds"]
    named = {"sent_id": piece.name} if piece.name else {}
    return {
        "document": piece.document,
        "sentence": piece.place,
        **named,
        **record,
        "confidence": round(result.confidence, 4),
    }


class ShardWriter:
    """Writes results to a stream in one of the formats; `rules` are the head rules of dependencies."""

    def __init__(self, to: str, raw: io.RawIOBase, rules: HeadRules | None = None) -> None:
        name = to.partition(".")[0]
        self._rules, self._document = rules, ""
        self._rows: list[dict[str, Any]] = []
        self._table: Any = None
        self._text: io.TextIOWrapper | None = None
        if name == "parquet":
            self._schema = _schema()
            self._table = parquet().ParquetWriter(raw, self._schema, compression="zstd")
        else:
            suffix = f".{to.partition('.')[2]}"
            self._text = as_text(cast("IO[bytes]", io.BufferedWriter(raw)), suffix)
        writers: dict[str, Callable[[CorpusSentence, ParseResult], None]] = {
            "brackets": self._brackets,
            "jsonl": self._json,
            "parquet": self._row,
            "conllu": self._conllu,
        }
        self.add = writers[name]

    def close(self) -> None:
        """Write what is held."""
        if self._table is not None:
            self._flush()
            self._table.close()
        elif self._text is not None:
            self._text.close()

    def _write(self, text: str) -> None:
        assert self._text is not None
        self._text.write(text)

    def _brackets(self, piece: CorpusSentence, result: ParseResult) -> None:
        self._write("\n" if result.tree.is_empty else f"{result.tree}\n")

    def _json(self, piece: CorpusSentence, result: ParseResult) -> None:
        self._write(f"{json_line(as_record(piece, result))}\n")

    def _row(self, piece: CorpusSentence, result: ParseResult) -> None:
        self._rows.append(as_record(piece, result))
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._rows:
            self._table.write_table(pyarrow.Table.from_pylist(self._rows, self._schema))
            self._rows.clear()

    def _conllu(self, piece: CorpusSentence, result: ParseResult) -> None:
        if result.tree.is_empty:
            return
        assert self._rules is not None
        sentence = to_dependencies(result.tree, self._rules)
        comments = [f"# sent_id = {one_line(piece.name or f'{piece.document}-{piece.place}')}"]
        if piece.document != self._document:
            comments.insert(0, f"# newdoc id = {one_line(piece.document)}")
            self._document = piece.document
        if isinstance(piece.sentence, PlacedText):
            comments.append(f"# text = {one_line(' '.join(piece.sentence.text.split()))}")
        comments += [f"# status = {result.status}", f"# confidence = {result.confidence:.4f}"]
        tokens = sentence.tokens
        if result.offsets is not None:
            tokens = tuple(
                replace(token, misc=f"start_char={start}|end_char={end}")
                for token, (start, end) in zip(tokens, result.offsets, strict=True)
            )
        self._write(f"{replace(sentence, tokens=tokens, comments=tuple(comments))}\n")


def _schema() -> Any:
    import pyarrow as pa

    span = pa.struct(
        [("label", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("confidence", pa.float32())]
    )
    return pa.schema(
        [
            ("document", pa.string()),
            ("sentence", pa.int64()),
            ("sent_id", pa.string()),
            ("tree", pa.string()),
            ("status", pa.string()),
            ("confidence", pa.float32()),
            ("exact_probability", pa.float32()),
            ("restored", pa.list_(pa.string())),
            ("language", pa.string()),
            ("log_prob", pa.float64()),
            ("words", pa.list_(pa.string())),
            ("offsets", pa.list_(pa.list_(pa.int64()))),
            ("spans", pa.list_(span)),
        ]
    )
