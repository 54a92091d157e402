"""``gramian parse`` of a corpus: what a user types, what is said, and what the machine may do meanwhile."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import gramian
from gramian.parsing.model_store import save_model
from gramian.training import TrainingRun, TrainingSettings

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")


COMMAND = [sys.executable, "-m", "gramian", "parse"]


@pytest.fixture
def parse(gramian):
    """Run the command in this process; return its exit code, and what is printed and said."""

    return partial(gramian, "parse")


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text("The dog barks. The cat saw a dog.\n\n" * 500)
    return folder


def shards(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("0*.jsonl"))
    }


def test_a_corpus_that_is_killed_refused_and_finished(corpus, tmp_path, parse):
    out = tmp_path / "out"
    command = [corpus, "-m", MODEL, "-o", f"{out}/", "--set", "corpus.shard_size=3"]
    running = subprocess.Popen([*COMMAND, *map(str, command), "--jobs", "2"], stderr=subprocess.DEVNULL)
    while len(list(out.glob("*/*.manifest.json"))) < 2:
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGSTOP)
    refused, status = parse(*command), parse("--status", out)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert refused[0] == 2
    assert "another process is writing it" in refused[2]
    assert "a command is running" in status[1]
    assert "no command is running" in parse("--status", out)[1]
    code, _, said = parse(*command)
    assert (code, "reused from a previous run" in said) == (0, True)
    assert parse(
        corpus, "-m", MODEL, "-o", tmp_path / "whole", "--to", "jsonl", "--set", "corpus.shard_size=3", "-q"
    ) == (0, "", "")
    assert shards(out) == shards(tmp_path / "whole")
    told = json.loads(parse("--status", out, "--json")[1])
    assert (told["done"], told["sentences"], told["is_running"]) == (told["shards"], 3000, False)
    assert not (out / ".partial").exists()


def test_a_disk_that_is_full(corpus, tmp_path, parse):
    """The limit on the size of files stands in for the disk: writing fails half-way in the same manner."""
    command = [corpus / "a.txt", "-m", MODEL, "-o", f"{tmp_path}/out/"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    full = subprocess.run([*COMMAND, *map(str, command)], stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    assert full.returncode == 2
    assert "cannot be written (File too large)\ntry: make room" in full.stderr
    assert "Traceback" not in full.stderr
    assert shards(tmp_path / "out") == {}
    assert (parse(*command)[0], len(shards(tmp_path / "out"))) == (0, 1)


def test_what_does_not_go_together(corpus, tmp_path, parse):
    for arguments, fault in (
        ([corpus], "a folder as output"),
        ([corpus, "-o", f"{tmp_path}/out/", "--k", "2"], "--pretty, --k and device do not apply to a corpus"),
        ([corpus, "-o", f"{tmp_path}/out/", "--set", "device=cpu"], "device do not apply"),
        ([corpus, "-o", f"{tmp_path}/out/", "--to", "brackets", "--json"], "try: --to jsonl"),
        ([corpus, "-o", f"{tmp_path}/out/", "--to", "xml"], "to must be one of brackets, jsonl"),
        ([tmp_path / "none*", "-o", f"{tmp_path}/out/"], "no file is called so"),
        (["--status", corpus], "no corpus was parsed into this folder"),
    ):
        code, _, said = parse(*arguments, "-m", MODEL)
        assert code == 2
        assert fault in said
    assert os.listdir(tmp_path) == ["in"]


def test_failures_count_under_strict(corpus, tmp_path, parse):
    (corpus / "bad.gz").write_bytes(b"\x1f\x8b\x08broken")
    command = [corpus / "bad.gz", "-m", MODEL, "-o", f"{tmp_path}/out/"]
    code, _, said = parse(*command)
    assert (code, "1 failed, of 1 file:\n  bad.gz: the compressed file" in said) == (0, True)
    assert parse(*command, "--set", "strict=true")[0] == 1


def test_conllu_has_the_heads_of_the_models_language(tmp_path, parse):
    """Indonesian treebanks follow Penn's scheme, but not Collins' head rules, by which the last word would be head of "kucing besar"."""
    tree = gramian.Tree.parse("(S (NP (NNO kucing) (ADJ besar)) (VP (VBI tidur)))")
    model = TrainingRun([tree] * 20, TrainingSettings(method="pcfg", language="id")).run()
    save_model(model, tmp_path / "id.model")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("kucing besar tidur\n")
    assert (
        parse(tmp_path / "in", "-m", tmp_path / "id.model", "-o", tmp_path / "out", "--to", "conllu")[0] == 0
    )
    (sentence,) = gramian.read_conllu(next((tmp_path / "out").rglob("0*.conllu")))
    assert sentence.heads == (3, 1, 0)
