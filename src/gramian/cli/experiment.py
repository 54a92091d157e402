"""``gramian experiment``: a paper's tables and figures, on your data."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from gramian.cli.console import say, showing_progress, telling_warnings
from gramian.cli.options import QUIET, jobs_option
from gramian.cli.settings_options import CONFIG, SET
from gramian.errors import OptionError, counted
from gramian.interruption import kept_meanwhile

if TYPE_CHECKING:
    from gramian.experiments.plan import Plan


def experiment(
    recipe: str = typer.Argument(None, help="Name of the experiment; without it, all are listed."),
    data: str = typer.Argument(None, help="Trees, or a folder with train.mrg and dev.mrg."),
    config: str | None = CONFIG,
    out: str | None = typer.Option(None, help="Output folder; by default runs/RECIPE-DATA."),
    quick: bool = typer.Option(False, help="Run a small version."),
    jobs: int = jobs_option("Number of processes; the results are the same."),
    scheduler: str | None = typer.Option(
        None, help="Address of a Dask scheduler whose workers execute the runs."
    ),
    seeds: int | None = typer.Option(
        None, min=1, help="Number of seeds per cell; by default 3, or 1 with --quick."
    ),
    only: str | None = typer.Option(None, help="Repeat only the cells of this name or pattern."),
    plan: bool = typer.Option(False, help="Print the plan without running it."),
    report_only: bool = typer.Option(False, help="Only write the report of finished runs."),
    assignments: list[str] = SET,
    list_settings: bool = typer.Option(
        False, "--list-settings", help="List the settings of the experiment and exit."
    ),
    quiet: bool = QUIET,
) -> None:
    """Run an experiment and write a report.

    After an interruption, run the same command again to resume; finished runs are reused.
    """
    from gramian.experiments.recipes import RECIPES
    from gramian.experiments.recipes import recipe as find_recipe
    from gramian.settings import listing, read_settings

    if recipe is None:
        for name, summary in RECIPES.items():
            print(f"{name:<16}{summary}")
        return
    declared = find_recipe(recipe).declared()
    if list_settings:
        print(listing(declared))
        return
    if data is None:
        raise OptionError(f"no data given; try: gramian experiment {recipe} TREES")
    from gramian.experiments.plan import make_plan
    from gramian.io.output import check_folder

    settings = read_settings(assignments, config, declared, f"experiment {recipe}")
    folder = Path(out or f"runs/{recipe}-{Path(data).resolve().name.split('.')[0]}{'-quick' * quick}")
    if not plan:
        check_folder(folder)
    with telling_warnings(quiet):
        made = make_plan(recipe, data, config=settings, quick=quick, seeds=seeds)
    if plan or not quiet:
        _print_plan(made, folder, only)
    if plan:
        return
    from gramian.experiments.run import run_experiment

    usual = signal.signal(signal.SIGTERM, _terminated)
    kept = f"finished work is kept in {folder}. Run the same command again to resume."
    try:
        with showing_progress(quiet), kept_meanwhile(kept):
            finished = run_experiment(
                made, out=folder, n_jobs=jobs, scheduler=scheduler, only=only, report_only=report_only
            )
    except SystemExit:  # of a signal
        say(f"gramian: ended; {kept}")
        raise
    finally:
        signal.signal(signal.SIGTERM, usual)
    for failure in finished.failures:
        say(f"{failure.task['cell']}, seed {failure.task['seed']}: {failure.error.strip().splitlines()[-1]}")
    print(finished.report)
    if finished.failures:
        raise typer.Exit(1)


def _terminated(number: int, _: Any) -> NoReturn:
    """End as after Ctrl-C, so that worker processes are stopped in good order."""
    raise SystemExit(128 + number)


def _print_plan(plan: Plan, folder: Path, only: str | None) -> None:
    from gramian.experiments.run import runs_folder

    tasks = plan.tasks(only)
    finished = 0
    if only is None and (folder / "runs").is_dir():
        finished = sum(runs_folder(folder).find(task) is not None for task in tasks)
    say(f"{plan.recipe.name}: {plan.recipe.title}")
    cells = counted(len({task["cell"] for task in tasks}), "cell")
    say(f"{cells}, {counted(len(tasks), 'run')}, {finished:,} of them finished before")
    say(f"to {folder}")
