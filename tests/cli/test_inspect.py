"""``gramian inspect`` as people call it, and every kind of bad input."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from gramian.cli import main

TREES = """\
( (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBZ barks) (NP (-NONE- *-1)))))
( (S (A a))
( (FRAG (NN New York)))
"""
CONLLU = "1\ta\t_\tX\t_\t_\t3\tdep\t_\t_\n2\tb\t_\tX\t_\t_\t0\troot\t_\t_\n3\tc\t_\tX\t_\t_\t2\tdep\t_\t_\n\n"


@pytest.fixture
def inspect(gramian, monkeypatch, tmp_path):
    def call(content: bytes | str, *options: str) -> tuple[int, str, str]:
        path = tmp_path / "input"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        monkeypatch.chdir(tmp_path)
        return gramian("inspect", "input", *options)

    return call


def test_trees_for_people(inspect):
    code, out, _ = inspect(TREES)
    assert code == 0
    assert "input: 2 trees, 4 words, 5 phrases" in out
    assert "1 empty element (" in out
    assert "input:2:1: '(' is never closed" in out
    assert "input:3:13: 'New York' is 2 words under one tag" in out


def test_trees_for_machines(inspect):
    code, out, err = inspect(TREES, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["format"] == "brackets"
    assert (found["trees"], found["words"], found["tags"]["NN"]) == (2, 4, 2)
    assert found["broken"] == [{"source": "input", "line": 2, "column": 1, "what": "'(' is never closed"}]


def test_strictness(inspect):
    assert inspect(TREES, "--strict")[0] == 1
    assert inspect("(A a)", "--strict")[0] == 0


def test_conllu(inspect):
    code, out, _ = inspect(gzip.compress((CONLLU + CONLLU.replace("\t3\t", "\t2\t", 1)).encode()))
    assert code == 0
    assert "input: 2 sentences, 6 words" in out
    assert "not projective: 1 sentence (50.0 %), the first at line 1" in out


def test_conllu_with_a_broken_sentence(inspect):
    code, out, _ = inspect(CONLLU + "1\ta\n\n")
    assert code == 0
    assert "input:5: 2 columns instead of 10" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "input: no tree in it"),
        ("\n\n", "input: no tree in it"),
        (b"\x7fELF\x00\x01", "input:1: this is a binary file, not text"),
        (gzip.compress(TREES.encode() * 99)[:-30], "the compressed file is damaged or cut short"),
        ("(S (A a)", "input: not one tree in it can be read"),
        ("# comment only\n", "input: not one sentence in it can be read"),
        ("dear diary", "input:1: this is neither bracketed trees nor CoNLL-U"),
        (b"(S (A \xe9))", "input:1:7: byte 0xe9 is not UTF-8"),
    ],
)
def test_bad_input_gets_one_clear_sentence(inspect, content, message):
    code, out, err = inspect(content)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert "\ntry: " in err


def test_a_missing_file(gramian, tmp_path):
    code, _, err = gramian("inspect", str(tmp_path / "none.mrg"))
    assert code == 2
    assert "none.mrg: cannot be opened (No such file or directory)" in err


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff( (S\r\n  (A a)))\r\n",
        "(X " * 10_000 + "(A a)" + ")" * 10_000,
        "(S " + "(A a) " * 5_000 + ")",
    ],
)
def test_unusual_but_right_input(inspect, text):
    code, out, _ = inspect(text)
    assert code == 0
    assert "1 tree, " in out


def test_a_folder(gramian, tmp_path):
    for name in ("a.mrg", "b.mrg"):
        Path(tmp_path, name).write_text("(A a)")
    code, out, _ = gramian("inspect", str(tmp_path))
    assert code == 0
    assert "2 trees, 2 words" in out


def test_labels_in_words(capsys, monkeypatch):
    def explained(*words):
        monkeypatch.setattr(sys, "argv", ["gramian", "inspect", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    code, told = explained("--explain", "NP-SBJ")
    assert (code, told.out.splitlines()[0].split(None, 3)) == (
        0,
        ["NP-SBJ", "penn", "phrase", "noun phrase; subject"],
    )
    assert json.loads(explained("--explain", "nsubj", "--json")[1].out)[0]["words"] == "subject"
    code, told = explained("--explain", "SBARR")
    assert code == 2
    assert "try: SBAR" in told.err
    code, told = explained()
    assert code == 2
    assert "a file is missing" in told.err
