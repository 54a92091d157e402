"""Models of other packages are found by their entry point; the package here is made on the spot."""

import json
import sys

import pytest

import gramian
from gramian.errors import OptionError
from gramian.parsing.installed_models import installed_models
from gramian.training import TrainingRun, TrainingSettings
from gramian.trees import Tree


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with a model of Faroese."""
    trees = [Tree.parse("(S (NP (N Hundurin)) (VP (V gongur)) (. .))")] * 4
    model = TrainingRun(
        trees, TrainingSettings.of(method="pcfg", language="fo", attribution="Made up.")
    ).run()
    (tmp_path / "gramian_fo").mkdir()
    (tmp_path / "gramian_fo" / "__init__.py").write_text("")
    gramian.Parser(model).save(tmp_path / "gramian_fo" / "model.grammar")
    about = tmp_path / "gramian_fo-2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: gramian-fo\nVersion: 2.0\nLicense-Expression: CC0-1.0\n"
    )
    (about / "entry_points.txt").write_text("[gramian.models]\nfo = gramian_fo\nxx = no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_language_stands_for_its_model(package):
    parser = gramian.load("fo")
    assert parser.model.language == "fo"
    assert str(parser.parse_text("Hundurin gongur.")[0].tree) == "(S (NP (N Hundurin)) (VP (V gongur)) (. .))"
    with pytest.raises(OptionError, match="no model of the language 'xx' is installed; try: one of"):
        gramian.load("xx")


def test_models_are_listed_with_scores_and_licences(gramian, package):
    code, out, _ = gramian("models", "--json")
    listed = {one["language"]: one for one in json.loads(out)}
    assert code == 0
    assert listed["fo"]["package"] == "gramian-fo 2.0"
    assert (listed["fo"]["licence"], listed["fo"]["attribution"], listed["fo"]["trees"]) == (
        "CC0-1.0",
        "Made up.",
        4,
    )
    assert [model.language for model in installed_models()] == sorted(listed)
    assert "xx" not in listed
    assert "licence CC0-1.0" in gramian("models")[1]


def test_parse_takes_a_language(gramian, package):
    (package / "text.txt").write_text("Hundurin gongur. Hundurin gongur.\n")
    code, out, _ = gramian("parse", "text.txt", "-m", "fo", "-q")
    assert (code, len(out.splitlines())) == (0, 2)
    code, _, err = gramian("parse", "text.txt", "--language", "fo")
    assert (code, "--model" in err) == (2, True)
    code, _, err = gramian("parse", "text.txt", "-m", "yy")
    assert (code, "no model of the language 'yy'" in err) == (2, True)


def test_the_command_that_installs_a_model(gramian, package, monkeypatch):
    code, out, _ = gramian("models", "install", "fr")
    assert (code, out) == (0, "pip install ./models/gramian-fr\n")
    called = []
    monkeypatch.setattr("subprocess.call", lambda command: called.append(command) or 3)
    assert gramian("models", "install", "fr", "--run")[0] == 3
    assert called == [[sys.executable, "-m", *out.split()]]
    assert "one of fr, id" in gramian("models", "install", "zz")[2]
    assert "'list' or 'install'" in gramian("models", "fetch")[2]


def test_a_file_of_that_name_comes_first(package):
    (package / "gramian_fo" / "model.grammar").rename(package / "de")
    assert gramian.load("de").model.language == "fo"
