"""Parsing, search, conversion and scores need neither SciPy nor scikit-learn; commands that do name the extra."""

import subprocess
import sys

import pytest

from gramian.cli import main

WITHOUT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "sklearn", "joblib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
NOUNS = ("man", "woman", "child", "king", "queen")


def run(folder, *arguments, code="from gramian.cli import main; main()", stdin=""):
    """Run code in a new process where SciPy, scikit-learn and joblib cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with trees and a model of them that has a span CRF, a reranker and calibration."""
    folder = tmp_path_factory.mktemp("small")
    sees = {
        "hat": "(NP (NP (DT a) (NN {})) (PP (IN with) (NP (DT a) (NN hat))))",
        "telescope": "(NP (DT a) (NN {})) (PP (IN with) (NP (DT a) (NN telescope)))",
    }
    trees = [
        f"(S (NP (DT the) (NN {one})) (VP (VBZ sees) {sees[tool].format(two)}) (. .))"
        for one in NOUNS
        for two in NOUNS
        for tool in ("hat", "hat", "telescope")
    ] * 2
    (folder / "trees.mrg").write_text("\n".join(trees) + "\n")
    (folder / "in").mkdir()
    (folder / "in" / "text.txt").write_text("The king sees a man with a hat. The child sees a queen.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ("--states", "2", "--set", "max_iter=1", "--expert", "crf", "--rerank", "--calibrate")
        patch.setattr(
            sys, "argv", ["gramian", "train", "trees.mrg", "-o", "all.model", "--set", "folds=2", *options]
        )
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
    return folder


@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        (("parse",), "The cat sleeps.", "(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))"),
        (("parse", "-m", "all.model", "--json"), "the king sees a man .", '"confidence"'),
        (("search", "trees.mrg", "PP << hat"), "", "(PP (IN with)"),
        (("convert", "trees.mrg", "--to", "dependencies"), "", "\troot\t"),
        (("eval", "trees.mrg", "trees.mrg"), "", "100.00"),
        (("inspect", "all.model"), "", "a reranker"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_runs_without_scipy(folder, arguments, stdin, expected):
    done = run(folder, *arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_corpora_are_parsed_without_scipy(folder):
    done = run(folder, "parse", "in", "-o", "out", "-m", "all.model", "--to", "brackets", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "2 sentences" in done.stderr


def test_the_page_is_served_without_scipy(folder):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    code = """
from starlette.testclient import TestClient
from gramian.web.app import create_app
from gramian.web.explore import Explorer
from gramian.web.service import Service
with TestClient(create_app(Service([Explorer("all.model", 20.0)])), base_url="http://localhost") as client:
    print(client.post("/api/parse", json={"sentence": "the king sees a man ."}).json())
"""
    done = run(folder, code=code)
    assert "(NP (DT the) (NN king))" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments", [("train", "trees.mrg", "-o", "m"), ("wfa", "train", "in/text.txt", "-o", "m")]
)
def test_training_names_the_extra(folder, arguments):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert "pip install 'gramian[train]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_training_from_python_names_the_extra(folder):
    code = "import gramian, gramian.errors\ntry:\n    gramian.train\nexcept gramian.errors.GramianError as error:\n    print(error)"
    assert "gramian[train]" in run(folder, code=code).stdout
