"""Same seed, same bytes: on a second run, with one thread or process and with two; and threads that share a parser."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tiny_grammar import FIXTURES

from gramian.cli import app
from gramian.parsing.parser import load

SENTENCES = ["the dog saw a cat with a telescope .", "a dog barks .", "", "the cat ( saw", "dog " * 30]


def test_threads_that_share_a_parser_give_what_one_gives():
    def facts(results):
        return [
            (str(one.tree), one.status, one.log_prob_words, tuple(one.spans) if one.words else ())
            for one in results
        ]

    parser = load(FIXTURES / "version-1.grammar")
    serial = facts(parser.parse_many(SENTENCES * 4))
    with ThreadPoolExecutor(4) as pool:
        rounds = list(
            pool.map(lambda jobs: facts(parser.parse_many(SENTENCES * 4, n_jobs=jobs)), [1, 2, 1, 3])
        )
    assert all(found == serial for found in rounds)


def test_trees_do_not_depend_on_the_load_of_the_machine(tmp_path):
    """10,500 tokens, with limits that are felt: undisturbed, stopped again and again, and beside loops that never rest."""
    (tmp_path / "in").write_text("".join(f"{'the dog saw a cat with ' * n}.\n" for n in range(1, 59)))
    limits = ["--set", "max_seconds=0.001", "--set", "max_length=120", "--tokens", "-q"]
    command = [sys.executable, "-m", "gramian", "parse", str(tmp_path / "in"), *limits]
    command += ["-m", str(FIXTURES / "version-1.grammar"), "-o"]
    subprocess.run([*command, str(tmp_path / "idle")], check=True)
    stopped = subprocess.Popen([*command, str(tmp_path / "stopped")])
    while stopped.poll() is None:
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        stopped.send_signal(signal.SIGCONT)
        time.sleep(0.1)
    assert stopped.returncode == 0
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        subprocess.run([*command, str(tmp_path / "busy")], check=True)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    idle = (tmp_path / "idle").read_bytes()
    assert len(idle.splitlines()) == 58
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "busy").read_bytes() == idle


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    from made_up_english import sample

    path = tmp_path_factory.mktemp("bank") / "trees.mrg"
    path.write_text("".join(f"{tree}\n" for tree in sample(60, 1)))
    return path


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "spectral-cluster"),
        ("--method", "spectral-moments"),
        ("--method", "spectral-em", "--ensemble-size", "1"),
        ("--method", "em"),
        ("--method", "split-merge", "--set", "cycles=1"),
        ("--method", "pcfg"),
        ("--method", "spectral-cluster", "--ensemble-size", "2", "--set", "noise.kind=dropout"),
        ("--method", "spectral-cluster", "--expert"),
    ],
    ids=lambda options: " ".join(options[1:]),
)
def test_models_do_not_depend_on_jobs_nor_on_the_run(bank, tmp_path, options):
    from typer.testing import CliRunner

    found = []
    for number, jobs in enumerate((1, 2, 1)):
        output = tmp_path / f"{number}.model"
        arguments = [
            "train",
            str(bank),
            "-o",
            str(output),
            "-q",
            "--jobs",
            str(jobs),
            *options,
        ]
        if "pcfg" not in options:
            arguments += ["--states", "3"]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        found.append(output.read_bytes())
    assert found[0] == found[1] == found[2]


def test_automata_do_not_depend_on_the_run(tmp_path):
    from gramian.automata import PNFAEM, Sequences, SpectralWFA

    rng = np.random.default_rng(0)
    sample = Sequences.from_strings(
        [[str(one) for one in rng.integers(0, 3, rng.integers(1, 8))] for _ in range(60)]
    )
    for name, learner in (("em", PNFAEM(3, random_state=4)), ("spectral", SpectralWFA(3))):
        paths = [tmp_path / f"{name}-{number}" for number in range(2)]
        for path in paths:
            learner.fit(sample).model_.save(path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_dependency_parsers_do_not_depend_on_threads_nor_on_the_run(tmp_path):
    from toy_treebank import toy_sentences

    from gramian.dependency import SHAGParser

    found = []
    for number, jobs in enumerate((1, 2, 1)):
        path = Path(tmp_path / str(number))
        SHAGParser(n_states=2, max_iter=3, epochs=1, n_jobs=jobs).fit(toy_sentences(12)).save(path)
        found.append(path.read_bytes())
    assert found[0] == found[1] == found[2]
