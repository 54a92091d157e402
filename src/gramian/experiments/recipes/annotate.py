"""Annotation, simulated: clicks for each tree, and F1 by the number of annotated trees, starting without a model."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.annotate.proposals import LabelSet, Proposer
from gramian.annotate.retraining import train_proposer
from gramian.annotate.selection import rank
from gramian.annotate.simulated_annotator import Effort, effort, effort_from_scratch
from gramian.experiments.data import Data, GoldTree, find_treebank, split_trees, tree_counts
from gramian.experiments.measure import score_trees
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Figure, Line, Results, Section, Table

WAYS = ("from scratch", "post-editing", "with constraints")
SELECTIONS = {"active": "active selection", "random": "random selection"}


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each way to select sentences."""
    _, tested = tree_counts(data, {**options, "train": 0})
    names = ("sizes", "pool", "longest", "counted", "states", "preset")
    settings = {name: options[name] for name in names} | {"test": tested}
    return [Cell(selection, {**settings, "selection": selection}) for selection in options["selections"]]


def measure(task: Task) -> dict[str, Any]:
    """Annotate a pool of sentences, train at each size, and score on the test trees; count clicks at the sizes up to each."""
    settings = task["settings"]
    everything, test = split_trees(task["files"], settings["preset"])
    test = test[: settings["test"]]
    random = np.random.default_rng(task["seed"])
    usable = [tree for tree in everything if 3 <= tree.length <= settings["longest"]]
    order = random.permutation(len(usable))[: settings["pool"]]
    pool = [usable[index] for index in order]
    done: list[int] = []
    labels = LabelSet.of(tree.normal for tree in pool)
    proposer = Proposer(None, labels)
    figures: dict[str, Any] = {}
    for size in sorted(settings["sizes"]):
        done += _selected(pool, done, size - len(done), proposer, settings["selection"])
        began = time.process_time()
        proposer = train_proposer([pool[index].normal for index in done], labels, settings["states"])
        figures[f"training_seconds/{size}"] = round(time.process_time() - began, 3)
        trees = [proposal.tree for proposal in proposer.propose([tree.normal.words for tree in test])]
        figures[f"f1/{size}"] = score_trees(trees, test, settings["preset"])["f1"]
        figures[f"words/{size}"] = sum(pool[index].length for index in done)
        figures |= _counted(proposer, pool, done, random, settings["counted"], size)
    return figures


def _selected(
    pool: Sequence[GoldTree], done: Sequence[int], size: int, proposer: Proposer, selection: str
) -> list[int]:
    """Return the next sentences of a pool: the first ones, which stand in random order, or those worth most."""
    left = sorted(set(range(len(pool))) - set(done))
    if selection == "random":
        return left[:size]
    words = [pool[index].normal.words for index in left]
    candidates = list(zip(words, proposer.propose(words), strict=True))
    return [left[index] for index in rank(candidates, [pool[index].normal.words for index in done], size)]


def _counted(
    proposer: Proposer,
    pool: Sequence[GoldTree],
    done: Sequence[int],
    random: np.random.Generator,
    most: int,
    size: int,
) -> dict[str, Any]:
    """Return the mean effort for a tree, on sentences that are not annotated yet: from scratch, by post-editing, with constraints."""
    left = sorted(set(range(len(pool))) - set(done))
    drawn = [pool[index].normal for index in random.permutation(left)[:most].tolist()]
    counts = []
    for gold, proposal in zip(drawn, proposer.propose([tree.words for tree in drawn]), strict=True):
        efforts = (
            effort_from_scratch(gold),
            effort(proposal.tree, gold),
            effort(proposal.tree, gold, proposer),
        )
        if None not in efforts:
            counts.append([one for one in efforts if one])
    if not counts:
        return {}
    means = np.mean(counts, axis=0).round(3).tolist()
    figures = {
        f"{unit} {way}/{size}": mean
        for way, both in zip(WAYS, means, strict=True)
        for unit, mean in zip(Effort._fields, both, strict=True)
    }
    return figures | {f"counted/{size}": len(counts)}


def sections(results: Results) -> list[Section]:
    """Return F1 by size, and actions by what the parser has learnt from."""
    sizes = sorted(results.options["sizes"])
    selections = [name for name in results.options["selections"] if results.cells(name)]
    f1 = {name: [(size, results.value(name, f"f1/{size}")) for size in sizes] for name in selections}
    rows = [[size, *(points[row][1] for points in f1.values())] for row, size in enumerate(sizes)]
    names = [SELECTIONS[name] for name in selections]
    by_size = "F1 by number of annotated trees"
    table = Table("f1", by_size, ["trees", *names], rows)
    lines = [Line.of(SELECTIONS[name], points) for name, points in f1.items()]
    figure = Figure("f1", by_size, "annotated trees", "F1", lines, log_x=True)
    columns = [*(f"clicks {way}" for way in WAYS), *(f"actions {way}" for way in WAYS[1:])]
    efforts = [
        [SELECTIONS[name], size, *(results.value(name, f"{column}/{size}") for column in columns)]
        for name in selections
        for size in sizes
    ]
    title = "Mean effort for a tree, by trees that the parser has learnt from"
    counted = Table("effort", title, ["selection", "trees", *columns], efforts)
    return [
        Section(
            "Accuracy",
            "Words alone are given. The first sentences are chosen without a model.",
            [table, figure],
        ),
        Section(
            "Effort",
            "Adding a phrase takes 3 clicks, relabelling or moving one or changing a tag 2, removing one, taking a suggestion and "
            "accepting the tree 1.",
            [counted],
        ),
    ]


TITLE = "Annotation: clicks for each tree, and F1 by annotated trees"
ABOUT = (
    "Simulated annotators with gold trees, who start without a model and correct what the parser proposes."
)
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "sizes": ExperimentSetting([50, 100, 200, 500], quick=[20, 40]),
    "pool": ExperimentSetting(1500, quick=150),
    "longest": ExperimentSetting(40),
    "counted": ExperimentSetting(100, quick=10),
    "states": ExperimentSetting(4, quick=2),
    "test_sentences": ExperimentSetting(300, quick=30),
    "selections": ExperimentSetting(["active", "random"], choices=SELECTIONS),
}
RECIPE = Recipe("annotate", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
