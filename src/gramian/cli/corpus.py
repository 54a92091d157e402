"""What ``gramian parse`` does with a corpus: options of its own, what is said at the end, and how far it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from gramian.cli.console import print_json, say, showing_progress
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.parsing.parser_settings import CorpusSettings
    from gramian.pipelines.corpus_run import RunReport

_MOST_FAILURES = 20

TO: Any = typer.Option(
    None,
    "--to",
    help="With -o OUT/: jsonl (the default), brackets, parquet, or conllu (dependencies); with .gz, .xz or .zst compressed.",
)
STATUS: Any = typer.Option(
    None,
    "--status",
    metavar="FOLDER",
    help="Show the progress of the corpus whose output is in this folder; with --json as JSON.",
)


def print_status(output: str, as_json: bool) -> None:
    """Print how far a corpus is."""
    from gramian.pipelines.corpus_status import corpus_status

    found = corpus_status(output)
    if as_json:
        print_json({**vars(found), "seconds_left": found.seconds_left})
    else:
        print("\n".join(found.lines()))


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
    """Parse a corpus with the model of a name, and what else :class:`gramian.pipelines.shard_work.Settings` has; return whether all was."""
    from gramian.io.output import check_folder
    from gramian.pipelines.corpus_run import parse_corpus
    from gramian.pipelines.inputs import find_inputs
    from gramian.pipelines.shard_work import Settings, file_sha256, model_file
    from gramian.pipelines.shard_writing import ending

    ending(settings["to"])
    if output == "-" or "-" in files:
        raise OptionError("a corpus lies in files, and its trees go to a folder; try: -o FOLDER/")
    if "://" not in output:
        check_folder(output)
        output = os.path.abspath(output)
    place = model_file(model)
    name = os.path.abspath(model) if os.path.exists(model) else model  # workers may be elsewhere
    how = Settings(
        name,
        file_sha256(place),
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
            how,
            kind=kind,
            shard_size=corpus_settings.shard_size << 10,
            n_jobs=jobs,
            scheduler=corpus_settings.scheduler,
            force=force,
        )
    if not quiet:
        _say(report)
    statuses = set(report.statuses) - {"parsed", "empty"}
    return not (report.failures or report.faults or statuses)


def _say(report: RunReport) -> None:
    parts = [
        f"{counted(report.sentences, 'sentence')} in {counted(report.shards, 'shard')}, {report.seconds:.1f} s"
    ]
    if report.seconds:
        parts.append(f"{report.sentences / report.seconds:.1f} a second")
    if report.kept_shards:
        parts.append(
            f"{counted(report.kept_sentences, 'sentence')} in {counted(report.kept_shards, 'shard')} reused from a previous run"
        )
    others = {name: count for name, count in report.statuses.items() if name not in ("parsed", "empty")}
    parts += [f"{count:,} {name}" for name, count in sorted(others.items())]
    if report.faults:
        parts.append(f"{report.faults:,} lines or sentences left out")
    say(", ".join(parts))
    if report.repaired:
        say(f"{counted(report.repaired, 'line')} had bytes that are not UTF-8, written as \ufffd")
    if report.failures:
        say(f"{len(report.failures):,} failed, of {counted(report.files, 'file')}:")
        for failure in report.failures[:_MOST_FAILURES]:
            say(f"  {failure.splitlines()[0]}")
