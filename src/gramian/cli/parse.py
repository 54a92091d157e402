"""``gramian parse``: text in, trees out, sentence by sentence; of a corpus, shard by shard."""

from __future__ import annotations

import io
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gramian.cli import corpus
from gramian.cli.console import counting, say, telling_warnings
from gramian.cli.options import FORCE, QUIET, jobs_option
from gramian.cli.sentence_input import (
    expected_sentences,
    fallback_counts,
    is_literal_text,
    reading_faults,
)
from gramian.cli.settings_options import (
    CONFIG,
    SET,
    Settings,
    chosen_settings,
    list_settings_option,
    settings_command,
)
from gramian.errors import GramianError, InputError, OptionError, counted
from gramian.escaping import json_line

if TYPE_CHECKING:
    from gramian.io.reading import TextLines
    from gramian.parsing.parser import Parser
    from gramian.parsing.result import ParseResult
    from gramian.parsing.sentences import Sentence


def _all_settings() -> Settings:
    from gramian.parsing.parser_settings import parse_settings
    from gramian.training.papers import paper_setting

    return parse_settings() | {"paper": paper_setting("parse")}


ParseCommand = settings_command(_all_settings)


def parse(
    files: list[str] = typer.Argument(
        None,
        metavar="FILE",
        help="A file of running text, - for stdin, or a quoted text. For a corpus: folders, files, patterns, URLs, @FILE for a list.",
    ),
    model: str | None = typer.Option(
        None,
        "--model",
        "-m",
        help="Model file, or the language of an installed model, such as fr; by default the bundled English one.",
    ),
    lines: bool = typer.Option(
        False,
        "--lines",
        help="Each line is one sentence; otherwise running text is segmented. Other formats: --set format=NAME.",
    ),
    tokens: bool = typer.Option(
        False, "--tokens", help="Each line is one sentence of tokens separated by spaces."
    ),
    output: str = typer.Option(
        "-",
        "--output",
        "-o",
        help="Output file, or folder for a corpus; - is stdout. After an interruption, run the command again to resume.",
    ),
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Write one JSON object per sentence."),
    pretty: bool = typer.Option(False, "--pretty", help="Write indented trees, separated by empty lines."),
    k: int = typer.Option(
        1, "--k", min=1, max=10_000, help="Write the k best trees, with an empty line after each sentence."
    ),
    jobs: int = jobs_option("Number of threads, or of processes for a corpus; the result is the same."),
    quiet: bool = QUIET,
    to: str | None = corpus.TO,
    status: str | None = corpus.STATUS,
    assignments: list[str] = SET,
    config: str | None = CONFIG,
    list_settings: bool = list_settings_option(_all_settings),
) -> None:
    """Parse text: one tree for every sentence, in Penn brackets.

    Running text is segmented into sentences; an empty line ends one, and so does the end of a line that is not merely wrapped. In
    the formats lines, tokens, tagged and records every line is one sentence, and an empty line gives an empty line. Every
    sentence gets a tree; the summary reports how many needed a fallback or have a phrase of low confidence.

    Several files, folders and URLs are a corpus, whose trees go to a folder: -o OUT/. Every input file gets a folder with its
    shards, each with a manifest. After an interruption, run the same command again to resume; --status shows the progress.
    """
    if status is not None:
        corpus.print_status(status, as_json)
        return
    if as_json and pretty:
        raise OptionError("--json and --pretty are mutually exclusive")
    from gramian.parsing.parser_settings import CORPUS_FORMATS, CorpusSettings, parser_options
    from gramian.training.papers import with_paper

    chosen = with_paper(chosen_settings({}, assignments, config, _all_settings, "parse"), "parse")
    command, options, corpus_settings = parser_options(chosen)
    wanted = {"lines": lines, "tokens": tokens, command.format: command.format is not None}
    formats = sorted(name for name, is_wanted in wanted.items() if name and is_wanted)
    if len(formats) > 1:
        raise OptionError(f"formats are mutually exclusive: {' and '.join(formats)}")
    form: Any = formats[0] if formats else "csv" if files and _is_csv(files[0]) else "text"
    if command.min_confidence is not None and k > 1:
        raise OptionError("min_confidence and --k are mutually exclusive: only the best tree has confidences")
    files = files or ["-"]
    is_literal = len(files) == 1 and is_literal_text(files[0])
    if not is_literal and _is_corpus(files, output):
        if pretty or k > 1 or "device" in options:
            raise OptionError("--pretty, --k and device do not apply to a corpus")
        if as_json and to is not None:
            raise OptionError("--json is for one file; try: --to jsonl")
        is_whole = corpus.parse_folder(
            files,
            output,
            model or "",
            corpus_settings,
            kind=command.format if command.format in ("text", *CORPUS_FORMATS) else None,
            jobs=jobs,
            force=force,
            quiet=quiet,
            to=to or "jsonl",
            form="text" if form in CORPUS_FORMATS else form,
            min_confidence=command.min_confidence,
            pruning=options.pop("pruning"),
            options=options,
        )
        raise typer.Exit(1 if command.strict and not is_whole else 0)
    column = corpus_settings.text_field
    expected = replace(CorpusSettings(), text_field=column if form == "csv" else "text")
    if to is not None or corpus_settings != expected or form in set(CORPUS_FORMATS) - {"csv"}:
        raise OptionError("--to and the settings of corpora require an output folder; try: -o OUT/")
    text = _Text(files[0], is_literal, form, column)
    layout = _Layout(as_json, pretty, k, command.min_confidence)
    statuses = _parse_text(text, layout, output, model, options, jobs=jobs, force=force, quiet=quiet)
    if command.strict and fallback_counts(statuses):
        raise typer.Exit(1)


