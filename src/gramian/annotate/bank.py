"""A bank: a folder with sentences and the trees that people give them, made for version control.

    BANK/bank.json             format and label set
    BANK/sentences.jsonl       one sentence a line: its name and its words
    BANK/ANNOTATOR/NAME.json   one file for each annotator and sentence: the tree, decisions, comment, and earlier states for undo

Every step replaces one small file atomically, so that a server that is killed loses nothing, and that a line of history is a line of a
diff. Each file has a revision: a change names the revision that it was made from, and is refused if there is a newer one.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from msgspec import Meta

from gramian.annotate.annotation import Annotation
from gramian.annotate.proposals import LabelSet
from gramian.chart.constraints import Span
from gramian.errors import GramianError, InputError, OptionError
from gramian.io.lock import locked
from gramian.io.output import writing
from gramian.io.schema import SchemaError, parse_document
from gramian.trees import Tree, unescape_word
from gramian.trees.brackets import parse_bracketed

_FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_LONGEST_HISTORY = 100
_MOST_BYTES = 1 << 24  # of a file of one annotated sentence
_RESERVED = {"CON", "PRN", "AUX", "NUL"}


_Document = TypeVar("_Document")
_Text: TypeAlias = Annotated[str, Meta(min_length=1)]
_Labels: TypeAlias = Annotated[tuple[_Text, ...], Meta(min_length=1)]
_Phrase: TypeAlias = Annotated[str, Meta(pattern=r"^[^\s()]{1,40} [0-9]{1,6}-[0-9]{1,6}\Z")]
_Index: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9]{1,6}\Z")]


@dataclass(frozen=True)
class _Header:
    """The content of bank.json."""

    format: int
    phrases: _Labels
    tags: _Labels


@dataclass(frozen=True)
class _Sentence:
    """A line of sentences.jsonl."""

    name: Annotated[str, Meta(pattern=rf"^{_NAME.pattern}\Z")]
    words: _Labels


@dataclass(frozen=True)
class _State:
    """An annotation in its file; phrases are texts such as ``"NP 0-2"``."""

    tree: str
    done: bool = False
    comment: str = ""
    required: tuple[_Phrase, ...] = ()
    forbidden: tuple[_Phrase, ...] = ()
    tags: dict[_Index, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Record(_State):
    """The content of the file of an annotated sentence."""

    revision: Annotated[int, Meta(ge=1)]
    history: tuple[_State, ...] = ()


class RevisionConflict(GramianError):
    """A change was made from a state that somebody else, or another tab, has changed meanwhile."""


@dataclass(frozen=True)
class StoredAnnotation:
    """An annotation as it stands in its file: its revision, from 1, and the states before it, the oldest first."""

    annotation: Annotation
    revision: int = 0
    history: tuple[Annotation, ...] = ()


class AnnotationBank:
    """A folder of annotated sentences, held by one process at a time; threads may share it.

    Parameters
    ----------
    folder : path
        It is made if it is missing.
    labels : LabelSet, optional
        For a new bank.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with AnnotationBank(Path(folder.name) / "bank") as bank:
    ...     [name] = bank.add([["rain", "falls"]])
    ...     tree = Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")
    ...     stored = bank.save("anna", name, Annotation(tree, done=True), revision=0)
    ...     print(name, stored.revision, bank.trees("anna")[name])
    00001 1 (S (NP (NN rain)) (VP (VBZ falls)))
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | os.PathLike[str], labels: LabelSet | None = None) -> None:
        self.folder = Path(folder)
        self._lock = RLock()
        self._held = ExitStack()
        self._stored: dict[tuple[str, str], StoredAnnotation] = {}
        self.sentences: dict[str, tuple[str, ...]] = {}
        """The words of each sentence, by its name, in the order of the bank."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError.of_system(error, "made", folder, "choose another folder") from None
        self._held.enter_context(locked(self.folder / "bank.json"))
        try:
            self._open(labels)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the bank to other processes."""
        self._held.close()

    def _open(self, labels: LabelSet | None) -> None:
        path = self.folder / "bank.json"
        if not path.exists():
            if any(self.folder.glob("[!.]*")):
                raise OptionError(
                    f"{self.folder}: this folder is neither empty nor an annotation bank; try: another folder"
                )
            self.labels = labels or LabelSet()
            _write_json(path, {"format": _FORMAT, **asdict(self.labels)})
        header = _read(_Header, path)
        if header.format != _FORMAT:
            raise InputError(f"format {header.format} is not {_FORMAT}", str(path), hint="update gramian")
        self.labels = LabelSet(header.phrases, header.tags)
        self._read_sentences()
        for folder in sorted(self.folder.iterdir()):
            if folder.is_dir() and not folder.is_symlink() and _NAME.fullmatch(folder.name):
                self._read_annotator(folder)

    def _read_sentences(self) -> None:
        path = self.folder / "sentences.jsonl"
        if not path.exists():
            return
        for number, line in enumerate(_read_text(path, 1 << 30).splitlines(), 1):
            sentence = _document(_Sentence, line, path, number)
            if sentence.name in self.sentences:
                raise InputError(f"sentence {sentence.name} occurs twice", str(path), number)
            self.sentences[sentence.name] = sentence.words

    def _read_annotator(self, folder: Path) -> None:
        for path in sorted(folder.glob("*.json")):
            if path.stem not in self.sentences:
                raise InputError(
                    "there is no such sentence in sentences.jsonl", str(path), hint="move it away"
                )
            record, words = _read(_Record, path), self.sentences[path.stem]
            *history, annotation = [_annotation(state, words, path) for state in (*record.history, record)]
            self._stored[folder.name, path.stem] = StoredAnnotation(
                annotation, record.revision, tuple(history)
            )

    # -- sentences ---------------------------------------------------------------------------------------------------

    def add(self, sentences: Iterable[Sequence[str]]) -> list[str]:
        """Add sentences, except those that the bank has; return the names of the new ones."""
        with self._lock:
            known = set(self.sentences.values())
            new = dict.fromkeys(tuple(map(unescape_word, words)) for words in sentences if words)
            added = [words for words in new if words not in known]
            last = max((int(name) for name in self.sentences if name.isdigit()), default=0)
            names = [f"{last + number:05}" for number in range(1, len(added) + 1)]
            everything = {**self.sentences, **dict(zip(names, added, strict=True))}
            with writing(self.folder / "sentences.jsonl") as file:
                for name, words in everything.items():
                    file.write(json.dumps({"name": name, "words": words}, ensure_ascii=False) + "\n")
            self.sentences = everything
            return names

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a sentence."""
        if name not in self.sentences:
            raise OptionError(f"there is no sentence {name!r} in the bank")
        return self.sentences[name]

    # -- annotations -------------------------------------------------------------------------------------------------

    @property
    def annotators(self) -> list[str]:
        """Who has annotated something."""
        with self._lock:
            return sorted({annotator for annotator, _ in self._stored})

    def stored(self) -> list[StoredAnnotation]:
        """Return everything that was annotated."""
        with self._lock:
            return list(self._stored.values())

    def find(self, annotator: str, name: str) -> StoredAnnotation | None:
        """Return what an annotator made of a sentence, or None."""
        check_annotator(annotator)
        self.words(name)
        with self._lock:
            return self._stored.get((annotator, name))

    def save(
        self,
        annotator: str,
        name: str,
        annotation: Annotation,
        *,
        revision: int,
        before: Annotation | None = None,
    ) -> StoredAnnotation:
        """Save an annotation that was made from a revision, 0 for a new one; `before` is the state that undo brings back, if any.

        A RevisionConflict is raised if the file has another revision by now.
        """
        with self._lock:
            old = self.at_revision(annotator, name, revision)
            if annotation.tree.words != self.words(name):
                raise OptionError("the tree has other words than the sentence")
            history = old.history
            if before is not None:
                history = (*history, replace(before, comment=""))[-_LONGEST_HISTORY:]
            return self._store(annotator, name, StoredAnnotation(annotation, revision + 1, history))

    def undo(self, annotator: str, name: str, *, revision: int) -> StoredAnnotation:
        """Bring back the state before the last step; the comment stays."""
        with self._lock:
            old = self.at_revision(annotator, name, revision)
            if not old.history:
                raise OptionError("there is nothing to undo")
            annotation = replace(old.history[-1], comment=old.annotation.comment)
            return self._store(annotator, name, StoredAnnotation(annotation, revision + 1, old.history[:-1]))

    def at_revision(self, annotator: str, name: str, revision: int) -> StoredAnnotation:
        """Return what an annotator made of a sentence, revision 0 if nothing; RevisionConflict if it has another revision."""
        nothing = StoredAnnotation(Annotation(Tree("")))
        old = self.find(annotator, name) or nothing
        if old.revision != revision:
            raise RevisionConflict(
                f"sentence {name} was changed elsewhere (revision {old.revision}, this page has {revision}); "
                "its current state is shown: repeat your change"
            )
        return old

    def _store(self, annotator: str, name: str, stored: StoredAnnotation) -> StoredAnnotation:
        folder = self.folder / annotator
        folder.mkdir(exist_ok=True)
        record = {"revision": stored.revision, **_record(stored.annotation)}
        history = [_record(state) for state in stored.history]
        _write_json(folder / f"{name}.json", {**record, "history": history})
        self._stored[annotator, name] = stored
        return stored

    def trees(self, annotator: str | None = None) -> dict[str, Tree]:
        """Return the finished trees by sentence: those of one annotator, or the first finished one of all."""
        with self._lock:
            finished: dict[str, Tree] = {}
            for (other, name), stored in sorted(self._stored.items()):
                if stored.annotation.done and annotator in (None, other):
                    finished.setdefault(name, stored.annotation.tree)
            return {name: finished[name] for name in self.sentences if name in finished}


def check_annotator(name: str) -> None:
    """Refuse names of annotators that are no plain names of folders."""
    if not _NAME.fullmatch(name) or name.upper() in _RESERVED:
        raise OptionError("the name of an annotator has 1 to 32 letters, digits, '-' and '_'")


def _record(annotation: Annotation) -> dict[str, Any]:
    """Return an annotation as JSON holds it; phrases are texts such as ``"NP 0-2"``."""
    return {
        "tree": str(annotation.tree),
        "done": annotation.done,
        "comment": annotation.comment,
        "required": [str(span) for span in annotation.required],
        "forbidden": [str(span) for span in annotation.forbidden],
        "tags": {str(index): tag for index, tag in annotation.tags},
    }


def _annotation(state: _State, words: tuple[str, ...], path: Path) -> Annotation:
    """Return the annotation of a state, whose tree, spans and tags are those of the sentence."""
    trees = parse_bracketed(state.tree)
    if len(trees) != 1 or trees[0].words != words:
        raise InputError("tree is one tree over the words of the sentence", str(path))
    tags = tuple(sorted((int(index), tag) for index, tag in state.tags.items()))
    if tags and tags[-1][0] >= len(words):
        raise InputError(f"tags: the sentence has no word {tags[-1][0]}", str(path))
    required, forbidden = (
        tuple(_span(span, len(words), path) for span in spans) for spans in (state.required, state.forbidden)
    )
    return Annotation(trees[0], required, forbidden, tags, state.done, state.comment)


def _span(text: str, n_words: int, path: Path) -> Span:
    label, _, ends = text.partition(" ")
    start, end = map(int, ends.split("-"))
    if not start < end <= n_words:
        raise InputError(f"{text!r} is not a phrase of the sentence", str(path))
    return Span(start, end, label)


def _read(kind: type[_Document], path: Path) -> _Document:
    return _document(kind, _read_text(path, _MOST_BYTES), path)


def _document(kind: type[_Document], text: str, path: Path, line: int | None = None) -> _Document:
    try:
        return parse_document(kind, text)
    except SchemaError as error:
        raise InputError(str(error), str(path), line, hint="restore it from version control") from None


def _read_text(path: Path, most: int) -> str:
    try:
        if path.stat().st_size > most:
            raise InputError(f"larger than {most:,} bytes", str(path))
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError.of_system(error, "read", path) from None
    except UnicodeError:
        raise InputError("this is not UTF-8", str(path)) from None


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    with writing(path) as file:
        file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
