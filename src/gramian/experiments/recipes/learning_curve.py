"""Training size against F1 and time, for every learner: who needs how many trees, and what they cost."""

from typing import Any

from gramian.experiments.data import Data, find_treebank, sizes, split_trees, tree_counts
from gramian.experiments.measure import LABELS, chosen, train_and_score
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Table, growth


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each learner and size."""
    most, tested = tree_counts(data, {**options, "train": 0})
    states = options["states"]
    return [
        Cell(
            f"{method}/{size}",
            {"method": method, "states": states, "train": size, "test": tested, "preset": options["preset"]},
        )
        for size in options["sizes"] or sizes(most, options["shares"])
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

    def lines(metric: str) -> list[Line]:
        return [
            results.line(LABELS[method], [(n, f"{method}/{n}") for n in numbers], metric)
            for method in methods
        ]

    def entry(method: str, number: int, metric: str) -> Entry:
        if metric == "f1":
            return results.against(f"{method}/{number}", f"{best}/{number}", metric)
        return results.value(f"{method}/{number}", metric, 1)

    def section(title: str, text: str, name: str, metric: str, captions: tuple[str, str, str]) -> Section:
        rows = [[number, *(entry(method, number, metric) for method in methods)] for number in numbers]
        log_y = name == "training"
        table = Table(name, captions[0], ["trees", *(LABELS[method] for method in methods)], rows)
        figure = Figure(name, captions[1], "trees", captions[2], lines(metric), log_x=True, log_y=log_y)
        return Section(title, text, [table, figure])

    by_size = "F1 by number of training trees", "F1 by number of training trees", "F1"
    seconds = "Processor seconds of training", "Training time", "processor seconds"
    milliseconds = "Milliseconds per sentence", "Parsing time", "milliseconds per sentence"
    marks = f"Words alone are given. Marks tell what differs from {LABELS[best]} at the same size."
    exponents = growth(lines("training_seconds"))
    power = f"Processor seconds grow with the number of trees to the power of: {exponents}."
    alone = "Each sentence parsed alone, on one core."
    return [
        section("Accuracy", marks, "f1", "f1", by_size),
        section("Training time", power, "training", "training_seconds", seconds),
        section("Parsing time", alone, "parsing", "milliseconds", milliseconds),
    ]


TITLE = "Learning curve: trees against F1 and time"
ABOUT = "Every learner on more and more of the same treebank, scored on its dev part. Trees are drawn anew for every seed."
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "shares": ExperimentSetting([0.05, 0.1, 0.25, 0.5, 1.0]),
    "sizes": ExperimentSetting([], quick=[200, 400, 600]),
    "states": ExperimentSetting(16, quick=8),
    "test_sentences": ExperimentSetting(500, quick=60),
    "methods": ExperimentSetting(
        ["pcfg", "spectral-cluster", "spectral-moments", "pivot", "em", "split-merge", "spectral-em"],
        quick=["pcfg", "spectral-cluster", "spectral-moments", "spectral-em"],
        choices=LABELS,
    ),
}
RECIPE = Recipe("learning-curve", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
