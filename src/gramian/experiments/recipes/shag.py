"""Split head-automata grammars: states against attachment score, and what an automaton found (Balle et al. 2014, figures 8-10 and 12).

As published, marginals are decoded as they are; in how many sentences they are no distribution is told in every table. The same with the
help of a smoothed DET+F grammar there, gramian's own way, stands beside it. Deterministic approximations are drawn in the published
way and in gramian's, and compared for all heads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gramian.automata.automaton_picture import layered_svg
from gramian.automata.dfa import DFAApproximation, Way, dfa_approximation
from gramian.dependency.head_automata import spectral
from gramian.dependency.split_head_automata import LEFT, RIGHT
from gramian.errors import OptionError
from gramian.experiments.attachment_study import (
    VARIANTS,
    attachment_by_steps,
    attachment_point,
    read_sequences,
)
from gramian.experiments.data import Data, find_dependencies
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
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


WAYS: dict[Way, str] = {"published": "published way", "own": "gramian's way"}
_FEW = 100  # modifiers of a head whose automaton is compared


@lru_cache(maxsize=2)
def _sentences(path: str) -> list[Sentence]:
    return list(read_conllu(path, broken="skip"))


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each variant and number of states, with and without help, for EM's steps, and for the pictures."""
    common = {name: options[name] for name in ("train", "symbols")}
    scored = common | {"test": options["test_sentences"], "single_root": options["single_root"]}
    found = []
    for name in options["variants"]:
        variant = VARIANTS[name]
        em = variant.figure == 10
        numbers = [*options["states"], *(options["em_states"] if em else ())]
        for states in numbers if variant.states is None else [variant.states]:
            for helped in (False,) if variant.states is not None or em else (False, True):
                settings = scored | {"variant": name, "states": states, "helped": helped}
                cell = f"{name}/{states}" + "/helped" * helped
                found.append(Cell(cell, settings, 3 + 0.2 * states, repeats=variant.has_seed))
    for states in options["convergence_states"]:
        settings = scored | {"states": states, "steps": options["convergence_steps"]}
        seconds = 3 + 0.02 * states * max(options["convergence_steps"])
        found.append(Cell(f"convergence/{states}", settings, seconds))
    head, _, side = options["picture"].partition(" ")
    if head:
        side = side or "left"
        drawn = {name: options[name] for name in ("clusters", "prefixes")} | {"picture": head, "side": side}
        settings = common | drawn | {"states": min(9, max(options["states"]))}
        found.append(Cell(f"picture/{head}/{side}", settings, 10.0, repeats=False))
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn one grammar; score it, or draw one of its automata."""
    settings, files = task["settings"], task["files"]
    train = _sentences(files["train"])[: settings["train"] or None]
    if "picture" in settings:
        return _pictures(settings, train)
    test = _sentences(files["dev"])[: settings["test"] or None]
    how: dict[str, Any] = {name: settings[name] for name in ("symbols", "single_root")}
    how["random_state"] = task["seed"]
    if "steps" in settings:
        scores = attachment_by_steps(settings["states"], settings["steps"], train, test, **how)
        return {f"uas after {step}": round(uas, 4) for step, uas in scores.items()}
    how["helped"] = settings["helped"]
    point = attachment_point(settings["variant"], settings["states"], train, test, **how)
    failures = "mean with DET+F" if settings["helped"] else "as they are"
    return {
        "uas": round(point.uas, 4),
        "improper": point.improper,
        "share": round(100 * point.improper / len(test), 2),
        "training_seconds": round(point.seconds, 3),
        "signature": f"uas|punctuation:counted|tags:gold|marginals that are no distribution:{failures}",
    }


def _pictures(settings: dict[str, Any], train: list[Sentence]) -> dict[str, Any]:
    """Draw small deterministic automata that do what a learnt one does, in both ways; compare the ways on all heads."""
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
    grammar = spectral(sequences, n_states=settings["states"])

    def approximated(name: str | None, where: int, way: Way) -> DFAApproximation:
        sample, number = sequences.samples[name, where], settings["clusters"]
        how: dict[str, Any] = {"way": way, "n_prefixes": settings["prefixes"]}
        return dfa_approximation(grammar.automaton(name, where), sample, number, **how)

    def told(one: DFAApproximation) -> list[float]:
        return [one.machine.n_states, round(100 * one.redirected, 2), round(100 * one.uncovered, 2)]

    drawn = {way: approximated(head, side, way) for way in WAYS}
    rows: list[list[Any]] = []
    for (name, where), sample in sequences.samples.items():
        if name is not None and sample.lengths.sum() >= _FEW:
            figures = [number for way in WAYS for number in told(approximated(name, where, way))]
            rows.append(
                [f"{name}, {'right' if where == RIGHT else 'left'}", int(sample.lengths.sum()), *figures]
            )
    rows.sort(key=lambda row: row[1], reverse=True)
    return {
        "head": head,
        "states_drawn": {way: one.machine.n_states for way, one in drawn.items()},
        "sentences": {
            "svg": {way: layered_svg(one.machine) for way, one in drawn.items()},
            "told": {way: str(one) for way, one in drawn.items()},
            "heads": rows,
        },
    }


def sections(results: Results) -> list[Section]:
    """Return figures 8 to 10, and 12."""
    lines: dict[int, list[Line]] = {figure: [] for figure in FIGURES}
    fixed: dict[str, float] = {}
    rows: list[list[Entry]] = []
    numbers = sorted({*results.options["states"], *results.options["em_states"]})
    for name in results.options["variants"]:
        variant = VARIANTS[name]
        places = numbers if variant.states is None else [variant.states]
        line = results.line(name, [(states, f"{name}/{states}") for states in places], "uas")
        if not line.points:
            continue
        states, best = max(line.points, key=lambda point: point[1].mean)
        cell = f"{name}/{states}"
        helped = results.values(f"{cell}/helped", uas=2)
        figures = results.values(cell, improper=0, share=1, training_seconds=1)
        rows.append([name, int(states), best, *figures[:2], *helped, figures[2]])
        if variant.states is not None:
            fixed[name] = best.mean
        elif variant.figure in FIGURES:
            lines[variant.figure].append(line)
    published = Table("published", "Balle et al. (2014), WSJ, validation", ["variant", "UAS"], PUBLISHED)
    caption = "Each variant at its best number of states; tags are gold's, arcs to punctuation count"
    columns = "variant, states, UAS, improper sentences, % of all, UAS with DET+F there, seconds of training"
    score = "unlabelled attachment score"
    parts: list[Table | Figure | Picture] = [Table("best", caption, columns.split(", "), rows, published)]

    shares: list[list[Entry]] = [
        [name, *(results.value(f"{name}/{n}", "share", 1) for n in numbers)]
        for name in results.options["variants"]
        if VARIANTS[name].states is None
    ]
    caption = "Sentences whose marginals are no distribution, in percent, by number of states"
    parts.append(Table("improper", caption, ["variant", *map(str, numbers)], shares))

    def level(shown: list[Line]) -> list[Line]:
        """Return the deterministic baselines from one end of a figure to the other."""
        xs = [x for line in shown for x, _ in line.points]
        return [Line.level(name, (min(xs), max(xs)), uas) for name, uas in fixed.items()]

    best_lines = []
    for number, group in lines.items():
        if group:
            parts.append(Figure(*FIGURES[number], "states", score, [*group, *level(group)]))
            best_lines.append(max(group, key=lambda line: max(spread.mean for _, spread in line.points)))
    steps = results.options["convergence_steps"]
    converging = [
        Line.of(f"{n} states", ((k, results.value(f"convergence/{n}", f"uas after {k}")) for k in steps))
        for n in results.options["convergence_states"]
        if results.runs(f"convergence/{n}")
    ]
    if converging:
        shown = [*converging, *level(converging)]
        parts.append(Figure("figure-9b", "Figure 9b: iterations of EM", "iterations", score, shown))
    if best_lines:
        about = "Figure 10: the best of each kind"
        parts.append(Figure("figure-10", about, "states", score, [*best_lines, *level(best_lines)]))
    text = (
        "Tags alone are read, as in the paper, and marginals are decoded as they are; a sentence is improper if its partition is not "
        "positive, or a marginal is above one by a twentieth."
    )
    return [Section("States against attachment", text, parts), *_found(results)]


def _found(results: Results) -> list[Section]:
    """Return what automata found, drawn and for all heads."""
    found = []
    text = (
        "A deterministic automaton drawn from the state vectors of a learnt one; in red, the probability of a stop. Published: frequent "
        "prefixes alone draw it, and all conflicts are merged. gramian's own: all strings draw it, and moves of few are redirected."
    )
    for cell in results.cells("picture/"):
        run = results.runs(cell)[0]
        name = f"{run['head']}, {results.settings(cell)['side']} modifiers"
        kept = run["sentences"]
        pictures: list[Table | Figure | Picture] = [
            Picture(
                f"figure-12-{way}", f"Figure 12, {WAYS[way]}: {name}: {kept['told'][way]}", kept["svg"][way]
            )
            for way in WAYS
        ]
        columns = ["head", "modifiers"]
        columns += [
            f"{what}, {way}" for way in WAYS.values() for what in ("states", "% redirected", "% uncovered")
        ]
        caption = "Deterministic approximations of all heads with at least 100 modifiers, both ways"
        pictures.append(Table("heads", caption, columns, kept["heads"]))
        found.append(Section(f"What an automaton found: {name}", text, pictures))
    return found


TITLE = "Split head-automata grammars: states against attachment"
ABOUT = "Figures 8 to 10 and 12 of Balle, Carreras, Luque and Quattoni (2014), Spectral learning of weighted automata, on CoNLL-U."
SETTINGS = {
    "variants": ExperimentSetting(
        list(VARIANTS),
        quick=["DET", "DET+F", "symbols, mass 0", "extended, factor 10", "EM, 10 steps"],
        choices=VARIANTS,
    ),
    "states": ExperimentSetting([1, 2, 3, 5, 7, 9, 12, 15, 20], quick=[1, 5, 9]),
    "em_states": ExperimentSetting([40, 100], quick=[9]),
    "convergence_states": ExperimentSetting([5, 10, 20], quick=[5]),
    "convergence_steps": ExperimentSetting([1, 2, 5, 10, 20, 30, 50, 75, 100], quick=[1, 5, 10]),
    "symbols": ExperimentSetting("auto"),
    "single_root": ExperimentSetting(False),
    "train": ExperimentSetting(0, quick=400),
    "test_sentences": ExperimentSetting(0, quick=60),
    "picture": ExperimentSetting("auto"),
    "clusters": ExperimentSetting(10),
    "prefixes": ExperimentSetting(50),
}
RECIPE = Recipe("shag", TITLE, ABOUT, find_dependencies, SETTINGS, cells, measure, sections)
