"""Every recipe runs on a small made-up treebank and finds what it must."""

import json
import math
import random

import pytest

from gramian.errors import OptionError
from gramian.experiments import RECIPES, make_plan, recipe, run_experiment
from gramian.training.search_by_f1 import StateSearch

NOUNS, VERBS = (["cat", "dog", "bird", "fish"], ["sees", "likes", "bites", "hears"])


def sentences(number, seed):
    """Draw trees in which a PP may hang on the verb or on the noun, as its preposition says."""
    rng = random.Random(seed)

    def np():
        return f"(NP (DT the) (NN {rng.choice(NOUNS)}))"

    for _ in range(number):
        verb = f"(VBZ {rng.choice(VERBS)})"
        kind = rng.randrange(3)
        if kind == 0:
            yield f"( (S {np()} (VP {verb} {np()}) (. .)))"
        elif kind == 1:
            yield f"( (S {np()} (VP {verb} (NP {np()} (PP (IN of) {np()}))) (. .)))"
        else:
            yield f"( (S {np()} (VP {verb} {np()} (PP (IN with) {np()})) (. .)))"


def dependencies(number, seed):
    """Draw sentences of a verb, its subject and perhaps an object, each with an article."""
    rng = random.Random(seed)
    for _ in range(number):
        rows = [("the", "DT", 2), (rng.choice(NOUNS), "NN", 3), (rng.choice(VERBS), "VBZ", 0)]
        if rng.random() < 0.6:
            rows += [("the", "DT", 5), (rng.choice(NOUNS), "NN", 3)]
        for place, (word, tag, head) in enumerate(rows, start=1):
            yield f"{place}\t{word}\t_\t{tag}\t{tag}\t_\t{head}\tdep\t_\t_\n"
        yield "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("banks") / "made-up"
    folder.mkdir()
    for part, number, seed in (("train", 120, 1), ("dev", 20, 2)):
        (folder / f"{part}.mrg").write_text("".join(f"{tree}\n" for tree in sentences(number, seed)))
        (folder / f"{part}.conllu").write_text("".join(dependencies(number, seed)))
    strings = ["2 0 1", "0", "4 0 1 0 1", "2 1 1"]
    for part, rows in (("train", strings * 20), ("test", strings)):
        (folder / f"3.pautomac.{part}").write_text("\n".join([f"{len(rows)} 2", *rows, ""]))
    (folder / "3.pautomac_solution.txt").write_text("4\n0.3\n0.3\n0.2\n0.2\n")
    (folder / "3.spice.train").write_text("\n".join(["80 2", *strings * 20, ""]))
    (folder / "3.spice.prefix.public").write_text("3 2\n0\n1 0\n2 0 1\n")
    (folder / "3.spice.target.public").write_text("1.0 0 1.0\n1.0 1 1.0\n1.0 -1 1.0\n")
    return folder


TINY = {
    "thesis": {"sizes": [60, 120], "states": [1, 4], "comparison_states": [4], "test_sentences": 12},
    "learning-curve": {
        "sizes": [50, 120],
        "states": 4,
        "methods": ["pcfg", "spectral-cluster", "spectral-em"],
    },
    "ablation": {"states": 4, "parts": ["features", "binarisation"]},
    "speed": {"states": [1, 4], "test_sentences": 12},
    "languages": {
        "states": 4,
        "methods": [
            "pcfg",
            "spectral-cluster",
            "cluster-tag",
            "spectral-em",
            "search",
            "moments-search",
            "many",
            "noisy",
            "split-merge-many",
            "published-tag",
            "published-signature",
            "published-search",
        ],
        "models": 2,
        "cycles": 1,
        "published_states": 2,
        "folds": 2,
        "budget": 3,
    },
    "states": {
        "states": 4,
        "largest": 6,
        "symbols": 2,
        "budget": 4,
        "ways": ["same", "root", "singular", "likelihood", "beam", "vanilla", "paper"],
        "paper_budget": 0,
        "paper_states": 3,
        "paper_largest": 4,
        "reach": 1,
    },
    "tensor": {"states": [4], "ranks": [2], "gates": [1e-8, 10.0], "iterations": 2},
    "self-training": {"trees": 60, "amounts": [0, 40], "weight": 0.5},
    "wfa": {
        "states": [1, 3],
        "bases": ["symbols", "symbols and empty", "20", "20 without empty"],
        "remedies": ["spectral", "tensor"],
        "remedy_states": 2,
        "em_states": [2],
        "em_iterations": 5,
        "convergence_states": [2],
        "convergence_steps": [1, 4],
    },
    "shag": {
        "variants": ["DET", "symbols, mass 0", "EM, 10 steps"],
        "states": [1, 3],
        "em_states": [3],
        "convergence_states": [2],
        "convergence_steps": [1, 3],
        "clusters": 4,
    },
    "pautomac": {"methods": ["ngram", "spectral"]},
    "spice": {"members": ["ngram", "em"]},
    "annotate": {"sizes": [20, 40], "pool": 60, "counted": 4, "states": 2},
    "noise": {
        "models": [1, 2],
        "states": 4,
        "schemes": ["seeds", "dropout"],
        "combinations": ["product", "coverage"],
    },
}


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    """Run a recipe once for all tests."""
    found = {}

    def once(name):
        if name not in found:
            data = folder.parent if name == "languages" else folder
            out = tmp_path_factory.mktemp(name)
            found[name] = run_experiment(make_plan(name, str(data), quick=True, config=TINY[name]), out=out)
        return found[name]

    return once


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_and_reports(name, run):
    experiment = run(name)
    assert not experiment.failures
    planned = json.loads((experiment.folder / "manifest.json").read_text())["runs"]
    assert planned["planned"] == planned["finished"] == len(experiment.plan.tasks()) > 0
    report = experiment.report.read_text(encoding="utf-8")
    assert all(section.title.replace("'", "&#x27;") in report for section in experiment.sections)
    figures = [
        part.name for section in experiment.sections for part in section.parts if hasattr(part, "lines")
    ]
    assert figures
    assert all((experiment.folder / "figures" / f"{figure}.svg").stat().st_size for figure in figures)
    assert recipe(name).title in report


