"""Automata that predict the next tag: states and iterations of EM against word error rate (Balle et al. 2014, figures 3 to 5).

The basis of symbols is the published one, without the empty string; ``symbols and empty`` is gramian's own. Strings are the tags of a
treebank, as they are and as twelve universal parts of speech; or the strings of any sample in a file.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from time import process_time
from typing import Any

import numpy as np

from gramian.automata import PNFAEM, WFA, Basis, NGram, SequenceModel, Sequences, hankel_blocks
from gramian.automata.methods import METHODS, REMEDIES, learner_of
from gramian.automata.spectral import spectral_factors
from gramian.automata.string_formats import read_strings
from gramian.automata.tagset import universal_tag
from gramian.errors import OptionError
from gramian.evaluate.sequence_scores import next_symbol_scores
from gramian.experiments.data import Data, find_treebank, gold_trees, preset_of
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Table
from gramian.io.reading import peek_text

_SYMBOLS = ("symbols", "symbols and empty")
_SUBSTRINGS = re.compile("([1-9][0-9]{0,8})( without empty)?")
_SIGNATURE = "word_error_rate|next symbol, STOP included|failures:none"
TAGSETS = {"universal": "12 universal tags", "whole": "tags as they are"}
_BASELINES = ("unigram", "bigram", "trigram")
PUBLISHED = {"universal": {"unigram": 69.4, "bigram": 66.6}, "whole": {"unigram": 87.2, "bigram": 69.4}}


@lru_cache(maxsize=4)
def _strings(path: str, tagset: str) -> Sequences:
    """Return the strings of a file: tags, if it holds trees."""
    if not peek_text(path)[1].lstrip().startswith("("):
        if tagset != "whole":
            raise OptionError('only trees have universal tags; try the setting tagsets = ["whole"]')
        return read_strings(path)
    rows = [tree.normal.tags for tree in gold_trees(path, preset_of(path))]
    return Sequences.from_strings(rows if tagset == "whole" else [[*map(universal_tag, row)] for row in rows])


def _parts(files: dict[str, str], tagset: str) -> tuple[Sequences, Sequences]:
    """Return the strings to learn from and those to predict; of a single file, the last tenth is the test."""
    samples = [_strings(path, tagset) for path in files.values()]
    if len(samples) == 2:
        return samples[0], samples[1]
    learnt = len(samples[0]) - max(1, len(samples[0]) // 10)
    return samples[0].take(range(learnt)), samples[0].take(range(learnt, len(samples[0])))


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for the baselines, for each basis, and for each number of states of EM."""
    planned = []
    for basis in options["bases"]:
        if basis not in _SYMBOLS and not _SUBSTRINGS.fullmatch(basis):
            known = '"symbols", "symbols and empty"'
            examples = 'a number of substrings such as "50" or "50 without empty"'
            raise OptionError(f"bases: {known}, or {examples}, not {basis[:20]!r}")
    em = {"pseudo_count": options["em_pseudo_count"]}
    for tagset in options["tagsets"]:
        _parts(data.files, tagset)  # refuses strings without universal tags before any run

        def add(name: str, curve: str, repeats: bool = True, *, tagset: str = tagset, **own: Any) -> None:
            settings = {"tagset": tagset, "train": options["train"], "curve": curve, **own}
            planned.append(Cell(f"{tagset}/{name}", settings, repeats))

        add("baselines", "baselines", repeats=False)
        for basis in options["bases"]:
            spectral = {name: options[name] for name in ("states", "scaled")} | {"basis": basis}
            add(f"spectral/{basis}", "spectral", repeats=False, **spectral)
        for n in options["em_states"]:
            add(f"em/{n}", "em", states=[n], iterations=options["em_iterations"], **em)
        for n in options["convergence_states"]:
            add(f"convergence/{n}", "convergence", states=n, steps=options["convergence_steps"], **em)
        for method in options["remedies"]:
            add(f"remedy/{method}", "remedy", method=method, states=options["remedy_states"])
    return planned


