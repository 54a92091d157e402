"""All PAutomaC problems of a folder: perplexity of a learner, that of the true automaton, and the geometric mean of the gaps.

The problems and the score are those of the competition (Verwer, Eyraud and de la Higuera 2014): learning sees the training strings alone,
and the perplexity of the test strings is compared with the one that their true probabilities give, the lowest there is.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

from gramian.automata.methods import METHODS, learn
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


def find_problems(name: str) -> Data:
    """Find the problems of a folder that have training strings, test strings and a solution."""
    problems = {
        path.name.removesuffix(_PARTS["train"]): path.parent
        for path in Path(name).glob(f"*{_PARTS['train']}")
    }
    files = {
        f"{problem}/{part}": folder / f"{problem}{suffix}"
        for problem, folder in sorted(problems.items(), key=lambda item: (len(item[0]), item[0]))
        for part, suffix in _PARTS.items()
    }
    hint = f"name a folder of N{', N'.join(_PARTS.values())}"
    return Data.of(name, files, "there are no PAutomaC problems in it", hint)


def cells(data: Data, options: Options) -> list[Cell]:
    """Return one cell for each problem."""
    settings = {name: options[name] for name in ("method", "train")}
    problems = dict.fromkeys(part.split("/")[0] for part in data.files)
    return [Cell(problem, settings | {"problem": problem}) for problem in problems]


def measure(task: Task) -> dict[str, Any]:
    """Learn from the training strings of a problem, and score the test strings."""
    settings = task["settings"]
    files = {part: task["files"][f"{settings['problem']}/{part}"] for part in _PARTS}
    train, test = read_strings(files["train"]), read_strings(files["test"])
    train = train.take(slice(settings["train"] or None))
    began = time.process_time()
    model = learn(train, settings["method"], random_state=task["seed"])
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
    """Return the perplexity of each problem, and the geometric mean of the gaps."""
    problems = results.cells()
    rows: list[list[Entry]] = [
        [
            problem,
            *results.values(problem, symbols=0, strings=0, perplexity=4, target=4, gap=5, training_seconds=1),
        ]
        for problem in problems
    ]
    gaps_by_seed = zip(*([run["gap"] for run in results.runs(problem)] for problem in problems), strict=False)
    means = [geometric_mean([max(gap, 1e-9) for gap in gaps]) for gaps in gaps_by_seed]
    seconds = [run["training_seconds"] for problem in problems for run in results.runs(problem)]
    summary = replace(Spread.of(means), digits=4), Spread(fmean(seconds), digits=1)
    rows.append(["geometric mean, mean", None, None, None, None, *summary])
    columns = ["problem", "symbols", "strings", "perplexity", "target", "gap", "seconds of training"]
    published = Table(
        "published", "Entries of 2012: geometric mean over 48 problems", ["entry", "gap"], PUBLISHED
    )
    table = Table("problems", "Perplexity of the test strings", columns, rows, published)
    gaps = Line.of("gap", enumerate(results.value(problem, "gap") for problem in problems))
    caption = "Gap of each problem; dashed: the geometric mean of the winner's gaps"
    figure = Figure("gaps", caption, "gap", "", [gaps], categories=problems, reference=WINNER)
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
    "method": ExperimentSetting("best", choices=METHODS),
    "train": ExperimentSetting(0, quick=1000),
}
RECIPE = Recipe("pautomac", TITLE, ABOUT, find_problems, SETTINGS, cells, measure, sections)
