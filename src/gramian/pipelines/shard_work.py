"""One shard parsed: the piece of work that goes to a process, or to a worker somewhere.

What is written goes to a file of its own below ``.partial``, which the command renames when it hears of it: a worker that was given up, and
wakes later, harms nothing. A parser is loaded once in every process.
"""

import json
import os
import re
import socket
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import tee
from secrets import token_hex
from threading import Lock
from time import perf_counter, process_time
from typing import Any

from gramian.chart.forest import Pruning
from gramian.errors import GramianError, InputError, counted
from gramian.escaping import one_line
from gramian.io.output import is_no_room
from gramian.io.reading import file_sha256
from gramian.io.schema import Count, Seconds, Sha256, parse_json
from gramian.parsing.installed_models import model_path
from gramian.parsing.model_store import default_model_path
from gramian.parsing.parser import Parser, load
from gramian.parsing.sentences import SentenceFormat
from gramian.pipelines.inputs import Input
from gramian.pipelines.shard_plan import InputLayout, Shard
from gramian.pipelines.shard_reading import ShardReader
from gramian.pipelines.shard_writing import HashedFile, ShardWriter, ending
from gramian.pipelines.storage import storage_at
from gramian.trees import HeadRules, annotation_scheme

PARTIAL = ".partial"
PARTIAL_NAME = re.compile(r"\A[0-9]{5,}-[0-9a-f]{16}\.[a-z.]+")
_FOREIGN_SHARE = 0.3  # of the sentences of a shard; above, the corpus is likely to be in another language
_MOST_FAULTS = 20  # of a shard that are told one by one


@dataclass(frozen=True)
class Settings:
    """How a corpus is parsed: all that its output depends on but for the inputs and the version."""

    model: str = ""  # a file or a language; empty for the model that comes with gramian
    model_sha256: str = ""
    to: str = "jsonl"
    form: SentenceFormat = "text"
    text_field: str = "text"
    id_field: str = "id"
    head_rules: str = "auto"
    min_confidence: float | None = None
    pruning: Pruning = field(default_factory=Pruning)
    options: dict[str, Any] = field(default_factory=dict)  # of the parser

    def as_options(self) -> dict[str, Any]:
        """Return the options that a manifest records, one flat level."""
        fields = {
            name: value for name, value in asdict(self).items() if name not in ("model", "model_sha256")
        }
        parser_options = fields.pop("options")
        options: dict[str, Any] = parse_json(json.dumps(fields | parser_options))
        return options


@dataclass(frozen=True)
class ShardWork:
    """A shard, where it comes from and where it goes to, and how many bytes of its file, as it lies there, it stands for."""

    source: Input
    layout: InputLayout
    shard: Shard
    output: str
    settings: Settings
    share: float


@dataclass(frozen=True)
class ShardResult:
    """What came out of a shard."""

    output: str
    bytes: Count
    sha256: Sha256
    sentences: Count
    words: Count
    statuses: dict[str, Count]
    warning: str
    faults: list[str]
    fault_count: Count
    seconds: Seconds
    cpu_seconds: Seconds
    worker: str


def model_file(name: str) -> str:
    """Return the path of the model that `name` stands for."""
    return str(model_path(name) if name else default_model_path())


def _foreign_text(languages: Counter[str], n_sentences: int) -> str:
    """Return a warning if many sentences are in another language than the model's."""
    if not languages or languages.total() < _FOREIGN_SHARE * n_sentences:
        return ""
    listed = ", ".join(f"{language} {count:,}" for language, count in languages.most_common(3))
    share = f"{languages.total():,} of {counted(n_sentences, 'sentence')}"
    return f"{share} seem to be in another language than the model's ({listed})"


_loaded: dict[str, tuple[Parser, HeadRules]] = {}  # in this process
_loading = Lock()


def _parser(settings: Settings) -> tuple[Parser, HeadRules]:
    """Return the parser of some settings, and the head rules of its trees; made when first asked for."""
    key = repr(settings)
    with _loading:
        if key not in _loaded:
            path = model_file(settings.model)
            if file_sha256(path) != settings.model_sha256:
                raise InputError(
                    f"the model on {socket.gethostname()} differs from that of the command",
                    path,
                    hint="install the same version of gramian everywhere, or name a model file that all machines see",
                )
            parser = load(path, pruning=settings.pruning, **settings.options)
            scheme = annotation_scheme(parser.model.preset)
            rules = HeadRules.for_conllu(settings.head_rules, scheme, parser.model.language)
            _loaded.clear()  # a process works for one command at a time
            _loaded[key] = parser, rules
        return _loaded[key]


def parse_shard(task: ShardWork) -> ShardResult | str:
    """Parse a shard into a file below :data:`PARTIAL`; return its result, or the reason why there was no room for it."""
    parser, rules = _parser(task.settings)
    began, used = perf_counter(), process_time()
    faults: list[str] = []
    counts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    languages: Counter[str] = Counter()

    def note(error: InputError) -> None:
        counts["faults"] += 1
        if len(faults) < _MOST_FAULTS:
            position = one_line(error.source) + (f":{error.line}" if error.line else "")
            faults.append(f"{position}: {error.what}")

    reader = ShardReader(task.source, task.layout, parser, note)
    storage = storage_at(task.output)
    partial = f"{PARTIAL}/{task.shard.number:05}-{token_hex(8)}{ending(task.settings.to)}"
    try:
        with closing(storage.create(partial)) as file:
            hashed = HashedFile(file)
            writer = ShardWriter(task.settings.to, hashed, rules)
            pieces, read = tee(reader.pieces(task.shard))
            sentences = (piece.sentence for piece in read)
            results = parser.parse_many(sentences, ahead=True, on_error="return")
            for piece, result in zip(pieces, results, strict=True):
                if isinstance(result, GramianError):
                    problem = result.what if isinstance(result, InputError) else str(result)
                    note(InputError(problem, piece.document, piece.place))
                    continue
                if task.settings.min_confidence is not None:
                    result = result.drop_uncertain(task.settings.min_confidence)
                writer.add(piece, result)
                counts["sentences"] += bool(result.words)
                counts["words"] += len(result.words)
                statuses[result.status] += 1
                languages.update([result.language] if result.language else ())
            writer.close()
    except BaseException as error:
        storage.remove(partial)
        if isinstance(error, OSError) and is_no_room(error):
            return str(error.strerror)
        raise
    return ShardResult(
        output=partial,
        bytes=hashed.size,
        sha256=hashed.sha256,
        sentences=counts["sentences"],
        words=counts["words"],
        statuses=dict(sorted(statuses.items())),
        warning=_foreign_text(languages, counts["sentences"]),
        faults=faults,
        fault_count=counts["faults"],
        seconds=round(perf_counter() - began, 3),
        cpu_seconds=round(process_time() - used, 3),
        worker=f"{socket.gethostname()} {os.getpid()}",
    )