def measure(task: Task) -> dict[str, Any]:
    """Learn the automata of a cell and let them predict."""
    settings = task["settings"]
    train, test = _parts(task["files"], settings["tagset"])
    if settings["train"]:
        train = train.take(slice(settings["train"]))
    figures: dict[str, Any] = {"signature": _SIGNATURE}
    for name, model, seconds in learnt_models(settings, train, task["seed"]):
        scores = next_symbol_scores(model, test)
        figures |= {f"wer {name}": round(scores.word_error_rate, 4), f"seconds {name}": round(seconds, 3)}
        if settings["curve"] == "remedy":
            distribution = (
                not isinstance(model, WFA)
                or model.is_probabilistic(1e-6)
                or settings["method"] == "quadratic"
            )
            figures["perplexity"] = (
                round(scores.perplexity, 4) if distribution and isfinite(scores.perplexity) else None
            )
            figures["not_positive"] = round(100.0 * float(np.isneginf(model.log_score(test)).mean()), 2)
    return figures


def learnt_models(
    settings: Mapping[str, Any], train: Sequences, seed: int
) -> Iterator[tuple[str, SequenceModel, float]]:
    """Yield the models of a cell by name, and the processor seconds of learning each.

    Spectral automata of several ranks share one decomposition, and each bears its whole time; ranks above that of the block are left out.
    """
    model: SequenceModel
    learners: dict[str, Any]
    curve: str = settings["curve"]
    states: Any = settings.get("states")
    began = process_time()
    if curve == "spectral":
        name = settings["basis"]
        if name in _SYMBOLS:
            basis = Basis.symbols(train.alphabet, empty=name != "symbols")
        else:
            basis = Basis.frequent(train, int(name.split()[0]), empty="without" not in name)
        blocks, ranks = hankel_blocks(train, basis), sorted(set(states))
        factors = spectral_factors(blocks, ranks[-1], scaled=settings["scaled"], seed=seed)
        shared = process_time() - began
        for rank in (rank for rank in ranks if rank <= len(factors.singular_values)):
            began = process_time()
            model = factors.truncated(rank).convert("substring", "string")
            yield f"{rank}", model, shared + process_time() - began
    elif curve == "convergence":
        learner = PNFAEM(states, tolerance=0.0, pseudo_count=settings["pseudo_count"], random_state=seed)
        for before, step in pairwise([0, *sorted(set(settings["steps"]))]):
            model = learner.set_params(max_iter=step - before).fit(train).model_
            learner.set_params(start=model)
            yield f"after {step}", model, process_time() - began
    else:
        if curve == "baselines":
            learners = {name: NGram(order, smoothing="none") for order, name in enumerate(_BASELINES, 1)}
        elif curve == "remedy":
            learners = {"remedy": learner_of(settings["method"], states or "auto", random_state=seed)}
        else:
            how = {"max_iter": settings["iterations"], "pseudo_count": settings["pseudo_count"]}
            learners = {f"{states[0]}": PNFAEM(states[0], random_state=seed, **how)}
        for name, learner in learners.items():
            began = process_time()
            model = learner.fit(train).model_
            yield name, model, process_time() - began


def sections(results: Results) -> list[Section]:
    """Return figures 3 to 5 for each tag set."""
    return [_section(results, tagset) for tagset in results.options["tagsets"] if results.cells(f"{tagset}/")]


