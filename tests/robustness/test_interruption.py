"""Ctrl-C at any moment: one line, exit code 130, no traceback; and the same command goes on."""

import signal
import subprocess
import sys

import pytest
from tiny_grammar import FIXTURES

from gramian.parsing.model_store import load_model

MODEL = str(FIXTURES / "version-1.grammar")
TREES = "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))\n(S (NP (NN cat)) (VP (VB saw) (NP (DT a) (NN dog))) (. .))\n"
WORDS = "1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n3\tbarks\t_\tVERB\tVB\t_\t0\troot\t_\t_\n\n"

# Ctrl-C reaches all processes of a terminal: so many seconds after a function is called for the nth time.
STRUCK = """
import importlib, os, signal, sys, threading

place, call, delay, *how = sys.argv.pop(1).split("@")

def strike():
    timer = threading.Timer(float(delay), os.killpg, (0, int(how[0]) if how else signal.SIGINT))
    timer.daemon = True
    timer.start()

if place == "start":
    strike()
else:
    module, _, path = place.partition(":")
    owner = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    usual, calls = getattr(owner, name), []

    def struck(*arguments, **options):
        calls.append(1)
        if len(calls) == int(call):
            strike()
        return usual(*arguments, **options)

    setattr(owner, name, struck)
from gramian.__main__ import main
main()
"""


def run(*arguments, place=None, cwd=None):
    start = ["-m", "gramian"] if place is None else ["-c", STRUCK, place]
    return subprocess.run(
        [sys.executable, *start, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also in the background
        timeout=300,
    )


@pytest.fixture
def data(tmp_path):
    (tmp_path / "bank.mrg").write_text(TREES * 300)
    (tmp_path / "bank.conllu").write_text(WORDS * 600)
    (tmp_path / "sentences").write_text("the dog saw a cat .\n" * 20_000)
    (tmp_path / "strings").write_text("a b a b b\na b\nb a a\n" * 400)
    return tmp_path


LEARN = ("train", "bank.mrg", "-o", "out", "--states", "4")
MOMENTS = {
    "importing": ("start@1@0.15", LEARN),
    "reading": ("gramian.training.training_data:TrainingData.read@1@0.0", LEARN),
    "learning": ("gramian.learn.em:tell_progress@2@0.0", (*LEARN, "--set", "max_iter=2000")),
    "learning in processes": (
        "gramian.training.training_run:tell_progress@1@4",
        (*LEARN, "--set", "max_iter=20000", "--jobs", "2"),
    ),
    "scoring": ("gramian.training.training_run:TrainingRun._parses@2@0.1", (*LEARN, "--dev", "bank.mrg")),
    "parsing": (
        "gramian.parsing.parser:Parser.parse_many@1@0.3",
        ("parse", "sentences", "-m", MODEL, "-o", "out", "-q"),
    ),
    "parsing in threads": (
        "gramian.parsing.parser:Parser.parse_many@1@0.3",
        ("parse", "sentences", "-m", MODEL, "-o", "out", "-q", "--jobs", "2"),
    ),
    "an experiment": (
        "gramian.experiments.run:measure@1@0.3",
        ("experiment", "ablation", "bank.mrg", "--quick", "--out", "run"),
    ),
    "dep train": (
        "gramian.dependency.head_automata:tell_progress@1@0.0",
        ("dep", "train", "bank.conllu", "-o", "out", "--set", "max_iter=20000"),
    ),
    "dep train, arcs": (
        "gramian.loglinear.adagrad:tell_progress@3@0.0",
        ("dep", "train", "bank.conllu", "-o", "out"),
    ),
    "wfa train": (
        "gramian.automata.gibbs_chains:tell_progress@2@0.0",
        ("wfa", "train", "strings", "-o", "out"),
    ),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_line_whenever_it_comes(data, moment):
    place, command = MOMENTS[moment]
    done = run(*command, place=place, cwd=data)
    assert done.returncode == 130, done.stderr
    for bad in ("Traceback", "Error", "Exception ignored", "Aborted"):
        assert bad not in done.stderr, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "interrupted" in line]
    assert line.startswith("gramian: interrupted")
    assert ("Run the same command again to resume" in line) == (moment in GO_ON)
    assert not (data / "out").exists() or moment == "scoring"
    assert not list(data.glob(".*.lock"))


GO_ON = ("learning", "learning in processes", "scoring", "an experiment")


def test_what_is_learnt_is_there_while_it_is_scored(data):
    for name, options in (("one", ("--method", "spectral-em")), ("two", ())):
        command = (
            "train",
            "bank.mrg",
            "--states",
            "4",
            "--set",
            "max_iter=2",
            *options,
            "--dev",
            "bank.mrg",
            "-o",
        )
        assert run(*command, f"whole-{name}", cwd=data).returncode == 0
        stopped = run(
            *command, name, place="gramian.training.training_run:TrainingRun._parses@1@0.0", cwd=data
        )
        assert stopped.returncode == 130
        model = load_model(data / name)
        assert not model.metrics
        again = run(*command, name, cwd=data)
        assert again.returncode == 0, again.stderr
        assert "reused from a previous run" in again.stderr
        assert "iteration 1" not in again.stderr
        assert (data / name).read_bytes() == (data / f"whole-{name}").read_bytes()
        assert load_model(data / name).metrics["f1"] > 90
        assert not list(data.glob(f"{name}.members"))


@pytest.mark.parametrize("killer", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize(("options", "call", "finished"), [(("--method", "spectral-em"), 5, 0), ((), 10, 1)])
def test_training_resumes_from_the_last_iteration(data, killer, options, call, finished):
    """Progress is logged at the start of each grammar and after each of its six iterations."""
    command = ("train", "bank.mrg", "--states", "4", "--set", "max_iter=6", *options, "-o")
    assert run(*command, "whole", cwd=data).returncode == 0
    place = f"gramian.learn.em:tell_progress@{call}@0.0@{int(killer)}"
    stopped = run(*command, "out", place=place, cwd=data)
    assert stopped.returncode == (130 if killer == signal.SIGINT else -signal.SIGKILL)
    again = run(*command, "out", cwd=data)
    assert again.returncode == 0
    assert again.stderr.count("reused from a previous run") == finished
    assert "resuming after iteration" in again.stderr
    assert "iteration 1:" not in again.stderr.partition("resuming")[2]
    assert (data / "out").read_bytes() == (data / "whole").read_bytes()
    assert not list(data.glob("out.*members"))
