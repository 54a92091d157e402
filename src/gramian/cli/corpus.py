"""What ``gramian parse`` does with a corpus: options of its own, what is said at the end, and how far it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from gramian.cli.console import print_json, say, showing_progress
from gramian.errors import OptionError, counted

if TYPE_CHECKING:
    from gramian.pipelines.corpus_run import RunReport

_PANEL = "Corpora: folders, several files, URLs"
_MOST_FAILURES = 20

TO: Any = typer.Option(
    None,
    "--to",
    help="What is written: jsonl (the default), brackets, parquet, or conllu (dependencies); with .gz, .xz or .zst, compressed.",
    rich_help_panel=_PANEL,
)
FROM: Any = typer.Option(
    None,
    "--from",
    help="What the files hold; without it, the ends of their names say so: .jsonl, .conllu, .parquet, else text.",
    rich_help_panel=_PANEL,
)
TEXT_FIELD: Any = typer.Option(
    "text",
    help="Field or column of JSON and Parquet that holds the text, or a list of words.",
    rich_help_panel=_PANEL,
)
ID_FIELD: Any = typer.Option(
    "id",
    help="Field or column that holds the document's id; without one, file and line.",
    rich_help_panel=_PANEL,
)
HEAD_RULES: Any = typer.Option(
    "auto", help="With --to conllu: head rules, as for convert.", rich_help_panel=_PANEL
)
SHARD_SIZE: Any = typer.Option(
    1024,
    min=1,
    max=1 << 20,
    help="Kilobytes of text that are parsed as one piece of work; a kill costs no more.",
    rich_help_panel=_PANEL,
)
SCHEDULER: Any = typer.Option(
    None, help="Address of a Dask scheduler, whose workers parse.", rich_help_panel=_PANEL
)
STATUS: Any = typer.Option(
    None,
    "--status",
    metavar="FOLDER",
    help="Parse nothing; say how far the corpus is whose output lies there. With --json as JSON.",
    rich_help_panel=_PANEL,
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
    *,
    kind: Any,
    shard_size: int,
    jobs: int,
    scheduler: str | None,
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
    how = Settings(name, file_sha256(place), **settings)
    with showing_progress(quiet):
        inputs = find_inputs(files, output)
        report = parse_corpus(
            inputs,
            output,
            how,
            kind=kind,
            shard_size=shard_size << 10,
            n_jobs=jobs,
            scheduler=scheduler,
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
            f"{counted(report.kept_sentences, 'sentence')} in {counted(report.kept_shards, 'shard')} kept from before"
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
