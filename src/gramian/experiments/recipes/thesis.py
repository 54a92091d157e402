"""A thesis rerun: training size, number of states, and an earlier implementation, in its own setting and in gramian's best.

The thesis implemented Narayan and Cohen's (2015) clustering in Python and measured it three times: figures 13-16 vary the training size
at 8 states, 17-20 the number of states, 21 and 22 compare with Cohen et al. (2013). Sentences are drawn at random in the first two, and
the given split is used in the third. Gold tags are given, and the score is the mean of sentences' unlabelled F1 of trees in Chomsky
normal form.
"""

from typing import Any

from gramian.experiments.data import Data, GoldTree, find_treebank, gold_trees, sizes, split_trees
from gramian.experiments.measure import chosen, train_and_score
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.published import published_line, published_table
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table

WAYS = {
    "thesis": "thesis's setting",
    "strict": "thesis's, no fallback to rules without states",
    "best": "gramian",
}
STATES = 8  # of the first experiment


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
    planned = []

    def add(name: str, way: str, states: int, size: int, tested: int, split: bool) -> None:
        method = "best" if way == "best" else "thesis"
        settings: dict[str, Any] = {"method": method, "states": states, "tags": "gold"}
        if way == "strict":
            settings["settings"] = {"smoothing.floor": 0.0}
        settings |= {"train": size, "test": tested, "split": split, "preset": scheme}
        planned.append(Cell(name, settings))

    for way in options["ways"]:
        for size in trained:
            for states in (STATES, 1):
                add(f"size/{way}/{size}/{states}", way, states, min(size, most), test, False)
        for states in options["states"]:
            add(f"states/{way}/{states}", way, states, middle, test, False)
        for states in options["comparison_states"]:
            add(f"comparison/{way}/{states}", way, states, *compared, True)
    return planned


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
    """Return figures 13 to 28, all settings side by side, the published ones beside them."""
    parts = _size_section, _states_section, _comparison_section, _runs_section
    return [part(results) for part in parts]


_METRIC, _LABELLED = "cnf_mean_unlabelled_f1", "cnf_mean_f1"
_SCORE = "mean unlabelled F1 of binary trees"
_SAME = (
    "Trees are scored in Chomsky normal form, as in the thesis. All settings are given gold tags, and marks tell where they differ from"
    " the thesis's on the same sentences."
)


def _numbers(results: Results, under: str) -> list[int]:
    return sorted({int(cell.split("/")[2]) for cell in results.cells(under)})


def _ways(results: Results) -> list[str]:
    return [way for way in WAYS if way in results.options["ways"]]


def _scores(results: Results, cell: str, metric: str = _METRIC) -> list[Entry]:
    """Return a figure of every setting; `cell` has a field for the setting."""
    return [results.against(cell.format(way), cell.format("thesis"), metric) for way in _ways(results)]


def _columns(results: Results, first: str, *kinds: str) -> list[str]:
    return [first, *(f"{kind}, {WAYS[way]}" for kind in kinds for way in _ways(results))]


def _seconds(results: Results, cell: str) -> list[Entry]:
    return [results.value(cell.format(way), "training_seconds", 1) for way in _ways(results)]


def _lines(
    results: Results, cell: str, numbers: list[int], kind: str = "", metric: str = _METRIC
) -> list[Line]:
    """Return a line for every setting; `cell` has fields for the setting and for the number."""
    return [
        results.line(f"{WAYS[way]}{kind}", [(n, cell.format(way, n)) for n in numbers], metric)
        for way in _ways(results)
    ]


