"""All PAutomaC problems of a folder: perplexity of a learner, that of the true automaton, and the geometric mean of the gaps.

The problems and the score are those of the competition (Verwer, Eyraud and de la Higuera 2014): learning sees the training strings alone,
and the perplexity of the test strings is compared with the one that their true probabilities give, the lowest there is.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

from gramian.automata.methods import METHODS, learner_of
from gramian.automata.string_formats import read_solution, read_strings
from gramian.evaluate.sequence_scores import pautomac_score
from gramian.experiments.data import Data
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table

_PARTS = {"train": ".pautomac.train", "test": ".pautomac.test", "solution": ".pautomac_solution.txt"}

# Geometric means of the gaps of entries over the 48 problems, as computed by others from the competition's leaderboard.
WINNER = 0.014
PUBLISHED = (
    ("Shibata and Yoshinaka, the winner", WINNER),
    ("Hulden", 0.047),
    ("Llorens (45 problems)", 0.060),
    ("Bailly, spectral learning (40 problems)", 0.101),
)


def find_problems(name: str, parts: Mapping[str, str], competition: str) -> Data:
    """Find the problems of a folder that have a file of every part, by the ends of file names."""
    problems = {
        path.name.removesuffix(parts["train"]): path.parent for path in Path(name).glob(f"*{parts['train']}")
    }
    files = {
        f"{problem}/{part}": folder / f"{problem}{suffix}"
        for problem, folder in sorted(problems.items(), key=lambda item: (len(item[0]), item[0]))
        for part, suffix in parts.items()
    }
    hint = f"name a folder of N{', N'.join(parts.values())}"
    return Data.of(name, files, f"there are no {competition} problems in it", hint)


def names_of_problems(data: Data) -> list[str]:
    """Return the names of the problems, in order."""
    return list(dict.fromkeys(part.split("/")[0] for part in data.files))


def cells(data: Data, options: Options) -> list[Cell]:
    """Return one cell for each problem and method."""
    return [
        Cell(f"{problem}/{method}", {"method": method, "train": options["train"], "problem": problem})
        for problem in names_of_problems(data)
        for method in options["methods"]
    ]


def measure(task: Task) -> dict[str, Any]:
    """Learn from the training strings of a problem, and score the test strings."""
    settings = task["settings"]
    files = {part: task["files"][f"{settings['problem']}/{part}"] for part in _PARTS}
    train, test = read_strings(files["train"]), read_strings(files["test"])
    train = train.take(slice(settings["train"] or None))
    began = time.process_time()
    model = learner_of(settings["method"], random_state=task["seed"]).fit(train).model_
    seconds = time.process_time() - began
    score = pautomac_score(model, test, read_solution(files["solution"]))
    return {
        "symbols": len(train.alphabet),
        "strings": len(train),
        "perplexity": round(score.perplexity, 5),
        "target": round(score.target, 5),
        "gap": round(score.gap, 6),
        "training_seconds": round(seconds, 2),
        "signature": score.signature(),
    }


def sections(results: Results) -> list[Section]:
    """Return the perplexity of each problem by each method, and the geometric means of the gaps."""
    problems = list(dict.fromkeys(cell.split("/")[0] for cell in results.cells()))
    methods = [
        name for name in results.options["methods"] if any(results.runs(f"{p}/{name}") for p in problems)
    ]
    rows: list[list[Entry]] = []
    for problem in problems:
        common = results.values(f"{problem}/{methods[0]}", symbols=0, strings=0, target=4)
        by_method = [
            results.values(f"{problem}/{name}", perplexity=4, gap=5, training_seconds=1) for name in methods
        ]
        rows.append([problem, *common, *(entry for entries in by_method for entry in entries)])
    last: list[Entry] = ["geometric mean, mean", None, None, None]
    for name in methods:
        runs = [runs for problem in problems if (runs := results.runs(f"{problem}/{name}"))]
        by_seed = [[max(run["gap"], 1e-9) for run in seeds] for seeds in zip(*runs, strict=False)]
        seconds = fmean(run["training_seconds"] for seeds in runs for run in seeds)
        spread = Spread.of([geometric_mean(gaps) for gaps in by_seed])
        last += [None, replace(spread, digits=4), Spread(seconds, digits=1)]
    columns = ["problem", "symbols", "strings", "target"]
    columns += [f"{figure}, {name}" for name in methods for figure in ("perplexity", "gap", "seconds")]
    published = Table(
        "published", "Entries of 2012: geometric mean over 48 problems", ["entry", "gap"], PUBLISHED
    )
    table = Table("problems", "Perplexity of the test strings", columns, [*rows, last], published)
    gaps = [
        Line.of(
            name, ((at, results.value(f"{problem}/{name}", "gap")) for at, problem in enumerate(problems))
        )
        for name in methods
    ]
    caption = "Gap of each problem; dashed: the geometric mean of the winner's gaps"
    figure = Figure("gaps", caption, "gap", "", gaps, categories=problems, reference=WINNER)
    text = (
        "The target is the perplexity of the true automaton. A gap is how far the learnt model is above it."
    )
    return [Section("Problems", text, [table, figure])]


TITLE = "PAutomaC: how near the true distribution a learner comes"
ABOUT = (
    "Problems of the competition of Verwer, Eyraud and de la Higuera (2014), PAutomaC: a probabilistic automata and hidden Markov "
    "models learning competition."
)
SETTINGS = {
    "methods": ExperimentSetting(["best"], choices=METHODS),
    "train": ExperimentSetting(0, quick=1000),
}
FIND = partial(find_problems, parts=_PARTS, competition="PAutomaC")
RECIPE = Recipe("pautomac", TITLE, ABOUT, FIND, SETTINGS, cells, measure, sections)
