"""A plan, its runs, and what is written: on a recipe that only adds numbers up, so that every figure is known."""

import csv
import json
import re
from html.parser import HTMLParser

import pytest

import gramian.experiments.run as running
from gramian.errors import InputError, OptionError
from gramian.experiments import Cell, Plan, Recipe, Results, Spread, make_plan, run_experiment
from gramian.experiments.data import Data, find_treebank, find_treebanks, sizes, split_trees
from gramian.experiments.plan import ExperimentSetting, matches
from gramian.experiments.results import Figure, Line, Section, Table
from gramian.tasks.task_runner import Outcome

DATA = Data("numbers", {}, "0" * 16)
OPTIONS = {"numbers": [1, 2, 3], "label": "a <b> & c"}


def cells(data, options):
    return [Cell(f"plus/{number}", {"number": number}) for number in options["numbers"]]


def sections(results):
    rows = [
        [cell, results.value(cell, "sum"), results.against(cell, "plus/1", "sum"), None]
        for cell in results.cells()
    ]
    points = [(results.settings(cell)["number"], results.value(cell, "sum")) for cell in results.cells()]
    published = Table("theirs", "What they had", ["cell", "sum"], [["x", 1.5]])
    return [
        Section(
            "Sums", results.options["label"],
            [
                Table("ours", "What we have", ["cell", "sum", "marked", "nothing"], rows, published),
                Figure("sums", "Number against sum", "number", "sum", [Line("ours", points), Line("theirs", points, published=True)]),
                Figure("names", "By name", "sum", "", [Line("ours", points)], categories=["zero", "one", "two", "three"], reference=2.0),
            ],
        )
    ]  # fmt: skip


class Adding:
    """Measures by adding the seed to the number; may be told to fail."""

    def __init__(self):
        self.done, self.failing = [], set()

    def __call__(self, task):
        number, seed = task["settings"]["number"], task["seed"]
        if number in self.failing:
            raise ValueError("cannot <add>")
        self.done.append((number, seed))
        rows = [[min(number, 2) - 1, 1]] * 40
        return {"sum": number + seed, "signature": "sum|exact", "sentences": {"sum": rows}}


@pytest.fixture
def adding(monkeypatch):
    measure = Adding()
    settings = {name: ExperimentSetting(value) for name, value in OPTIONS.items()}
    recipe = Recipe(
        "adding", "Adding up", "Sums of numbers.", lambda name: DATA, settings, cells, measure, sections
    )
    monkeypatch.setattr(running, "recipe", lambda name: recipe)
    return Plan(recipe, DATA, OPTIONS, 3, tuple(cells(DATA, OPTIONS)))


def test_every_cell_is_run_with_every_seed_and_everything_is_written(adding, tmp_path, caplog):
    with caplog.at_level("DEBUG", "gramian.experiments"):
        found = run_experiment(adding, out=tmp_path)
    assert len(adding.recipe.measure.done) == 9
    assert found.results.value("plus/3", "sum") == Spread(4.0, 1.0, 3)
    said = [record.getMessage() for record in caplog.records if record.name == "gramian.experiments.run"]
    assert said == [f"runs: {done} of 9" for done in range(1, 10)]
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names >= {
        "report.html", "runs.jsonl", "runs.csv", "manifest.json", "settings.toml", "tables/ours.csv", "tables/theirs.csv",
        "figures/sums.svg", "figures/sums.png", "figures/names.svg",
    }  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert {(row["cell"], row["seed"], row["sum"]) for row in rows} == {
        (f"plus/{number}", seed, number + seed) for number in (1, 2, 3) for seed in range(3)
    }
    with (tmp_path / "runs.csv").open(newline="") as file:
        assert [int(row["sum"]) for row in csv.DictReader(file)] == [row["sum"] for row in rows]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["runs"] == {"planned": 9, "finished": 9, "failed": 0}
    assert (manifest["signatures"], manifest["seeds"]) == (["sum|exact"], [0, 1, 2])
    assert (tmp_path / "figures/sums.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_finished_is_kept_and_only_redoes_its_cell(adding, tmp_path):
    measure = adding.recipe.measure
    run_experiment(adding, out=tmp_path)
    run_experiment(adding, out=tmp_path)
    assert len(measure.done) == 9
    found = run_experiment(adding, out=tmp_path, only="plus/2")
    assert measure.done[9:] == [(2, 0), (2, 1), (2, 2)]
    assert len(found.results.outcomes) == 9
    with pytest.raises(OptionError, match=r"there is no cell 'plus/7'; cells: plus/1, plus/2"):
        run_experiment(adding, out=tmp_path, only="plus/7")


def test_a_run_that_fails_is_told_and_tried_again_while_the_others_stand(adding, tmp_path):
    measure = adding.recipe.measure
    measure.failing = {2}
    found = run_experiment(adding, out=tmp_path)
    assert [failure.task["cell"] for failure in found.failures] == ["plus/2"] * 3
    assert found.results.value("plus/2", "sum") is None
    assert "cannot &lt;add&gt;" in found.report.read_text()
    measure.failing = set()
    assert not run_experiment(adding, out=tmp_path).failures
    assert len(measure.done) == 9


def test_a_report_is_written_even_if_everything_failed(adding, tmp_path):
    adding.recipe.measure.failing = {1, 2, 3}
    found = run_experiment(adding, out=tmp_path)
    assert (len(found.failures), found.sections) == (9, [])
    assert "Failed" in found.report.read_text()


class Page(HTMLParser):
    """Collects what a page asks for from elsewhere, its ids, and whether tags are balanced."""

    VOID = ("meta", "br", "img", "link", "input", "hr")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.outside, self.text = [], [], [], ""

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "data") and not value.startswith(("#", "data:")):
                self.outside.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_report_is_one_sound_page_that_needs_no_network(adding, tmp_path):
    text = run_experiment(adding, out=tmp_path).report.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.outside == []
    assert not re.search(r"@import|url\((?!#)", text)
    assert len(page.ids) == len(set(page.ids))
    assert re.findall(r"url\(#([^)]*)\)", text), "clipping paths are referred to"
    assert set(re.findall(r"url\(#([^)]*)\)", text)) | set(re.findall(r'href="#([^"]*)"', text)) <= set(
        page.ids
    )
    for shown in (
        "a <b> & c",
        "2.00 ± 1.00",
        "3.00 ± 1.00**",
        "What they had",
        "sum|exact",
        "–",
        "Number against sum",
    ):
        assert shown.replace(" ", "\xa0") in page.text or shown in page.text


