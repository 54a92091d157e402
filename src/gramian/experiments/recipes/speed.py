"""How long a parse takes: words against milliseconds, states against milliseconds, with fitted exponents."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from typing import Any

from gramian.experiments.data import Data, find_treebank, split_trees
from gramian.experiments.measure import expected_seconds, recipe_of, trained
from gramian.experiments.plan import Cell, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table, fitted_exponent

__all__ = ["RECIPE"]

KINDS = {"low": "rules of low rank", "whole": "whole rules"}
_BIN = 5  # words


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each number of states and kind of rules."""
    train, test = (len(part) for part in split_trees(data.files, options["preset"]))
    size, tested = min(train, options["train"] or train), min(test, options["test_sentences"])
    return [
        Cell(
            f"{kind}/{states}",
            {"kind": kind, "states": states, "train": size, "test": tested, "longest": options["longest"], "preset": options["preset"]},
            expected_seconds("spectral-em", states, size, tested) + 2e-5 * states**2 * tested * (kind == "whole"),
        )
        for states in options["states"]
        for kind in options["kinds"]
    ]  # fmt: skip


def measure(task: Task) -> dict[str, Any]:
    """Learn a grammar, and time every sentence alone."""
    from gramian.parsing.parser import Parser

    settings = task["settings"]
    train, test = split_trees(task["files"], settings["preset"])
    recipe = recipe_of({"method": "spectral-em", "states": settings["states"]}, task["seed"])
    model, _ = trained(train[: settings["train"]], replace(recipe, full=settings["kind"] == "whole"))
    parser = Parser(model, max_seconds=None)
    sentences = [list(tree.normal.words) for tree in test if tree.length <= settings["longest"]][
        : settings["test"]
    ]
    parser.parse(sentences[0])
    times = []
    for words in sentences:
        began = time.process_time()
        parser.parse(words)
        times.append((len(words), 1000 * (time.process_time() - began)))
    total = sum(length for length, _ in times)
    spent = sum(milliseconds for _, milliseconds in times)
    return {
        "milliseconds": round(spent / len(times), 3),
        "sentences_per_second": round(1000 * len(times) / spent, 1),
        "words_per_second": round(1000 * total / spent),
        "states_of_all_labels": int(model.grammar.n_states.sum()),
        "sentences": {"times": [[length, round(milliseconds, 3)] for length, milliseconds in times]},
    }


def sections(results: Results) -> list[Section]:
    """Return time by words and by states."""
    numbers = sorted({int(cell.split("/")[1]) for cell in results.cells()})
    kinds = [kind for kind in KINDS if results.cells(f"{kind}/")]
    rows: list[list[Entry]] = []
    by_words: list[Line] = []
    for kind in kinds:
        for states in numbers:
            cell = f"{kind}/{states}"
            lengths = _by_length(
                [tuple(pair) for run in results.runs(cell) for pair in run["sentences"]["times"]]
            )
            exponent = fitted_exponent([(x, spread.mean) for x, spread in lengths])
            rows.append([
                KINDS[kind], states, results.value(cell, "milliseconds"), results.value(cell, "sentences_per_second", 1),
                results.value(cell, "words_per_second", 0), exponent,
            ])  # fmt: skip
            if states in (numbers[0], numbers[-1]):
                by_words.append(Line(f"{KINDS[kind]}, {states} states", lengths))
    by_states = [
        results.line(KINDS[kind], [(n, f"{kind}/{n}") for n in numbers], "milliseconds") for kind in kinds
    ]
    growth = []
    for line in by_states:
        large = [(x, spread.mean) for x, spread in line.points if x >= 8]
        exponent = fitted_exponent(large)
        growth += [] if exponent is None else [f"{line.label} {exponent:.2f}"]
    columns = [
        "rules",
        "states",
        "milliseconds",
        "sentences per second",
        "words per second",
        "exponent of words",
    ]
    return [
        Section(
            "Words and states against milliseconds",
            "Every sentence parsed alone on one core, in processor time, all passes together. From 8 states on, milliseconds grow with the"
            f" number of states to the power of: {', '.join(growth) or 'not measured'}.",
            [
                Table("speed", "Per sentence", columns, rows),
                Figure("words", f"By length, in steps of {_BIN} words", "words", "milliseconds", by_words, log_x=True, log_y=True),
                Figure("states", "By number of states", "states", "milliseconds", by_states, log_x=True, log_y=True),
            ],
        )
    ]  # fmt: skip


def _by_length(times: list[tuple[float, float]]) -> list[tuple[float, Spread]]:
    """Return the mean time of sentences of like length."""
    bins: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for length, milliseconds in times:
        bins[int((length - 1) // _BIN)].append((length, milliseconds))
    points = []
    for _, members in sorted(bins.items()):
        if len(members) >= 3:
            points.append((sum(n for n, _ in members) / len(members), Spread.of([t for _, t in members])))
    return points


OPTIONS = {
    "preset": "auto", "states": [1, 2, 4, 8, 16, 24, 32, 64], "kinds": ["low", "whole"], "train": 0, "test_sentences": 500,
    "longest": 100,
}  # fmt: skip
QUICK = {"states": [1, 8, 16], "train": 600, "test_sentences": 60}

RECIPE = Recipe(
    "speed", "Speed: words and states against milliseconds",
    "Grammars with more and more states parse the same sentences, with whole rule tensors and with rules of low rank.",
    find_treebank, OPTIONS, QUICK, cells, measure, sections, {"kinds": KINDS},
)  # fmt: skip
