"""The sentences of a shard: each with its document and its place there."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, BinaryIO

from gramian.errors import InputError
from gramian.io.decompression import decompressed
from gramian.io.reading import TextLines
from gramian.parsing.parser import Parser
from gramian.parsing.sentences import Sentence, read_line
from gramian.pipelines.inputs import Input
from gramian.pipelines.shard_plan import InputLayout, Shard, text_rows
from gramian.text.sentence_segmenter import PlacedText
from gramian.text.text_processor import sentences_in
from gramian.trees.conllu import read_conllu

Note = Callable[[InputError], None]
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class CorpusSentence:
    """A sentence of a document."""

    document: str  #: its id, or the name of its file
    #: where the sentence is: in running text the character at which it begins; else its number, the first being 1
    place: int
    sentence: Sentence  #: as the parser takes it
    name: str = ""  #: what the input calls the sentence (``sent_id``), if it does


class ShardReader:
    """Reads a shard; what cannot be is told to `note`, and left out."""

    def __init__(self, source: Input, layout: InputLayout, parser: Parser, note: Note) -> None:
        self._source, self._layout, self._parser, self._note = source, layout, parser, note

    def pieces(self, shard: Shard) -> Iterator[CorpusSentence]:
        """Yield the sentences of a shard in order; an InputError if the file is not what it was when it was cut."""
        storage, name = self._source.storage
        with closing(storage.open(name)) as file:
            if self._layout.kind in ("parquet", "csv"):
                yield from self._table(file, shard)
                return
            stretch = _Stretch(file, shard, self._source.name)
            stream = io.BufferedReader(stretch, _BLOCK)
            if self._layout.kind == "conllu":
                yield from self._conllu(stream, shard)
            else:
                lines = TextLines(stream, self._source.name, repair=True)
                if self._layout.kind == "jsonl":
                    yield from self._json_lines(lines, shard)
                else:
                    at = shard.line, shard.character
                    pieces = lines.segments() if self._layout.form == "text" else lines
                    yield from self._sentences(pieces, self._source.name, *at)
            stretch.check()

    def _sentences(
        self, lines: Iterable[str], document: str, line: int = 0, start: int = 0
    ) -> Iterator[CorpusSentence]:
        """Yield the sentences of a text, or of a part of one that so many lines and characters lie before."""
        if self._layout.form == "text":
            for placed in sentences_in(lines, self._parser.segmenter):
                at = start + placed.start
                yield CorpusSentence(document, at, PlacedText(placed.text, at))
            return
        for number, text in enumerate(lines, line + 1):
            sentence: Sentence = PlacedText(text, start)
            if self._layout.form != "lines":
                try:
                    sentence = read_line(text, self._layout.form, self._parser, document, number)
                except InputError as error:
                    self._note(error)
                    continue
            yield CorpusSentence(document, number, sentence)
            start += len(text)

    def _value(self, value: Any, document: str, position: str, line: int) -> Iterator[CorpusSentence]:
        """Yield the sentences of a document that is a text, or a list of words: one sentence."""
        if isinstance(value, str):
            yield from self._sentences(io.StringIO(_encodable(value)), _encodable(document))
        elif isinstance(value, list) and all(isinstance(word, str) for word in value):
            yield CorpusSentence(_encodable(document), 1, [_encodable(word) for word in value])
        elif value is not None:
            problem = f"{self._layout.text_field!r} is no text"
            self._note(
                InputError(problem, position, line, hint="name another field by --set corpus.text_field=NAME")
            )

    def _json_lines(self, lines: TextLines, shard: Shard) -> Iterator[CorpusSentence]:
        name = self._source.name
        for number, line in enumerate(lines, shard.line + 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                self._note(InputError(f"this is not JSON ({error})", name, number, hint="correct the line"))
                continue
            if not isinstance(record, dict) or self._layout.text_field not in record:
                problem = f"this is no JSON object with {self._layout.text_field!r}"
                self._note(
                    InputError(problem, name, number, hint="name the field by --set corpus.text_field=NAME")
                )
                continue
            document = str(record.get(self._layout.id_field, f"{name}:{number}"))
            yield from self._value(record[self._layout.text_field], document, name, number)

    def _table(self, file: BinaryIO, shard: Shard) -> Iterator[CorpusSentence]:
        name, digest = self._source.name, hashlib.sha256()
        rows = text_rows(file, name, self._layout).rows(shard.start, shard.end)
        for number, (value, given) in enumerate(rows, shard.start + 1):
            digest.update(json.dumps(value, ensure_ascii=False).encode())
            document = f"{name}:{number}" if given is None else str(given)
            yield from self._value(value, document, name, number)
        if digest.hexdigest() != shard.sha256:
            raise _changed(name)

    def _conllu(self, stream: Any, shard: Shard) -> Iterator[CorpusSentence]:
        document, number = shard.document or self._source.name, shard.sentence

        def note(error: InputError) -> None:
            error.line = None if error.line is None else error.line + shard.line
            error.source = self._source.name
            self._note(error)

        try:
            for sentence in read_conllu(stream, broken="skip", on_skip=note, arcs=False):
                metadata = dict(comment.lstrip("# ").partition(" = ")[::2] for comment in sentence.comments)
                if "newdoc id" in metadata or "newdoc" in metadata:
                    document, number = metadata.get("newdoc id") or self._source.name, 0
                number += 1
                tagged = [(token.form.replace(" ", "_"), token.xpos) for token in sentence.tokens]
                given: Sentence = tagged if self._layout.form == "tagged" else [word for word, _ in tagged]
                yield CorpusSentence(document, number, given, metadata.get("sent_id", ""))
        except InputError as error:
            note(error)


class _Stretch(io.RawIOBase):
    """The bytes of a file from the start of a shard to its end."""

    def __init__(self, file: BinaryIO, shard: Shard, name: str) -> None:
        self.name = name
        self._stream = stream = decompressed(file, name)
        self._shard, self._hash = shard, hashlib.sha256()
        self._left = shard.end - shard.start
        if stream is file or getattr(stream, "raw", None) is file:
            stream.seek(shard.start)
            return
        ahead = shard.start  # of what is compressed, all that lies before is read
        while ahead and (data := stream.read(min(ahead, _BLOCK))):
            ahead -= len(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(min(len(buffer), self._left)) if self._left else b""
        buffer[: len(data)] = data
        self._hash.update(data)
        self._left -= len(data)
        return len(data)

    def check(self) -> None:
        """Raise an InputError if what was read is not what was cut."""
        while self.readinto(bytearray(_BLOCK)):
            pass
        if self._left or self._hash.hexdigest() != self._shard.sha256:
            raise _changed(self.name)


def _encodable(text: str) -> str:
    """Return a text of JSON, which may hold zeros and halves of characters, as one that UTF-8 can hold."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _changed(name: str) -> InputError:
    return InputError("the file was changed while it was parsed", name, hint="run the same command again")