def test_the_thesis_has_its_figures_and_both_settings(run):
    experiment = run("thesis")
    names = {part.name for section in experiment.sections for part in section.parts}
    assert names == {f"figure-{number}" for number in range(13, 29)}
    value = experiment.results.value
    for states in (1, 4):
        for way in ("thesis", "strict", "best"):
            assert value(f"states/{way}/{states}", "tagging").mean == 100.0, "gold tags are given"
    assert value("states/best/4", "f1").mean > value("states/best/1", "f1").mean, "attachment needs states"
    report = experiment.report.read_text(encoding="utf-8")
    for published in ("81.57", "78.52", "88.82"):
        assert published in report


def test_the_same_seed_tests_both_settings_on_the_same_sentences(folder):
    plan = make_plan("thesis", str(folder), quick=True, config=TINY["thesis"])
    tasks = [task for task in plan.tasks("states") if task["settings"]["states"] == 1]
    lengths = [
        [row[1] for row in recipe("thesis").measure(task)["sentences"]["cnf_mean_f1"]] for task in tasks
    ]
    golds = [sum(lengths_of) for lengths_of in lengths]
    assert len(tasks) == 3
    assert golds == [12, 12, 12]


def test_a_gate_that_lets_every_rule_pass_makes_every_large_rule_low_rank(run):
    results = run("tensor").results
    for share in ("rules", "uses"):
        assert results.value("4", f"{share} 2 10.0").mean > results.value("4", f"{share} 2 1e-08").mean
    assert results.value("4", "f1 exact").mean > 50
    section, inside = run("tensor").sections
    table, seconds, f1 = section.parts
    [row] = inside.parts[0].rows
    assert row[:2] == [4, 2]
    assert all(score.mean > 50 for score in (row[2], row[3], row[6])), "a rank of two loses little here"
    assert (seconds.name, f1.name) == ("figure-3-4-seconds", "figure-3-4-f1")
    assert [line.label for line in seconds.lines] == [line.label for line in f1.lines] == ["rank 2", "exact"]
    assert table.rows[-1][0] == "no states (m=1)"
    assert table.rows[-1][2] == results.value("1", "f1")


def test_speed_tells_how_learning_grows_with_trees(run):
    experiment = run("speed")
    words, learning = experiment.sections
    assert [row[0] for row in learning.parts[0].rows] == [15, 30, 60, 120]
    assert learning.parts[1].lines[0].points[0][1].mean == learning.parts[0].rows[0][1].mean > 0
    assert "power of: learning" in learning.text
    assert [row[1] for row in words.parts[0].rows] == [1, 4, 1, 4]


def test_searches_tell_what_became_of_states(run):
    """Table 4's sums are those of the labels in table 5's source, and the paper's search begins at the same numbers."""
    experiment = run("states")
    parts = {part.name: part for section in experiment.sections for part in section.parts}
    labels = experiment.results.runs("paper")[0]["sentences"]["labels"]
    row = next(row for row in parts["table-4"].rows if row[0] == "the paper's setting, its search")
    assert row[-4:] == [
        sum(one[2] for one in labels),
        sum(one[3] for one in labels),
        sum(abs(one[2] - one[3]) for one in labels),
        len(labels),
    ]
    assert row[4] + row[8] == len(labels)
    assert {one[2] for one in labels} == {3}, "the search starts from the same number for every label"
    value = experiment.results.value
    assert value("paper", "labels_finished").mean == value("paper", "labels_to_visit").mean == len(labels)
    assert value("beam", "labels_finished").mean < value("beam", "labels_to_visit").mean, "of a small budget"
    assert value("vanilla", "states").mean == 3 * len(labels)
    assert parts["table-5"].columns[:3] == ["label (/ for a tag)", "frequency", "before"]
    assert all(one[1] > 0 for one in labels)


