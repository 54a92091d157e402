"""Many models from one treebank: how many, made different by which noise, combined how (Narayan and Cohen 2015).

The paper's own way, a reranker within each scheme of noise and coverage across schemes, is measured with its own models: clusters
without EM, of raw projections, with the paper's levels of noise in turn, its pruning and decoder, and, if `search_budget` is not 0,
numbers of states that a search has found (Narayan and Cohen 2016).
"""

from typing import Any

from gramian.chart.combine import COMBINATIONS
from gramian.experiments.data import Data, GoldTree, find_treebank, task_trees, tree_counts
from gramian.experiments.hierarchical_decoding import RerankedModels, most_covered, published_parser
from gramian.experiments.measure import (
    parse_and_score,
    score_trees,
    scoring,
    settings_of,
    trained,
    training_data,
)
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Table
from gramian.parsing.model import Model
from gramian.training.search_by_f1 import StateSearch
from gramian.trees import Tree

NAMES = {
    "seeds": "seeds alone",
    "binarisation": "either binarisation",
    "dropout": "dropout",
    "additive": "additive noise",
    "multiplicative": "multiplicative noise",
}

_NOISES = ("dropout", "additive", "multiplicative")


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each scheme of noise."""
    size, tested = tree_counts(data, options)
    common = {name: options[name] for name in ("models", "combinations", "states", "level", "preset")}
    planned = [
        Cell(scheme, {**common, "scheme": scheme, "train": size, "test": tested})
        for scheme in options["schemes"]
    ]
    if options["reranked_models"]:
        published = {
            name: options[name] for name in ("reranked_models", "folds", "states", "preset", "search_budget")
        }
        planned.append(Cell("hierarchical", {**published, "train": size, "test": tested}))
    return planned


def measure(task: Task) -> dict[str, Any]:
    """Learn models, and parse with more and more of them."""
    settings = task["settings"]
    train, test = task_trees(task)
    if "reranked_models" in settings:
        return _hierarchical(settings, train, test, task["seed"])
    scheme = settings["scheme"]
    changed: dict[str, Any] = {} if scheme == "binarisation" else {"binarisation.direction": "right"}
    if scheme not in ("seeds", "binarisation"):
        changed |= {"noise.kind": scheme, "noise.level": settings["level"]}
    most = max(settings["models"])
    learnt = {"method": "spectral-em", "states": settings["states"], "models": most, "settings": changed}
    many, seconds = trained(train, settings_of(learnt, task["seed"]))
    grammars = many.grammars
    figures: dict[str, Any] = {"training_seconds": round(seconds, 1), "sentences": {}}
    for models in settings["models"]:
        for combination in settings["combinations"] if models > 1 else settings["combinations"][:1]:
            model = Model(tuple(grammars[:models]))
            scored = parse_and_score(model, test, scheme=settings["preset"], combination=combination)
            figures["signature"] = scored["signature"]
            for name in ("f1", "milliseconds"):
                figures[f"{name} {models} {combination}"] = scored[name]
            figures["sentences"][f"f1 {models} {combination}"] = scored["sentences"]["f1"]
    return figures


def _hierarchical(
    settings: dict[str, Any], train: list[GoldTree], test: list[GoldTree], seed: int
) -> dict[str, Any]:
    """Learn models of every scheme and a reranker for each; score their trees, and the most covered ones."""
    figures: dict[str, Any] = {"sentences": {}}

    def note(name: str, trees: list[Tree]) -> None:
        scored = score_trees(trees, test, settings["preset"])
        figures[f"f1 {name}"], figures["signature"] = scored["f1"], scored["signature"]
        figures["sentences"][f"f1 {name}"] = scored["sentences"]["f1"]

    words = [list(tree.normal.words) for tree in test]
    chosen: list[list[Tree]] = []
    states: int | dict[str, int] = settings["states"]
    if settings["search_budget"]:
        learning = settings_of({"method": "optimised", "states": states}, seed)
        search = StateSearch(training_data(train, learning), learning, parameters=scoring(settings["preset"]))
        trials = search.run(together=False, by_count=False, symbols=None, budget=settings["search_budget"])
        states, figures["labels_finished"] = search.names(trials), trials.finished_labels
    for scheme in _NOISES:
        changed = {"noise.kind": scheme, "binarisation.direction": "right"}
        options = {"settings": changed, "models": settings["reranked_models"]}
        learning = settings_of({"method": "clustering", "states": states} | options, seed)
        many = RerankedModels.learn(training_data(train, learning), learning, settings["folds"])
        if scheme == _NOISES[0]:
            single = published_parser(Model((many.parser.model.grammar,)))
            note("single", [single.parse(sentence).tree for sentence in words])
        chosen.append([many.tree(sentence) for sentence in words])
        note(scheme, chosen[-1])
        summed = published_parser(many.parser.model, "sum")
        note(f"{scheme} sum", [summed.parse(sentence).tree for sentence in words])
    note("hierarchical", [most_covered(trees) for trees in zip(*chosen, strict=True)])
    return figures


def _hierarchical_section(results: Results) -> list[Section]:
    if not results.runs("hierarchical"):
        return []
    number = results.options["reranked_models"]
    rows: list[list[Entry]] = [["one model", results.value("hierarchical", "f1 single"), None]]
    for scheme in _NOISES:
        figures = [results.value("hierarchical", f"f1 {name}") for name in (scheme, f"{scheme} sum")]
        rows.append([f"{number} models, {NAMES[scheme]}", *figures])
    rows.append(["coverage across schemes", results.value("hierarchical", "f1 hierarchical"), None])
    columns = ["models", "F1, reranked own trees", "F1, sum of posteriors"]
    caption = "Hierarchical decoding: a reranker within each scheme, then coverage across schemes"
    text = (
        "As published: clusters without EM, of raw projections, the models' own trees reranked by a log-linear model that learns from "
        "folds they have not seen. The paper has 80 models a scheme."
    )
    return [
        Section("Hierarchical decoding, as published", text, [Table("hierarchical", caption, columns, rows)])
    ]


def sections(results: Results) -> list[Section]:
    """Return F1 by number of models, and of hierarchical decoding."""
    models, combinations = results.options["models"], results.options["combinations"]
    schemes = [scheme for scheme in NAMES if results.runs(scheme)]
    if not schemes:
        return _hierarchical_section(results)
    columns = ["models", *(NAMES[scheme] for scheme in schemes), "milliseconds per sentence"]
    parts: list[Table | Figure] = []
    for way in combinations:
        metric = {number: f"{number} {way if number > 1 else combinations[0]}" for number in models}
        rows: list[list[Entry]] = []
        for number, name in metric.items():
            scores = [results.against(scheme, "seeds", f"f1 {name}") for scheme in schemes]
            rows.append([number, *scores, results.value(schemes[0], f"milliseconds {name}", 1)])
        lines = [
            Line.of(NAMES[scheme], ((n, results.value(scheme, f"f1 {metric[n]}")) for n in models))
            for scheme in schemes
        ]
        parts += [
            Table(f"f1-{way}", f"F1, models combined by {way}", columns, rows),
            Figure(f"f1-{way}", f"Models against F1, by {way}", "models", "F1", lines, log_x=True),
        ]
    text = (
        "Each further model is learnt with another seed, and with noise or from the other binarisation. Marks tell what differs from"
        " seeds alone. The paper has 90.18 on WSJ with 80 models of each scheme and a reranker, where single models have 86 to 88."
    )
    return [Section("Models against F1", text, parts), *_hierarchical_section(results)]


TITLE = "Noise: models against F1"
ABOUT = (
    "Many models of one treebank, made different by seeds and noise, combined as one (Narayan and Cohen 2015, Diversity in "
    "spectral learning for natural language parsing)."
)
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "schemes": ExperimentSetting(list(NAMES), choices=NAMES),
    "level": ExperimentSetting(0.1),
    "models": ExperimentSetting([1, 2, 4, 8, 16], quick=[1, 2, 4]),
    "combinations": ExperimentSetting(
        ["product", "sum", "coverage", "coverage-dynamic"], quick=["product"], choices=COMBINATIONS[:-1]
    ),
    "reranked_models": ExperimentSetting(8, quick=2),
    "folds": ExperimentSetting(5, quick=2),
    "search_budget": ExperimentSetting(0, quick=3),
    "states": ExperimentSetting(16, quick=8),
    "train": ExperimentSetting(0, quick=600),
    "test_sentences": ExperimentSetting(500, quick=60),
}
RECIPE = Recipe("noise", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
