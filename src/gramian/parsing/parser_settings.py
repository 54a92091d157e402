"""The settings of ``gramian parse``: the parameters of :class:`gramian.Parser`, and how a corpus is read and written."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from gramian.chart.forest import Pruning
from gramian.parsing.parser import Parser
from gramian.parsing.sentences import SentenceFormat
from gramian.settings import Setting, declared_settings
from gramian.value_types import Boolean, Number, OneOf, Text, Whole, option, option_fields, options, or_none

CORPUS_FORMATS = ("jsonl", "conllu", "parquet", "csv")
"""Formats that only files of a corpus have; CSV can also be parsed alone."""


@options
class CommandSettings:
    """What ``gramian parse`` reads and writes."""

    format: str | None = option(or_none(OneOf(*get_args(SentenceFormat), *CORPUS_FORMATS)), default=None)
    """What a file holds: running text, or on every line a sentence, tokens, token/TAG pairs, or a JSON object with tokens, their tags and
    known phrases; or a CSV or TSV file, one column of which holds sentences. Of a corpus also jsonl, conllu or parquet. By default the ends
    of file names decide."""
    min_confidence: float | None = option(or_none(Number(0, 1)), default=None)
    """Leave out phrases of lower confidence: flatter trees, fewer errors."""
    strict: bool = option(Boolean(), default=False)
    """Exit with 1 if any sentence is not fully parsed."""


@options
class CorpusSettings:
    """How a corpus is read and cut into shards."""

    text_field: str = option(Text(), default="text")
    """Field or column of JSON, CSV and Parquet that holds the text, or a list of words."""
    id_field: str = option(Text(), default="id")
    """Field or column that holds the document's id; without one, file and line."""
    head_rules: str = option(Text(), default="auto")
    """Head rules of dependencies, as for gramian convert."""
    shard_size: int = option(Whole(1, 1 << 20), default=1024)
    """Kilobytes of text that are parsed as one task; an interruption costs no more."""
    scheduler: str | None = option(or_none(Text()), default=None)
    """Address of a Dask scheduler, whose workers parse."""


@cache
def parse_settings() -> dict[str, Setting]:
    """Return the settings of ``gramian parse`` by name."""
    command = declared_settings(CommandSettings)
    parser = declared_settings(Parser)
    return command | parser | declared_settings(CorpusSettings, "corpus.")


def parser_options(chosen: Mapping[str, Any]) -> tuple[CommandSettings, dict[str, Any], CorpusSettings]:
    """Return the settings of the command, the arguments of a parser, and the settings of a corpus that settings by name stand for."""
    parts: dict[str, dict[str, Any]] = {"": {}, "command": {}, "pruning": {}, "corpus": {}}
    for name, value in chosen.items():
        part, _, field = name.rpartition(".")
        parts["command" if name in option_fields(CommandSettings()) else part][field] = value
    parser = parts[""] | {"pruning": Pruning(**parts["pruning"])}
    return CommandSettings(**parts["command"]), parser, CorpusSettings(**parts["corpus"])
