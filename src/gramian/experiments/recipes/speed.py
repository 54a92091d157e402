"""How long parsing and learning take: words and states against milliseconds, trees against seconds, with fitted exponents."""

import time
from itertools import groupby
from operator import itemgetter
from statistics import fmean
from typing import Any

from gramian.experiments.data import Data, find_treebank, sizes, task_trees, tree_counts
from gramian.experiments.measure import settings_of, trained
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import (
    Entry,
    Figure,
    Line,
    Results,
    Section,
    Spread,
    Table,
    fitted_exponent,
    growth,
)

KINDS = {"low": "rules of low rank", "whole": "whole rules"}
_BIN = 5  # words


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each number of states and kind of rules, and one for each number of trees."""
    size, tested = tree_counts(data, options)
    common = {"train": size, "test": tested}
    common |= {name: options[name] for name in ("longest", "preset", "repeats")}
    grown = [
        Cell(
            f"trees/{number}",
            {**common, "train": number, "kind": "trees", "states": max(options["states"])},
        )
        for number in sizes(size, options["shares"])
    ]
    return grown + [
        Cell(f"{kind}/{states}", {**common, "kind": kind, "states": states})
        for states in options["states"]
        for kind in options["kinds"]
    ]


def measure(task: Task) -> dict[str, Any]:
    """Learn a grammar, and time every sentence alone, of several times the least; or time learning alone."""
    from gramian.parsing.parser import Parser

    settings = task["settings"]
    train, test = task_trees(task)
    cell = {
        "method": "spectral-em",
        "states": settings["states"],
        "settings": {"compress": settings["kind"] != "whole"},
    }
    model, learning = trained(train, settings_of(cell, task["seed"]))
    if settings["kind"] == "trees":
        return {"training_seconds": round(learning, 3)}
    parser = Parser(model, max_seconds=None)
    sentences = [list(tree.normal.words) for tree in test]
    parser.parse(sentences[0])
    times = []
    for words in sentences:
        spans = []
        for _ in range(settings["repeats"]):
            began = time.process_time()
            parser.parse(words)
            spans.append(1000 * (time.process_time() - began))
        times.append(min(spans))
    spent = sum(times)
    return {
        "milliseconds": round(spent / len(times), 3),
        "sentences_per_second": round(1000 * len(times) / spent, 1),
        "words_per_second": round(1000 * sum(map(len, sentences)) / spent),
        "states_of_all_labels": int(model.grammar.n_states.sum()),
        "sentences": {
            "times": [[len(words), round(t, 3)] for words, t in zip(sentences, times, strict=True)]
        },
    }


def sections(results: Results) -> list[Section]:
    """Return time by words and by states, and that of learning by trees."""
    numbers = sorted(
        int(n) for n in {cell.split("/")[1] for kind in KINDS for cell in results.cells(f"{kind}/")}
    )
    kinds = [kind for kind in KINDS if results.cells(f"{kind}/")]
    rows: list[list[Entry]] = []
    by_words: list[Line] = []
    for kind in kinds:
        for states in numbers:
            cell = f"{kind}/{states}"
            lengths = _by_length([pair for run in results.runs(cell) for pair in run["sentences"]["times"]])
            figures = results.values(cell, milliseconds=2, sentences_per_second=1, words_per_second=0)
            rows.append([KINDS[kind], states, *figures, fitted_exponent(lengths)])
            if states in (numbers[0], numbers[-1]):
                by_words.append(Line(f"{KINDS[kind]}, {states} states", lengths))
    by_states = [
        results.line(KINDS[kind], [(n, f"{kind}/{n}") for n in numbers], "milliseconds") for kind in kinds
    ]
    large = [Line(line.label, [point for point in line.points if point[0] >= 8]) for line in by_states]
    columns = "rules, states, milliseconds, sentences per second, words per second, exponent of words"
    by_length = f"By length, in steps of {_BIN} words"

    def figure(name: str, caption: str, lines: list[Line]) -> Figure:
        return Figure(name, caption, name, "milliseconds", lines, log_x=True, log_y=True)

    text = (
        "Every sentence parsed alone on one core, in processor time, all passes together. From 8 states on, milliseconds grow with the"
        f" number of states to the power of: {growth(large)}."
    )
    table = Table("speed", "Per sentence", columns.split(", "), rows)
    figures_of = figure("words", by_length, by_words), figure("states", "By number of states", by_states)
    return [Section("Words and states against milliseconds", text, [table, *figures_of]), _learning(results)]


def _learning(results: Results) -> Section:
    """Return the time of learning by the number of trees."""
    numbers = sorted(int(cell.split("/")[1]) for cell in results.cells("trees/"))
    line = results.line("learning", [(n, f"trees/{n}") for n in numbers], "training_seconds")
    text = (
        f"One grammar with up to {max(results.options['states'])} states, learnt on one core; processor time, reading apart, grows with the"
        f" number of trees to the power of: {growth([line])}."
    )
    rows: list[list[Entry]] = [[n, results.value(f"trees/{n}", "training_seconds", 2)] for n in numbers]
    table = Table("learning", "Learning", ["trees", "seconds"], rows)
    figure = Figure("trees", "By number of trees", "trees", "seconds", [line], log_x=True, log_y=True)
    return Section("Trees against seconds of learning", text, [table, figure])


def _by_length(times: list[list[float]]) -> list[tuple[float, Spread]]:
    """Return the mean time of sentences of like length, where there are three of them."""
    binned = groupby(sorted(times, key=itemgetter(0)), lambda time: (time[0] - 1) // _BIN)
    columns = (list(zip(*members, strict=True)) for _, members in binned)
    return [(fmean(lengths), Spread.of(spent)) for lengths, spent in columns if len(spent) >= 3]


TITLE = "Speed: words, states and trees against time"
ABOUT = (
    "Grammars with more and more states parse the same sentences, with whole rule tensors and with rules of low rank; and one is learnt"
    " from more and more trees."
)
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "states": ExperimentSetting([1, 2, 4, 8, 16, 24, 32, 64], quick=[1, 8, 16]),
    "kinds": ExperimentSetting(["low", "whole"], choices=KINDS),
    "train": ExperimentSetting(0, quick=600),
    "shares": ExperimentSetting([0.125, 0.25, 0.5, 1.0]),
    "test_sentences": ExperimentSetting(500, quick=60),
    "longest": ExperimentSetting(100),
    "repeats": ExperimentSetting(3),
}
RECIPE = Recipe("speed", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
