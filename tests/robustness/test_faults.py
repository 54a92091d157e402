"""What the machine may do to a command: no room on the disk, no home, a reader that goes away, no network, a kill."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tiny_grammar import FIXTURES

from gramian.io.resume import resumed
from gramian.training.parallel import Outcome, TaskFolder

MODEL = str(FIXTURES / "version-1.grammar")
TREES = "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))\n(S (NP (NN cat)) (VP (VB saw) (NP (DT a) (NN dog))) (. .))\n"


def gramian(*arguments, text=None, limit=None, **settings):
    """Run the command in a process of its own, with files of at most `limit` bytes."""

    def before() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "gramian", *map(str, arguments)], input=text, capture_output=True, text=True, preexec_fn=before,
        **settings,
    )  # fmt: skip


@pytest.fixture
def bank(tmp_path):
    (tmp_path / "bank.mrg").write_text(TREES * 20)
    return tmp_path / "bank.mrg"


def told(done, *words):
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_a_disk_that_is_full(bank, tmp_path):
    """The limit on the size of files stands in for the disk: writing fails half-way in the same manner."""
    told(
        gramian("train", bank, "-o", tmp_path / "a.model", "--method", "pcfg", "-q", limit=1000),
        "a.model",
        "cannot be written",
    )
    (tmp_path / "sentences").write_text("the dog barks .\n" * 300)
    told(
        gramian("parse", tmp_path / "sentences", "-m", MODEL, "-o", tmp_path / "out", "-q", limit=1000),
        "out",
        "cannot be written",
    )
    plan = ("experiment", "ablation", bank, "--quick", "--only", "usual", "--out", tmp_path / "run", "-q")
    told(gramian(*plan, limit=1000), "cannot be written")
    seen = {path.name for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".")}
    assert not seen & {
        "a.model",
        "a.model.log.json",
        "out",
        "manifest.json",
        "report.html",
    }  # all of them larger
    for path in tmp_path.rglob("*.json"):
        json.loads(path.read_text())


def on_a_small_disk(folder, command):
    """Run a command with a disk of 16 KB mounted on `folder`, which it alone sees, and list what it leaves there."""
    script = (
        f'mount -t tmpfs -o size=16k none "{folder}" && {{ "$@"; code=$?; ls -A "{folder}"; exit $code; }}'
    )
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", *map(str, command)], capture_output=True, text=True
    )


def test_a_disk_that_is_small(bank, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if shutil.which("unshare") is None or on_a_small_disk(disk, ["true"]).returncode != 0:
        pytest.skip("nothing can be mounted here")
    bank.write_text(TREES * 2000)
    (tmp_path / "sentences").write_text("the dog barks .\n" * 1000)
    for arguments in (
        ("convert", bank, "--to", "tokens"),
        ("parse", tmp_path / "sentences", "-m", MODEL),
        ("train", bank, "--method", "pcfg", "--attribution", "someone " * 3000),
    ):
        done = on_a_small_disk(disk, [sys.executable, "-m", "gramian", *arguments, "-o", disk / "out", "-q"])
        told(done, "out: cannot be written (No space left on device)")
        # Trees that are finished stay for the next run.
        assert [name[:5] for name in done.stdout.split()] == [".out."] * (arguments[0] == "parse")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_is_full(bank):
    with open("/dev/full", "w") as full:
        for arguments in (("convert", bank, "--to", "tokens"), ("parse", "-", "-m", MODEL, "-q")):
            done = subprocess.run(
                [sys.executable, "-m", "gramian", *map(str, arguments)], input="dog\n", stdout=full, stderr=subprocess.PIPE, text=True
            )  # fmt: skip
            told(done, "No space left")


def test_a_reader_that_goes_away(tmp_path):
    (tmp_path / "many.mrg").write_text(TREES * 20_000)
    command = [sys.executable, "-m", "gramian", "convert", str(tmp_path / "many.mrg"), "--to", "tokens"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "the dog barks .\n"
    process.stdout.close()
    assert process.wait(120) == 0
    assert process.stderr.read() == ""


NOT_WRITABLE = """
import tempfile
def refuse(*_, **__):
    raise PermissionError("read-only")
