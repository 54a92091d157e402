"""How many states each label gets: rules by count, singular values, held-out likelihood, and searches by F1 (Narayan and Cohen 2016).

Searches see every tenth training tree, as those of ``gramian train``, and all are scored on development sentences, so that none
benefits from what it has seen. The search ``paper`` is that of the paper's figure 2, on the paper's clusters and with its pruning and
decoder: it starts from a fixed number of states (``vanilla`` has the score of that start) and visits all labels, none capped by its
frequency, none moved together with others. ``beam`` is gramian's, which has these additions. Tables 4 and 5 of the paper show what became
of states.
"""

import time
from itertools import accumulate
from typing import Any

from gramian.experiments.data import Data, find_treebank, task_trees, tree_counts
from gramian.experiments.measure import (
    parse_and_score,
    parsing_of,
    scoring,
    settings_of,
    training_data,
    transferred,
)
from gramian.experiments.plan import Cell, ExperimentSetting, Options, Recipe, Task
from gramian.experiments.published import published_table
from gramian.experiments.results import Entry, Figure, Line, Results, Section, Spread, Table
from gramian.grammar.compress.lowrank import compacted
from gramian.learn import Observations
from gramian.learn.state_search import (
    ClusterCache,
    held_out_score,
    search_states,
    states_by_singular_values,
)
from gramian.training.search_by_f1 import StateSearch, clustering
from gramian.treebank import Treebank
from gramian.trees import annotation_scheme
from gramian.trees.labels import unescape_label

WAYS = {
    "same": "the same for all labels",
    "frequency": "by frequency",
    "root": "by the root of the count (gramian's default)",
    "singular": "singular values above a share of the largest",
    "likelihood": "beam, by held-out likelihood",
    "greedy": "greedy, label by label, by F1",
    "beam": "beam, by F1",
    "vanilla": "the paper's setting, fixed numbers",
    "paper": "the paper's setting, its search",
}
SEARCHES = ("likelihood", "greedy", "beam", "paper")

_PARTS = ("tags", "phrases", "all")
_KINDS = ("before", "after", "divergence", "labels")


def cells(data: Data, options: Options) -> list[Cell]:
    """Return a cell for each way to choose."""
    size, tested = tree_counts(data, options)
    common = {name: options[name] for name in ("states", "preset", "least")} | {"train": size, "test": tested}
    limits = {
        name: options[name] for name in ("largest", "symbols", "budget", "beam", "step", "reach", "judges")
    }
    published = {"states": options["paper_states"], "start": options["paper_start"]}
    planned = []
    for way in options["ways"]:
        settings = common | {"way": way} | (limits if way in SEARCHES else {})
        if way in ("vanilla", "paper"):
            settings |= published
        if way == "paper":
            settings |= {
                "budget": options["paper_budget"],
                "symbols": 0,
                "largest": options["paper_largest"],
            }
        planned.append(Cell(way, settings))
    return planned


def measure(task: Task) -> dict[str, Any]:
    """Choose the states, learn, and score on sentences that the choice has not seen."""
    settings, scheme = task["settings"], task["settings"]["preset"]
    train, test = task_trees(task)
    way = settings["way"]
    allocation = {"same": "all", "frequency": "frequency"}.get(way, settings.get("start", "root"))
    method = "optimised" if "start" in settings else "spectral-cluster"
    options = {"method": method, "states": settings["states"], "settings": {"allocation": allocation}}
    learning = settings_of(options, task["seed"])
    largest = settings.get("largest", settings["states"])
    began = time.process_time()
    data = training_data(train, learning)
    clusters = clustering(learning)
    whole = ClusterCache(clusters, data.observations(), largest)
    scores: list[float] = []
    labels = [0, 0]
    numbers = whole.start
    if way == "singular":
        numbers = states_by_singular_values(whole, settings["least"])
    elif way in SEARCHES:
        limits: dict[str, Any] = {name: settings[name] or None for name in ("symbols", "budget")}
        limits |= {name: settings[name] for name in ("beam", "step", "reach")}
        search = StateSearch(
            data, learning, largest=largest, most=settings["judges"], parameters=scoring(scheme)
        )
        if way == "likelihood":
            judges = Treebank.from_trees(search.judges, options=annotation_scheme("whole").options)
            trials = search_states(search.cache, held_out_score(Observations(judges)), **limits)
        else:
            how: dict[str, Any] = {"method": "greedy", "together": False} if way == "greedy" else {}
            how = {"together": False, "by_count": False} if way == "paper" else how
            trials = search.run(**how, **limits)
        numbers = transferred(trials, search.cache, whole)
        scores = [round(trial.score, 4) for trial in trials.trials]
        labels = [trials.finished_labels, trials.n_labels]
    grammar = whole.grammar(numbers)
    searched = time.process_time() - began
    if method == "spectral-cluster":
        grammar = compacted(grammar)[0]
    result = parse_and_score(grammar, test, scheme=scheme, **parsing_of(method))
    names = [whole.seen.name(symbol) for symbol in range(whole.seen.bank.n_symbols)]
    count = whole.seen.label_count
    order = sorted(range(len(names)), key=lambda symbol: -int(count[symbol]))
    result["sentences"]["labels"] = [
        [names[symbol], int(count[symbol]), int(whole.start[symbol]), int(numbers[symbol])]
        for symbol in order
    ]
    return result | {
        "search_seconds": round(searched, 1),
        "candidates": len(scores),
        "labels_finished": labels[0],
        "labels_to_visit": labels[1],
        "states": sum(numbers),
        "scores": scores,
    }


