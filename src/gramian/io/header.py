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


def kind_of_text(file: str | os.PathLike[str]) -> str | None:
    """Return what a file that is no model seems to hold, in words, where people may take it for one: trees, or dependency trees."""
    with open(file, "rb") as stream:
        lines = stream.read(1 << 14).removeprefix(b"\xef\xbb\xbf").lstrip().splitlines()
    if lines and lines[0].startswith(b"("):
        return "trees in brackets"
    words = [line for line in lines if line.strip() and not line.startswith(b"#")]
    return "dependency trees in CoNLL-U" if words and words[0].count(b"\t") == 9 else None
