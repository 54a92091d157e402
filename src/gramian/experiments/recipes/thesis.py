"""A thesis rerun: training size, number of states, and an earlier implementation, in its own setting and in gramian's best.

The thesis implemented Narayan and Cohen's (2015) clustering in Python and measured it three times: figures 13-16 vary the training size
at 8 states, 17-20 the number of states, 21 and 22 compare with Cohen et al. (2013). Sentences are drawn at random in the first two, and
the given split is used in the third. Gold tags are given, and the score is the mean of sentences' unlabelled F1; gramian is scored
with words alone too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from gramian.experiments.data import Data, GoldTree, find_treebank, gold_trees, sizes, split_trees
from gramian.experiments.measure import chosen, train_and_score
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table

WAYS = {"thesis": "thesis's setting", "best": "gramian"}
STATES = 8  # of the first experiment

# What the thesis printed in its figures 13, 17 and 21.
SIZES = (
    (5000, 69.29, 66.36, 0.5),
    (10000, 77.36, 67.73, 1.55),
    (15000, 77.41, 68.43, 2.26),
    (20000, 81.24, 69.69, 3.28),
    (25000, 79.71, 68.46, 3.75),
    (30000, 81.57, 69.23, 5.54),
)
NUMBERS = (
    (1, 68.38, 60.88, 1.51),
    (2, 71.19, 64.03, 1.21),
    (4, 76.36, 69.94, 1.4),
    (8, 78.52, 72.3, 1.81),
    (16, 75.82, 69.07, 1.43),
    (24, 65.47, 55.61, 1.78),
    (32, 65.17, 55.82, 1.94),
)
# Its appendix, run by run (figures 23 to 28), as printed: the rows of 16 and 24 states stand in each other's place there (compare figure
# 17), and some runs and means of the figures 23 and 24 repeat others.
RUNS_8 = (
    (5000, 68.37, 68.37, 70.22, 69.29), (10000, 76.12, 77.9, 77.9, 77.36), (15000, 77.36, 77.28, 77.28, 77.41),
    (20000, 81.68, 81.68, 81.68, 81.24), (25000, 78.91, 78.91, 78.91, 78.91), (30000, 78.91, 78.91, 78.91, 78.91),
)  # fmt: skip
RUNS_1 = (
    (5000, 65.7, 66.96, 66.96, 66.96), (10000, 67.26, 67.26, 67.26, 67.26), (15000, 67.26, 68.14, 69.16, 69.16),
    (20000, 69.16, 69.39, 69.39, 69.69), (25000, 67.68, 68.82, 68.82, 68.82), (30000, 68.82, 70.2, 70.2, 70.2),
)  # fmt: skip
HOURS = (
    (5000, 0.45, 0.47, 0.58, 0.5), (10000, 1.56, 1.54, 1.54, 1.55), (15000, 2.44, 2.44, 1.88, 2.26),
    (20000, 2.63, 3.12, 4.11, 3.28), (25000, 4.23, 3.38, 3.62, 3.75), (30000, 5.88, 4.57, 6.18, 5.54),
)  # fmt: skip
UNLABELLED = (
    (1, 68.78, 67.72, 68.63, 68.38), (2, 71.8, 71.1, 70.67, 71.19), (4, 76.53, 76.99, 75.55, 76.36), (8, 78.22, 78.21, 79.13, 78.52),
    (24, 74.71, 76.33, 76.41, 75.82), (16, 63.53, 67.46, 65.42, 65.47), (32, 65.28, 64.28, 65.94, 65.17),
)  # fmt: skip
LABELLED = (
    (1, 61.27, 60.05, 61.31, 60.88), (2, 64.78, 63.98, 63.33, 64.03), (4, 70.17, 70.57, 69.08, 69.94), (8, 72.07, 71.79, 73.04, 72.3),
    (24, 67.62, 69.48, 70.1, 69.07), (16, 53.54, 57.02, 56.27, 55.61), (32, 56.22, 54.61, 56.64, 55.82),
)  # fmt: skip
STATE_HOURS = (
    (1, 1.5, 1.5, 1.52, 1.51), (2, 1.26, 1.19, 1.19, 1.21), (4, 1.28, 1.34, 1.57, 1.4), (8, 1.76, 2.04, 1.61, 1.81),
    (24, 1.13, 0.88, 2.28, 1.43), (16, 2.24, 1.77, 1.33, 1.78), (32, 3.27, 1.29, 1.26, 1.94),
)  # fmt: skip
EARLIER = ((8, 85.6, 78.46), (16, 87.77, 77.87), (24, 88.53, 76.15), (32, 88.82, 72.73))


def _pool(files: dict[str, str], scheme: str) -> list[GoldTree]:
    """Return all trees; a sentence of one word has no parse in this formalism."""
    return [tree for path in files.values() for tree in gold_trees(path, scheme) if tree.length > 1]


def cells(data: Data, options: Options) -> list[Cell]:
    """Return the cells of the three experiments."""
    scheme = options["preset"]
    n_all = len(_pool(data.files, scheme))
    test = min(options["test_sentences"], max(1, n_all // 10))
    most = n_all - test
    trained = options["sizes"] or sizes(most, options["shares"])
    middle = min(options["states_size"], most)
    train, held_out = (len(part) for part in split_trees(data.files, scheme, 2))
    compared = min(options["comparison_size"] or train, train), min(held_out, options["test_sentences"])
    found = []

    def add(name: str, way: str, states: int, size: int, tested: int, split: bool) -> None:
        settings: dict[str, Any] = {"method": way, "states": states}
        settings |= {"tags": "gold", "decoder": "max-marginal-sum"} if way == "thesis" else {"tags": "both"}
        settings |= {"train": size, "test": tested, "split": split, "preset": scheme}
        found.append(Cell(name, settings))

    for way in WAYS:
        for size in trained:
            for states in (STATES, 1):
                add(f"size/{way}/{size}/{states}", way, states, min(size, most), test, False)
        for states in options["states"]:
            add(f"states/{way}/{states}", way, states, middle, test, False)
        for states in options["comparison_states"]:
            add(f"comparison/{way}/{states}", way, states, *compared, True)
    return found


def measure(task: Task) -> dict[str, Any]:
    """Learn and parse once."""
    settings, files = task["settings"], task["files"]
    if settings["split"]:
        train, test = split_trees(files, settings["preset"], 2)
        train, test = train[: settings["train"]], test[: settings["test"]]
    else:
        test, rest = chosen(_pool(files, settings["preset"]), settings["test"], task["seed"])
        train = rest[: settings["train"]]
    return train_and_score(train, test, settings, task["seed"], settings["preset"])


def sections(results: Results) -> list[Section]:
    """Return figures 13 to 22, both settings side by side, the published ones beside them."""
    found = [_size_section(results), _states_section(results), _comparison_section(results)]
    return [*found, _runs_section(results)]


_METRIC = "mean_unlabelled_f1"
_WORDS = f"words_{_METRIC}"
_SAME = (
    "Both are given gold tags, and marks tell where gramian's best setting differs from the thesis's on the same sentences;"
    " the columns of words alone are what gramian does without being told the tags."
)


Scores = tuple[tuple[float, ...], ...]


def _numbers(results: Results, under: str) -> list[int]:
    return sorted({int(cell.split("/")[2]) for cell in results.cells(under)})


def _theirs(label: str, rows: Scores, column: int = 1) -> Line:
    return Line.printed(label, [(row[0], row[column]) for row in rows])


def _seconds(results: Results, cell: str) -> list[Entry]:
    return [results.value(cell.format(way), "training_seconds", 1) for way in WAYS]


def _both(results: Results, cell: str, metric: str) -> list[Entry]:
    """Return a figure of the thesis's setting, of gramian's, and of gramian with words alone; `cell` has a place for the setting."""
    thesis, best = cell.format("thesis"), cell.format("best")
    return [
        results.value(thesis, metric),
        results.against(best, thesis, metric),
        results.value(best, f"words_{metric}"),
    ]


def _columns(first: str, *kinds: str, more: Sequence[str] = ()) -> list[str]:
    ways = [*WAYS.values(), "words alone"]
    return [first, *(f"{kind}, {way}" for kind in kinds for way in ways), *more]


_SECONDS = [f"seconds, {way}" for way in WAYS.values()]


def _size_section(results: Results) -> Section:
    trained = _numbers(results, "size/")
    rows: list[list[Entry]] = []
    for size in trained:
        figures = [_both(results, f"size/{{}}/{size}/{states}", _METRIC) for states in (STATES, 1)]
        rows.append([size, *figures[0], *figures[1], *_seconds(results, f"size/{{}}/{size}/{STATES}")])
    caption = "Figure 13 of the thesis: WSJ, up to 30,000 sentences"
    published = Table("figure-13-published", caption, ["sentences", "8 states", "no states", "hours"], SIZES)
    caption = (
        "Mean unlabelled F1 by size of the training set, and processor seconds of training with 8 states"
    )
    columns = _columns("sentences", "8 states", "no states", more=_SECONDS)

    def line(way: str, states: int, metric: str) -> Line:
        label = f"{WAYS[way]}, {states} states" if states > 1 else f"{WAYS[way]}, no states"
        label += ", words alone" * (metric == _WORDS)
        return results.line(label, [(size, f"size/{way}/{size}/{states}") for size in trained], metric)

    def figure(number: int, caption: str, y: str, lines: list[Line], log_x: bool = True) -> Figure:
        about = f"Figure {number}: size and {caption}"
        return Figure(f"figure-{number}", about, "sentences", y, lines, log_x=log_x)

    ours = [line(way, states, _METRIC) for states in (STATES, 1) for way in WAYS]
    theirs = [_theirs("published, 8 states", SIZES), _theirs("published, no states", SIZES, 2)]
    score = "mean unlabelled F1"
    times = [line(way, STATES, "training_seconds") for way in WAYS]
    hours = "training time (the thesis: half an hour to 5.5 hours)"
    return Section(
        "Size of the training set",
        f"8 states for every label, or none; sizes are scaled to the treebank. {_SAME}",
        [
            Table("figure-13", caption, columns, rows, published),
            figure(14, "accuracy, 8 states", score, [*ours[:2], line("best", STATES, _WORDS), theirs[0]]),
            figure(15, "accuracy, with 8 states and without", score, [*ours, *theirs]),
            figure(16, hours, "processor seconds", times, log_x=False),
        ],
    )


def _states_section(results: Results) -> Section:
    numbers = _numbers(results, "states/")
    rows: list[list[Entry]] = []
    for states in numbers:
        figures = [_both(results, f"states/{{}}/{states}", metric) for metric in (_METRIC, "mean_f1")]
        figures.append([_less(*pair) for pair in zip(*figures, strict=True)])
        failures = results.value(f"states/thesis/{states}", "fallback", 0)
        rows.append([states, *chain(*figures), *_seconds(results, f"states/{{}}/{states}"), failures])
    caption = "Figure 17 of the thesis: 10,000 sentences of WSJ"
    names = ["states", "unlabelled F1", "labelled F1", "difference", "hours"]
    theirs = [(n, one, other, round(one - other, 2), hours) for n, one, other, hours in NUMBERS]
    published = Table("figure-17-published", caption, names, theirs)
    caption = (
        "Mean F1 of sentences by number of states; processor seconds of training; sentences that the thesis's"
        " grammar does not derive"
    )
    more = [*_SECONDS, "not derived, thesis's setting"]
    columns = _columns("states", "unlabelled", "labelled", "difference", more=more)

    def line(way: str, metric: str, kind: str = "") -> Line:
        return results.line(f"{WAYS[way]}{kind}", [(n, f"states/{way}/{n}") for n in numbers], metric)

    def figure(number: int, caption: str, y: str, lines: list[Line]) -> Figure:
        return Figure(f"figure-{number}", f"Figure {number}: states{caption}", "states", y, lines)

    kinds = ((_METRIC, ", unlabelled"), ("mean_f1", ", labelled"))
    accuracy = [line(way, _METRIC) for way in WAYS]
    accuracy += [line("best", _WORDS, ", words alone"), _theirs("published", NUMBERS)]
    labelled = [line(way, metric, kind) for way in WAYS for metric, kind in kinds]
    labelled += [_theirs("published, unlabelled", NUMBERS), _theirs("published, labelled", NUMBERS, 2)]
    times = [line(way, "training_seconds") for way in WAYS]
    return Section(
        "Number of states",
        f"The same training sentences, more and more states. {_SAME}",
        [
            Table("figure-17", caption, columns, rows, published),
            figure(18, " and accuracy", "mean unlabelled F1", accuracy),
            figure(19, ", labelled and unlabelled", "mean F1", labelled),
            figure(20, " and training time (the thesis: 1.2 to 1.9 hours)", "processor seconds", times),
        ],
    )


def _less(one: Entry, other: Entry) -> Entry:
    """Return by how much a figure is above another."""
    is_known = isinstance(one, Spread) and isinstance(other, Spread)
    return Spread(one.mean - other.mean) if is_known else None  # type: ignore[union-attr]


def _runs_section(results: Results) -> Section:
    """Return the appendix: every run of the first two experiments in the thesis's setting."""
    seeds = max((len(results.runs(cell)) for cell in results.cells()), default=1)

    def table(number: int, caption: str, places: dict[int, str], metric: str, published: Scores) -> Table:
        rows: list[list[Entry]] = []
        for place, cell in places.items():
            runs: list[Entry] = [run.get(metric) for run in results.runs(cell)]
            rows.append([place, *runs, *[None] * (seeds - len(runs)), results.value(cell, metric)])
        first = "sentences" if number < 26 else "states"
        columns = [first, *(f"run {seed + 1}" for seed in range(seeds)), "mean"]
        about, printed = (
            f"Figure {number} of the thesis, as printed",
            [first, "run 1", "run 2", "run 3", "mean"],
        )
        theirs = Table(f"figure-{number}-published", about, printed, published)
        return Table(f"figure-{number}", f"Figure {number}: {caption}", columns, rows, theirs)

    trained, numbers = _numbers(results, "size/"), _numbers(results, "states/")
    eight, none = ({size: f"size/thesis/{size}/{states}" for size in trained} for states in (STATES, 1))
    by_states = {states: f"states/thesis/{states}" for states in numbers}
    text = (
        "Every run in the thesis's setting. In the thesis's tables 26 to 28 the rows of 16 and of 24 states stand in each other's place, "
        "as its figure 17 tells, and some runs and means of its tables 23 and 24 repeat others; they are shown as printed."
    )
    return Section(
        "Appendix: every run",
        text,
        [
            table(23, "size, 8 states, mean unlabelled F1", eight, _METRIC, RUNS_8),
            table(24, "size, no states, mean unlabelled F1", none, _METRIC, RUNS_1),
            table(
                25,
                "size, processor seconds of training (the thesis: hours)",
                eight,
                "training_seconds",
                HOURS,
            ),
            table(26, "states, mean unlabelled F1", by_states, _METRIC, UNLABELLED),
            table(27, "states, mean labelled F1", by_states, "mean_f1", LABELLED),
            table(
                28,
                "states, processor seconds of training (the thesis: hours)",
                by_states,
                "training_seconds",
                STATE_HOURS,
            ),
        ],
    )


