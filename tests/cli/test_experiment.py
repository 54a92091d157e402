"""``gramian experiment``: the plan first, a report at the end, and clear words when something is wrong."""

import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gramian.cli import app
from gramian.errors import OptionError

TREES = "".join(
    f"( (S (NP (DT the) (NN {noun})) (VP (VBZ {verb}))))\n"
    for noun in ("cat", "dog")
    for verb in ("sleeps", "runs")
)


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TREES * 10)
    (tmp_path / "small.toml").write_text('states = 2\nparts = ["smoothing"]\n')
    return path


def invoke(*arguments):
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_without_a_recipe_they_are_listed():
    lines = invoke().stdout.splitlines()
    assert lines[0].startswith("thesis ")
    assert len(lines) >= 7


def test_plan_run_and_go_on(trees, tmp_path):
    out = tmp_path / "out"
    arguments = ("ablation", trees, "--config", tmp_path / "small.toml", "--out", out, "--seeds", 1)
    planned = invoke(*arguments, "--plan")
    assert "4 cells, 4 runs, 0 of them finished before" in planned.stderr
    assert not out.exists()
    done = invoke(*arguments)
    assert done.stdout == f"{out / 'report.html'}\n"
    assert done.exit_code == 0
    again = invoke(*arguments, "--quiet")
    assert (again.stderr, again.stdout) == ("", done.stdout)
    assert "4 of them finished before" in invoke(*arguments, "--plan").stderr


def test_told_to_end_it_says_that_the_same_command_goes_on(trees, tmp_path, monkeypatch):
    cleaned = []

    def interrupted(*_, **options):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            cleaned.append(options["out"])

    monkeypatch.setattr("gramian.experiments.run.run_experiment", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    ended = invoke("ablation", trees, "--config", tmp_path / "small.toml", "--out", tmp_path / "out")
    assert ended.exit_code == 128 + signal.SIGTERM
    assert "Run the same command again to resume" in ended.stderr
    assert cleaned == [tmp_path / "out"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_is_wrong_is_said(trees):
    with pytest.raises(OptionError, match="no data given"):
        invoke("thesis")
    done = subprocess.run(
        [sys.executable, "-m", "gramian", "experiment", "soup", str(trees)], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("gramian: unknown experiment 'soup'; try one of: thesis")
