"""``gramian parse``: sentences in, trees out, line by line."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import islice
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias

import typer

from gramian.cli.records import read_record
from gramian.cli.talk import counted, say
from gramian.errors import InputError, OptionError

if TYPE_CHECKING:
    from gramian.chart.chart_parser import Pruning
    from gramian.io.files import TextLines
    from gramian.parsing.parser import ParseResult, Sentence

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
    model: str | None = typer.Option(None, "--model", "-m", help="Model file; without it, the bundled one."),
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
    jobs: int = typer.Option(1, "--jobs", "-j", min=1, help="Threads."),
    prune: str = typer.Option(
        "", help="Thresholds, for example item=1e-5,beam=0: beam, item, edge, fine, guess, split."
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit with 1 if any sentence is not fully parsed."),
    max_length: int | None = typer.Option(None, min=1, help="Parse longer sentences in parts."),
    max_seconds: float = typer.Option(10.0, help="Prune more, or cut, sentences that would take longer."),
    max_memory: int = typer.Option(1024, min=1, help="Cut sentences that would need more megabytes."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Parse sentences: for every line of input one tree in Penn brackets; an empty line for an empty line.

    Every sentence gets a tree; how many needed a fallback is said at the end.
    """
    if tokens + tagged + records > 1:
        raise OptionError("lines are --tokens, --tagged or --records, not two of them")
    if as_json and pretty:
        raise OptionError("trees are written as --json or --pretty, not both")
    _start_numba(announce=not quiet)
    from gramian.io.files import open_text
    from gramian.io.resume import resumed
    from gramian.parsing.model_store import default_model_path
    from gramian.parsing.parser import load

    parser = load(
        model,
        decoder=decoder,
        combination=combination,
        rerank=rerank,
        pruning=_pruning(prune),
        max_length=max_length,
        max_seconds=max_seconds,
        max_memory=max_memory << 20,
    )
    if model is None and not quiet:
        say(
            "parsing with the English model that comes with gramian, learnt from biomedical articles; -m MODEL takes another"
        )
    settings = (
        tokens, tagged, records, as_json, pretty, k, decoder, combination, rerank, prune, max_length, max_seconds, max_memory,
    )  # fmt: skip
    statuses: Counter[str] = Counter()
    source: TextLines | None = None
    began = perf_counter()
    try:
        with (
            open_text(file, repair=True) as source,
            resumed(output, [file, model or str(default_model_path())], settings, blocks=pretty or k > 1) as (
                out,
                done,
            ),
        ):
            if done and not quiet:
                say(f"{done:,} sentences are kept from before")
            lines = islice(enumerate(_whole_lines(source), 1), done, None)
            if records:
                sentences: Iterable[Sentence] = (
                    read_record(line, source.name, number, parser.model.grammar) for number, line in lines
                )
            elif tagged:
                sentences = (_pairs(_tokens(line), source.name, number) for number, line in lines)
            else:
                sentences = (_tokens(line) if tokens else line for _, line in lines)
            results = parser.parse_many(sentences, n_jobs=jobs, k=k)
            for result in results if out.isatty() else counted(results, "sentences"):
                statuses[result.status] += 1
                out.write(_text(result, as_json, pretty, k))
                out.flush()  # who reads line by line, or interrupts, has all that is done
    finally:
        if not quiet:
            say(_summary(statuses, perf_counter() - began))
            if source is not None and source.repaired:
                say(f"{source.repaired:,} lines had bytes that are not UTF-8; they are written as \ufffd")
    if strict and any(statuses[status] for status in _FALLBACKS):
        raise typer.Exit(1)


def _tokens(line: str) -> list[str]:
    from gramian.trees.tree import SPACE

    for character in SPACE:  # white space beyond ASCII may be part of a token
        line = line.replace(character, " ")
    return [token for token in line.split(" ") if token]


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


def _pairs(tokens: list[str], name: str, line: int) -> list[tuple[str, str]]:
    pairs = []
    for token in tokens:
        word, slash, tag = token.rpartition("/")
        if not (word and slash and tag):
            raise InputError(
                f"{token!r} is not a token with its tag", name, line, hint="write token/TAG, or use --tokens"
            )
        pairs.append((word, tag))
    return pairs


def _pruning(text: str) -> Pruning:
    """Read thresholds, ``name=value`` with commas between."""
    from gramian.chart.chart_parser import Pruning

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
    sentences = statuses.total() - statuses["empty"]
    fallbacks = [f"{statuses[name]:,} {text}" for name, text in _FALLBACKS.items() if statuses[name]]
    if statuses["empty"]:
        fallbacks.append(f"{statuses['empty']:,} empty lines")
    rate = sentences / seconds if seconds > 0 else 0.0
    return f"{sentences:,} sentences in {seconds:.1f} s, {rate:.1f} a second" + "".join(
        f", {text}" for text in fallbacks
    )


def _start_numba(announce: bool) -> None:
    """Import numba without what no kernel of the parser needs; say so when it compiles, which takes a while, once."""
    # At its start numba looks for SciPy's linear algebra, whose import would be a sixth of the time to the first tree.
    name = "scipy.linalg.cython_blas"
    stands_in = name not in sys.modules
    if stands_in:
        sys.modules[name] = ModuleType(name)
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        if stands_in:
            del sys.modules[name]
    if not announce:
        return
    from numba.core import event

    class Listener(event.Listener):
        said = False

        def on_start(self, event: object) -> None:
            if not self.said:
                self.said = True
                say("compiling the parser for this machine, which takes up to a minute, once ...")

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
