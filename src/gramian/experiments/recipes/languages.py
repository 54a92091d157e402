"""Every treebank of a folder, for every learner: tables 2 and 4 of Narayan and Cohen (2016), on what treebanks you have.

Each folder with a train and a dev file is a treebank; its labels tell its habits (case in tags, functions in labels), see
:func:`gramian.trees.scheme.detect_scheme`. Penn-style treebanks are scored as COLLINS.prm says, others as the SPMRL shared tasks do.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gramian.errors import OptionError
from gramian.experiments.data import Data, GoldTree, find_treebanks, gold_trees, preset_of
from gramian.experiments.measure import (
    LABELS,
    parse_and_score,
    scoring,
    settings_of,
    train_and_score,
    training_data,
    transferred,
)
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Figure, Results, Section, Table
from gramian.grammar.compress.compact import compacted
from gramian.learn.state_search import ClusterCache
from gramian.training import TrainingData
from gramian.training.search_by_f1 import StateSearch

NAMES = LABELS | {
    "cluster-tag": "clustering, rare words by tag",
    "cluster-suffix": "clustering, rare words by suffix",
    "search": "clustering, searched states",
    "moments-search": "moments, searched states",
    "many": "several models",
    "noisy": "noisy models with a reranker",
}
_SEARCHES = ("search", "moments-search")
_RARE = {"cluster-tag": "tag", "cluster-suffix": "suffix"}

# Table 2 of the paper: F1 on development data.
PUBLISHED = (
    ("split-merge (Berkeley), signatures", 69.2, 79.9, None, 81.7, 87.8, 83.9, 71.0, 84.1, 74.5),
    ("split-merge (Berkeley), morphology", 84.3, 79.7, None, 82.7, 89.6, 89.1, 82.8, 87.1, 75.5),
    ("clustering, fixed states, rare by tag", 69.8, 73.9, 75.7, 78.3, 88.0, 81.3, 68.7, 90.3, 70.9),
    ("clustering, fixed states, morphology", 78.6, 73.7, None, 78.8, 88.1, 84.7, 76.5, 90.4, 71.4),
    ("clustering, searched states", 81.2, 76.7, 77.8, 81.7, 90.1, 87.2, 79.2, 92.0, 75.2),
    ("moments, fixed states", 78.1, 78.0, 77.6, 82.0, 89.2, 87.7, 80.6, 91.7, 73.4),
    ("moments, searched states", 79.0, 78.1, 79.0, 82.9, 90.3, 87.8, 80.9, 91.7, 75.5),
    ("split-merge, many models", 87.4, 82.5, None, 85.0, 90.5, 91.1, 84.6, 88.4, 79.5),
    ("clustering, many models", 83.4, 79.9, 82.7, 85.1, 90.6, 89.0, 80.8, 92.5, 78.3),
)
LANGUAGES = "Basque, French, German (NeGra), German (TiGer), Hebrew, Hungarian, Korean, Polish, Swedish"


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each treebank and learner."""
    sets = sorted({part.split("/")[0] for part in data.files})
    if unknown := set(options["sets"]) - set(sets):
        raise OptionError(f"sets: there is no {', '.join(sorted(unknown))}; there are: {', '.join(sets)}")
    found = []
    for name in options["sets"] or sets:
        scheme = preset_of(data.files[f"{name}/train"])
        train, test = (len(gold_trees(data.files[f"{name}/{part}"], scheme)) for part in ("train", "dev"))
        size, tested = min(train, options["train"] or train), min(test, options["test_sentences"])
        for method in options["methods"]:
            common = {"set": name, "method": method, "train": size, "test": tested, "preset": scheme}
            settings: dict[str, Any] = common | {"longest": options["longest"]}
            if method == "split-merge":
                settings["settings"] = {"cycles": options["cycles"]}
            elif method != "pcfg":
                settings["states"] = options["states"]
            if method in ("many", "noisy"):
                settings["models"] = options["models"]
            if method == "noisy":
                settings["folds"] = options["folds"]
            elif method in _SEARCHES:
                settings |= {name: options[name] for name in ("budget", "symbols", "largest")}
            found.append(Cell(f"{name}/{method}", settings, repeats=method != "pcfg"))
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn and parse once."""
    settings, files, seed = task["settings"], task["files"], task["seed"]
    scheme = settings["preset"]
    train, test = (gold_trees(files[f"{settings['set']}/{part}"], scheme) for part in ("train", "dev"))
    test = tuple([tree for tree in test if tree.length <= settings["longest"]][: settings["test"]])
    train = train[: settings["train"]]
    data, words = _shared(files[f"{settings['set']}/train"], scheme, len(train))
    method = settings["method"]
    if method in _SEARCHES:
        result = _searched(data, test, settings, seed)
    else:
        change: dict[str, Any] = {"many": {"method": "best"}}.get(method, {})
        if method == "noisy":
            change = {
                "method": "best",
                "settings": {"noise.kind": "mixed", "rerank": True, "folds": settings["folds"]},
            }
        elif method in _RARE:
            change = {"method": "spectral-cluster", "settings": {"lexicon": _RARE[method]}}
        result = train_and_score(data, test, settings | change, seed, scheme)
    return result | {"training_seconds": round(result["training_seconds"] + words, 3)}


@lru_cache(maxsize=2)
def _shared(path: str, scheme: str, size: int) -> tuple[TrainingData, float]:
    """Return a treebank, and the processor time of the model of word forms, which learners share and which counts for each of them."""
    data = training_data(gold_trees(path, scheme)[:size])
    began = time.process_time()
    data.observations().lexical("auto").form_probabilities(())
    return data, time.process_time() - began


def _searched(
    data: TrainingData, test: Sequence[GoldTree], settings: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Search for numbers of states on a tenth of the training trees, at most 300, then cluster all, or take moments of all."""
    usual = settings_of({"method": "spectral-cluster", "states": settings["states"]}, seed)
    scheme, largest = settings["preset"], settings["largest"]
    began = time.process_time()
    search = StateSearch(data, usual, largest=largest, most=300, parameters=scoring(scheme))
    found = search.run(symbols=settings["symbols"], budget=settings["budget"])
    whole = ClusterCache(search.learner, data.observations(), largest)
    numbers = transferred(found, search.cache, whole)
    if settings["method"] == "moments-search":
        names = {whole.seen.name(symbol): number for symbol, number in enumerate(numbers)}
        moments = settings_of({"method": "spectral-moments", "states": names}, seed).estimator()
        grammar = moments.fit(data.observations()).model_
    else:
        grammar, _ = compacted(whole.grammar(numbers))
    learnt = time.process_time() - began
    result = parse_and_score(grammar, test, scheme=scheme)
    return result | {
        "training_seconds": round(learnt, 3),
        "trees": data.bank.n_trees,
        "states": sum(numbers),
        "candidates": len(found.trials),
    }


