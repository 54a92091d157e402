"""What each part of learning is worth: F1 when one thing at a time is changed from the usual settings."""

from typing import Any

from gramian.experiments.data import Data, find_treebank, task_trees, tree_counts
from gramian.experiments.measure import train_and_score
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Table

USUAL = "usual/usual settings"
_ROUGH = {"smoothing.rule": 0.0, "smoothing.state": 0.0, "smoothing.sister_share": 0.0}


def changes(states: int) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the changes by part: what differs from the usual settings."""
    return {
        "usual": {"usual settings": {}},
        "features": {
            "paper (8 + 8 templates)": {"settings": {"features.templates": "paper"}},
            "plain (4 + 4 templates)": {"settings": {"features.templates": "plain"}},
            "thesis (4 + 4 templates, none joined)": {"settings": {"features.templates": "thesis"}},
            "no head rules": {"settings": {"heads": "none"}},
        },
        "scaling": {
            "features not scaled": {"settings": {"features.scaling": False}},
            "projections raw, as in the paper": {"settings": {"clustering.projection": "raw"}},
        },
        "smoothing": {
            "none": {"settings": _ROUGH},
            "no share of sisters": {"settings": {"smoothing.sister_share": 0.0}},
            "share of sisters only": {"settings": _ROUGH | {"smoothing.sister_share": 0.02}},
        },
        "lexicon": {
            "rare words by tag alone": {"settings": {"lexicon": "pos"}},
            "gold tags given": {"tags": "gold"},
        },
        "states": {
            "by frequency": {"settings": {"allocation": "frequency"}},
            "the same for all labels": {"settings": {"allocation": "all"}},
            "half as many": {"states": max(1, states // 2)},
            "twice as many": {"states": states * 2},
            "k-means from random starts": {"settings": {"clustering.start": "random"}},
        },
        "binarisation": {
            "left": {"settings": {"binarisation.direction": "left"}},
            "head outward": {"settings": {"binarisation.direction": "head"}},
            "one sibling remembered": {"settings": {"binarisation.horizontal": 1}},
            "parent remembered": {"settings": {"binarisation.vertical": 2}},
            "tags collapsed": {"settings": {"binarisation.collapse_tags": True}},
        },
        "method": {
            "no states (PCFG)": {"method": "pcfg"},
            "moments": {"method": "spectral-moments"},
            "then EM": {"method": "spectral-em"},
            "thesis's setting": {"method": "thesis", "tags": "gold", "decoder": "max-marginal-sum"},
        },
    }


def cells(data: Data, options: Options) -> list[Cell]:
    """Return one cell for the usual settings and one for each change."""
    size, tested = tree_counts(data, options)
    usual = {"method": "spectral-cluster", "states": options["states"], "train": size, "test": tested}
    usual["preset"] = options["preset"]
    planned = []
    for part, those in changes(options["states"]).items():
        for name, change in those.items() if part in ("usual", *options["parts"]) else ():
            settings = usual | change
            planned.append(Cell(f"{part}/{name}", settings, repeats=settings["method"] != "pcfg"))
    return planned


def measure(task: Task) -> dict[str, Any]:
    """Learn and parse once; the trees are the first ones."""
    return train_and_score(*task_trees(task), task["settings"], task["seed"], task["settings"]["preset"])


def sections(results: Results) -> list[Section]:
    """Return what every change does."""
    done = results.cells()
    names = [cell.replace("/", ": ", 1) for cell in done]
    spreads = [results.against(cell, USUAL, "f1") for cell in done]
    rows: list[list[Entry]] = []
    for cell, name, spread in zip(done, names, spreads, strict=True):
        figures = results.values(cell, tagging=2, training_seconds=1, milliseconds=1, fallback=0)
        rows.append([name, spread, results.difference(cell, USUAL, "f1"), *figures])
    columns = "change, F1, difference, tagging, training seconds, milliseconds per sentence, not derived"
    usual = results.value(USUAL, "f1")
    level = None if usual is None else usual.mean
    line = Line.of("F1", enumerate(spreads))
    caption = "F1 of every change; dashed: the usual settings"
    figure = Figure("ablation", caption, "F1", "", [line], categories=names, reference=level)
    table = Table("ablation", "F1 of every change, with gold's tags in the output", columns.split(", "), rows)
    text = "Clustering with the usual settings, and what becomes of it. Marks tell what differs from the usual settings."
    return [Section("One change at a time", text, [figure, table])]


PARTS = ["features", "scaling", "smoothing", "lexicon", "states", "binarisation", "method"]

TITLE = "Ablation: what each part of learning is worth"
ABOUT = "Spectral clustering with one thing at a time changed: features, scaling, smoothing, lexicon, states, binarisation, method."
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "states": ExperimentSetting(16, quick=8),
    "train": ExperimentSetting(0, quick=600),
    "test_sentences": ExperimentSetting(1000, quick=80),
    "parts": ExperimentSetting(PARTS, choices=PARTS),
}
RECIPE = Recipe("ablation", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
