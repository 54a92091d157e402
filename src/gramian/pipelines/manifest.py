"""Documents beside the results of a corpus: the record of the run, plans and manifests; and which shards are to be parsed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from gramian import __version__
from gramian.errors import InputError
from gramian.escaping import json_line
from gramian.io.output import changed_options
from gramian.io.schema import Count, Sha256, read_document
from gramian.pipelines.inputs import Input
from gramian.pipelines.shard_plan import Shard, ShardPlan
from gramian.pipelines.shard_work import Settings, ShardResult
from gramian.pipelines.shard_writing import is_shard_name
from gramian.pipelines.storage import Storage

RUN = "run.json"
_PLAN = "plan.json"
_SHOWN_DIGITS = 12  # of a hash in a message
_HINT = "remove it, and run the command again"
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
    """What a shard was made of, and its result, or the error that it ended in."""

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
    result: ShardResult | None = None

    def __post_init__(self) -> None:
        if datetime.fromisoformat(self.finished).tzinfo is None:
            raise ValueError("field 'finished' must have a time zone")
        if self.result is None and not self.error.strip():
            raise ValueError("field 'result' is missing")
        # An output may be replaced, so that its name must be one of a shard with this number.
        if self.result is not None and not is_shard_name(self.result.output, self.shard):
            raise ValueError(f"field 'result.output' must be the name of an output of shard {self.shard}")

    def differences(self, settings: Settings) -> list[str]:
        """Name the options, with model and version, that are others in a run with these settings."""
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


def _read(kind: type[_Document], storage: Storage, name: str, description: str) -> _Document | None:
    if (data := storage.read(name)) is None:
        return None
    return read_document(kind, data, f"{storage.address}/{name}", name=description, hint=_HINT)


def why_again(
    storage: Storage, source: Input, shard: Shard, settings: Settings
) -> tuple[str, Manifest | None]:
    """Return why a shard is to be parsed, empty if its result can be used; and its manifest, if there is one."""
    manifest = read_manifest(storage, source.name, shard.number)
    if manifest is None:
        return "not begun", None
    if (manifest.start, manifest.end, manifest.input_sha256) != (shard.start, shard.end, shard.sha256):
        return "the input has changed", manifest
    if differences := manifest.differences(settings):
        return "; ".join(differences), manifest
    if manifest.result is None:
        return "failed before", manifest
    entry = storage.entry(f"{source.name}/{manifest.result.output}")
    if entry is None or entry.size != manifest.result.bytes:
        return "its output is missing or damaged", manifest
    return "", manifest
