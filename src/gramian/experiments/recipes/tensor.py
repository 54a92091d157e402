"""Rules of low rank: states, rank and gate against time and F1 (Cohen and Collins 2012, table 1 and figure 3).

Grammars of plain EM are decomposed rule by rule: signed factors by least squares under an absolute gate, with the paper's pruning and
sums of marginals; and probabilities under a relative gate, with gramian's pruning and decoder. Sentences are parsed several times, and
the least time counts. A grammar without states is parsed with too: its F1 is the paper's m = 1, and its time about that of the pruning
pass, which the paper takes off once.

An experiment that the paper leaves open has tensors of low rank inside EM: after every step each rule is replaced by its best product of
probabilities of that rank.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from gramian.experiments.data import Data, GoldTree, find_treebank, task_trees, tree_counts
from gramian.experiments.measure import parse_and_score, parsing_of, settings_of, trained, training_data
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.published import published_table
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table, growth
from gramian.grammar import LPCFG
from gramian.grammar.compress.lowrank import Compression
from gramian.learn import EM
from gramian.training import TrainingSettings

EXACT, DEFAULT = "exact", "default"


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each number of states; all ranks and gates share its grammar."""
    size, tested = tree_counts(data, options)
    plain = {name: options[name] for name in ("longest", "preset", "repeats")}
    plain |= {"train": size, "test": tested}
    learnt = {**plain, "iterations": options["iterations"]}
    planned = [Cell("1", plain | {"states": 1}, repeats=False)]
    for states in options["states"]:
        settings = {**learnt, "states": states, "ranks": options["ranks"], "gates": options["gates"]}
        planned.append(Cell(f"{states}", settings))
        for rank in options["em_ranks"]:
            planned.append(Cell(f"inside/{states}/{rank}", {**learnt, "states": states, "rank": rank}))
    return planned


def measure(task: Task) -> dict[str, Any]:
    """Learn by EM, decompose in every way, and parse with each."""
    from gramian.grammar.compress.lowrank import compress

    settings = task["settings"]
    train, test = task_trees(task)
    plain = {"scheme": settings["preset"], "repeats": settings["repeats"]}
    published = plain | parsing_of("tensor")
    states, iterations = settings["states"], settings.get("iterations")
    learning = settings_of(
        {"method": "tensor", "states": states, "settings": {"max_iter": iterations}}, task["seed"]
    )
    if states == 1:
        model, _ = trained(train, settings_of({"method": "pcfg", "settings": _BINARY}, task["seed"]))
        return _figures(parse_and_score(model, test, **published))
    if "rank" in settings:
        return _inside_em(
            train, learning, settings["rank"], lambda model: parse_and_score(model, test, **published)
        )
    grammar = trained(train, learning)[0].grammar
    figures: dict[str, Any] = {"sentences": {}}

    def note(name: str, model: Any, shares: tuple[float, float], seconds: float) -> None:
        scored = parse_and_score(model, test, **(plain if name == DEFAULT else published))
        figures.update({f"{figure} {name}": value for figure, value in _figures(scored).items()})
        figures[f"rules {name}"], figures[f"uses {name}"] = (round(share, 4) for share in shares)
        figures[f"fitting {name}"] = round(seconds, 2)
        figures["signature"] = figures.pop(f"signature {name}")
        figures["sentences"][f"f1 {name}"] = scored["sentences"]["f1"]

    note(EXACT, grammar, (0.0, 0.0), 0.0)
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
            note(name, small.grammar, _low_rank_shares(small), seconds)
    return figures


def _figures(scored: dict[str, Any]) -> dict[str, Any]:
    return {
        "f1": scored["f1"],
        "seconds": scored["milliseconds"] / 1000,
        "signature": scored["signature"],
    }


def _low_rank_shares(small: Compression) -> tuple[float, float]:
    """Return the share of the rules that are of low rank, by their number and by how often an average sentence uses them."""
    factors = small.grammar.factors
    if factors is None:
        return 0.0, 0.0
    is_low = factors.rank > 0
    return float(is_low.mean()), float(small.uses[is_low].sum() / small.uses.sum())


def _inside_em(
    train: Sequence[GoldTree], learning: TrainingSettings, rank: int, score: Callable[[LPCFG], dict[str, Any]]
) -> dict[str, Any]:
    """Learn by EM whose every step ends with rules of low rank; compare with rules that are decomposed once, after EM."""
    from gramian.grammar.compress.lowrank import compress

    parameters = {"n_states": learning.n_states, **learning.learner_parameters(), "max_iter": 0}
    steps: int = learning.learner_parameters()["max_iter"]
    seen = training_data(train, learning).observations()
    figures: dict[str, Any] = {}

    def step_from(start: LPCFG | None) -> LPCFG:  # without a start it only counts
        learner = EM(start=start, random_state=learning.random_state).set_params(**parameters)
        return learner.fit(seen).model_

    for name in ("after", "inside"):
        began, fitting, grammar = time.process_time(), 0.0, step_from(None)
        for step in range(1, steps + 1):
            grammar = step_from(grammar)
            if name == "inside" or step == steps:
                fitted = time.process_time()
                grammar = compress(grammar, rank).grammar
                fitting += time.process_time() - fitted
        figures[f"learning {name}"] = round(time.process_time() - began, 1)
        figures[f"fitting {name}"] = round(fitting, 1)
        figures |= {f"{figure} {name}": value for figure, value in _figures(score(grammar)).items()}
    return figures


