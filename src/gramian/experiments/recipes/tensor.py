"""Rules of low rank: states, rank and gate against time and F1 (Cohen and Collins 2012, table 1 and figure 3).

EM grammars are decomposed rule by rule: signed factors by least squares under an absolute gate, as in the paper, and probabilities
under a relative gate, as gramian does by default.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from gramian.experiments.data import Data, find_treebank, task_trees, tree_counts
from gramian.experiments.measure import expected_seconds, parse_and_score, recipe_of, trained
from gramian.experiments.plan import Cell, Options, Recipe, Setting, Task
from gramian.experiments.results import Figure, Line, Results, Section, Table, growth

# The paper's table: seconds per sentence and F1 on WSJ section 22, at most 40 words, rank 8.
PUBLISHED = (
    ("exact", 4.6, 85.72, 14.6, 85.59, 23.7, 85.20),
    ("1e-08", 4.2, 85.72, 9.8, 85.58, 15.6, 85.21),
    ("1e-05", 3.4, 85.60, 3.5, 85.46, 3.6, 85.15),
    ("0.001", 3.5, 85.61, 3.2, 85.49, 3.2, 85.14),
)
EXACT, DEFAULT = "exact", "default"


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each number of states; all ranks and gates share its grammar."""
    size, tested = tree_counts(data, options)
    common = {name: options[name] for name in ("ranks", "gates", "iterations", "longest", "preset")}
    ranks = len(options["ranks"])
    ways = 2 + ranks * len(options["gates"])
    found = []
    for states in options["states"]:
        seconds = expected_seconds("em", states, size, 0) + ranks * states
        seconds += ways * (2 + tested * (5e-3 + 2e-5 * states**2))
        settings = {**common, "states": states, "train": size, "test": tested}
        found.append(Cell(f"{states}", settings, seconds))
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn by EM, decompose in every way, and parse with each."""
    from gramian.grammar.compress.lowrank import compress

    settings = task["settings"]
    train, test = task_trees(task)
    options = {"allocation": "all", "max_iter": settings["iterations"]}
    recipe = recipe_of({"method": "em", "states": settings["states"], "options": options}, task["seed"])
    grammar = trained(train, replace(recipe, full=True))[0].grammar
    found: dict[str, Any] = {"sentences": {}}

    def note(name: str, model: Any, share: float, seconds: float) -> None:
        scored = parse_and_score(model, test, scheme=settings["preset"])
        found[f"seconds {name}"] = scored["milliseconds"] / 1000
        found[f"f1 {name}"] = scored["f1"]
        found[f"share {name}"] = round(share, 4)
        found[f"fitting {name}"] = round(seconds, 2)
        found["signature"] = scored["signature"]
        found["sentences"][f"f1 {name}"] = scored["sentences"]["f1"]

    note(EXACT, grammar, 0.0, 0.0)
    for rank in [*settings["ranks"], "auto"]:
        began = time.process_time()
        if rank == "auto":
            fitted = compress(grammar)
        else:
            fitted = compress(grammar, rank, signed=True, starts=1, random_state=task["seed"])
        seconds = time.process_time() - began
        # Factors are fitted once for each rank; a gate only chooses which rules use them.
        gates = {DEFAULT: None} if rank == "auto" else {f"{rank} {gate}": gate for gate in settings["gates"]}
        for name, gate in gates.items():
            small = fitted if gate is None else fitted.within(gate, "absolute")
            factors = small.grammar.factors
            low = 0.0 if factors is None else float(small.uses[factors.rank > 0].sum() / small.uses.sum())
            note(name, small.grammar, low, seconds)
    return found


def sections(results: Results) -> list[Section]:
    """Return the paper's table and figure."""
    numbers = sorted(int(cell) for cell in results.cells())
    ranks, gates = results.options["ranks"], results.options["gates"]
    names = {"exact": EXACT}
    names |= {f"rank {rank}, gate {gate:g}": f"{rank} {gate}" for rank in ranks for gate in gates}
    names["gramian's default"] = DEFAULT
    columns = ["rank and gate"]
    for m in numbers:
        columns += [f"seconds, m={m}", f"F1, m={m}", f"share of low rank, m={m}"]
    digits = {"seconds": 4, "f1": 2, "share": 2}
    rows = [
        [label, *(results.value(f"{m}", f"{what} {name}", digits[what]) for m in numbers for what in digits)]
        for label, name in names.items()
    ]
    published = Table(
        "published",
        "The paper's table: rank 8, sentences of at most 40 words",
        ["gate", *(f"{what}, m={m}" for m in (8, 16, 20) for what in ("seconds", "F1"))],
        PUBLISHED,
    )
    caption = "Seconds per sentence, F1, and share of an average sentence's rules that are of low rank"
    parts: list[Table | Figure] = [Table("tensor", caption, columns, rows, published)]
    for what, label in (("seconds", "seconds per sentence"), ("f1", "F1")):
        for rank in ranks:
            lines = []
            for m in numbers:
                points = [(gate, results.value(f"{m}", f"{what} {rank} {gate}")) for gate in gates]
                lines.append(Line.of(f"{m} states", points))
            caption = f"Gate against {label}, rank {rank}"
            parts.append(Figure(f"{what}-{rank}", caption, "gate", label, lines, log_x=True))
    times = [
        results.line(label, [(m, f"{m}") for m in numbers], f"seconds {name}")
        for label, name in names.items()
        if name in (EXACT, DEFAULT)
    ]
    text = (
        "A rule is replaced if the error of its tensor is within the gate. Processor seconds of the whole parse grow with the number of"
        f" states to the power of: {growth(times)}."
    )
    return [Section("States, rank and gate", text, parts)]


TITLE = "Tensor decomposition for fast parsing"
ABOUT = "The table and figure of Cohen and Collins (2012), Tensor decomposition for fast parsing with latent-variable PCFGs."
SETTINGS = {
    "preset": Setting("auto"),
    "states": Setting([8, 16, 20, 32], quick=[4, 8]),
    "ranks": Setting([2, 8], quick=[2]),
    "gates": Setting([1e-8, 1e-6, 1e-5, 1e-3, 0.1], quick=[1e-5, 0.1]),
    "iterations": Setting(15, quick=5),
    "train": Setting(0, quick=300),
    "test_sentences": Setting(300, quick=40),
    "longest": Setting(40),
}
RECIPE = Recipe("tensor", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
