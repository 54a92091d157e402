"""Rules of low rank: states, rank and gate against time and F1 (Cohen and Collins 2012, table 1 and figure 3).

EM grammars are decomposed rule by rule: signed factors by least squares under an absolute gate, as in the paper, and probabilities
under a relative gate, as gramian does by default. Sentences are parsed several times, and the least time counts. A grammar without
states is parsed with too: its F1 is the paper's m = 1, and its time about that of the pruning pass, which the paper takes off once.
"""

from __future__ import annotations

import time
from typing import Any

from gramian.experiments.data import Data, find_treebank, task_trees, tree_counts
from gramian.experiments.measure import parse_and_score, settings_of, trained
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.published import published_table
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table, growth

EXACT, DEFAULT = "exact", "default"


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each number of states; all ranks and gates share its grammar."""
    size, tested = tree_counts(data, options)
    common = {
        name: options[name] for name in ("ranks", "gates", "iterations", "longest", "preset", "repeats")
    }
    plain = {name: common[name] for name in ("longest", "preset", "repeats")} | {
        "train": size,
        "test": tested,
    }
    found = [Cell("1", plain | {"states": 1}, repeats=False)]
    for states in options["states"]:
        settings = {**common, "states": states, "train": size, "test": tested}
        found.append(Cell(f"{states}", settings))
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn by EM, decompose in every way, and parse with each."""
    from gramian.grammar.compress.lowrank import compress

    settings = task["settings"]
    train, test = task_trees(task)
    how = {"scheme": settings["preset"], "repeats": settings["repeats"]}
    if settings["states"] == 1:
        model, _ = trained(train, settings_of({"method": "pcfg"}, task["seed"]))
        scored = parse_and_score(model, test, **how)
        return {
            "f1": scored["f1"],
            "seconds": scored["milliseconds"] / 1000,
            "signature": scored["signature"],
        }
    changed = {"allocation": "all", "max_iter": settings["iterations"], "compress": False}
    cell = {"method": "em", "states": settings["states"], "settings": changed}
    grammar = trained(train, settings_of(cell, task["seed"]))[0].grammar
    found: dict[str, Any] = {"sentences": {}}

    def note(name: str, model: Any, share: float, seconds: float) -> None:
        scored = parse_and_score(model, test, **how)
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
    numbers = sorted(int(cell) for cell in results.cells() if cell != "1")
    ranks, gates = results.options["ranks"], results.options["gates"]
    names = {"exact": EXACT}
    names |= {f"rank {rank}, gate {gate:g}": f"{rank} {gate}" for rank in ranks for gate in gates}
    names["gramian's default"] = DEFAULT
    pruning = results.value("1", "seconds", 4)
    columns = ["rank and gate"]
    for m in numbers:
        columns += [
            f"{what}, m={m}"
            for what in ("seconds", "F1", "share of low rank", "% of the exact time without pruning")
        ]
    rows: list[list[Entry]] = []
    for label, name in names.items():
        row: list[Entry] = [label]
        for m in numbers:
            row += [results.value(f"{m}", f"{what} {name}", digits) for what, digits in _DIGITS.items()]
            row.append(
                _share(
                    results.value(f"{m}", f"seconds {name}"),
                    results.value(f"{m}", f"seconds {EXACT}"),
                    pruning,
                )
            )
        rows.append(row)
    if pruning is not None:
        rows.append(["no states (m=1)", pruning, results.value("1", "f1"), *[None] * (4 * len(numbers) - 2)])
    published = published_table(
        "tensor",
        "table-3",
        "The paper's table: rank 8, sentences of at most 40 words",
        ["gate", *(f"{name}, m={m}" for m in (8, 16, 20) for name in ("seconds", "F1"))],
    )
    caption = "Seconds per sentence, F1, and share of an average sentence's rules that are of low rank"
    parts: list[Table | Figure] = [Table("tensor", caption, columns, rows, published)]
    parts += [_figure(results, m, ranks, gates) for m in numbers]
    times = [
        results.line(label, [(m, f"{m}") for m in numbers], f"seconds {name}")
        for label, name in names.items()
        if name in (EXACT, DEFAULT)
    ]
    text = (
        "A rule is replaced if the error of its tensor is within the gate. Processor seconds of the whole parse, the least of"
        f" {results.options['repeats']} runs, grow with the number of states to the power of: {growth(times)}. Time without pruning is that"
        " above the grammar without states; the paper has 72, 24 and 21 % with rank 8 and a gate of 0.1."
    )
    return [Section("States, rank and gate", text, parts)]


_DIGITS = {"seconds": 4, "f1": 2, "share": 2}


def _share(seconds: Spread | None, exact: Spread | None, pruning: Spread | None) -> Entry:
    """Return the time above that of pruning, as a percentage of that of the exact parser."""
    if seconds is None or exact is None or pruning is None or exact.mean <= pruning.mean:
        return None
    return Spread(100 * (seconds.mean - pruning.mean) / (exact.mean - pruning.mean), digits=0)


def _figure(results: Results, m: int, ranks: list[int], gates: list[float]) -> Figure:
    """Return figure 3 of the paper for a number of states: time by the left axis, F1 by the right, the exact point at the left end."""
    lines: dict[str, list[Line]] = {}
    end = min(gates) / 100
    for what, label in (("seconds", "seconds"), ("f1", "F1")):
        lines[what] = [
            Line.of(
                f"{label}, rank {rank}",
                ((gate, results.value(f"{m}", f"{what} {rank} {gate}")) for gate in gates),
            )
            for rank in ranks
        ]
        lines[what].append(Line.of(f"{label}, exact", [(end, results.value(f"{m}", f"{what} {EXACT}"))]))
    return Figure(
        f"figure-3-{m}",
        f"Figure 3: gate against time and F1, {m} states; the exact parser at the left end",
        "gate",
        "seconds per sentence",
        lines["seconds"],
        log_x=True,
        twin=lines["f1"],
        y_twin="F1",
    )


TITLE = "Tensor decomposition for fast parsing"
ABOUT = "The table and figure of Cohen and Collins (2012), Tensor decomposition for fast parsing with latent-variable PCFGs."
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "states": ExperimentSetting([8, 16, 20, 32], quick=[4, 8]),
    "ranks": ExperimentSetting([2, 8], quick=[2]),
    "gates": ExperimentSetting([1e-8, 1e-6, 1e-5, 1e-3, 0.1], quick=[1e-5, 0.1]),
    "iterations": ExperimentSetting(15, quick=5),
    "train": ExperimentSetting(0, quick=300),
    "test_sentences": ExperimentSetting(300, quick=40),
    "longest": ExperimentSetting(40),
    "repeats": ExperimentSetting(3),
}
RECIPE = Recipe("tensor", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
