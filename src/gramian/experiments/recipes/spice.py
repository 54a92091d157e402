"""All SPiCe problems of a folder: how well the five likeliest next symbols are ranked (Balle, Eyraud, Luque, Quattoni and Verwer 2016).

The two baselines are those of the competition: relative frequencies after two symbols, and a spectral automaton of rank 4 of substrings up
to length 4. They learn all strings, as n-grams with smoothing do. The members of the ensemble learn 95 % of the strings; the others choose
their weights in a linear combination of predictions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.automata import BasisOptions, NGram, SequenceModel, Sequences, SpectralWFA
from gramian.automata.methods import learner_of
from gramian.automata.mixture import mixture_weights
from gramian.automata.string_formats import read_strings, read_targets
from gramian.evaluate.sequence_scores import ndcg
from gramian.experiments.data import Data
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.recipes.pautomac import find_problems, names_of_problems
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table

_PARTS = {"train": ".spice.train", "prefixes": ".spice.prefix.public", "targets": ".spice.target.public"}
_BASELINES = {
    "3-gram": NGram(3, smoothing="none"),
    "spectral of rank 4": SpectralWFA(4, basis=BasisOptions(size=2000, max_length=4), repair=None),
}
_MEMBERS = ("ngram", "best", "neural")
_ENSEMBLE = "ensemble"
_HELD_OUT, _MOST_HELD_OUT = 0.05, 1000


@dataclass(frozen=True)
class Ensemble:
    """A linear combination of the predictions of several models, with the same weights after every prefix."""

    models: Sequence[SequenceModel]
    weights: npt.NDArray[np.float64]

    @classmethod
    def of(cls, models: Sequence[SequenceModel], held_out: Sequences) -> Ensemble:
        """Return the combination that gives held-out symbols and ends the highest likelihood."""
        events = np.arange(held_out.n_cuts), held_out.events()
        with np.errstate(divide="ignore"):
            logs = [np.log(model.next_scores(held_out)[events]) for model in models]
        return cls(models, mixture_weights(np.array(logs)))

    @property
    def alphabet(self) -> tuple[str | int, ...]:
        """The symbols."""
        return self.models[0].alphabet

    def next_scores(self, strings: Sequences) -> npt.NDArray[np.float64]:
        """Return the probabilities of what follows each prefix; see `SequenceModel`."""
        predictions = [model.next_scores(strings) for model in self.models]
        return np.asarray(np.tensordot(self.weights, predictions, axes=1))


def cells(data: Data, options: Options) -> list[Cell]:
    """Return one cell for each problem."""
    settings = {"train": options["train"], "members": options["members"]}
    if find_spec("torch") is None:
        settings["members"] = [member for member in settings["members"] if member != "neural"]
    return [Cell(problem, settings | {"problem": problem}) for problem in names_of_problems(data)]


def measure(task: Task) -> dict[str, Any]:
    """Learn a problem's training strings with all models, and rank what follows its prefixes."""
    settings, seed = task["settings"], task["seed"]
    files = {part: task["files"][f"{settings['problem']}/{part}"] for part in _PARTS}
    train, prefixes = read_strings(files["train"]), read_strings(files["prefixes"])
    # some files of the competition have one too many
    targets = read_targets(files["targets"])[: len(prefixes)]
    train = train.take(slice(settings["train"] or None))
    figures: dict[str, Any] = {
        "symbols": len(train.alphabet),
        "strings": len(train),
        "prefixes": len(prefixes),
    }
    for name, learner in _BASELINES.items():
        figures[f"ndcg {name}"] = ndcg(learner.fit(train).model_, prefixes, targets)
    part, held_out = train.split(_HELD_OUT, seed=seed, at_most=_MOST_HELD_OUT)
    models = []
    for method in settings["members"]:
        began = time.process_time()
        models.append(learner_of(method, random_state=seed).fit(part).model_)
        figures[f"seconds {method}"] = round(time.process_time() - began, 1)
        figures[f"ndcg {method}"] = ndcg(models[-1], prefixes, targets)
    ensemble = Ensemble.of(models, held_out)
    figures[f"ndcg {_ENSEMBLE}"] = ndcg(ensemble, prefixes, targets)
    figures["weights"] = ", ".join(f"{weight:.2f}" for weight in ensemble.weights)
    return {name: round(value, 5) if name.startswith("ndcg") else value for name, value in figures.items()}


def sections(results: Results) -> list[Section]:
    """Return the score of every model on each problem, and its mean."""
    problems = results.cells()
    run = results.runs(problems[0])[0]
    names = [name.removeprefix("ndcg ") for name in run if name.startswith("ndcg ")]
    members = [name for name in names if f"seconds {name}" in run]
    scores = [[results.value(problem, f"ndcg {name}", 4) for name in names] for problem in problems]
    rows: list[list[Entry]] = [
        [problem, *results.values(problem, symbols=0, strings=0, prefixes=0), *row]
        for problem, row in zip(problems, scores, strict=True)
    ]
    means = [
        Spread(fmean(score.mean for score in column if score), digits=4)
        for column in zip(*scores, strict=True)
    ]
    rows.append(["mean", None, None, None, *means])
    columns = ["problem", "symbols", "strings", "prefixes", *names]
    table = Table("ndcg", "NDCG at 5 of the public prefixes", columns, rows)
    seconds = [
        [problem, *(results.value(problem, f"seconds {name}") for name in members)] for problem in problems
    ]
    times = Table("seconds", "Processor seconds of training", ["problem", *members], seconds)
    lines = [
        Line.of(name, enumerate(column))
        for name, column in zip(names, zip(*scores, strict=True), strict=True)
    ]
    figure = Figure("ndcg", "NDCG at 5 of each problem", "", "NDCG at 5", lines, categories=problems)
    text = (
        "The ensemble combines the predictions of its members linearly; held-out strings choose the weights."
    )
    return [Section("Problems", text, [table, times, figure])]


TITLE = "SPiCe: how well the next symbol is ranked"
ABOUT = (
    "Problems of the competition of Balle, Eyraud, Luque, Quattoni and Verwer (2016), Results of the Sequence PredIction ChallengE "
    "(SPiCe): a competition about learning the next symbol in a sequence."
)
SETTINGS = {
    "members": ExperimentSetting(
        [*_MEMBERS], quick=["ngram"], choices=("ngram", "best", "neural", "spectral-em", "em")
    ),
    "train": ExperimentSetting(0, quick=1000),
}
FIND = partial(find_problems, parts=_PARTS, competition="SPiCe")
RECIPE = Recipe("spice", TITLE, ABOUT, FIND, SETTINGS, cells, measure, sections)
