"""What is kept of a shard that is done, and whether it still stands: for the same input, model, options and version."""

from __future__ import annotations

import json
from typing import Any

from gramian import __version__
from gramian.pipelines.inputs import Input
from gramian.pipelines.shard_plan import Shard
from gramian.pipelines.shard_work import Settings
from gramian.pipelines.storage import Storage

PLAN = "plan.json"


def manifest_name(name: str, number: int) -> str:
    """Return the name of a shard's manifest below the output; `name` is the input's."""
    return f"{name}/{number:05}.manifest.json"


def new_manifest(source: Input, shard: Shard, settings: Settings) -> dict[str, Any]:
    """Return what a manifest tells of what its shard was made of."""
    return {
        "input": source.name,
        "shard": shard.number,
        "start": shard.start,
        "end": shard.end,
        "input_sha256": shard.sha256,
        "model_sha256": settings.model_sha256,
        "options": json.loads(json.dumps(settings.as_options())),
        "version": __version__,
    }


def read_manifest(storage: Storage, name: str) -> dict[str, Any] | None:
    """Return a manifest, None if there is none that can be read."""
    try:
        found = json.loads(storage.read(name) or b"")
        return found if isinstance(found, dict) else None
    except ValueError:
        return None


def why_again(
    storage: Storage, source: Input, shard: Shard, settings: Settings
) -> tuple[str, dict[str, Any]]:
    """Return why a shard is to be done, empty if it stands as it is; and its manifest, if there is one."""
    found = read_manifest(storage, manifest_name(source.name, shard.number))
    if found is None:
        return "not begun", {}
    wanted = new_manifest(source, shard, settings)
    if any(found.get(name) != wanted[name] for name in ("start", "end", "input_sha256")):
        return "the input was changed", found
    if found.get("model_sha256") != wanted["model_sha256"]:
        return "another model", found
    if found.get("version") != wanted["version"]:
        return f"done by version {found.get('version')}", found
    if found.get("options") != wanted["options"]:
        old, new = found.get("options") or {}, wanted["options"]
        changed = [name for name in new if old.get(name) != new[name]]
        return f"changed: {', '.join(changed) or 'options'}", found
    if "error" in found:
        return "failed before", found
    entry = storage.entry(f"{source.name}/{found.get('output')}")
    if entry is None or entry.size != found.get("bytes"):
        return "its output is gone or damaged", found
    return "", found
