"""Bars with an estimate on a terminal, and nothing of them elsewhere."""

import io
import logging
import os
import re
import subprocess
import sys

import pytest
from tiny_grammar import FIXTURES

from gramian.cli.console import say, showing_progress
from gramian.progress import tell_progress

pty = pytest.importorskip("pty")

MODEL = str(FIXTURES / "version-1.grammar")
TREES = "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))\n(S (NP (NN cat)) (VP (VB saw) (NP (DT a) (NN dog))) (. .))\n"
WORDS = "1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
COMMANDS = {
    "train": (
        ("train", "bank.mrg", "-o", "out", "--states", "2", "--set", "max_iter=3", "--dev", "bank.mrg"),
        ("models", "steps of EM", "labels clustered", "sentences with grammar 2"),
    ),
    "parse": (("parse", "sentences", "--lines", "-m", MODEL, "-o", "out"), ("sentences",)),
    "experiment": (
        ("experiment", "ablation", "bank.mrg", "--quick", "--config", "small.toml", "--out", "run"),
        ("runs",),
    ),
    "dep": (("dep", "train", "bank.conllu", "-o", "out", "--set", "epochs=3"), ("automata", "examples")),
    "wfa": (("wfa", "train", "strings", "-o", "out", "--states", "2"), ("chains of round 1 of 3",)),
}


@pytest.fixture
def data(tmp_path):
    (tmp_path / "bank.mrg").write_text(TREES * 60)
    (tmp_path / "bank.conllu").write_text(WORDS * 200)
    (tmp_path / "sentences").write_text("the dog saw a cat .\n" * 300)
    (tmp_path / "strings").write_text("a b a b b\na b\nb a a\n" * 40)
    (tmp_path / "small.toml").write_text('states = 2\nparts = ["smoothing"]\n')
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_bars_on_a_terminal(data, name):
    command, bars = COMMANDS[name]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gramian", *command], cwd=data, stderr=theirs, stdout=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.wait(60) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode())
    for bar in bars:
        assert re.search(rf"{bar} +[━╸╺ ]+ +\d+% +[\d:-]+", text), (bar, text[-3000:])


@pytest.mark.parametrize("name", ["train", "parse"])
def test_nothing_of_them_elsewhere(data, name):
    done = subprocess.run(
        [sys.executable, "-m", "gramian", *COMMANDS[name][0]], cwd=data, capture_output=True, text=True,
        env=os.environ | {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not set("\x1b\r━%") & set(done.stderr)
    assert "steps of EM:" not in done.stderr


def test_details_are_not_told_without_a_terminal(capsys):
    log = logging.getLogger("gramian.test")
    with showing_progress(quiet=False):
        tell_progress(log, "steps", 1, 2)
        log.debug("a detail")
        log.info("news")
    assert capsys.readouterr().err == "news\n"


def test_a_message_and_its_end_are_one_write(monkeypatch):
    class Stream(io.StringIO):
        written = 0

        def write(self, text):
            self.written += 1
            return super().write(text)

    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    say("counts: 0.1 s")
    assert (stream.getvalue(), stream.written) == ("counts: 0.1 s\n", 1)
