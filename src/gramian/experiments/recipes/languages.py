"""Every treebank of a folder, for every learner: tables 1 to 3 of Narayan and Cohen (2016), on what treebanks you have.

Each folder with a train and a dev file is a treebank; its annotation scheme (case in tags, functions in labels) is detected by
:func:`gramian.trees.scheme.detect_scheme`. Penn-style treebanks are scored as COLLINS.prm says, others as the SPMRL shared tasks do.
"""

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gramian.errors import OptionError
from gramian.evaluate import chomsky_normal_form
from gramian.experiments.data import Data, GoldTree, find_treebanks, gold_trees, preset_of
from gramian.experiments.measure import LABELS, settings_of, train_and_score, training_data
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.published import published_table
from gramian.experiments.results import Figure, Results, Section, Table
from gramian.training import TrainingData, TrainingSettings

NAMES = LABELS | {
    "cluster-tag": "clustering, rare words by tag",
    "cluster-suffix": "clustering, rare words by suffix",
    "search": "clustering, searched states",
    "moments-search": "moments, searched states",
    "many": "several models",
    "noisy": "noisy models with a reranker",
    "split-merge-many": "split-merge, several models with a reranker",
    "published-tag": "published clustering, rare words by tag",
    "published-signature": "published clustering, by tag and signature",
    "published-search": "published clustering, searched states",
    "published-moments": "published moments",
    "published-moments-search": "published moments, searched states",
}
LANGUAGES = "Basque, French, German (NeGra), German (TiGer), Hebrew, Hungarian, Korean, Polish, Swedish"
_STATISTICS = ("sentences", "tokens", "words", "labels")


