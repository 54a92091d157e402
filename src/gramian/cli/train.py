"""``gramian train``: learn a grammar from a treebank. Its settings are those of :class:`gramian.training.TrainingSettings`."""

from typing import Any

import typer

from gramian.cli.console import say, showing_progress, telling_warnings
from gramian.cli.options import FORCE, QUIET, jobs_option, new_model
from gramian.cli.settings_options import (
    CONFIG,
    SET,
    Settings,
    SettingsCommand,
    chosen_settings,
    list_settings_option,
    with_settings,
)
from gramian.errors import counted
from gramian.settings import declared_settings
from gramian.training.training_settings import TrainingSettings

_VISIBLE = (
    "method",
    "n_states",
    "ensemble_size",
    "expert",
    "rerank",
    "calibrate",
    "text",
    "tagged_corpus",
    "preset",
    "language",
    "skip_broken",
    "random_state",
)


def _all_settings() -> Settings:
    from gramian.training.training_settings import training_settings

    return training_settings()


def train(
    trees: str = typer.Argument(help="Bracketed trees: a file, a folder, or - for stdin."),
    output: str = typer.Option(..., "--output", "-o", help="Model file to write."),
    dev: str | None = typer.Option(None, help="Development trees; their F1 is stored in the model."),
    jobs: int = jobs_option(
        "Number of threads, or of processes if the model has several parts; the model is the same."
    ),
    scheduler: str | None = typer.Option(
        None, help="Address of a Dask scheduler whose workers train the parts (tcp://host:8786)."
    ),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Print the settings and an estimate of time and memory without training."
    ),
    force: bool = FORCE,
    quiet: bool = QUIET,
    assignments: list[str] = SET,
    config: str | None = CONFIG,
    list_settings: bool = list_settings_option(_all_settings),
    **options: Any,
) -> None:
    """Train a parser on bracketed trees."""
    import json
    import time

    from gramian.interruption import kept_meanwhile
    from gramian.io.header import grammar_header, read_header
    from gramian.io.output import check_output, is_written_through, writing
    from gramian.parsing.model_store import save_model
    from gramian.training import TrainingRun
    from gramian.training.training_methods import recorded_options

    began = time.perf_counter()
    if not dry_run:
        check_output(output, force=True)  # whether it may be replaced is known when the data are read
    beside = not is_written_through(output)  # whether there is a file, beside which other things can be kept
    settings = TrainingSettings.of(chosen_settings(options, assignments, config, _all_settings, "train"))
    with showing_progress(quiet):
        with telling_warnings(quiet):
            kept = output if beside else None
            run = TrainingRun(trees, settings, dev=dev, n_jobs=jobs, scheduler=scheduler, checkpoint=kept)
            data = run.data
        if not quiet:
            trees_and_words = f"{counted(data.bank.n_trees, 'tree')}, {counted(data.n_words, 'word')}"
            took = f"{time.perf_counter() - began:.1f} s"
            say(f"read {trees_and_words}, {data.bank.n_symbols} labels and tags: {took}")
        if dry_run:
            print(
                json.dumps({"options": recorded_options(run.settings), "estimate": run.estimate()}, indent=2)
            )
            return
        with (
            new_model(output, force or run.would_make(grammar_header(output, read_header(output)))),
            kept_meanwhile(f"finished work is kept beside {output}. Run the same command again to resume."),
        ):
            model = run.learn()
            if dev is not None and beside:  # it may be stopped while it is scored
                save_model(model, output, half=settings.compress)
            save_model(run.scored(model), output, half=settings.compress)
            if beside:
                with writing(f"{output}.log.json") as log:
                    log.write(json.dumps(run.costs, indent=2) + "\n")
                run.clean()
    if not quiet:
        say(f"wrote {output}: {time.perf_counter() - began:.1f} s in all")


class TrainCommand(SettingsCommand):
    """Takes ``--expert`` without a value for ``--expert crf``."""

    settings = staticmethod(_all_settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        kinds = ("none", "crf", "neural", "both")
        following = [*args[1:], None]
        completed = [
            "--expert=crf" if word == "--expert" and behind not in kinds else word
            for word, behind in zip(args, following, strict=True)
        ]
        return super().parse_args(ctx, completed)


_DECLARED = declared_settings(TrainingSettings)
train.__signature__ = with_settings(train, [_DECLARED[name] for name in _VISIBLE])  # type: ignore[attr-defined]
