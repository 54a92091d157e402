"""Amount of text without trees against F1, for the product that parses it, the model that learns from both, and one grammar of that."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gramian.experiments.data import Data, find_treebank, split_trees, tree_counts
from gramian.experiments.measure import (
    chosen,
    parse_and_score,
    settings_of,
    trained,
    training_data,
)
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Figure, Results, Section, Table
from gramian.parsing.model import Model
from gramian.parsing.model_store import save_model
from gramian.training import TrainingData
from gramian.training.selftraining.teacher import teacher_settings

LABELS = {
    "teacher_f1": "teacher: four grammars and a span CRF",
    "student_f1": "student: the default of gramian train",
    "f1": "one grammar",
}


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each amount of text."""
    _, tested = tree_counts(data, {**options, "train": 0})
    names = ("trees", "weight", "known", "confidence", "best_trees", "text", "preset")
    shared = {name: options[name] for name in names} | {"test": tested}
    return [Cell(f"text/{amount}", shared | {"amount": amount}) for amount in options["amounts"]]


def measure(task: Task) -> dict[str, Any]:
    """Learn from some trees and from sentences: the words of the treebank's other trees, or of a text that is named."""
    settings, seed = task["settings"], task["seed"]
    scheme, changed = settings["preset"], {}
    test = split_trees(task["files"], scheme)[1][: settings["test"]]
    data, others, teacher, teaching = _taught(tuple(task["files"].items()), scheme, settings["trees"], seed)
    with TemporaryDirectory() as folder:
        model, words = Path(folder) / "teacher.grammar", Path(folder) / "text.tok"
        save_model(teacher, model)
        lines = Path(settings["text"]).read_text("utf-8").splitlines() if settings["text"] else others
        words.write_text("".join(f"{line}\n" for line in lines[: settings["amount"]]), encoding="utf-8")
        if settings["amount"]:
            changed = {
                "text": str(words),
                "silver.format": "tokens",
                "silver.teacher": str(model),
                "silver.constraints": settings["known"],
                "silver.weight": settings["weight"],
                "silver.min_confidence": settings["confidence"],
                "silver.best_trees": settings["best_trees"],
            }
        student, learning = trained(data, settings_of({"method": "best", "settings": changed}, seed))
    single = replace(student, grammars=student.grammars[:1], kinds=())
    figures = parse_and_score(single, test, scheme=scheme)
    for name, trained_model in (("teacher", teacher), ("student", student)):
        scores = parse_and_score(trained_model, test, scheme=scheme)
        figures |= {f"{name}_f1": scores["f1"], f"{name}_milliseconds": scores["milliseconds"]}
    return figures | {"training_seconds": round(teaching + learning, 3), "trees": data.bank.n_trees}


@lru_cache(maxsize=1)
def _taught(
    files: tuple[tuple[str, str], ...], scheme: str, trees: int, seed: int
) -> tuple[TrainingData, list[str], Model, float]:
    """Return trees drawn at random, the words of the others, and the teacher that was learnt in so many seconds."""
    train, _ = split_trees(dict(files), scheme)
    drawn, others = chosen(train, min(trees, len(train)), seed)
    usual = settings_of({"method": "best"}, seed)
    data = training_data(drawn, usual)
    teacher, seconds = trained(data, teacher_settings(usual, data))
    return data, [" ".join(tree.normal.words) for tree in others], teacher, seconds


def sections(results: Results) -> list[Section]:
    """Return F1 and time by amount."""
    amounts = sorted(int(cell.split("/")[1]) for cell in results.cells())
    rows = [[number, *(results.value(f"text/{number}", name, 2) for name in LABELS)] for number in amounts]
    lines = [
        results.line(label, [(number, f"text/{number}") for number in amounts], name)
        for name, label in LABELS.items()
    ]
    table = Table("f1", "F1 by sentences of text", ["sentences", *LABELS.values()], rows)
    figure = Figure("f1", "F1 by sentences of text", "sentences of text", "F1", lines)
    last = f"text/{amounts[-1]}"
    speed = [
        [label, results.value(last, name.replace("f1", "milliseconds"), 1)] for name, label in LABELS.items()
    ]
    price = Table("speed", "Milliseconds per sentence", ["model", "milliseconds"], speed)
    text = "The teacher never sees text; the others learn from the same trees, and from what it makes of the text."
    return [
        Section("Accuracy", text, [table, figure]),
        Section("Speed", "Each sentence parsed alone, on one core.", [price]),
    ]


TITLE = "Self-training: text without trees against F1"
ABOUT = (
    "Some trees of a treebank, and the words of its other trees as text without trees, or another text (tokens, a sentence a line). "
    "The one grammar is the first of the student's."
)
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "trees": ExperimentSetting(840, quick=100),
    "amounts": ExperimentSetting([0, 500, 1000, 2000], quick=[0, 100]),
    "weight": ExperimentSetting(1.0),
    "known": ExperimentSetting("words", choices=("all", "tags", "words")),
    "confidence": ExperimentSetting(0.0),
    "best_trees": ExperimentSetting(1),
    "text": ExperimentSetting(""),
    "test_sentences": ExperimentSetting(500, quick=40),
}
RECIPE = Recipe("self-training", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