def sections(results: Results) -> list[Section]:
    """Return F1, cost and states of every treebank."""
    sets = list(dict.fromkeys(cell.split("/")[0] for cell in results.cells()))
    methods = [m for m in results.options["methods"] if any(results.runs(f"{name}/{m}") for name in sets)]
    columns = ["treebank", *(NAMES[method] for method in methods)]

    def table(name: str, caption: str, metric: str, digits: int) -> Table:
        rows = [[one, *(results.value(f"{one}/{way}", metric, digits) for way in methods)] for one in sets]
        return Table(name, caption, columns, rows)

    marked = [
        [name, *(results.against(f"{name}/{method}", f"{name}/spectral-em", "f1") for method in methods)]
        for name in sets
    ]
    lines = [
        results.line(NAMES[method], [(place, f"{name}/{method}") for place, name in enumerate(sets)], "f1")
        for method in methods
    ]
    caption = "Table 2 of Narayan and Cohen (2016): F1 on development data of other treebanks"
    published = Table("published", caption, ["", *LANGUAGES.split(", ")], PUBLISHED)
    caption = "F1 of every treebank and learner"
    return [
        Section(
            "Accuracy",
            "F1 with gold's tags in the output; words alone are given. Marks tell what differs from clustering with EM.",
            [
                Table("f1", caption, columns, marked, published),
                Figure("f1", caption, "F1", "", lines, categories=sets),
            ],
        ),
        Section(
            "Cost and size",
            "Processor seconds on one core; a fallback tree is one that the grammar does not derive.",
            [
                table("training", "Seconds of training", "training_seconds", 1),
                table("parsing", "Milliseconds per sentence", "milliseconds", 1),
                table("states", "States of all labels together", "states", 0),
                table("tagging", "Words with the right tag, in percent", "tagging", 2),
                table("fallback", "Fallback trees", "fallback", 0),
            ],
        ),
    ]


TITLE = "Languages: every treebank, every learner"
ABOUT = "Tables 2 and 4 of Narayan and Cohen (2016), Optimizing spectral learning for parsing, on the treebanks of a folder."
SETTINGS = {
    "sets": ExperimentSetting([]),
    "methods": ExperimentSetting(
        [method for method in NAMES if method not in ("thesis", "em", "best")],
        quick=["pcfg", "spectral-cluster", "spectral-moments", "spectral-em"],
        choices=NAMES,
    ),
    "states": ExperimentSetting(16, quick=8),
    "models": ExperimentSetting(2),
    "folds": ExperimentSetting(3, quick=2),
    "budget": ExperimentSetting(20),
    "symbols": ExperimentSetting(10),
    "largest": ExperimentSetting(32),
    "cycles": ExperimentSetting(3),
    "train": ExperimentSetting(0, quick=800),
    "test_sentences": ExperimentSetting(500, quick=60),
    "longest": ExperimentSetting(100, quick=40),
}
RECIPE = Recipe("languages", TITLE, ABOUT, find_treebanks, SETTINGS, cells, measure, sections)
