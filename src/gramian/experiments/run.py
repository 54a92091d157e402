"""Run a plan: finished runs are saved, so that an interrupted experiment resumes; then files and the report are written."""

import csv
import io
import json
import logging
import os
import platform
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gramian import __version__
from gramian.errors import MissingExtraError
from gramian.experiments.plan import Plan, Task, identity
from gramian.experiments.recipes import recipe
from gramian.experiments.results import Entry, Results, Section
from gramian.io.output import writing
from gramian.progress import tell_progress
from gramian.system import processor, versions
from gramian.tasks.task_runner import Outcome, TaskFolder, run_tasks

_log = logging.getLogger(__name__)
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib", "distributed")


@dataclass(frozen=True)
class Experiment:
    """What an experiment found.

    Examples
    --------
    >>> experiment.report  # doctest: +SKIP
    PosixPath('runs/ablation/report.html')
    """

    plan: Plan
    results: Results
    sections: list[Section]  #: what the report shows
    failures: list[Outcome]
    #: with ``report.html``, ``runs.jsonl``, ``runs.csv``, ``manifest.json``, ``settings.toml``, and folders of figures, tables and runs
    folder: Path

    @property
    def report(self) -> Path:
        """The page to look at."""
        return self.folder / "report.html"


def run_experiment(
    plan: Plan,
    *,
    out: str | Path,
    n_jobs: int = 1,
    scheduler: str | None = None,
    only: str | None = None,
    report_only: bool = False,
) -> Experiment:
    """Run an experiment and write its report; progress is logged.

    Parameters
    ----------
    plan : Plan
        As :func:`make_plan` makes it.
    out : path
        Folder for everything. Runs that are finished there are not run again.
    n_jobs, scheduler
        As for :func:`gramian.tasks.task_runner.run_tasks`.
    only : str, optional
        Run only the cells of this name or pattern, and these even if they are finished.
    report_only : bool
        Run nothing; report what is finished.

    Examples
    --------
    >>> from gramian.experiments import make_plan
    >>> experiment = run_experiment(make_plan("ablation", "train.mrg"), out="runs/ablation")  # doctest: +SKIP
    """
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("matplotlib", "plots", "the report of an experiment") from None
    out = Path(out)
    folder = runs_folder(out)
    tasks = plan.tasks(only)
    if only is not None and not report_only:
        for task in tasks:
            folder.file(task).unlink(missing_ok=True)
    began = time.time()
    finished: list[Outcome] = []

    def watch(outcome: Outcome) -> None:
        finished.append(outcome)
        kept = sum(outcome.kept for outcome in finished)
        tell_progress(_log, "runs", len(finished) - kept, len(tasks) - kept)

    outcomes: list[Outcome] = []
    if not report_only:
        outcomes = run_tasks(
            measure,
            tasks,
            n_jobs=n_jobs,
            scheduler=scheduler,
            folder=folder,
            watch=watch,
            failures="return",
        )
    failed = [outcome for outcome in outcomes if outcome.error]
    if only is not None or report_only:
        outcomes = [outcome for task in plan.tasks() if (outcome := folder.find(task)) is not None]
    results = Results(outcomes, plan.options)
    sections = plan.recipe.sections(results) if results.outcomes else []
    experiment = Experiment(plan, results, sections, failed, out)
    _write_files(experiment, manifest(experiment, n_jobs, scheduler, time.time() - began))
    return experiment


def runs_folder(out: Path) -> TaskFolder:
    """Return where the finished runs of an experiment are kept."""
    return TaskFolder(out / "runs", key=identity, result=dict[str, Any])


def measure(task: Task) -> dict[str, Any]:
    """Do one run: what workers do."""
    return recipe(task["recipe"]).measure(task)


def manifest(experiment: Experiment, n_jobs: int, scheduler: str | None, seconds: float) -> dict[str, Any]:
    """Return what someone needs to know to trust the figures, or to get them again."""
    plan, results = experiment.plan, experiment.results
    signatures = {outcome.value.get("signature") for outcome in results.outcomes} - {None}
    return {
        "recipe": plan.recipe.name,
        "gramian": __version__,
        "python": platform.python_version(),
        "packages": {name: number for name, number in versions(_PACKAGES).items() if number},
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": processor(),
            "cores": os.cpu_count(),
        },
        "data": {
            "name": Path(plan.data.name).name,
            "sha256": plan.data.digest,
            "parts": sorted(plan.data.files),
        },
        "settings": dict(plan.options),
        "seeds": list(range(plan.seeds)),
        "signatures": sorted(signatures),
        "runs": {
            "planned": len(plan.tasks()),
            "finished": len(results.outcomes),
            "failed": len(experiment.failures),
        },
        "run seconds": round(sum(outcome.seconds for outcome in results.outcomes), 1),
        "seconds of this session": round(seconds, 1),
        "where": "Dask cluster" if scheduler else f"{n_jobs} local process{'es' * (n_jobs > 1)}",
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _write_files(experiment: Experiment, facts: dict[str, Any]) -> None:
    """Write everything but the runs themselves, which are there already."""
    from gramian.experiments.figures import draw
    from gramian.experiments.report import page
    from gramian.experiments.results import Figure, Picture, Table

    out = experiment.folder
    rows = []
    for outcome in experiment.results.outcomes:
        task = outcome.task
        rows.append({"cell": task["cell"], "seed": task["seed"], **task["settings"], **outcome.value})
        rows[-1].pop("sentences", None)
    _write(out / "runs.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    _write(out / "runs.csv", _csv(columns, [[_flat(row.get(name)) for name in columns] for row in rows]))
    _write(out / "manifest.json", json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    _write(out / "settings.toml", experiment.plan.toml)
    drawn: dict[str, str] = {}
    for part in (part for section in experiment.sections for part in section.parts):
        if isinstance(part, Figure):
            drawn[part.name] = draw(part, out / "figures")
        elif isinstance(part, Picture):
            _write(out / "figures" / f"{part.name}.svg", part.svg + "\n")
        elif isinstance(part, Table):
            for table in filter(None, (part, part.published)):
                shown = [[_shown(entry) for entry in row] for row in table.rows]
                _write(out / "tables" / f"{table.name}.csv", _csv(table.columns, shown))
    _write(experiment.report, page(experiment, facts, drawn))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(text)


def _shown(entry: Entry) -> str:
    return "" if entry is None else f"{entry:.5g}" if isinstance(entry, float) else str(entry)


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _csv(columns: Any, rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
