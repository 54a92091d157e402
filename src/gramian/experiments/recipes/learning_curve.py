"""Training size against F1 and time, for every learner: who needs how many trees, and what they cost."""

from __future__ import annotations

from typing import Any

from gramian.experiments.data import Data, find_treebank, sizes, split_trees
from gramian.experiments.measure import LABELS, chosen, expected_seconds, train_and_score
from gramian.experiments.plan import Cell, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Table, fitted_exponent

__all__ = ["RECIPE"]


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each learner and size."""
    train, test = (len(part) for part in split_trees(data.files, options["preset"]))
    tested, states = min(test, options["test_sentences"]), options["states"]
    return [
        Cell(
            f"{method}/{size}",
            {"method": method, "states": states, "train": size, "test": tested, "preset": options["preset"]},
            expected_seconds(method, states, size, tested),
        )
        for size in options["sizes"] or sizes(train, options["shares"])
        for method in options["methods"]
    ]


def measure(task: Task) -> dict[str, Any]:
    """Learn from trees drawn at random."""
    settings = task["settings"]
    train, test = split_trees(task["files"], settings["preset"])
    drawn, _ = chosen(train, settings["train"], task["seed"])
    return train_and_score(drawn, test[: settings["test"]], settings, task["seed"], settings["preset"])


def sections(results: Results) -> list[Section]:
    """Return F1 and time by size."""
    methods = [method for method in results.options["methods"] if results.cells(f"{method}/")]
    numbers = sorted({int(cell.split("/")[1]) for cell in results.cells()})
    best = "spectral-em" if "spectral-em" in methods else methods[-1]

    def table(name: str, caption: str, metric: str, digits: int) -> Table:
        def entry(method: str, number: int) -> Entry:
            if metric == "f1":
                return results.against(f"{method}/{number}", f"{best}/{number}", metric)
            return results.value(f"{method}/{number}", metric, digits)

        rows = [[number, *(entry(method, number) for method in methods)] for number in numbers]
        return Table(name, caption, ["trees", *(LABELS[method] for method in methods)], rows)

    def lines(metric: str) -> list[Line]:
        return [
            results.line(LABELS[method], [(n, f"{method}/{n}") for n in numbers], metric)
            for method in methods
        ]

    growth = []
    for line in lines("training_seconds"):
        slope = fitted_exponent([(x, spread.mean) for x, spread in line.points])
        growth += [] if slope is None else [f"{line.label} {slope:.2f}"]
    return [
        Section(
            "Accuracy", f"Words alone are given. Marks tell what differs from {LABELS[best]} at the same size.",
            [table("f1", "F1 by number of training trees", "f1", 2),
             Figure("f1", "F1 by number of training trees", "trees", "F1", lines("f1"), log_x=True)],
        ),
        Section(
            "Training time", f"Processor seconds grow with the number of trees to the power of: {', '.join(growth)}.",
            [table("training", "Processor seconds of training", "training_seconds", 1),
             Figure("training", "Training time", "trees", "processor seconds", lines("training_seconds"), log_x=True, log_y=True)],
        ),
        Section(
            "Parsing time", "Each sentence parsed alone, on one core.",
            [table("parsing", "Milliseconds per sentence", "milliseconds", 1),
             Figure("parsing", "Parsing time", "trees", "milliseconds per sentence", lines("milliseconds"), log_x=True)],
        ),
    ]  # fmt: skip


OPTIONS = {
    "preset": "auto", "shares": [0.05, 0.1, 0.25, 0.5, 1.0], "sizes": [], "states": 16, "test_sentences": 500,
    "methods": ["pcfg", "spectral-cluster", "spectral-moments", "em", "split-merge", "spectral-em"],
}  # fmt: skip
QUICK = {
    "sizes": [200, 400, 600], "states": 8, "test_sentences": 60,
    "methods": ["pcfg", "spectral-cluster", "spectral-moments", "spectral-em"],
}  # fmt: skip

RECIPE = Recipe(
    "learning-curve", "Learning curve: trees against F1 and time",
    "Every learner on more and more of the same treebank, scored on its dev part. Trees are drawn anew for every seed.",
    find_treebank, OPTIONS, QUICK, cells, measure, sections, {"methods": LABELS},
)  # fmt: skip
