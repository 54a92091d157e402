"""What each part of learning is worth: F1 when one thing at a time is changed from the usual settings."""

from __future__ import annotations

from typing import Any

from gramian.experiments.data import Data, find_treebank, split_trees
from gramian.experiments.measure import expected_seconds, train_and_score
from gramian.experiments.plan import Cell, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Table

__all__ = ["RECIPE"]

USUAL = "usual/usual settings"
_ROUGH = {"smoothing__rule": 0.0, "smoothing__state": 0.0, "smoothing__sister_share": 0.0}


def changes(states: int) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the changes by part: what differs from the usual settings."""
    return {
        "usual": {"usual settings": {}},
        "features": {
            "paper (8 + 8 templates)": {"options": {"features__templates": "paper"}},
            "plain (4 + 4 templates)": {"options": {"features__templates": "plain"}},
            "no head rules": {"options": {"features__heads": "none"}},
        },
        "scaling": {
            "features not scaled": {"options": {"features__scaling": False}},
            "projections raw, as in the paper": {"options": {"clustering__projection": "raw"}},
        },
        "smoothing": {
            "none": {"options": _ROUGH},
            "no share of sisters": {"options": {"smoothing__sister_share": 0.0}},
            "share of sisters only": {"options": _ROUGH | {"smoothing__sister_share": 0.02}},
        },
        "lexicon": {
            "rare words by tag alone": {"options": {"lexicon": "pos"}},
            "gold tags given": {"tags": "gold"},
        },
        "states": {
            "by frequency": {"options": {"allocation": "frequency"}},
            "the same for all labels": {"options": {"allocation": "all"}},
            "half as many": {"states": max(1, states // 2)},
            "twice as many": {"states": states * 2},
            "soft": {"options": {"clustering__soft": 4.0}},
        },
        "binarisation": {
            "left": {"shape": ["left"]},
            "head outward": {"shape": ["head"]},
            "one sibling remembered": {"shape": ["right", 1]},
            "parent remembered": {"shape": ["right", 0, 2]},
        },
        "method": {
            "no states (PCFG)": {"method": "pcfg"},
            "moments": {"method": "spectral-moments"},
            "then EM": {"method": "spectral-em"},
            "thesis's setting": {"method": "thesis", "tags": "gold"},
        },
    }


def cells(data: Data, options: Options) -> list[Cell]:
    """Return one cell for the usual settings and one for each change."""
    train, test = (len(part) for part in split_trees(data.files, options["preset"]))
    size, tested = min(train, options["train"] or train), min(test, options["test_sentences"])
    found = []
    for part, those in changes(options["states"]).items():
        for name, change in those.items():
            if part not in ("usual", *options["parts"]):
                continue
            settings = {
                "method": "spectral-cluster", "states": options["states"], "train": size, "test": tested, "preset": options["preset"],
            } | change  # fmt: skip
            seconds = expected_seconds(settings["method"], settings["states"], size, tested)
            found.append(Cell(f"{part}/{name}", settings, seconds, repeats=settings["method"] != "pcfg"))
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn and parse once; the trees are the first ones."""
    settings = task["settings"]
    train, test = split_trees(task["files"], settings["preset"])
    return train_and_score(
        train[: settings["train"]], test[: settings["test"]], settings, task["seed"], settings["preset"]
    )


def sections(results: Results) -> list[Section]:
    """Return what every change does."""
    done = results.cells()
    rows: list[list[Entry]] = []
    points = []
    for place, cell in enumerate(done):
        part, name = cell.split("/", 1)
        spread = results.against(cell, USUAL, "f1")
        rows.append([
            f"{part}: {name}", spread, results.difference(cell, USUAL, "f1"), results.value(cell, "tagging"),
            results.value(cell, "training_seconds", 1), results.value(cell, "milliseconds", 1), results.value(cell, "makeshift", 0),
        ])  # fmt: skip
        if spread is not None:
            points.append((float(place), spread))
    usual = results.value(USUAL, "f1")
    columns = [
        "change",
        "F1",
        "difference",
        "tagging",
        "training seconds",
        "milliseconds per sentence",
        "not derived",
    ]
    names = [cell.replace("/", ": ", 1) for cell in done]
    return [
        Section(
            "One change at a time",
            "Clustering with the usual settings, and what becomes of it. Marks tell what differs from the usual settings.",
            [
                Figure(
                    "ablation",
                    "F1 of every change; dashed: the usual settings",
                    "F1",
                    "",
                    [Line("F1", points)],
                    categories=names,
                    reference=None if usual is None else usual.mean,
                ),
                Table("ablation", "F1 of every change, with gold's tags in the output", columns, rows),
            ],
        )
    ]


PARTS = ["features", "scaling", "smoothing", "lexicon", "states", "binarisation", "method"]
OPTIONS = {"preset": "auto", "states": 16, "train": 0, "test_sentences": 1000, "parts": PARTS}
QUICK = {"states": 8, "train": 600, "test_sentences": 80}

RECIPE = Recipe(
    "ablation", "Ablation: what each part of learning is worth",
    "Spectral clustering with one thing at a time changed: features, scaling, smoothing, lexicon, states, binarisation, method.",
    find_treebank, OPTIONS, QUICK, cells, measure, sections, {"parts": PARTS},
)  # fmt: skip