def _comparison_section(results: Results) -> Section:
    numbers = _numbers(results, "comparison/")
    cells_of = {states: f"comparison/{{}}/{states}" for states in numbers}
    rows = [[n, *_both(results, cell, _METRIC), *_both(results, cell, "f1")] for n, cell in cells_of.items()]
    caption = "Figure 21 of the thesis: sections 1-21 to 22 of WSJ; the two columns are different scores"
    names = ["states", "Cohen et al. (2013), labelled F1", "thesis, mean unlabelled F1"]
    published = Table("figure-21-published", caption, names, EARLIER)
    caption = "The given split: mean unlabelled F1, as in the thesis, and labelled F1 of all brackets, as in Cohen et al."
    lines = [
        results.line(f"{WAYS[way]}, {kind}", [(n, f"comparison/{way}/{n}") for n in numbers], metric)
        for way in WAYS
        for metric, kind in ((_METRIC, "mean unlabelled"), ("f1", "labelled"))
    ]
    lines.append(_theirs("Cohen et al. (2013), labelled", EARLIER))
    lines.append(_theirs("thesis, mean unlabelled", EARLIER, 2))
    about = "Figure 22: states and accuracy of the implementations"
    return Section(
        "Comparison with an earlier implementation",
        f"Training and test as the treebank has them. {_SAME}",
        [
            Table("figure-21", caption, _columns("states", "unlabelled", "labelled"), rows, published),
            Figure("figure-22", about, "states", "F1", lines),
        ],
    )


TITLE = "A thesis rerun: spectral learning of latent-variable grammars"
ABOUT = (
    "Three experiments of a thesis that implemented spectral clustering (Narayan and Cohen 2015) in Python, in its own setting "
    "(4 + 4 features without scaling, the same number of states for all labels, nothing smoothed) and in gramian's best (two "
    "grammars, of either binarisation, of clusters refined by EM). Both are given gold tags, as in the thesis; gramian also parses "
    "words alone. Sentences that a grammar does not derive get a fallback tree, and count."
)
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "shares": ExperimentSetting([0.05, 0.1, 0.25, 0.5, 0.75, 1.0]),
    "sizes": ExperimentSetting([], quick=[300, 600]),
    "states": ExperimentSetting([1, 2, 4, 8, 16, 24, 32], quick=[1, 8, 16]),
    "states_size": ExperimentSetting(10_000, quick=600),
    "comparison_states": ExperimentSetting([8, 16, 24, 32], quick=[8]),
    "comparison_size": ExperimentSetting(0, quick=600),
    "test_sentences": ExperimentSetting(1000, quick=60),
}
RECIPE = Recipe("thesis", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
