"""Automata that predict the next tag: states against word error rate (Balle et al. 2014, figures 3 to 5).

Strings are the tags of a treebank, as they are and as twelve universal parts of speech; or the strings of any sample in a file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from gramian.automata import Sequences
from gramian.automata.string_formats import read_strings
from gramian.automata.tagset import universal_tag
from gramian.errors import OptionError
from gramian.experiments.data import Data, find_treebank, gold_trees, preset_of
from gramian.experiments.plan import Cell, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table
from gramian.experiments.tag_study import CurvePoint, baseline_points, em_curve, spectral_curve
from gramian.io.files import peek_text

__all__ = ["RECIPE"]

TAGSETS = {"universal": "12 universal tags", "whole": "tags as they are"}
PUBLISHED = {"universal": {"unigram": 69.4, "bigram": 66.6}, "whole": {"unigram": 87.2, "bigram": 69.4}}


@lru_cache(maxsize=4)
def _strings(path: str, tagset: str) -> Sequences:
    """Return the strings of a file: tags, if it holds trees."""
    if not peek_text(path)[1].lstrip().startswith("("):
        if tagset != "whole":
            raise OptionError('only trees have universal tags; try the setting tagsets = ["whole"]')
        return read_strings(path)
    trees = gold_trees(path, preset_of(path))
    if tagset == "whole":
        return Sequences.from_strings([tree.normal.tags for tree in trees])
    return Sequences.from_strings([[universal_tag(tag) for tag in tree.normal.tags] for tree in trees])


def _parts(files: dict[str, str], tagset: str) -> tuple[Sequences, Sequences]:
    """Return the strings to learn from and those to predict; of a single file, the last tenth is the test."""
    found = [_strings(path, tagset) for path in files.values()]
    if len(found) == 2:
        return found[0], found[1]
    learnt = len(found[0]) - max(1, len(found[0]) // 10)
    return found[0].take(range(learnt)), found[0].take(range(learnt, len(found[0])))


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for the baselines, for each basis, and for each number of states of EM."""
    found = []
    limit = options["train"]
    for basis in options["bases"]:
        if basis != "symbols" and not re.fullmatch("[1-9][0-9]{0,8}", basis):
            raise OptionError(f'bases: "symbols", or a number of substrings such as "50", not {basis[:20]!r}')
    for tagset in options["tagsets"]:
        number = min(len(_parts(data.files, tagset)[0]), limit or 10**9)
        common = {"tagset": tagset, "train": limit}
        found.append(Cell(f"{tagset}/baselines", {**common, "curve": "baselines"}, 1.0, repeats=False))
        for basis in options["bases"]:
            settings = {
                **common,
                "curve": "spectral",
                "basis": basis,
                "states": options["states"],
                "scaled": options["scaled"],
            }
            found.append(Cell(f"{tagset}/spectral/{basis}", settings, 2 + 1e-3 * number, repeats=False))
        for states in options["em_states"]:
            settings = {**common, "curve": "em", "states": [states], "iterations": options["em_iterations"]}
            seconds = 1 + 2e-5 * number * states * options["em_iterations"] / 10
            found.append(Cell(f"{tagset}/em/{states}", settings, seconds))
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn the automata of a cell and let them predict."""
    settings = task["settings"]
    train, test = _parts(task["files"], settings["tagset"])
    if settings["train"]:
        train = train.take(range(min(settings["train"], len(train))))
    points: list[CurvePoint]
    if settings["curve"] == "baselines":
        points = baseline_points(train, test)
    elif settings["curve"] == "spectral":
        basis = settings["basis"]
        points = spectral_curve(
            train, test, settings["states"], scaled=settings["scaled"],
            basis_size="symbols" if basis == "symbols" else int(basis), random_state=task["seed"],
        )  # fmt: skip
    else:
        points = em_curve(
            train,
            test,
            settings["states"],
            max_iter=settings["iterations"],
            n_jobs=1,
            random_state=task["seed"],
        )
    found: dict[str, Any] = {"signature": "word_error_rate|next symbol, STOP included"}
    for point in points:
        name = point.curve if settings["curve"] == "baselines" else point.n_states
        found |= {f"wer {name}": round(point.word_error_rate, 4), f"seconds {name}": round(point.seconds, 3)}
    return found


def sections(results: Results) -> list[Section]:
    """Return figures 3 to 5 for each tag set."""
    return [_section(results, tagset) for tagset in results.options["tagsets"] if results.cells(f"{tagset}/")]


def _section(results: Results, tagset: str) -> Section:
    states, em_states = results.options["states"], results.options["em_states"]
    curves = {}
    for basis in results.options["bases"]:
        label = f"spectral, {basis}{' substrings' * basis.isdecimal()}"
        curves[label] = f"{tagset}/spectral/{basis}"
    lines = {}
    for label, cell in curves.items():
        points = ((n, results.value(cell, f"wer {n}")) for n in states)
        lines[label] = Line(label, [(n, spread) for n, spread in points if spread is not None])
    points = ((n, results.value(f"{tagset}/em/{n}", f"wer {n}")) for n in em_states)
    em = Line("EM", [(n, spread) for n, spread in points if spread is not None])
    level = []
    for name in ("unigram", "bigram", "trigram"):
        spread = results.value(f"{tagset}/baselines", f"wer {name}")
        ends = (min(states), max(*states, *em_states))
        level += (
            [] if spread is None else [Line(name, [(n, Spread(spread.mean)) for n in ends], published=True)]
        )
    rows: list[list[Entry]] = [[line.label, line.points[0][1]] for line in level if line.points]
    for line in [*lines.values(), em]:
        if line.points:
            best = min(line.points, key=lambda point: point[1].mean)
            rows.append([f"{line.label}, {best[0]:g} states", best[1]])
    published = Table(
        f"published-{tagset}", "Balle et al. (2014), WSJ; the curves are only plotted there", ["model", "error"],
        [[name, value] for name, value in PUBLISHED[tagset].items()],
    )  # fmt: skip
    best_spectral = min(
        (line for line in lines.values() if line.points),
        key=lambda line: min(spread.mean for _, spread in line.points), default=Line("", []),
    )  # fmt: skip
    error = "word error rate"
    return Section(
        TAGSETS[tagset], "How often the next tag, or the end, is not the one predicted, in percent.",
        [
            Table(f"best-{tagset}", "Each method at its best number of states", ["model", "error"], rows, published),
            Figure(f"figure-3-{tagset}", "Figure 3: spectral, by basis", "states", error, [*lines.values(), *level]),
            Figure(f"figure-4-{tagset}", "Figure 4: EM", "states", error, [em, *level]),
            Figure(f"figure-5-{tagset}", "Figure 5: the best of each", "states", error, [best_spectral, em, *level]),
        ],
    )  # fmt: skip


OPTIONS = {
    "tagsets": ["universal", "whole"], "states": [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40],
    "bases": ["symbols", "25", "50", "100", "300", "500"], "scaled": False, "em_states": [2, 5, 10, 20, 40], "em_iterations": 100,
    "train": 0,
}  # fmt: skip
QUICK = {
    "states": [1, 4, 8, 15],
    "bases": ["symbols", "50"],
    "em_states": [2, 8],
    "em_iterations": 20,
    "train": 500,
}

RECIPE = Recipe(
    "wfa", "Weighted automata: states against word error rate",
    "Figures 3 to 5 of Balle, Carreras, Luque and Quattoni (2014), Spectral learning of weighted automata, on the tags of a treebank.",
    find_treebank, OPTIONS, QUICK, cells, measure, sections, {"tagsets": TAGSETS},
)  # fmt: skip