def sections(results: Results) -> list[Section]:
    """Return F1 and cost of each way, how the searches went, and what they chose."""
    ways = [way for way in results.options["ways"] if results.runs(way)]
    first = {way: results.runs(way)[0] for way in ways}
    base = "root" if "root" in ways else ways[0]
    rows: list[list[Entry]] = []
    for way in ways:
        scores = results.against(way, base, "f1"), results.difference(way, base, "f1")
        figures = results.values(
            way, states=0, candidates=0, labels_finished=0, labels_to_visit=0, search_seconds=1
        )
        rows.append([WAYS[way], *scores, *figures])
    columns = "way, F1, difference, states of all labels, candidates, labels finished, labels to visit, seconds of search and training"
    caption = "F1 on sentences that no search has seen; marks tell what differs from the default"
    parts: list[Table | Figure] = [Table("ways", caption, columns.split(", "), rows)]
    lines = [
        Line.of(WAYS[way], enumerate(map(Spread, accumulate(first[way]["scores"], max)), start=1))
        for way in ways
        if first[way]["scores"] and way != "likelihood"
    ]
    if lines:
        caption = "The best F1 so far, on the trees of the search"
        parts.append(Figure("search", caption, "candidates", "F1", lines))
    parts += _tables({way: runs["sentences"]["labels"] for way, runs in first.items()})
    text = "Clustering without EM. The paper saw +1.7 F1 on average from its search over fixed numbers of states."
    return [Section("Ways to choose", text, parts)]


def _tables(rows_of: dict[str, list[list[Any]]]) -> list[Table]:
    """Return table 4 of the paper for the searches, and table 5 for all ways, of the labels of the first seed."""
    columns = [f"{kind}, {part}" for part in _PARTS for kind in _KINDS]
    rows: list[list[Entry]] = []
    for way, labels in rows_of.items():
        if way not in SEARCHES:
            continue
        tags = [row for row in labels if row[0].startswith("/")]
        parts = tags, [row for row in labels if not row[0].startswith("/")], labels
        figures: list[Entry] = [WAYS[way]]
        for part in parts:
            before, after = sum(row[2] for row in part), sum(row[3] for row in part)
            figures += [before, after, sum(abs(row[2] - row[3]) for row in part), len(part)]
        rows.append(figures)
    caption = "Table 4 of Narayan and Cohen (2016)"
    published = published_table("states", "table-4", caption, ["language", *columns])
    four = Table(
        "table-4",
        "States before and after the search, and their divergence",
        ["search", *columns],
        rows,
        published,
    )
    first = next(iter(rows_of.values()))
    after = {way: {row[0]: row[3] for row in labels} for way, labels in rows_of.items()}
    five = [
        [unescape_label(name), number, before, *(numbers.get(name) for numbers in after.values())]
        for name, number, before, _ in first
        if before > 1 or any(numbers.get(name, 1) > 1 for numbers in after.values())
    ]
    label_columns = [
        "label (/ for a tag)",
        "frequency",
        "before",
        *(f"after: {WAYS[way]}" for way in rows_of),
    ]
    caption = (
        "Table 5: states of all labels that have or get more than one, with their frequencies, first seed"
    )
    five_table = Table("table-5", caption, label_columns, five)
    return [four, five_table] if rows else [five_table]


TITLE = "States: how many each label gets"
ABOUT = (
    "Rules by count, singular values and held-out likelihood against the searches of Narayan and Cohen (2016), Optimizing spectral "
    "learning for parsing."
)
SETTINGS = {
    "preset": ExperimentSetting("auto"),
    "ways": ExperimentSetting(list(WAYS), choices=WAYS),
    "states": ExperimentSetting(16, quick=8),
    "least": ExperimentSetting(0.2),
    "largest": ExperimentSetting(32, quick=12),
    "symbols": ExperimentSetting(20, quick=4),
    "budget": ExperimentSetting(40, quick=8),
    "paper_budget": ExperimentSetting(0, quick=12),
    "paper_states": ExperimentSetting(8, quick=4),
    "paper_start": ExperimentSetting("all", choices=("all", "frequency")),
    "paper_largest": ExperimentSetting(32, quick=12),
    "beam": ExperimentSetting(5),
    "step": ExperimentSetting(5),
    "reach": ExperimentSetting(4),
    "judges": ExperimentSetting(500),
    "train": ExperimentSetting(0, quick=500),
    "test_sentences": ExperimentSetting(1000, quick=60),
}
RECIPE = Recipe("states", TITLE, ABOUT, find_treebank, SETTINGS, cells, measure, sections)