def _section(results: Results, tagset: str) -> Section:
    states, em_states = results.options["states"], results.options["em_states"]
    spectral = []
    for basis in results.options["bases"]:
        points = ((n, results.value(f"{tagset}/spectral/{basis}", f"wer {n}")) for n in states)
        name = _SUBSTRINGS.sub(r"\1 substrings\2", basis)
        spectral.append(Line.of(f"spectral, {name}", points))
    em = Line.of("EM", ((n, results.value(f"{tagset}/em/{n}", f"wer {n}")) for n in em_states))
    steps = results.options["convergence_steps"]

    def level(*ends: int) -> list[Line]:
        """Return the baselines, from the first to the last place of an axis."""
        rates = {name: results.value(f"{tagset}/baselines", f"wer {name}") for name in _BASELINES}
        return [Line.level(name, ends, spread.mean) for name, spread in rates.items() if spread is not None]

    ends = (min(states), max(*states, *em_states))
    rows: list[list[Entry]] = [[line.label, line.points[0][1]] for line in level(*ends)]
    best = {
        line.label: min(line.points, key=lambda point: point[1].mean)
        for line in [*spectral, em]
        if line.points
    }
    rows += [[f"{label}, {number:g} states", spread] for label, (number, spread) in best.items()]
    measured = [line for line in spectral if line.points]
    best_spectral = min(measured, key=lambda line: best[line.label][1].mean, default=Line("", []))
    columns = ["model", "error"]
    caption = "Balle et al. (2014), WSJ; the curves are only plotted there"
    published = Table(f"published-{tagset}", caption, columns, [*PUBLISHED[tagset].items()])

    def figure(number: int, caption: str, lines: list[Line]) -> Figure:
        name, y = f"figure-{number}-{tagset}", "word error rate"
        return Figure(name, f"Figure {number}: {caption}", "states", y, [*lines, *level(*ends)])

    converging = [
        Line.of(
            f"{n} states", ((k, results.value(f"{tagset}/convergence/{n}", f"wer after {k}")) for k in steps)
        )
        for n in results.options["convergence_states"]
    ]
    bottom = Figure(
        f"figure-4b-{tagset}",
        "Figure 4, bottom: iterations of EM",
        "iterations",
        "word error rate",
        [*converging, *level(min(steps), max(steps))],
    )
    caption = "Each method at its best number of states"
    parts: list[Table | Figure] = [
        Table(f"best-{tagset}", caption, columns, rows, published),
        figure(3, "spectral, by basis", spectral),
        figure(4, "EM", [em]),
        *([bottom] if any(line.points for line in converging) else []),
        figure(5, "the best of each", [best_spectral, em]),
        *_remedies(results, tagset),
    ]
    text = "How often the next tag, or the end, is not the one predicted, in percent."
    return Section(TAGSETS[tagset], text, parts)


def _remedies(results: Results, tagset: str) -> list[Table]:
    """Return what becomes of negative probabilities by each remedy, if any was run."""
    rows: list[list[Entry]] = []
    for method in results.options["remedies"]:
        if results.runs(cell := f"{tagset}/remedy/{method}"):
            figures = {"wer remedy": 2, "perplexity": 4, "not_positive": 2, "seconds remedy": 1}
            rows.append([method, *results.values(cell, **figures)])
    columns = ["method", "error", "perplexity", "percent not positive", "seconds"]
    caption = "Remedies for negative probabilities; only distributions have a perplexity"
    return [Table(f"remedies-{tagset}", caption, columns, rows)] if rows else []


TITLE = "Weighted automata: states against word error rate"
ABOUT = "Figures 3 to 5 of Balle, Carreras, Luque and Quattoni (2014), Spectral learning of weighted automata, on the tags of a treebank."
SETTINGS = {
    "tagsets": ExperimentSetting(["universal", "whole"], choices=TAGSETS),
    "states": ExperimentSetting([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40], quick=[1, 4, 8, 15]),
    "bases": ExperimentSetting(
        ["symbols", "symbols and empty", "25", "50", "100", "300", "500"],
        quick=["symbols", "symbols and empty", "50"],
    ),
    "scaled": ExperimentSetting(False),
    "em_states": ExperimentSetting([2, 5, 10, 20, 40, 75, 150], quick=[2, 8]),
    "em_iterations": ExperimentSetting(100, quick=20),
    "convergence_states": ExperimentSetting([5, 20, 40], quick=[8]),
    "convergence_steps": ExperimentSetting([1, 2, 5, 10, 15, 20, 30, 40, 60, 80, 100], quick=[1, 5, 10, 20]),
    "em_pseudo_count": ExperimentSetting(1e-3),
    "remedies": ExperimentSetting([*REMEDIES], quick=[], choices=METHODS),
    "remedy_states": ExperimentSetting(0),
    "train": ExperimentSetting(0, quick=500),
}
RECIPE = Recipe("wfa", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
