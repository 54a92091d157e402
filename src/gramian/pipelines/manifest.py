"""What lies beside the results of a corpus: the record of the run, and a manifest for each shard; and whether a shard's result stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, TypeVar

from gramian import __version__
from gramian.errors import InputError
from gramian.escaping import json_line
from gramian.io.output import changed_options
from gramian.io.schema import Count, Seconds, Sha256, read_document
from gramian.pipelines.inputs import Input
from gramian.pipelines.shard_plan import Shard, ShardPlan
from gramian.pipelines.shard_work import Settings
from gramian.pipelines.shard_writing import is_shard_name
from gramian.pipelines.storage import Storage

RUN = "run.json"
_PLAN = "plan.json"
_SHOWN_DIGITS = 12  # of a hash in a message
_Document = TypeVar("_Document")


@dataclass(frozen=True)
class RunRecord:
    """The run that was begun last in an output."""

    version: str
    files: Count
    bytes: Count
    model: str
    model_sha256: Sha256
    options: dict[str, Any]
    begun: str


@dataclass(frozen=True)
class Manifest:
    """What a shard was made of, and what came out: an output, or an error."""

    input: str
    shard: Count
    start: Count
    end: Count
    input_sha256: Sha256
    model_sha256: Sha256
    options: dict[str, Any]
    version: str
    finished: str
    error: str = ""
    output: str = field(default="", metadata={"result": True})
    bytes: Count = field(default=0, metadata={"result": True})
    sha256: str = field(default="", metadata={"result": True})
    sentences: Count = field(default=0, metadata={"result": True})
    words: Count = field(default=0, metadata={"result": True})
    statuses: dict[str, Count] = field(default_factory=dict, metadata={"result": True})
    known: float | None = field(default=None, metadata={"result": True})
    faults: list[str] = field(default_factory=list, metadata={"result": True})
    fault_count: Count = field(default=0, metadata={"result": True})
    seconds: Seconds = field(default=0.0, metadata={"result": True})
    cpu_seconds: Seconds = field(default=0.0, metadata={"result": True})
    worker: str = field(default="", metadata={"result": True})

    @classmethod
    def of(cls, source: Input, shard: Shard, settings: Settings, finished: str, **others: Any) -> Manifest:
        """Return the manifest of a shard; `others` are the fields that say what came out."""
        return cls(
            source.name,
            shard.number,
            shard.start,
            shard.end,
            shard.sha256,
            settings.model_sha256,
            settings.as_options(),
            __version__,
            finished,
            **others,
        )

    @property
    def has_result(self) -> bool:
        """Whether there is an output."""
        return not self.error

    def __post_init__(self) -> None:
        # An output may be replaced, so that its name must be one of a shard with this number.
        if not self.error.strip() and not is_shard_name(self.output, self.shard):
            raise ValueError(f"field 'output' must be the name of an output of shard {self.shard}")
        if datetime.fromisoformat(self.finished).tzinfo is None:
            raise ValueError("field 'finished' must have a time zone")

    def as_dict(self) -> dict[str, Any]:
        """Return what a file holds of it: the result, or the error."""
        named = {own.name for own in fields(self) if "result" in own.metadata} if self.error else {"error"}
        return {name: value for name, value in asdict(self).items() if name not in named}

    def differences(self, settings: Settings) -> list[str]:
        """Name what a run with these settings would do otherwise."""
        old, new = self.model_sha256[:_SHOWN_DIGITS], settings.model_sha256[:_SHOWN_DIGITS]
        return changed_options(
            {"model": old, "version": self.version, **self.options},
            {"model": new, "version": __version__, **settings.as_options()},
        )


def as_json(value: Mapping[str, Any]) -> bytes:
    """Return a document as a file holds it."""
    return f"{json_line(value)}\n".encode()


def manifest_name(name: str, number: int) -> str:
    """Return the name of a shard's manifest below the output; `name` is the input's."""
    return f"{name}/{number:05}.manifest.json"


def plan_name(name: str) -> str:
    """Return the name of an input's plan below the output."""
    return f"{name}/{_PLAN}"


def planned_input(name: str) -> str | None:
    """Return the input that the plan of this name is of; None if it is not the name of a plan."""
    folder, _, last = name.rpartition("/")
    return folder if last == _PLAN else None


def read_run(storage: Storage) -> RunRecord | None:
    """Return the record of the last run, None if there is none; an InputError if it is invalid."""
    return _read(RunRecord, storage, RUN, "record of a run")


def read_plan(storage: Storage, name: str) -> ShardPlan | None:
    """Return the plan of an input, None if there is none; an InputError if it is invalid."""
    return _read(ShardPlan, storage, plan_name(name), "plan")


def read_manifest(storage: Storage, name: str, number: int) -> Manifest | None:
    """Return the manifest of a shard, None if there is none; an InputError if it is invalid."""
    manifest = _read(Manifest, storage, manifest_name(name, number), "manifest")
    if manifest is not None and manifest.shard != number:
        read = f"{storage.address}/{manifest_name(name, number)}"
        raise InputError(
            f"invalid manifest: field 'shard' must be {number}, not {manifest.shard}", read, hint=_HINT
        )
    return manifest


_HINT = "removing it: what it stands for is parsed again"


def _read(kind: type[_Document], storage: Storage, name: str, what: str) -> _Document | None:
    data = storage.read(name)
    return (
        None
        if data is None
        else read_document(kind, data, f"{storage.address}/{name}", name=what, hint=_HINT)
    )


def why_again(
    storage: Storage, source: Input, shard: Shard, settings: Settings
) -> tuple[str, Manifest | None]:
    """Return why a shard is to be done, empty if it stands as it is; and its manifest, if there is one."""
    found = read_manifest(storage, source.name, shard.number)
    if found is None:
        return "not begun", None
    if (found.start, found.end, found.input_sha256) != (shard.start, shard.end, shard.sha256):
        return "the input was changed", found
    if found.model_sha256 != settings.model_sha256:
        return "another model", found
    if found.version != __version__:
        return f"done by version {found.version}", found
    if found.options != settings.as_options():
        old, new = found.options, settings.as_options()
        changed = [name for name in new if old.get(name) != new[name]]
        return f"changed: {', '.join(changed) or 'options'}", found
    if not found.has_result:
        return "failed before", found
    entry = storage.entry(f"{source.name}/{found.output}")
    if entry is None or entry.size != found.bytes:
        return "its output is gone or damaged", found
    return "", found