def test_languages_count_treebanks_and_show_the_table_of_their_part(run, folder):
    treebanks, accuracy, _ = run("languages").sections
    name, sentences, tokens, words, labels, *tested = treebanks.parts[0].rows[0]
    lines = (folder / "train.mrg").read_text().splitlines()
    assert (name, sentences.mean, tested[0].mean) == ("made-up", len(lines), 20)
    assert tokens.mean == sum(line.count("(DT") + line.count("(NN") + line.count("(VBZ") + line.count("(IN")
                              + line.count("(. ") for line in lines)  # fmt: skip
    assert words.mean == 12  # the, 4 nouns, 4 verbs, of, with and the full stop
    assert labels.mean == 4 + 2 + 5  # S, VP, NP, PP; @S, @VP; tags
    assert accuracy.parts[0].published.name == "table-2-published"
    value = run("languages").results.value
    assert value("made-up/published-search", "candidates").mean == 3
    assert value("made-up/published-tag", "most_states").mean == 2
    with pytest.raises(OptionError, match=r"part: made-up has no test\.mrg"):
        make_plan("languages", str(folder.parent), config={"part": "test"})


def test_automata_beat_the_unigram_and_are_drawn(run):
    value = run("wfa").results.value
    for tagset in ("universal", "whole"):
        assert (
            value(f"{tagset}/spectral/symbols", "wer 3").mean
            < value(f"{tagset}/baselines", "wer unigram").mean
        )
    shag = run("shag")
    assert shag.results.value("symbols, mass 0/3", "uas").mean > 90
    for way in ("published", "own"):
        assert (shag.folder / "figures" / f"figure-12-{way}.svg").read_text().startswith("<svg")
    heads = next(part for part in shag.sections[1].parts if part.name == "heads")
    assert {row[0] for row in heads.rows} >= {"NN, left", "VBZ, left"}
    best = shag.sections[0].parts[0]
    assert best.columns[3:5] == ["improper sentences", "% of all"]
    assert "data:image/svg+xml;base64," in shag.report.read_text(encoding="utf-8")


def test_a_search_is_scored_on_sentences_it_has_not_seen(run):
    results = run("states").results
    assert results.value("beam", "candidates").mean == 4
    assert results.value("root", "candidates").mean == 0
    assert results.value("beam", "sentences_parsed").mean == 20


def test_a_search_is_judged_by_trees_it_does_not_learn_from(folder, monkeypatch):
    from gramian.experiments.recipes import states

    made = []

    def search(*arguments, **options):
        made.append(StateSearch(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(states, "StateSearch", search)
    plan = make_plan("states", str(folder), config=TINY["states"] | {"ways": ["beam"]})
    recipe("states").measure(plan.tasks("beam")[0])
    lines = (folder / "train.mrg").read_text().splitlines()
    assert [f"( {tree})" for tree in made[0].judges] == lines[9::10]
    assert made[0].cache.seen.bank.n_trees == len(lines) - 12


def test_an_ensemble_of_one_is_the_model_itself(run):
    results = run("noise").results
    assert {"f1 1 product", "f1 2 product"} <= set(results.runs("seeds")[0])
    assert "f1 1 sum" not in results.runs("seeds")[0]


def test_problems_of_automata_are_scored_against_their_solution(run):
    """The perplexity of the true probabilities is 2 to their entropy, and none is lower."""
    experiment = run("pautomac")
    (table, _) = experiment.sections[0].parts
    problem, total = table.rows
    entropy = -sum(p * math.log(p) for p in (0.3, 0.3, 0.2, 0.2))
    assert problem[0] == "3"
    assert problem[3].mean == pytest.approx(math.exp(entropy), abs=1e-4)
    for perplexity, gap in ((4, 5), (7, 8)):
        assert problem[gap].mean == pytest.approx(total[gap].mean)
        assert problem[gap].mean > 0
        assert problem[perplexity].mean == pytest.approx(problem[3].mean + problem[gap].mean, abs=1e-4)


def test_rankings_of_next_symbols_are_scored(run):
    """A symbol follows each prefix for sure; the models rank it first or second, after which the score is 1 / log2(3)."""
    table, *_ = run("spice").sections[0].parts
    names = table.columns[4:]
    assert names == ["3-gram", "spectral of rank 4", "ngram", "em", "ensemble"]
    problem, mean = table.rows
    best = 1 / 3 + 1 / 3 + 1 / math.log2(3) / 3  # of the strings that begin with 0 1, as many go on as end
    for score in problem[4:]:
        assert best - 1e-4 <= score.mean <= 1
    assert [score.mean for score in mean[4:]] == [score.mean for score in problem[4:]]


def test_automata_take_one_file_and_test_on_its_last_tenth(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text("( (S (X a) (X b)))\n" * 18 + "( (S (X a) (X b) (Y c)))\n" * 2)
    plan = make_plan("wfa", str(path), config={"tagsets": ["whole"]})
    (task,) = plan.tasks("whole/baselines")
    assert recipe("wfa").measure(task)["wer unigram"] == 50.0, "X is always the guess; Y and the end are not"
