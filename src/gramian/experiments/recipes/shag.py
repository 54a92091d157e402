"""Split head-automata grammars: states against attachment score, and what an automaton found (Balle et al. 2014, figures 8-10 and 12)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gramian.automata.automaton_picture import layered_svg
from gramian.automata.dfa import dfa_approximation
from gramian.dependency.head_automata import spectral
from gramian.dependency.shag import LEFT, RIGHT
from gramian.errors import OptionError
from gramian.experiments.attachment_study import VARIANTS, attachment_point, read_sequences
from gramian.experiments.data import Data, find_dependencies
from gramian.experiments.plan import Cell, Options, Recipe, Setting, Task
from gramian.experiments.results import Entry, Figure, Line, Picture, Results, Section, Table
from gramian.trees import Sentence, read_conllu

# What the paper prints in its text; the curves themselves are only plotted.
PUBLISHED = (
    ("DET", 68.52),
    ("DET+F", 74.80),
    ("symbols, mass 0", 79.75),
    ("symbols, mass 0.0001", 79.81),
    ("symbols, mass 0.0005", 79.79),
    ("extended, factor 10", 80.90),
)
FIGURES = {  # of the study's numbers: those of the paper
    8: ("figure-8a", "Figure 8a: the basis of symbols"),
    9: ("figure-8b", "Figure 8b: extended bases"),
    10: ("figure-9", "Figure 9: EM"),
}


@lru_cache(maxsize=2)
def _sentences(path: str) -> list[Sentence]:
    return list(read_conllu(path, broken="skip"))


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each variant and number of states, and one for the picture."""
    common = {name: options[name] for name in ("train", "symbols")}
    scored = common | {"test": options["test_sentences"], "single_root": options["single_root"]}
    found = []
    for name in options["variants"]:
        variant = VARIANTS[name]
        for states in options["states"] if variant.states is None else [variant.states]:
            settings = scored | {"variant": name, "states": states}
            found.append(Cell(f"{name}/{states}", settings, 3 + 0.2 * states, repeats=variant.has_seed))
    head, _, side = options["picture"].partition(" ")
    if head:
        side = side or "left"
        drawn = {"picture": head, "side": side, "clusters": options["clusters"]}
        settings = common | drawn | {"states": min(9, max(options["states"]))}
        found.append(Cell(f"picture/{head}/{side}", settings, 10.0, repeats=False))
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn one grammar; score it, or draw one of its automata."""
    settings, files = task["settings"], task["files"]
    train = _sentences(files["train"])[: settings["train"] or None]
    if "picture" in settings:
        return _picture(settings, train)
    point = attachment_point(
        settings["variant"],
        settings["states"],
        train,
        _sentences(files["dev"])[: settings["test"] or None],
        symbols=settings["symbols"],
        single_root=settings["single_root"],
        random_state=task["seed"],
    )
    return {
        "uas": round(point.uas, 4),
        "backed_off": point.backed_off,
        "training_seconds": round(point.seconds, 3),
        "signature": "uas|punctuation:counted|tags:gold",
    }


def _picture(settings: dict[str, Any], train: list[Sentence]) -> dict[str, Any]:
    """Draw a small deterministic automaton that does what a learnt one does."""
    _, sequences = read_sequences(train, settings["symbols"])
    side = LEFT if settings["side"] == "left" else RIGHT
    modifiers = {
        head: int(sample.lengths.sum())
        for (head, where), sample in sequences.samples.items()
        if where == side
    }
    head = settings["picture"]
    if head == "auto":
        head = max(modifiers, key=modifiers.__getitem__)
    if head not in modifiers:
        raise OptionError(f"no word has the symbol {head!r}; try another in the setting picture")
    automaton = spectral(sequences, n_states=settings["states"]).automaton(head, side)
    sample = sequences.samples[head, side]
    machine = dfa_approximation(automaton, sample, settings["clusters"], n_prefixes=50)
    return {"states_drawn": machine.n_states, "head": head, "sentences": {"svg": layered_svg(machine)}}


def sections(results: Results) -> list[Section]:
    """Return figures 8 to 10, and 12."""
    numbers = results.options["states"]
    lines: dict[int, list[Line]] = {figure: [] for figure in FIGURES}
    level: list[Line] = []
    rows: list[list[Entry]] = []
    for name in results.options["variants"]:
        fixed, figure = VARIANTS[name].states, VARIANTS[name].figure
        places = numbers if fixed is None else [fixed]
        line = results.line(name, [(states, f"{name}/{states}") for states in places], "uas")
        if not line.points:
            continue
        states, best = max(line.points, key=lambda point: point[1].mean)
        rows.append(
            [name, int(states), best, *results.values(f"{name}/{states}", backed_off=0, training_seconds=1)]
        )
        if fixed is not None:
            level.append(Line.printed(name, [(n, best.mean) for n in (min(numbers), max(numbers))]))
        elif figure in FIGURES:
            lines[figure].append(line)
    published = Table("published", "Balle et al. (2014), WSJ, validation", ["variant", "UAS"], PUBLISHED)
    caption = "Each variant at its best number of states; tags are gold's, arcs to punctuation count"
    columns = ["variant", "states", "UAS", "sentences helped by DET+F", "seconds of training"]
    score = "unlabelled attachment score"
    parts: list[Table | Figure | Picture] = [Table("best", caption, columns, rows, published)]
    best_lines = []
    for number, group in lines.items():
        if group:
            parts.append(Figure(*FIGURES[number], "states", score, [*group, *level]))
            best_lines.append(max(group, key=lambda line: max(spread.mean for _, spread in line.points)))
    best_of = "Figure 10: the best of each kind"
    parts.append(Figure("figure-10", best_of, "states", score, [*best_lines, *level]))
    found = [Section("States against attachment", "Tags alone are read, as in the paper.", parts)]
    text = "A deterministic automaton drawn from the state vectors of a learnt one; in red, the probability of a stop."
    for cell in results.cells("picture/"):
        run = results.runs(cell)[0]
        name = f"{run['head']}, {results.settings(cell)['side']} modifiers"
        picture = Picture("figure-12", f"Figure 12: {name}", run["sentences"]["svg"])
        found.append(Section(f"What an automaton found: {name}", text, [picture]))
    return found


TITLE = "Split head-automata grammars: states against attachment"
ABOUT = "Figures 8 to 10 and 12 of Balle, Carreras, Luque and Quattoni (2014), Spectral learning of weighted automata, on CoNLL-U."
SETTINGS = {
    "variants": Setting(
        list(VARIANTS),
        quick=["DET", "DET+F", "symbols, mass 0", "extended, factor 10", "EM, 10 steps"],
        choices=VARIANTS,
    ),
    "states": Setting([1, 2, 3, 5, 7, 9, 12, 15, 20], quick=[1, 5, 9]),
    "symbols": Setting("auto"),
    "single_root": Setting(False),
    "train": Setting(0, quick=400),
    "test_sentences": Setting(0, quick=60),
    "picture": Setting("auto"),
    "clusters": Setting(10),
}
RECIPE = Recipe("shag", TITLE, ABOUT, find_dependencies, SETTINGS, cells, measure, sections)
