"""What a new user types first: each of these once failed, or ended in silence."""

import io
import json
import sys
from pathlib import Path

import pytest

import gramian
from gramian.errors import OptionError

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")


@pytest.fixture
def run(gramian, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*words: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        return gramian(*words)

    return call


def test_without_arguments_three_commands_are_suggested(run):
    code, out, _ = run()
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("  gramian")] == [
        ["gramian", "parse"], ["gramian", "serve"], ["gramian", "train"],
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["the dog barks .", "the dog barks ?", "@dog the dog barks ."])
def test_an_argument_that_is_no_file_is_parsed_as_text(run, text):
    code, out, err = run("parse", "-m", MODEL, text)
    assert (code, gramian.Tree.parse(out).words[-1]) == (0, text[-1])
    assert "no file has this name: parsing the argument as text" in err
    assert run("parse", "-m", MODEL, "-q", text)[2] == ""


def test_a_file_with_spaces_in_its_name_is_read(run):
    Path("the dog").write_text("the cat\n", "utf-8")
    assert "(NN cat)" in run("parse", "-m", MODEL, "the dog")[1]


def test_a_failed_command_prints_no_summary(run):
    code, out, err = run("parse", "-m", MODEL, "nothing.txt")
    assert (code, out) == (2, "")
    assert "nothing.txt: cannot be opened" in err
    assert "a text is given in quotes" in err
    code, _, err = run(
        "parse", "-m", MODEL, "--set", "format=records", given='{"tokens": ["the"]}\nnonsense\n'
    )
    assert code == 2
    assert "sentence in" not in err


@pytest.mark.parametrize(
    ("start", "kind"),
    [("<!DOCTYPE html>\n<p>", "HTML"), ("\n<html lang='en'>", "HTML"), ("<?xml version='1.0'?>", "XML"), ("%PDF-1.4\n", "PDF")],
)  # fmt: skip
def test_documents_with_markup_are_refused(run, start, kind):
    Path("page").write_text(f"{start} the dog", "utf-8")
    code, out, err = run("parse", "-m", MODEL, "page")
    assert (code, out) == (2, "")
    assert f"this is {kind}, not plain text" in err
    assert run("parse", "-m", MODEL, given="a < b > c the dog <p>")[0] == 0


def test_cells_of_a_table_are_sentences(run):
    Path("a.tsv").write_text("id\tsaid\n1\tthe dog barks .\n2\t\n3\tthe cat\n", "utf-8")
    code, out, _ = run("parse", "-m", MODEL, "a.tsv", "--set", "corpus.text_field=said")
    assert (code, out.count("\n"), out.splitlines()[1]) == (0, 3, "")
    code, _, err = run("parse", "-m", MODEL, "a.tsv")
    assert code == 2
    assert "there is no column 'text' among id, said" in err
    assert "corpus.text_field=NAME" in err


def test_tables_are_part_of_a_corpus(run):
    Path("in").mkdir()
    Path("in/a.csv").write_text('id,text\n7,"the dog barks. the cat, too"\n', "utf-8")
    assert run("parse", "-m", MODEL, "in", "-o", "out/")[0] == 0
    records = [json.loads(line) for line in Path("out/a.csv/00000.jsonl").read_text("utf-8").splitlines()]
    assert {record["document"] for record in records} == {"7"}
    assert [word for record in records for word in record["words"]][-3:] == ["cat", ",", "too"]


def test_models_that_are_not_installed_are_named_with_their_command(run):
    out = run("models")[1]
    assert "pip install ./models/gramian-fr" in out
    with pytest.raises(OptionError, match=r"pip install \./models/gramian-fr"):
        gramian.load("fr")
    with pytest.raises(OptionError, match="a model file"):
        gramian.load("xx")


def test_the_version_is_that_of_development():
    assert gramian.__version__.startswith("0.2.0.dev")
