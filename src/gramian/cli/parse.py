"""``gramian parse``: sentences in, trees out, line by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import typer

from gramian.cli.options import JOBS, MODEL, QUIET, checked_output
from gramian.cli.records import read_record
from gramian.cli.talk import count_lines, counting, say
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.chart.forest import Pruning
    from gramian.io.files import TextLines
    from gramian.parsing.result import ParseResult
    from gramian.parsing.sentences import Sentence

Combination: TypeAlias = Literal["product", "sum", "coverage", "hierarchical"]
Decoder: TypeAlias = Literal["max-recall", "max-rule-product", "max-rule-sum", "variational", "viterbi"]

_FALLBACKS = {
    "narrow": "with a narrower beam",
    "wide": "with a wider beam",
    "glued": "glued from parts",
    "parts": "in parts",
    "flat": "flat",
    "stopped": "stopped late",
}


def parse(
    file: str = typer.Argument("-", help="Sentences, one a line: a file, or - for stdin."),
    model: str | None = MODEL,
    tokens: bool = typer.Option(
        False, "--tokens", help="Lines are tokens with spaces between; none is changed."
    ),
    tagged: bool = typer.Option(False, "--tagged", help="Lines are token/TAG pairs with spaces between."),
    records: bool = typer.Option(
        False, "--records", help="Lines are JSON objects: tokens, their tags, phrases that are known."
    ),
    output: str = typer.Option(
        "-",
        "--output",
        "-o",
        callback=checked_output,
        help="File for the trees, there when all are; after a stop, the same command goes on. - for stdout.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Write one JSON object a sentence."),
    pretty: bool = typer.Option(
        False, "--pretty", help="Write trees over several lines, an empty line after each."
    ),
    k: int = typer.Option(1, "--k", min=1, help="Write the best k trees, an empty line after each sentence."),
    decoder: Decoder = typer.Option("max-recall", help="What makes a tree the best."),
    combination: Combination = typer.Option(
        "product", help="How the grammars of a model that holds several are combined."
    ),
    rerank: bool = typer.Option(True, help="Let the model's reranker choose, if it has one."),
    jobs: int = JOBS,
    prune: str = typer.Option(
        "", help="Thresholds, for example item=1e-5,beam=0: beam, item, edge, fine, guess, split."
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit with 1 if any sentence is not fully parsed."),
    max_length: int | None = typer.Option(None, min=1, help="Parse longer sentences in parts."),
    max_seconds: float = typer.Option(10.0, help="Prune more, or cut, sentences that would take longer."),
    max_memory: int = typer.Option(1024, min=1, help="Cut sentences that would need more megabytes."),
    quiet: bool = QUIET,
) -> None:
    """Parse sentences: for every line of input one tree in Penn brackets; an empty line for an empty line.

    Every sentence gets a tree; how many needed a fallback is said at the end.
    """
    if tokens + tagged + records > 1:
        raise OptionError("lines are --tokens, --tagged or --records, not two of them")
    if as_json and pretty:
        raise OptionError("trees are written as --json or --pretty, not both")
    from gramian.io.files import open_text
    from gramian.io.machine import without_cycle_search
    from gramian.io.resume import resumed
    from gramian.trees.token_lines import split_pairs, split_tokens

    options: dict[str, Any] = {
        "decoder": decoder,
        "combination": combination,
        "rerank": rerank,
        "max_length": max_length,
        "max_seconds": max_seconds,
        "max_memory": max_memory << 20,
    }
    with without_cycle_search():
        from gramian.parsing.model_store import default_model_path
        from gramian.parsing.parser import load

        parser = load(model, pruning=_pruning(prune), **options)
    if model is None and not quiet:
        which = "the English model that comes with gramian, learnt from biomedical articles"
        say(f"parsing with {which}; -m MODEL takes another")
    files = [file, model or str(default_model_path())]
    settings = (tokens, tagged, records, as_json, pretty, k, prune, options)
    statuses: Counter[str] = Counter()
    source: TextLines | None = None
    began = perf_counter()
    try:
        with (
            open_text(file, repair=True) as source,
            resumed(output, files, settings, blocks=pretty or k > 1) as (out, done),
        ):
            if done and not quiet:
                say(f"kept from before: {counted(done, 'sentence')}")
            lines = islice(enumerate(_whole_lines(source), 1), done, None)
            sentences: Iterable[Sentence]
            if records:
                sentences = (read_record(line, source.name, n, parser.model.grammar) for n, line in lines)
            elif tagged:
                hint = "write token/TAG, or use --tokens"
                sentences = (split_pairs(line, source.name, number, hint) for number, line in lines)
            else:
                sentences = (split_tokens(line) if tokens else line for _, line in lines)
            results = parser.parse_many(sentences, n_jobs=jobs, k=k)
            ahead = max(0, (count_lines(file) or 0) - done) or None
            for result in results if out.isatty() else counting(results, "sentences", ahead):
                statuses[result.status] += 1
                out.write(_text(result, as_json, pretty, k))
                out.flush()  # who reads line by line, or interrupts, has all that is done
    finally:
        if not quiet:
            say(_summary(statuses, perf_counter() - began))
            if source is not None and source.repaired:
                say(f"{counted(source.repaired, 'line')} had bytes that are not UTF-8, written as \ufffd")
    if strict and any(statuses[status] for status in _FALLBACKS):
        raise typer.Exit(1)


def _whole_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Join lines so long that they come in pieces."""
    held: list[str] = []
    for piece in pieces:
        held.append(piece)
        if piece.endswith("\n"):
            yield "".join(held)
            held.clear()
    if held:
        yield "".join(held)


def _pruning(text: str) -> Pruning:
    """Read thresholds, ``name=value`` with commas between."""
    from gramian.chart.forest import Pruning

    values = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            values[name.strip()] = float(value)
            Pruning(**values)
        except (TypeError, ValueError):
            names = ", ".join(field.name for field in fields(Pruning))
            raise OptionError(f"--prune takes NAME=NUMBER, NAME one of {names}; not {part!r}") from None
        if not values[name.strip()] >= 0:
            raise OptionError(f"--prune: a threshold is not below 0, as {part!r}")
    return Pruning(**values)


def _text(result: ParseResult, as_json: bool, pretty: bool, k: int) -> str:
    """Return what is written for one sentence, with its line ends."""
    if as_json:
        return json.dumps(result.as_dict(), ensure_ascii=False) + "\n"
    if result.tree.is_empty:
        return "\n"
    trees = [one.tree for one in result.alternatives] or [result.tree]
    lines = [tree.pretty() if pretty else str(tree) for tree in trees]
    return "\n".join(lines) + ("\n\n" if pretty or k > 1 else "\n")


def _summary(statuses: Counter[str], seconds: float) -> str:
    count = statuses.total() - statuses["empty"]
    rate = count / seconds if seconds > 0 else 0.0
    parts = [f"{counted(count, 'sentence')} in {seconds:.1f} s", f"{rate:.1f} a second"]
    parts += [f"{statuses[name]:,} {text}" for name, text in _FALLBACKS.items() if statuses[name]]
    parts += [counted(statuses["empty"], "empty line")] if statuses["empty"] else []
    return ", ".join(parts)
