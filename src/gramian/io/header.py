"""What a model file says of itself, read without the rest of it, and without numpy."""

import os
from collections.abc import Mapping
from typing import Any, TypedDict

from gramian.errors import ModelFileError
from gramian.io.schema import Count, SchemaError, as_document, parse_document, parse_json

_LONGEST = 1 << 28
GRAMMAR_KEY = "gramian"  # of the metadata of a model of trees


class ModelData(TypedDict, total=False):
    """What a model was learnt from, as far as programs read it."""

    trees: Count
    words: Count
    attribution: str


class ModelMetrics(TypedDict, total=False):
    """How well a model parses, as far as programs read it."""

    f1: float
    dev: str


class GrammarHeader(TypedDict, total=False):
    """What the header of a model of trees tells without its tensors; it may have more."""

    gramian: str
    data: ModelData
    options: dict[str, Any]
    metrics: ModelMetrics


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
            header = parse_json(start[8:] + stream.read(size - 1))
            return as_document(dict[str, str], header.get("__metadata__", {}))
        except SchemaError:
            return {}  # cut short: whoever reads all of it will say so


def grammar_header(file: str, metadata: Mapping[str, str] | None) -> GrammarHeader:
    """Return the header of a model of trees, an empty one of any other file; ModelFileError if it is invalid."""
    if not metadata or GRAMMAR_KEY not in metadata:
        return {}
    try:
        return parse_document(GrammarHeader, metadata[GRAMMAR_KEY])
    except SchemaError as error:
        raise ModelFileError(f"{file}: invalid model header: {error}; try: copy the file again") from None


def kind_of_text(file: str | os.PathLike[str]) -> str | None:
    """Return what a file that is no model seems to hold, in words, where people may take it for one: trees, or dependency trees."""
    with open(file, "rb") as stream:
        lines = stream.read(1 << 14).removeprefix(b"\xef\xbb\xbf").lstrip().splitlines()
    if lines and lines[0].startswith(b"("):
        return "trees in brackets"
    words = [line for line in lines if line.strip() and not line.startswith(b"#")]
    return "dependency trees in CoNLL-U" if words and words[0].count(b"\t") == 9 else None