def _size_section(results: Results) -> Section:
    trained = _numbers(results, "size/")
    rows: list[list[Entry]] = []
    for size in trained:
        eight, none = (_scores(results, f"size/{{}}/{size}/{states}") for states in (STATES, 1))
        rows.append([size, *eight, *none, *_seconds(results, f"size/{{}}/{size}/{STATES}")])
    names = ["sentences", "8 states", "no states", "hours"]
    caption = "Figure 13 of the thesis: WSJ, up to 30,000 sentences"
    published = published_table("thesis", "figure-13", caption, names)
    columns = _columns(results, *names[:3], "seconds")
    caption = f"{_SCORE} by size of the training set, and processor seconds of training with 8 states"

    def figure(number: int, caption: str, y: str, lines: list[Line], log_x: bool = True) -> Figure:
        text = f"Figure {number}: size and {caption}"
        return Figure(f"figure-{number}", text, "sentences", y, lines, log_x=log_x)

    with_states = _lines(results, f"size/{{}}/{{}}/{STATES}", trained, ", 8 states")
    without = _lines(results, "size/{}/{}/1", trained, ", no states")
    times = _lines(results, f"size/{{}}/{{}}/{STATES}", trained, metric="training_seconds")
    theirs = [published_line(f"published, {names[k]}", "thesis", "figure-13", k) for k in (1, 2)]
    hours = "training time (the thesis: half an hour to 5.5 hours)"
    text = f"8 states for every label, or none; sizes are scaled to the treebank. {_SAME}"
    parts: list[Table | Figure] = [
        Table("figure-13", caption, columns, rows, published),
        figure(14, "accuracy, 8 states", _SCORE, [*with_states, theirs[0]]),
        figure(15, "accuracy, with 8 states and without", _SCORE, [*with_states, *without, *theirs]),
        figure(16, hours, "processor seconds", times, log_x=False),
    ]
    return Section("Size of the training set", text, parts)


def _states_section(results: Results) -> Section:
    numbers, ways = _numbers(results, "states/"), _ways(results)
    rows: list[list[Entry]] = []
    for states in numbers:
        cell = f"states/{{}}/{states}"
        unlabelled, labelled = (_scores(results, cell, metric) for metric in (_METRIC, _LABELLED))
        difference = [_less(*pair) for pair in zip(unlabelled, labelled, strict=True)]
        failures = [results.value(cell.format(way), "fallback", 0) for way in ways]
        rows.append([states, *unlabelled, *labelled, *difference, *failures, *_seconds(results, cell)])
    caption = "Figure 17 of the thesis: 10,000 sentences of WSJ"
    names = ["states", "unlabelled F1", "labelled F1", "difference", "hours"]
    published = published_table("thesis", "figure-17", caption, names)
    columns = _columns(results, "states", "unlabelled", "labelled", "difference", "not derived", "seconds")
    caption = (
        "Mean F1 of binary trees by number of states, sentences without a derivation, and seconds of training"
    )

    def figure(number: int, caption: str, y: str, lines: list[Line]) -> Figure:
        return Figure(f"figure-{number}", f"Figure {number}: states{caption}", "states", y, lines)

    cell = "states/{}/{}"
    accuracy = _lines(results, cell, numbers)
    both = [
        *_lines(results, cell, numbers, ", unlabelled"),
        *_lines(results, cell, numbers, ", labelled", _LABELLED),
    ]
    theirs = [published_line(f"published, {names[k]}", "thesis", "figure-17", k) for k in (1, 2)]
    times = _lines(results, cell, numbers, metric="training_seconds")
    parts: list[Table | Figure] = [
        Table("figure-17", caption, columns, rows, published),
        figure(18, " and accuracy", _SCORE, [*accuracy, theirs[0]]),
        figure(19, ", labelled and unlabelled", "mean F1", [*both, *theirs]),
        figure(20, " and training time (the thesis: 1.2 to 1.9 hours)", "processor seconds", times),
    ]
    return Section("Number of states", f"The same training sentences, more and more states. {_SAME}", parts)


def _less(score: Entry, other: Entry) -> Entry:
    """Return by how much a figure is above another."""
    is_known = isinstance(score, Spread) and isinstance(other, Spread)
    return Spread(score.mean - other.mean) if is_known else None  # type: ignore[union-attr]


