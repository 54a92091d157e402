"""The settings of ``gramian parse``: the parameters of :class:`gramian.Parser`, and how a corpus is read and written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gramian.chart.combine import COMBINATIONS
from gramian.chart.decode import DECODERS
from gramian.chart.forest import Pruning
from gramian.parsing.parser import Parser
from gramian.settings import Setting, declared_settings
from gramian.value_types import (
    Boolean,
    Constraint,
    InstanceOf,
    Number,
    OneOf,
    Text,
    Whole,
    option,
    options,
    or_none,
)

_CONSTRAINTS: Mapping[str, Constraint] = {
    "decoder": OneOf(*DECODERS),
    "recall_penalty": or_none(Number(0)),
    "combination": OneOf(*COMBINATIONS),
    "pruning": InstanceOf(Pruning),
    "rerank": Boolean(),
    "max_length": or_none(Whole(1)),
    "max_seconds": or_none(Number()),
    "max_memory": or_none(Whole(1)),
    "device": or_none(Text()),
}


@options
class CorpusSettings:
    """How a corpus is read and cut into shards.

    Attributes
    ----------
    format : {"text", "jsonl", "conllu", "parquet"}, optional
        What the files hold; by default their names tell: .jsonl, .conllu, .parquet, else text.
    text_field : str
        Field or column of JSON and Parquet that holds the text, or a list of words.
    id_field : str
        Field or column that holds the document's id; without one, file and line.
    head_rules : str
        Head rules of dependencies, as for gramian convert.
    shard_size : int
        Kilobytes of text that are parsed as one task; an interruption costs no more.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers parse.
    """

    format: str | None = option(or_none(OneOf("text", "jsonl", "conllu", "parquet")), default=None)
    text_field: str = option(Text(), default="text")
    id_field: str = option(Text(), default="id")
    head_rules: str = option(Text(), default="auto")
    shard_size: int = option(Whole(1, 1 << 20), default=1024)
    scheduler: str | None = option(or_none(Text()), default=None)


@cache
def parse_settings() -> dict[str, Setting]:
    """Return the settings of ``gramian parse`` by name."""
    return declared_settings(Parser, constraints=_CONSTRAINTS) | declared_settings(CorpusSettings, "corpus.")


def parser_options(chosen: Mapping[str, Any]) -> tuple[dict[str, Any], CorpusSettings]:
    """Return the arguments of a parser, and the settings of a corpus, that settings by name stand for."""
    parts: dict[str, dict[str, Any]] = {"": {}, "pruning": {}, "corpus": {}}
    for name, value in chosen.items():
        part, _, field = name.rpartition(".")
        parts[part][field] = value
    return parts[""] | {"pruning": Pruning(**parts["pruning"])}, CorpusSettings(**parts["corpus"])