def sections(results: Results) -> list[Section]:
    """Return the paper's table and figure."""
    numbers = sorted(int(cell) for cell in results.cells() if cell != "1" and "/" not in cell)
    ranks, gates = results.options["ranks"], results.options["gates"]
    names = {"exact": EXACT}
    names |= {f"rank {rank}, gate {gate:g}": f"{rank} {gate}" for rank in ranks for gate in gates}
    names["gramian's default"] = DEFAULT
    pruning = results.value("1", "seconds", 4)
    columns = ["rank and gate"]
    for m in numbers:
        columns += [
            f"{figure}, m={m}"
            for figure in (
                "seconds",
                "F1",
                "low-rank rules",
                "low-rank uses",
                "% of the exact time without pruning",
            )
        ]
    rows: list[list[Entry]] = []
    for label, name in names.items():
        row: list[Entry] = [label]
        for m in numbers:
            row += [results.value(f"{m}", f"{figure} {name}", digits) for figure, digits in _DIGITS.items()]
            row.append(
                _share(
                    results.value(f"{m}", f"seconds {name}"),
                    results.value(f"{m}", f"seconds {EXACT}"),
                    pruning,
                )
            )
        rows.append(row)
    if pruning is not None:
        rows.append(["no states (m=1)", pruning, results.value("1", "f1"), *[None] * (5 * len(numbers) - 2)])
    published = published_table(
        "tensor",
        "table-3",
        "The paper's table: rank 8, sentences of at most 40 words",
        ["gate", *(f"{name}, m={m}" for m in (8, 16, 20) for name in ("seconds", "F1"))],
    )
    caption = "Seconds per sentence, F1, and share of rules that are of low rank, by number and by use in an average sentence"
    parts: list[Table | Figure] = [Table("tensor", caption, columns, rows, published)]
    parts += [figure for m in numbers for figure in _figures_3(results, m)]
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
    return [Section("States, rank and gate", text, parts), *_inside_section(results)]


_DIGITS = {"seconds": 4, "f1": 2, "rules": 2, "uses": 2}
_BINARY = {"binarisation.collapse_tags": True}


def _inside_section(results: Results) -> list[Section]:
    """Return F1 and time of EM with tensors of low rank."""
    rows: list[list[Entry]] = []
    for cell in results.cells("inside/"):
        _, states, rank = cell.split("/")
        row: list[Entry] = [int(states), int(rank), results.value(states, f"f1 {EXACT}")]
        for name in ("after", "inside"):
            row += [
                results.value(cell, f"{figure} {name}", digits)
                for figure, digits in {"f1": 2, "seconds": 4, "learning": 1}.items()
            ]
        rows.append(row)
    if not rows:
        return []
    columns = ["states", "rank", "F1, whole rules"]
    columns += [
        f"{figure}, decomposed {name} EM"
        for name in ("after", "inside")
        for figure in ("F1", "seconds per sentence", "seconds of learning")
    ]
    text = (
        "The paper's outlook: every step of EM ends with rules of low rank, fitted as probabilities. Expectations are taken with"
        " whole tensors, so that learning becomes slower by the fitting; what could be gained is F1 at a rank."
    )
    caption = "Rules of low rank after EM, and inside EM"
    return [Section("Low rank inside EM", text, [Table("inside-em", caption, columns, rows)])]


def _share(seconds: Spread | None, exact: Spread | None, pruning: Spread | None) -> Entry:
    """Return the time above that of pruning, as a percentage of that of the exact parser."""
    if seconds is None or exact is None or pruning is None or exact.mean <= pruning.mean:
        return None
    return Spread(100 * (seconds.mean - pruning.mean) / (exact.mean - pruning.mean), digits=0)


def _figures_3(results: Results, m: int) -> list[Figure]:
    """Return figure 3 of the paper for a number of states, time and F1 apart, with the exact parser at the left end."""
    ranks, gates = results.options["ranks"], results.options["gates"]
    drawn = []
    for metric, label in (("seconds", "seconds per sentence"), ("f1", "F1")):
        lines = [
            Line.of(
                f"rank {rank}", ((gate, results.value(f"{m}", f"{metric} {rank} {gate}")) for gate in gates)
            )
            for rank in ranks
        ]
        exact = Line.of("exact", [(min(gates) / 100, results.value(f"{m}", f"{metric} {EXACT}"))])
        caption = f"Figure 3: gate against {label}, {m} states"
        drawn.append(Figure(f"figure-3-{m}-{metric}", caption, "gate", label, [*lines, exact], log_x=True))
    return drawn


TITLE = "Tensor decomposition for fast parsing"
ABOUT = "The table and figure of Cohen and Collins (2012), Tensor decomposition for fast parsing with latent-variable PCFGs."
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "states": ExperimentSetting([8, 16, 20], quick=[4, 8]),
    "em_ranks": ExperimentSetting([8], quick=[2]),
    "ranks": ExperimentSetting([2, 8], quick=[2]),
    "gates": ExperimentSetting([1e-8, 1e-6, 1e-5, 1e-3, 0.1], quick=[1e-5, 0.1]),
    "iterations": ExperimentSetting(15, quick=5),
    "train": ExperimentSetting(0, quick=300),
    "test_sentences": ExperimentSetting(300, quick=40),
    "longest": ExperimentSetting(40),
    "repeats": ExperimentSetting(3),
}
RECIPE = Recipe("tensor", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