def test_settings_of_a_run_give_the_same_plan_again(tmp_path, treebank):
    first = make_plan(
        "ablation", str(treebank), quick=True, config={"states": 4, "parts": ["states"]}, seeds=2
    )
    (tmp_path / "a.toml").write_text(first.toml)
    again = make_plan("ablation", str(treebank), config=tmp_path / "a.toml")
    assert (again.options, again.seeds, again.tasks()) == (first.options, 2, first.tasks())


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bank")
    tree = "( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sleeps) (-NONE- *T*))))\n"
    (folder / "train.mrg").write_text(tree * 30)
    (folder / "dev.mrg").write_text("( (NP (NN cats)))\n" + tree * 5)
    return folder


def test_data_is_found_and_known_by_its_content(treebank, tmp_path):
    data = find_treebank(str(treebank))
    assert list(data.files) == ["train", "dev"]
    copy = tmp_path / "other"
    copy.mkdir()
    for part in ("train", "dev"):
        (copy / f"{part}.mrg").write_text((treebank / f"{part}.mrg").read_text())
    assert find_treebank(str(copy)).digest == data.digest
    (copy / "dev.mrg").write_text("( (NP (NN dogs)))\n")
    assert find_treebanks(str(tmp_path)).files.keys() == {"other/train", "other/dev"}
    train, test = split_trees(data.files, "penn", 2)
    assert (len(train), len(test)) == (30, 5)
    assert (str(train[0].normal), "-NONE-" in str(train[0].scored)) == (
        "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))",
        True,
    )
    alone = find_treebank(str(treebank / "train.mrg"))
    assert [len(part) for part in split_trees(alone.files, "penn")] == [27, 3]


def test_bad_data_and_settings_get_a_clear_sentence(treebank, tmp_path):
    with pytest.raises(InputError, match=r"no train\.mrg and dev\.mrg"):
        find_treebank(str(tmp_path))
    with pytest.raises(InputError, match="no folder in it has"):
        find_treebanks(str(treebank))
    with pytest.raises(InputError, match="cannot be opened"):
        find_treebank("nowhere.mrg")
    with pytest.raises(OptionError, match="unknown experiment 'soup'; try one of: thesis"):
        make_plan("soup", str(treebank))
    with pytest.raises(
        OptionError,
        match="there is no setting 'spoons'; 'gramian experiment ablation --list-settings' lists all",
    ):
        make_plan("ablation", str(treebank), config={"spoons": 3})
    with pytest.raises(OptionError, match="states must be a whole number, got 'many'"):
        make_plan("ablation", str(treebank), config={"states": "many"})
    (tmp_path / "bad.toml").write_text("states = ")
    with pytest.raises(InputError, match="is not valid TOML"):
        make_plan("ablation", str(treebank), config=tmp_path / "bad.toml")


def test_marks_come_from_the_sentences_both_have():
    def outcome(cell, seed, rows):
        task = {"cell": cell, "seed": seed, "settings": {}}
        return Outcome(task, {"f1": 100 * sum(r[0] for r in rows) / len(rows), "sentences": {"f1": rows}})

    good, bad = [[1, 1]] * 30, [[0, 1]] * 15 + [[1, 1]] * 15
    results = Results(
        [outcome("a", 0, good), outcome("b", 0, bad), outcome("b", 1, bad), outcome("c", 0, good[:20])], {}
    )
    assert results.against("a", "b", "f1").mark == "**"
    assert results.difference("a", "b", "f1") == Spread(50.0, mark="**")
    assert results.against("a", "a", "f1").mark == ""
    assert results.against("a", "c", "f1").mark == "", "other sentences cannot be compared"
    assert results.value("b", "f1") == Spread(50.0, 0.0, 2)


def test_small_helpers():
    assert matches("size/best/300/8", "size/best")
    assert not matches("size/best/300/8", "size/be")
    assert [matches("states/best/8", pattern) for pattern in ("states", "*/8", "best")] == [True, True, False]
    assert sizes(20_731, [0.05, 0.5, 1.0]) == [1000, 10_000, 20_000]
    assert sizes(7, [0.01, 1.0]) == [1, 7]
    assert sizes(3396, [0.1, 0.5, 1.0]) == [330, 1600, 3300]