class _Text(NamedTuple):
    """The text of one file or stream, or a literal text."""

    file: str
    is_literal: bool
    form: Any  # one of the formats of sentences
    column: str  # of CSV

    @property
    def path(self) -> str:
        """The name of the file, ``-`` for stdin and a literal text."""
        return "-" if self.is_literal else self.file

    def sentences(self, lines: TextLines, parser: Parser) -> Iterable[Sentence]:
        """Return the sentences of the text."""
        from gramian.parsing.sentences import read_cells, read_sentences

        if self.form == "csv":
            return read_cells(lines, self.column)
        is_typed = self.file == "-" and sys.stdin.isatty()
        return read_sentences(lines, self.form, parser, at_once=is_typed)


class _Layout(NamedTuple):
    """What is written of a result."""

    as_json: bool
    pretty: bool
    k: int
    min_confidence: float | None

    def text(self, result: ParseResult) -> str:
        """Return what is written for one sentence, with its line ends."""
        if self.min_confidence is not None:
            result = result.drop_uncertain(self.min_confidence)
        if self.as_json:
            return json_line(result.as_dict()) + "\n"
        if result.tree.is_empty:
            return "\n"
        trees = [alternative.tree for alternative in result.alternatives] or [result.tree]
        if self.pretty:
            trees[0] = result.mark_uncertain()
        lines = [tree.pretty() if self.pretty else str(tree) for tree in trees]
        return "\n".join(lines) + ("\n\n" if self.pretty or self.k > 1 else "\n")


def _parse_text(
    text: _Text,
    layout: _Layout,
    output: str,
    model: str | None,
    options: dict[str, Any],
    *,
    jobs: int,
    force: bool,
    quiet: bool,
) -> Counter[str]:
    """Parse one text and write its trees; return how many sentences have each status."""
    from gramian.io.output import check_output
    from gramian.io.reading import open_text
    from gramian.io.resume import resumed
    from gramian.parsing.result import LOW_CONFIDENCE
    from gramian.system import without_cycle_search

    check_output(output, force=force)
    if not text.is_literal and text.file != "-" and not os.path.exists(text.file):
        hint = "check the path; a text is given in quotes, with spaces between its words"
        raise InputError("cannot be opened (No such file or directory)", text.file, hint=hint)
    with without_cycle_search():
        from gramian.parsing.installed_models import model_path
        from gramian.parsing.model_store import default_model_path
        from gramian.parsing.parser import load

        path = default_model_path() if model is None else model_path(model)
        parser = load(path, **options)
    if not quiet:
        if (fault := reading_faults(parser, text.form)) is not None:
            say(f"gramian: {fault}")
        if model is None:
            say("parsing with the English model that comes with gramian; -m MODEL takes another")
        if text.is_literal:
            say("no file has this name: parsing the argument as text")
    content: Any = io.BytesIO(text.file.encode("utf-8", "replace")) if text.is_literal else text.file
    statuses: Counter[str] = Counter()
    began = perf_counter()
    source: TextLines | None = None
    try:
        with (
            open_text(content, repair=True) as source,
            resumed(output, [text.path, str(path)], (text[2:], layout, options)) as (out, done),
            telling_warnings(quiet),
        ):
            if done and not quiet:
                say(f"reusing {counted(done, 'finished sentence')}")
            rest = islice(text.sentences(source, parser), done, None)
            results = parser.parse_many(rest, n_jobs=jobs, k=layout.k, ahead=Path(text.path).is_file())
            ahead = max(0, (expected_sentences(text.path, text.form, parser) or 0) - done) or None
            for result in results if out.isatty() else counting(results, "sentences", ahead):
                statuses[result.status] += 1
                statuses["doubt"] += result.confidence < LOW_CONFIDENCE
                out.write(layout.text(result))
                out.flush()  # who reads line by line, or interrupts, has all that is done
    except GramianError:
        quiet = True  # an error is not followed by a summary
        raise
    finally:
        if not quiet:
            say(_summary(statuses, perf_counter() - began))
            if source is not None and source.repaired:
                say(f"{counted(source.repaired, 'line')} had bytes that are not UTF-8, written as \ufffd")
    return statuses


def _is_csv(file: str) -> bool:
    """Whether a file holds CSV or TSV, by its name."""
    return file.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _is_corpus(files: list[str], output: str) -> bool:
    """Whether a folder is to be written, rather than the trees of one file."""
    from gramian.pipelines.inputs import is_corpus

    return len(files) > 1 or any(map(is_corpus, files)) or output.endswith("/") or is_corpus(output)


def _summary(statuses: Counter[str], seconds: float) -> str:
    from gramian.parsing.result import LOW_CONFIDENCE

    count = statuses.total() - statuses["empty"] - statuses["doubt"]
    rate = count / seconds if seconds > 0 else 0.0
    parts = [f"{counted(count, 'sentence')} in {seconds:.1f} s", f"{rate:.1f} a second"]
    parts += fallback_counts(statuses)
    if statuses["doubt"]:
        parts.append(f"{statuses['doubt']:,} with a phrase below {LOW_CONFIDENCE:.0%}")
    parts += [counted(statuses["empty"], "empty line")] if statuses["empty"] else []
    return ", ".join(parts)
