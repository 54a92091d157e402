"""What a model file says of itself, read without the rest of it, and without numpy."""

from __future__ import annotations

import json
import os

_LONGEST = 1 << 28


def read_header(file: str) -> dict[str, str] | None:
    """Return the metadata of a safetensors file, or None if it is none; nothing else of it is read."""
    if not os.path.isfile(file):
        return None
    with open(file, "rb") as stream:
        start = stream.read(9)
        size = int.from_bytes(start[:8], "little")
        if len(start) < 9 or start[8:] != b"{" or size > _LONGEST:
            return None
        try:
            header = json.loads(start[8:] + stream.read(size - 1))
        except ValueError:
            return {}  # cut short: whoever reads all of it will say so
    metadata = header.get("__metadata__", {})
    return metadata if isinstance(metadata, dict) else {}


def holds_trees(file: str | os.PathLike[str]) -> bool:
    """Whether a file starts like bracketed trees, which is what people give where a model is wanted."""
    with open(file, "rb") as stream:
        return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"(")
