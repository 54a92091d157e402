"""``gramian parse``: one line out for one line in, whatever stands on it, and what is done is there."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gramian.cli import main
from gramian.trees import Tree

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")


@pytest.fixture
def parse(capsys, monkeypatch):
    def call(text: str | bytes, *options: str, model: str | None = MODEL) -> tuple[int, str, str]:
        data = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        monkeypatch.setattr(sys, "argv", ["gramian", "parse", *(("-m", model) if model else ()), *options])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return call


LINES = [
    "the dog barks .",
    "",
    "( dog ) -LRB-",
    "don't stop.",
    "   ",
    "x\u00a0y \u2028 z\x1cw",
    ".",
    "the dog",
]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_line_for_a_line(parse, jobs):
    code, out, err = parse("\n".join(LINES), "--tokens", "--jobs", jobs)
    assert code == 0
    trees = out.split("\n")
    assert trees.pop() == ""
    assert len(trees) == len(LINES)
    for line, tree in zip(LINES, trees, strict=True):
        tokens = [token for token in line.split(" ") if token]
        if tokens:
            leaves = [part.rpartition(" ")[2] for part in tree.split(")") if " " in part]
            written = [token.replace("(", "-LRB-").replace(")", "-RRB-") for token in tokens]
            assert leaves == written
        else:
            assert tree == ""
    assert trees[0] == "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))"
    assert "6 sentences in" in err
    assert "2 empty lines" in err


def test_text_is_cut_into_tokens(parse):
    _, out, err = parse("The dog doesn't bark.\n", "-q")
    assert Tree.parse(out).words == ("The", "dog", "does", "n't", "bark", ".")
    assert err == ""


def test_windows_lines_and_no_last_newline(parse):
    assert parse("the dog\r\n\r\nthe cat", "--tokens")[1].split("\n")[1:3] == ["", "(NP (DT the) (NN cat))"]
    assert parse("", "--tokens")[1] == ""


def test_a_very_long_line(parse):
    long = "o" * 100
    code, out, _ = parse(f"{long} " * 800 + "\ncat\n", "--tokens", "--max-length", "20")
    assert code == 0
    first, second = out.splitlines()
    assert first.count(f" {long})") == 800
    assert second.count("cat") == 1


def test_tagged(parse):
    assert parse("dog/DT saw/NN 1/2/VB", "--tagged")[1] == "(S (NP (DT dog) (NN saw)) (VP (VB 1/2)))\n"
    for bad in ("dog", "dog/", "/NN", "/"):
        code, out, err = parse(f"the/DT dog/NN\nthe/DT {bad}\n", "--tagged")
        assert (code, out.count("\n")) == (2, 1)
        assert f"<stdin>:2: {bad!r}" in err


def test_json(parse):
    _, out, _ = parse("the dog\n\n", "--json", "--k", "2")
    first, empty = map(json.loads, out.splitlines())
    assert first["tree"] == "(NP (DT the) (NN dog))"
    assert first["status"] == "parsed"
    assert first["words"] == ["the", "dog"]
    assert first["offsets"] == [[0, 3], [4, 7]]
    assert first["log_prob"] < 0
    assert first["alternatives"][0]["tree"] == first["tree"]
    assert [span["label"] for span in first["spans"]] == ["NP", "DT", "NN"]
    assert (empty["status"], empty["tree"], empty["spans"]) == ("empty", "", [])
    flat = json.loads(parse("the dog\n", "--json", "--max-seconds", "1e-9")[1])
    assert (flat["status"], flat["log_prob"]) == ("flat", None)


def test_pretty_and_best(parse):
    assert (
        parse("the dog\n\nthe cat\n", "--pretty")[1]
        == "(NP (DT the) (NN dog))\n\n\n(NP (DT the) (NN cat))\n\n"
    )
    _, out, _ = parse("the dog saw a cat with a saw\nthe dog\n", "--k", "2")
    first, second, _ = out.split("\n\n")
    assert len(set(first.splitlines())) == 2
    assert second.splitlines()[0] == "(NP (DT the) (NN dog))"


def test_strict(parse):
    assert parse("the dog barks\n", "--strict")[0] == 0
    code, out, err = parse(". .\n", "--strict")
    assert (code, out.count("\n")) == (1, 1)
    assert "1 glued from parts" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tokens", "--tagged"], "not both"), (["--json", "--pretty"], "not both"),
        (["--decoder", "viterbi", "--k", "3"], "viterbi"), (["no-such-file"], "no-such-file"),
    ],
)  # fmt: skip
def test_bad_options(parse, options, message):
    code, out, err = parse("the dog\n", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_bad_input(parse, tmp_path):
    code, out, err = parse(b"the dog\nthe \xff dog\n", "--tokens")
    assert (code, out) == (2, "(NP (DT the) (NN dog))\n")
    assert "<stdin>:2:" in err
    (tmp_path / "bad").write_text("nonsense")
    code, _, err = parse("the dog\n", model=str(tmp_path / "bad"))
    assert code == 2
    assert err.startswith(f"gramian: {tmp_path / 'bad'}: not a model file")


def test_interrupted():
    """Ctrl-C leaves what was done, on whole lines; a line in gets its line out at once."""
    command = [sys.executable, "-c", "from gramian.cli import main; main()", "parse", "-m", MODEL, "--tokens"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for _ in range(3):
            process.stdin.write("the dog\n")
            process.stdin.flush()
            assert process.stdout.readline() == "(NP (DT the) (NN dog))\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stdout.read() == ""
        assert "3 sentences in" in process.stderr.read()