def method_settings(method: str, options: Options) -> dict[str, Any]:
    """Return the settings of a cell, as of :func:`gramian.experiments.measure.settings_of`, that a method of this experiment stands for."""
    search = {f"search.{name}": options[name] for name in ("budget", "symbols", "largest")}
    search["search.method"] = "beam"
    reranked = {"rerank": True, "folds": options["folds"]}
    in_gramian: dict[str, tuple[str, dict[str, Any]]] = {
        "cluster-tag": ("spectral-cluster", {"lexicon": "tag"}),
        "cluster-suffix": ("spectral-cluster", {"lexicon": "suffix"}),
        "search": ("spectral-cluster", search),
        "moments-search": ("spectral-moments", search),
        "many": ("best", {}),
        "noisy": ("best", {"noise.kind": "mixed", **reranked}),
        "split-merge": ("split-merge", {"cycles": options["cycles"]}),
        "split-merge-many": ("split-merge", {"cycles": options["cycles"], **reranked}),
        "published-tag": ("clustering", {}),
        "published-signature": ("clustering", {"lexicon": "signature"}),
        "published-search": ("optimised", search),
        "published-moments": ("moments", {}),
        "published-moments-search": (
            "moments",
            {**search, "search.groups": False, "search.by_count": False, "search.parsing": "published"},
        ),
    }
    name, changed = in_gramian.get(method, (method, {}))
    cell: dict[str, Any] = {"method": name, "settings": changed}
    if method in ("many", "noisy", "split-merge-many"):
        cell["models"] = options["models"]
    if name not in ("pcfg", "split-merge"):
        cell["states"] = options["published_states" if method.startswith("published") else "states"]
    return cell


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each treebank and learner, and one for the statistics of each treebank."""
    sets = sorted({part.split("/")[0] for part in data.files})
    if unknown := set(options["sets"]) - set(sets):
        raise OptionError(f"sets: there is no {', '.join(sorted(unknown))}; there are: {', '.join(sets)}")
    planned = []
    for name in options["sets"] or sets:
        files = {part: data.files.get(f"{name}/{part}") for part in ("train", options["part"])}
        if None in files.values():
            raise OptionError(f"part: {name} has no {options['part']}.mrg")
        scheme = preset_of(str(files["train"]))
        train, test = (len(gold_trees(str(path), scheme)) for path in files.values())
        common = {"set": name, "part": options["part"], "preset": scheme, "longest": options["longest"]}
        common |= {
            "train": min(train, options["train"] or train),
            "test": min(test, options["test_sentences"]),
        }
        planned.append(Cell(f"{name}/statistics", {**common, "method": "statistics"}, repeats=False))
        for method in options["methods"]:
            settings = common | method_settings(method, options)
            planned.append(Cell(f"{name}/{method}", settings, repeats=method != "pcfg"))
    return planned


def measure(task: Task) -> dict[str, Any]:
    """Learn and parse once; or count the trees."""
    settings, files, seed = task["settings"], task["files"], task["seed"]
    scheme, part = settings["preset"], settings["part"]
    path = files[f"{settings['set']}/train"]
    test = gold_trees(files[f"{settings['set']}/{part}"], scheme)
    if settings["method"] == "statistics":
        return _statistics(gold_trees(path, scheme)[: settings["train"]], test)
    test = tuple([tree for tree in test if tree.length <= settings["longest"]][: settings["test"]])
    collapses = settings_of(settings, seed).binarisation.collapse_tags
    data, words = _shared(path, scheme, settings["train"], collapses)
    result = train_and_score(data, test, settings, seed, scheme)
    return result | {"training_seconds": round(result["training_seconds"] + words, 3)}


@lru_cache(maxsize=2)
def _shared(path: str, scheme: str, size: int, collapses: bool) -> tuple[TrainingData, float]:
    """Return a treebank, and the processor time of the model of word forms, which learners share and which counts for each of them."""
    settings = TrainingSettings.of({"binarisation.collapse_tags": collapses}, preset="whole")
    data = training_data(gold_trees(path, scheme)[:size], settings)
    began = time.process_time()
    data.observations().lexical("auto").form_probabilities(())
    return data, time.process_time() - began


def _statistics(train: Sequence[GoldTree], test: Sequence[GoldTree]) -> dict[str, Any]:
    """Return the figures of table 1: sentences and tokens of both parts, words, and labels after binarisation."""
    binary = [chomsky_normal_form(tree.normal) for tree in train]
    return {
        "sentences": len(train),
        "tokens": sum(tree.length for tree in train),
        "words": len({word for tree in train for word in tree.normal.words}),
        "labels": len({(node.word is None, node.label) for tree in binary for node in tree.subtrees()}),
        "test_sentences": len(test),
        "test_tokens": sum(tree.length for tree in test),
    }


def sections(results: Results) -> list[Section]:
    """Return F1, cost and states of every treebank."""
    sets = list(dict.fromkeys(cell.split("/")[0] for cell in results.cells()))
    part, methods = results.options["part"], results.options["methods"]
    methods = [method for method in methods if any(results.runs(f"{name}/{method}") for name in sets)]
    columns = ["treebank", *(NAMES[method] for method in methods)]

    def table(name: str, caption: str, metric: str, digits: int) -> Table:
        rows = [
            [treebank, *(results.value(f"{treebank}/{way}", metric, digits) for way in methods)]
            for treebank in sets
        ]
        return Table(name, caption, columns, rows)

    marked = [
        [name, *(results.against(f"{name}/{method}", f"{name}/spectral-em", "f1") for method in methods)]
        for name in sets
    ]
    lines = [
        results.line(NAMES[method], [(index, f"{name}/{method}") for index, name in enumerate(sets)], "f1")
        for method in methods
    ]
    languages = LANGUAGES.split(", ")
    number, kind = (2, "development") if part == "dev" else (3, "test")
    caption = f"Table {number} of Narayan and Cohen (2016): F1 on {kind} data of other treebanks"
    published = published_table("languages", f"table-{number}", caption, ["", *languages])
    caption = "F1 of every treebank and learner"
    figures = dict.fromkeys((*_STATISTICS, "test_sentences", "test_tokens"), 0)
    counts = [[name, *results.values(f"{name}/statistics", **figures)] for name in sets]
    columns_1 = ["treebank", *_STATISTICS, f"{part} sentences", f"{part} tokens"]
    caption_of_counts = "Treebanks: training sentences, tokens, different words, labels after binarisation; the part to be parsed"
    theirs = published_table("languages", "table-1", "Table 1 of the paper", ["", *languages])
    return [
        Section(
            "Treebanks",
            "As they are used here.",
            [Table("table-1", caption_of_counts, columns_1, counts, theirs)],
        ),
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
ABOUT = "Tables 1 to 3 of Narayan and Cohen (2016), Optimizing spectral learning for parsing, on the treebanks of a folder."
SETTINGS = {
    "sets": ExperimentSetting([]),
    "part": ExperimentSetting("dev", choices=("dev", "test")),
    "methods": ExperimentSetting(
        [method for method in NAMES if method not in ("thesis", "em", "best")],
        quick=["pcfg", "spectral-cluster", "spectral-moments", "spectral-em"],
        choices=NAMES,
    ),
    "states": ExperimentSetting(16, quick=8),
    "published_states": ExperimentSetting(8),
    "models": ExperimentSetting(2),
    "folds": ExperimentSetting(3, quick=2),
    "budget": ExperimentSetting(100, quick=20),
    "symbols": ExperimentSetting(0),
    "largest": ExperimentSetting(32),
    "cycles": ExperimentSetting(3),
    "train": ExperimentSetting(0, quick=800),
    "test_sentences": ExperimentSetting(500, quick=60),
    "longest": ExperimentSetting(100, quick=40),
}
RECIPE = Recipe("languages", TITLE, ABOUT, find_treebanks, SETTINGS, cells, measure, sections)