tempfile.TemporaryFile = refuse
"""


def place_for_kernels(code: str, **environment: str) -> Path:
    code += "\nfrom gramian.compiled import own_folder; print(own_folder())"
    usual = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=usual | environment, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def test_without_a_home(tmp_path):
    """Where neither the package's folder nor a home can be written to, compiled code goes to a folder of the process."""
    folder = place_for_kernels(NOT_WRITABLE, HOME="/nonexistent/home")
    assert folder.name.startswith("gramian-")
    assert not folder.exists()  # it went away with the process
    assert place_for_kernels("", NUMBA_CACHE_DIR=str(tmp_path)).parent == tmp_path


def test_importing_gramian_does_nothing_else(tmp_path):
    """No folder is made, and no variable of the environment set, before something is compiled."""
    code = (
        "import os, signal; os.access = lambda *_: False; before = dict(os.environ), signal.getsignal(signal.SIGINT);"
        "import gramian, gramian.cli; assert before == (dict(os.environ), signal.getsignal(signal.SIGINT))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"HOME": "/nonexistent/home", "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind"):
        raise AssertionError(f"the network was asked for: {event} {arguments}")

sys.addaudithook(refuse)
from gramian.cli import app
from gramian.parsing.parser import load

trees, model = sys.argv[1:]
app(["train", trees, "-o", model, "--method", "spectral-cluster", "--states", "2", "-q"], standalone_mode=False)
print(load(model).parse("the dog barks .").status)
"""


def test_no_network_in_training_loading_and_parsing(bank, tmp_path):
    model = str(tmp_path / "a.model")
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, str(bank), model], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "parsed"


def test_parsing_goes_on_where_it_was_stopped(tmp_path):
    sentences = [
        f"the {noun} saw a {other} ." for noun in ("dog", "cat") for other in ("dog", "cat", "telescope")
    ] * 20
    (tmp_path / "in").write_text("\n".join(sentences) + "\n")
    command = ("parse", tmp_path / "in", "-m", MODEL, "--tokens", "-o")
    assert gramian(*command, tmp_path / "whole", "-q").returncode == 0
    whole = (tmp_path / "whole").read_text()
    assert gramian(*command, tmp_path / "out", "-q", limit=5000).returncode == 2  # no room: cut within a tree
    assert not (tmp_path / "out").exists()
    [partial] = tmp_path.glob(".out.*.partial")
    assert whole.startswith(partial.read_text())
    done = partial.read_text().count("\n")
    assert 0 < done < len(sentences)
    again = gramian(*command, tmp_path / "out")
    assert again.returncode == 0
    assert f"kept from before: {done:,} sentences" in again.stderr
    assert (tmp_path / "out").read_text() == whole
    assert not list(tmp_path.glob(".out.*"))
    (tmp_path / "in").write_text("the dog barks .\n")  # other input: nothing is kept
    assert "kept" not in gramian(*command, tmp_path / "out").stderr


@pytest.mark.parametrize("whole", ["a\nb\n\n\nc\n\n\n\nd\n\n", "a\n\nb\n"])
def test_whole_records_are_kept_wherever_the_work_is_cut(tmp_path, whole):
    """Records of several lines end in an empty one; an empty line alone is the record of an empty sentence."""
    records = ["a\nb\n\n", "\n", "c\n\n", "\n", "\n", "d\n\n"] if "d" in whole else ["a\n", "\n", "b\n"]
    assert "".join(records) == whole
    output, blocks = tmp_path / "out", "d" in whole
    for place in range(len(whole)):
        with suppress(KeyboardInterrupt), resumed(str(output), [], "x", blocks=blocks) as (out, done):
            assert done == 0
            out.write(whole[:place])
            raise KeyboardInterrupt
        with resumed(str(output), [], "x", blocks=blocks) as (out, done):
            out.write("".join(records[done:]))
        assert output.read_text() == whole


def test_work_of_another_version_is_not_taken_up(tmp_path, monkeypatch):
    """Members of a model, runs of an experiment, and trees that parse -o has written; steps of EM and searches have tests of their own."""
    folder = TaskFolder(tmp_path / "tasks")
    folder.keep(Outcome({"n": 3}, value=9))
    assert folder.find({"n": 3}).value == 9
    with suppress(KeyboardInterrupt), resumed(str(tmp_path / "out"), [], "x", blocks=False) as (out, _):
        out.write("a\n")
        raise KeyboardInterrupt
    monkeypatch.setattr("gramian.training.parallel.__version__", "99.0")
    monkeypatch.setattr("gramian.io.resume.__version__", "99.0")
    assert folder.find({"n": 3}) is None
    with resumed(str(tmp_path / "out"), [], "x", blocks=False) as (_, done):
        assert done == 0
    assert (tmp_path / "out").read_text() == ""
