"""A thesis rerun: training size, number of states, and an earlier implementation, in its own setting and in gramian's best.

The thesis implemented Narayan and Cohen's (2015) clustering in Python and measured it three times: figures 13-16 vary the training size
at 8 states, 17-20 the number of states, 21 and 22 compare with Cohen et al. (2013). Sentences are drawn at random in the first two, and
the given split is used in the third. Gold tags are given, and the score is the mean of sentences' unlabelled F1; gramian is scored
with words alone too.
"""

from __future__ import annotations

from typing import Any

from gramian.experiments.data import Data, GoldTree, find_treebank, gold_trees, sizes, split_trees
from gramian.experiments.measure import chosen, expected_seconds, train_and_score
from gramian.experiments.plan import Cell, Options, Recipe, Task
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table

__all__ = ["RECIPE"]

SETTINGS = {"thesis": "thesis's setting", "best": "gramian"}
STATES = 8  # of the first experiment

# What the thesis printed in its figures 13, 17 and 21.
SIZES = (
    (5000, 69.29, 66.36, 0.5), (10000, 77.36, 67.73, 1.55), (15000, 77.41, 68.43, 2.26),
    (20000, 81.24, 69.69, 3.28), (25000, 79.71, 68.46, 3.75), (30000, 81.57, 69.23, 5.54),
)  # fmt: skip
NUMBERS = (
    (1, 68.38, 60.88, 1.51), (2, 71.19, 64.03, 1.21), (4, 76.36, 69.94, 1.4), (8, 78.52, 72.3, 1.81),
    (16, 75.82, 69.07, 1.43), (24, 65.47, 55.61, 1.78), (32, 65.17, 55.82, 1.94),
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
    found = []

    def add(name: str, way: str, states: int, size: int, tested: int, split: bool) -> None:
        settings: dict[str, Any] = {
            "method": way, "states": states, "tags": "gold" if way == "thesis" else "both", "train": size, "test": tested,
            "split": split, "preset": scheme,
        }  # fmt: skip
        found.append(Cell(name, settings, expected_seconds(way, states, size, tested)))

    for way in SETTINGS:
        for size in trained:
            for states in (STATES, 1):
                add(f"size/{way}/{size}/{states}", way, states, min(size, most), test, False)
        for states in options["states"]:
            add(f"states/{way}/{states}", way, states, middle, test, False)
        for states in options["comparison_states"]:
            limit = options["comparison_size"] or train
            tested = min(held_out, options["test_sentences"])
            add(f"comparison/{way}/{states}", way, states, min(limit, train), tested, True)
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
    return [_size_section(results), _states_section(results), _comparison_section(results)]


_METRIC = "mean_unlabelled_f1"
_WORDS = f"words_{_METRIC}"
_SAME = (
    "Both are given gold tags, and marks tell where gramian's best setting differs from the thesis's on the same sentences;"
    " the columns of words alone are what gramian does without being told the tags."
)


def _numbers(results: Results, under: str, place: int) -> list[int]:
    return sorted({int(cell.split("/")[place]) for cell in results.cells(under)})


def _size_section(results: Results) -> Section:
    trained = _numbers(results, "size/", 2)

    def cell(way: str, size: int, states: int) -> str:
        return f"size/{way}/{size}/{states}"

    rows: list[list[Entry]] = [
        [
            size,
            *(
                entry
                for states in (STATES, 1)
                for entry in (
                    results.value(cell("thesis", size, states), _METRIC),
                    results.against(cell("best", size, states), cell("thesis", size, states), _METRIC),
                    results.value(cell("best", size, states), _WORDS),
                )
            ),
            *(results.value(cell(way, size, STATES), "training_seconds", 1) for way in SETTINGS),
        ]
        for size in trained
    ]
    published = Table(
        "figure-13-published", "Figure 13 of the thesis: WSJ, up to 30,000 sentences",
        ["sentences", "8 states", "no states", "hours"], [list(row) for row in SIZES],
    )  # fmt: skip
    table = Table(
        "figure-13", "Mean unlabelled F1 by size of the training set, and processor seconds of training with 8 states",
        ["sentences", "8 states, thesis's setting", "8 states, gramian", "8 states, words alone", "no states, thesis's setting",
         "no states, gramian", "no states, words alone", "seconds, thesis's setting", "seconds, gramian"],
        rows, published,
    )  # fmt: skip

    def line(way: str, states: int, metric: str) -> Line:
        label = f"{SETTINGS[way]}, {states} states" if states > 1 else f"{SETTINGS[way]}, no states"
        label += ", words alone" * (metric == _WORDS)
        return results.line(label, [(size, cell(way, size, states)) for size in trained], metric)

    def theirs(label: str, column: int) -> Line:
        return Line(f"published, {label}", [(row[0], Spread(row[column])) for row in SIZES], published=True)

    score = "mean unlabelled F1"
    return Section(
        "Size of the training set", f"8 states for every label, or none; sizes are scaled to the treebank. {_SAME}",
        [
            table,
            Figure("figure-14", "Figure 14: size and accuracy, 8 states", "sentences", score,
                   [line("thesis", STATES, _METRIC), line("best", STATES, _METRIC), line("best", STATES, _WORDS),
                    theirs("8 states", 1)], log_x=True),
            Figure("figure-15", "Figure 15: size and accuracy, with 8 states and without", "sentences", score,
                   [line(way, states, _METRIC) for states in (STATES, 1) for way in SETTINGS]
                   + [theirs("8 states", 1), theirs("no states", 2)], log_x=True),
            Figure("figure-16", "Figure 16: size and training time (the thesis: half an hour to 5.5 hours)", "sentences",
                   "processor seconds", [line(way, STATES, "training_seconds") for way in SETTINGS]),
        ],
    )  # fmt: skip


def _states_section(results: Results) -> Section:
    numbers = _numbers(results, "states/", 2)
    rows: list[list[Entry]] = []
    for states in numbers:
        row: list[Entry] = [states]
        for metric in (_METRIC, "mean_f1"):
            row.append(results.value(f"states/thesis/{states}", metric))
            row.append(results.against(f"states/best/{states}", f"states/thesis/{states}", metric))
            row.append(results.value(f"states/best/{states}", f"words_{metric}"))
        row += [results.value(f"states/{way}/{states}", "training_seconds", 1) for way in SETTINGS]
        row.append(results.value(f"states/thesis/{states}", "makeshift", 0))
        rows.append(row)
    published = Table(
        "figure-17-published", "Figure 17 of the thesis: 10,000 sentences of WSJ",
        ["states", "unlabelled F1", "labelled F1", "hours"], [list(row) for row in NUMBERS],
    )  # fmt: skip
    table = Table(
        "figure-17", "Mean F1 of sentences by number of states; processor seconds of training; sentences that the thesis's"
        " grammar does not derive",
        ["states", "unlabelled, thesis's setting", "unlabelled, gramian", "unlabelled, words alone", "labelled, thesis's setting",
         "labelled, gramian", "labelled, words alone", "seconds, thesis's setting", "seconds, gramian",
         "not derived, thesis's setting"],
        rows, published,
    )  # fmt: skip

    def line(way: str, metric: str, kind: str = "") -> Line:
        return results.line(f"{SETTINGS[way]}{kind}", [(n, f"states/{way}/{n}") for n in numbers], metric)

    def theirs(label: str, column: int) -> Line:
        return Line(label, [(row[0], Spread(row[column])) for row in NUMBERS], published=True)

    kinds = ((_METRIC, ", unlabelled"), ("mean_f1", ", labelled"))
    return Section(
        "Number of states", f"The same training sentences, more and more states. {_SAME}",
        [
            table,
            Figure("figure-18", "Figure 18: states and accuracy", "states", "mean unlabelled F1",
                   [line("thesis", _METRIC), line("best", _METRIC), line("best", _WORDS, ", words alone"),
                    theirs("published", 1)]),
            Figure("figure-19", "Figure 19: states, labelled and unlabelled", "states", "mean F1",
                   [line(way, metric, kind) for way in SETTINGS for metric, kind in kinds]
                   + [theirs("published, unlabelled", 1), theirs("published, labelled", 2)]),
            Figure("figure-20", "Figure 20: states and training time (the thesis: 1.2 to 1.9 hours)", "states",
                   "processor seconds", [line(way, "training_seconds") for way in SETTINGS]),
        ],
    )  # fmt: skip


def _comparison_section(results: Results) -> Section:
    numbers = _numbers(results, "comparison/", 2)
    rows: list[list[Entry]] = [
        [
            states,
            *(
                entry
                for metric in (_METRIC, "f1")
                for entry in (
                    results.value(f"comparison/thesis/{states}", metric),
                    results.against(f"comparison/best/{states}", f"comparison/thesis/{states}", metric),
                    results.value(f"comparison/best/{states}", f"words_{metric}"),
                )
            ),
        ]
        for states in numbers
    ]
    published = Table(
        "figure-21-published", "Figure 21 of the thesis: sections 1-21 to 22 of WSJ; the two columns are different scores",
        ["states", "Cohen et al. (2013), labelled F1", "thesis, mean unlabelled F1"], [list(row) for row in EARLIER],
    )  # fmt: skip
    table = Table(
        "figure-21", "The given split: mean unlabelled F1, as in the thesis, and labelled F1 of all brackets, as in Cohen et al.",
        ["states", "unlabelled, thesis's setting", "unlabelled, gramian", "unlabelled, words alone", "labelled, thesis's setting",
         "labelled, gramian", "labelled, words alone"],
        rows, published,
    )  # fmt: skip
    lines = [
        results.line(f"{SETTINGS[way]}, {kind}", [(n, f"comparison/{way}/{n}") for n in numbers], metric)
        for way in SETTINGS
        for metric, kind in ((_METRIC, "mean unlabelled"), ("f1", "labelled"))
    ]
    lines += [
        Line("Cohen et al. (2013), labelled", [(row[0], Spread(row[1])) for row in EARLIER], published=True),
        Line("thesis, mean unlabelled", [(row[0], Spread(row[2])) for row in EARLIER], published=True),
    ]
    return Section(
        "Comparison with an earlier implementation", f"Training and test as the treebank has them. {_SAME}",
        [table, Figure("figure-22", "Figure 22: states and accuracy of the implementations", "states", "F1", lines)],
    )  # fmt: skip


OPTIONS = {
    "preset": "auto", "shares": [0.05, 0.1, 0.25, 0.5, 0.75, 1.0], "sizes": [], "states": [1, 2, 4, 8, 16, 24, 32],
    "states_size": 10_000, "comparison_states": [8, 16, 24, 32], "comparison_size": 0, "test_sentences": 1000,
}  # fmt: skip
QUICK = {
    "sizes": [300, 600], "states": [1, 8, 16], "states_size": 600, "comparison_states": [8], "comparison_size": 600,
    "test_sentences": 60,
}  # fmt: skip
ABOUT = (
    "Three experiments of a thesis that implemented spectral clustering (Narayan and Cohen 2015) in Python, in its own setting "
    "(4 + 4 features without scaling, the same number of states for all labels, nothing smoothed) and in gramian's best (two "
    "grammars, of either binarisation, of clusters polished by EM). Both are given gold tags, as in the thesis; gramian also parses "
    "words alone. Sentences that a grammar does not derive get a makeshift tree, and count."
)

RECIPE = Recipe(
    "thesis", "A thesis rerun: spectral learning of latent-variable grammars", ABOUT,
    find_treebank, OPTIONS, QUICK, cells, measure, sections,
)  # fmt: skip