def _runs_section(results: Results) -> Section:
    """Return the appendix: every run of the first two experiments in the thesis's setting."""
    seeds = max((len(results.runs(cell)) for cell in results.cells()), default=1)
    trained, numbers = _numbers(results, "size/"), _numbers(results, "states/")
    eight, none = ({size: f"size/thesis/{size}/{states}" for size in trained} for states in (STATES, 1))
    by_states = {states: f"states/thesis/{states}" for states in numbers}
    hours = "processor seconds of training (the thesis: hours)"
    tables = (
        (23, "size, 8 states, mean unlabelled F1", eight, _METRIC),
        (24, "size, no states, mean unlabelled F1", none, _METRIC),
        (25, f"size, {hours}", eight, "training_seconds"),
        (26, "states, mean unlabelled F1", by_states, _METRIC),
        (27, "states, mean labelled F1", by_states, _LABELLED),
        (28, f"states, {hours}", by_states, "training_seconds"),
    )
    parts: list[Table] = []
    for number, caption, cells_of, metric in tables:
        rows: list[list[Entry]] = []
        for row_name, cell in cells_of.items():
            runs: list[Entry] = [run.get(metric) for run in results.runs(cell)]
            rows.append([row_name, *runs, *[None] * (seeds - len(runs)), results.value(cell, metric)])
        first = "sentences" if number < 26 else "states"
        name, printed = f"figure-{number}", [first, "run 1", "run 2", "run 3", "mean"]
        theirs = published_table("thesis", name, f"Figure {number} of the thesis, as printed", printed)
        columns = [first, *(f"run {seed + 1}" for seed in range(seeds)), "mean"]
        parts.append(Table(name, f"Figure {number}: {caption}", columns, rows, theirs))
    text = (
        "Every run in the thesis's setting. In the thesis's tables 26 to 28 the rows of 16 and of 24 states stand in each other's place, "
        "as its figure 17 tells, and some runs and means of its tables 23 and 24 repeat others; they are shown as printed."
    )
    return Section("Appendix: every run", text, parts)


def _comparison_section(results: Results) -> Section:
    numbers = _numbers(results, "comparison/")
    cells_of = {states: f"comparison/{{}}/{states}" for states in numbers}
    rows = [
        [states, *_scores(results, cell), *_scores(results, cell, "f1")] for states, cell in cells_of.items()
    ]
    caption = "Figure 21 of the thesis: sections 1-21 to 22 of WSJ; the two columns are different scores"
    names = ["states", "Cohen et al. (2013), labelled F1", "thesis, mean unlabelled F1"]
    published = published_table("thesis", "figure-21", caption, names)
    caption = (
        f"The given split: {_SCORE}, as in the thesis, and labelled F1 of all brackets, as in Cohen et al."
    )
    cell = "comparison/{}/{}"
    lines = [
        *_lines(results, cell, numbers, ", mean unlabelled"),
        *_lines(results, cell, numbers, ", labelled", "f1"),
    ]
    lines += [published_line(names[column], "thesis", "figure-21", column) for column in (1, 2)]
    parts: list[Table | Figure] = [
        Table("figure-21", caption, _columns(results, "states", "unlabelled", "labelled"), rows, published),
        Figure("figure-22", "Figure 22: states and accuracy of the implementations", "states", "F1", lines),
    ]
    text = f"Training and test as the treebank has them. {_SAME}"
    return Section("Comparison with an earlier implementation", text, parts)


TITLE = "A thesis rerun: spectral learning of latent-variable grammars"
ABOUT = (
    "Three experiments of a thesis that implemented spectral clustering (Narayan and Cohen 2015) in Python, in its own setting "
    "(4 + 4 features without scaling, the same number of states for all labels, nothing smoothed, its pruning and decoder) with and "
    "without its fallback to rules without states, and in gramian's best (two grammars, of either binarisation, of clusters refined by "
    "EM). All are given gold tags, as in the thesis. Sentences that a grammar does not derive get a "
    "fallback tree, and count."
)
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "ways": ExperimentSetting(list(WAYS), choices=WAYS),
    "shares": ExperimentSetting([0.05, 0.1, 0.25, 0.5, 0.75, 1.0]),
    "sizes": ExperimentSetting([], quick=[300, 600]),
    "states": ExperimentSetting([1, 2, 4, 8, 16, 24, 32], quick=[1, 8, 16]),
    "states_size": ExperimentSetting(10_000, quick=600),
    "comparison_states": ExperimentSetting([8, 16, 24, 32], quick=[8]),
    "comparison_size": ExperimentSetting(0, quick=600),
    "test_sentences": ExperimentSetting(1000, quick=60),
}
RECIPE = Recipe("thesis", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
