"""``gramian parse`` of a corpus: its options, summary and progress."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from gramian.cli.console import print_json, say, showing_progress
from gramian.cli.sentence_input import fallback_counts
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.parsing.parser_settings import CorpusSettings
    from gramian.pipelines.corpus_run import RunReport

_MOST_FAILURES = 20

TO: Any = typer.Option(
    None,
    "--to",
    help="Output format of a corpus: jsonl (default), brackets, parquet or conllu (dependencies), optionally with .gz, .xz or .zst.",
)
STATUS: Any = typer.Option(
    None,
    "--status",
    metavar="FOLDER",
    help="Show the progress of the corpus with this output folder (--json: as JSON).",
)


def print_status(output: str, as_json: bool) -> None:
    """Print the progress of a corpus."""
    from gramian.pipelines.corpus_status import corpus_status

    status = corpus_status(output)
    if as_json:
        print_json({**vars(status), "seconds_left": status.seconds_left})
        return
    share = 100 * status.bytes_done / max(1, status.bytes)
    shards, files = counted(status.shards, "shard"), counted(status.files, "file")
    print(f"{share:.0f}% done: {status.done:,} of {shards} in {status.looked_at:,} of {files}")
    parts = [counted(status.sentences, "sentence"), counted(status.words, "word")]
    if status.cpu_seconds:
        parts.append(f"{status.sentences / status.cpu_seconds:.1f} a CPU second")
    print(", ".join([*parts, *fallback_counts(status.statuses)]))
    if status.is_running:
        left = "" if status.seconds_left is None else f"; about {status.seconds_left / 60:.0f} min left"
        print(f"a command is running{left}")
    elif share < 100 or status.done < status.shards:
        print("no command is running. Run the same command again to resume.")
    if status.faults:
        print(f"{status.faults:,} lines or sentences skipped")
    for failure in status.failures:
        print(f"failed: {failure}")


def parse_folder(
    files: Sequence[str],
    output: str,
    model: str,
    corpus_settings: CorpusSettings,
    *,
    kind: Any,
    jobs: int,
    force: bool,
    quiet: bool,
    **settings: Any,
) -> bool:
    """Parse a corpus; return whether every sentence was parsed without a fallback.

    `settings` are further fields of :class:`gramian.pipelines.shard_work.Settings`.
    """
    from gramian.io.output import check_folder
    from gramian.io.reading import file_sha256
    from gramian.pipelines.corpus_run import parse_corpus
    from gramian.pipelines.inputs import find_inputs
    from gramian.pipelines.shard_work import Settings, model_file
    from gramian.pipelines.shard_writing import ending

    ending(settings["to"])
    if output == "-" or "-" in files:
        raise OptionError("a corpus needs files as input and a folder as output; try: -o FOLDER/")
    if "://" not in output:
        check_folder(output)
        output = os.path.abspath(output)
    name = os.path.abspath(model) if os.path.exists(model) else model  # workers may be elsewhere
    run_settings = Settings(
        name,
        file_sha256(model_file(model)),
        text_field=corpus_settings.text_field,
        id_field=corpus_settings.id_field,
        head_rules=corpus_settings.head_rules,
        **settings,
    )
    with showing_progress(quiet):
        inputs = find_inputs(files, output)
        report = parse_corpus(
            inputs,
            output,
            run_settings,
            kind=kind,
            shard_size=corpus_settings.shard_size << 10,
            n_jobs=jobs,
            scheduler=corpus_settings.scheduler,
            force=force,
        )
    if not quiet:
        _print_summary(report)
    return not (report.failures or report.faults or fallback_counts(report.statuses))


def _print_summary(report: RunReport) -> None:
    parts = [
        f"{counted(report.sentences, 'sentence')} in {counted(report.shards, 'shard')}, {report.seconds:.1f} s"
    ]
    if report.seconds:
        parts.append(f"{report.sentences / report.seconds:.1f} a second")
    if report.kept_shards:
        parts.append(
            f"{counted(report.kept_sentences, 'sentence')} in {counted(report.kept_shards, 'shard')} reused from a previous run"
        )
    parts += fallback_counts(report.statuses)
    if report.faults:
        parts.append(f"{report.faults:,} lines or sentences skipped")
    say(", ".join(parts))
    if report.repaired:
        say(f"{counted(report.repaired, 'line')} had bytes that are not UTF-8, written as \ufffd")
    if report.failures:
        say(f"{len(report.failures):,} failed, of {counted(report.files, 'file')}:")
        for failure in report.failures[:_MOST_FAILURES]:
            say(f"  {failure.splitlines()[0]}")
