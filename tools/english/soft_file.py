"""Soft trees in a file: a line of JSON each, compressed."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from gramian.neural.soft_trees import SoftTree


def write_soft_trees(trees: Iterable[SoftTree], path: Path) -> None:
    """Write soft trees; the file appears once it is whole."""
    draft = path.with_name(f"{path.name}.draft")
    encode = msgspec.json.Encoder().encode
    with gzip.open(draft, "wb", compresslevel=1) as file:
        for tree in trees:
            spans = [(start, end, chain, round(share, 3)) for start, end, chain, share in tree.spans]
            tags = [(word, tag, round(share, 3)) for word, tag, share in tree.tags]
            file.write(encode((tree.words, spans, tags, tree.weight)) + b"\n")
    draft.replace(path)


def read_soft_trees(path: Path) -> Iterator[SoftTree]:
    """Yield the soft trees of a file."""
    row = tuple[
        tuple[str, ...], tuple[tuple[int, int, str, float], ...], tuple[tuple[int, str, float], ...], float
    ]
    decode = msgspec.json.Decoder(row).decode
    with gzip.open(path, "rb") as lines:
        for line in lines:
            yield SoftTree(*decode(line))
