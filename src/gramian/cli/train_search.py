"""``gramian train --search``: how many states each label gets is found by what candidates are worth."""

from __future__ import annotations

import time
from typing import Any

from gramian.cli.talk import say


def search_numbers(
    task: dict[str, Any], *, method: Any, budget: int, judge: str | None, output: str, jobs: int,
    scheduler: str | None, quiet: bool,
) -> tuple[dict[str, int], dict[str, Any]]:  # fmt: skip
    """Search, with a log beside the model; return the numbers of states by label, and what to note in the model."""
    from gramian.training.state_search import candidate_task, search_by_f1

    began = time.perf_counter()
    common = candidate_task(task, judge)
    found, numbers = search_by_f1(
        common, method=method, budget=budget, jobs=jobs, scheduler=scheduler, log=f"{output}.search.jsonl",
        verbose=not quiet,
    )  # fmt: skip
    if not quiet:
        say(f"{len(found.trials)} candidates, F1 from {found.start_score:.2f} to {found.score:.2f}: "
            f"{time.perf_counter() - began:.1f} s")  # fmt: skip
    return numbers, {
        "method": method, "judge": judge or "every tenth tree", "candidates": len(found.trials),
        "start": round(found.start_score, 3), "found": round(found.score, 3),
        "steps": [
            [number, trial.symbol, trial.states, round(trial.score, 3)] for number, trial in found.steps()
        ],
    }  # fmt: skip
