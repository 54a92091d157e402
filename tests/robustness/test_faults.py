"""What the machine may do to a command: no room on the disk, no home, a reader that goes away, no network, a kill."""

import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tiny_grammar import FIXTURES

from gramian.errors import InputError
from gramian.io.output import is_written_through, writing
from gramian.io.resume import resumed
from gramian.tasks.task_runner import Outcome, TaskFolder

MODEL = str(FIXTURES / "version-1.grammar")
TREES = "(S (NP (DT the) (NN dog)) (VP (VB barks)) (. .))\n(S (NP (NN cat)) (VP (VB saw) (NP (DT a) (NN dog))) (. .))\n"


def gramian(*arguments, text=None, limit=None, before=lambda: None, **settings):
    """Run the command in a process of its own, with files of at most `limit` bytes, after `before`."""

    def prepare() -> None:
        before()
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-B", "-m", "gramian", *map(str, arguments)],  # no bytecode, which would be cut short and stay
        input=text, capture_output=True, text=True, preexec_fn=prepare,
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
    for arguments, remaining in (
        (("convert", bank, "--to", "tokens"), ""),
        (("parse", tmp_path / "sentences", "-m", MODEL), r"\.out\.[0-9a-f]{16}\.partial\n"),
        (("train", bank, "--method", "pcfg", "--set", "attribution=" + "someone " * 3000), r"out\.members\n"),
    ):
        done = on_a_small_disk(disk, [sys.executable, "-m", "gramian", *arguments, "-o", disk / "out", "-q"])
        told(done, "out: cannot be written (No space left on device)")
        assert re.fullmatch(remaining, done.stdout)  # finished work, so that the same command resumes


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
    code += "\nfrom gramian.kernels.store import private_root; print(private_root())"
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
    assert partial.stat().st_mode & 0o077 == 0  # nobody else's
    kept = re.findall(r"^[0-9]+ [0-9a-f]{8}\n(\(.*\)\n)", partial.read_text(), re.M)
    assert whole.startswith("".join(kept))
    done = len(kept)
    assert 0 < done < len(sentences)
    again = gramian(*command, tmp_path / "out")
    assert again.returncode == 0
    assert f"reusing {done:,} finished sentences" in again.stderr
    assert (tmp_path / "out").read_text() == whole
    assert not list(tmp_path.glob(".out.*"))
    (tmp_path / "in").write_text("the dog barks .\n")  # other input: nothing is kept
    told(gramian(*command, tmp_path / "out"), "out: this file exists and would be replaced", "--force")
    assert (tmp_path / "out").read_text() == whole
    again = gramian(*command, tmp_path / "out", "--force")
    assert (again.returncode, "reusing" in again.stderr) == (0, False)


RECORDS = ["a\nb\n\n", "\n", "ü\n\n", "\n", "\n", "d\n\n"]


@pytest.fixture
def left(tmp_path):
    """What a stopped command leaves of its records."""
    with suppress(KeyboardInterrupt), resumed(str(tmp_path / "out"), [], "x") as (out, done):
        assert done == 0
        for record in RECORDS:
            out.write(record)
        raise KeyboardInterrupt
    [partial] = tmp_path.glob(".out.*.partial")
    return partial


def test_whole_records_are_kept_wherever_the_work_is_cut_or_damaged(tmp_path, left):
    data, output = left.read_bytes(), tmp_path / "out"
    damaged = [data[:place] for place in range(len(data))]
    damaged += [bytes([*data[:n], data[n] ^ 1 << n % 8, *data[n + 1 :]]) for n in range(len(data))]
    counts = set()
    for one in damaged:
        left.write_bytes(one)
        with resumed(str(output), [], "x") as (out, done):
            counts.add(done)
            for record in RECORDS[done:]:
                out.write(record)
        assert output.read_text() == "".join(RECORDS)
    assert counts == set(range(len(RECORDS)))


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_what_a_link_stands_for_is_left_alone(tmp_path, left, link):
    """Whoever knows the name of the file could put a link there."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    left.unlink()
    link(victim, left)
    with pytest.raises(InputError), resumed(str(tmp_path / "out"), [], "x"):
        pass
    assert victim.read_text() == "mine"
    assert not (tmp_path / "out").exists()


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_pipe_is_written_to(pipe):
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    assert gramian("convert", "-", "--to", "tokens", "-o", pipe, text=TREES).returncode == 0
    assert reader.communicate(timeout=60)[0].startswith("the dog barks .\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    assert gramian("parse", "-", "-m", MODEL, "-o", pipe, "-q", text="the dog barks .\n").returncode == 0
    assert reader.communicate(timeout=60)[0].startswith("(S ")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_are_written_to(tmp_path, bank):
    """Not replaced, which root could do."""
    sentences = tmp_path / "sentences"
    sentences.write_text("the dog barks .\n")
    before = set(os.listdir("/dev"))
    commands = (
        ("convert", bank, "--to", "tokens"),
        ("parse", sentences, "-m", MODEL, "-q"),
        ("train", bank, "--method", "pcfg", "-q"),
    )
    for command in commands:
        done = gramian(*command, "-o", "/dev/null")
        assert done.returncode == 0, done.stderr
        if os.path.exists("/dev/full"):
            told(
                gramian(*command, "-o", "/dev/full"), "/dev/full: cannot be written (No space left on device)"
            )
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert set(os.listdir("/dev")) == before


def test_standard_output_by_name(tmp_path, bank):
    with open(tmp_path / "out", "w") as out:
        command = [
            sys.executable,
            "-m",
            "gramian",
            "convert",
            str(bank),
            "--to",
            "tokens",
            "-o",
            "/dev/stdout",
        ]
        assert subprocess.run(command, stdout=out).returncode == 0
    assert (tmp_path / "out").read_text().startswith("the dog barks .\n")
    assert os.path.islink("/dev/stdout")


def test_what_is_a_file_is_replaced_wherever_it_is(tmp_path):
    places = [tmp_path] + [Path("/dev/shm")] * os.path.isdir("/dev/shm")
    for place in places:
        with tempfile.TemporaryDirectory(dir=place) as folder:
            file = Path(folder) / "file"
            file.write_text("old")
            assert not is_written_through(file)
            with open(file) as before, writing(file) as out:
                out.write("new")
                assert before.read() == file.read_text() == "old"
            assert file.read_text() == "new"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_streams_that_are_closed(number, bank, tmp_path):
    """A file that the command opens does not take their place."""
    command = ["convert", "-" if number == 0 else bank, "--to", "tokens"]
    command += ["-o", tmp_path / "out"] if number != 1 else []
    done = gramian(*command, before=lambda: os.close(number))
    if number < 2:
        told(done, "Bad file descriptor")
        assert not (tmp_path / "out").exists()
    else:
        assert done.returncode == 0
        assert (tmp_path / "out").read_text().startswith("the dog barks .\n")
    if number == 1:  # what does not need it does its work
        done = gramian(*command, "-o", tmp_path / "out", before=lambda: os.close(number))
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out").read_text().startswith("the dog barks .\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["wfa", "--help"], ["--version"]])
def test_help_that_cannot_be_written(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "gramian", *arguments]
        told(subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True), "No space left")


def test_the_same_command_twice_at_once(tmp_path):
    (tmp_path / "in").write_text("the dog barks .\n" * 20_000)
    command = ["parse", tmp_path / "in", "-m", MODEL, "-o", tmp_path / "out", "-q"]
    first = subprocess.Popen([sys.executable, "-m", "gramian", *map(str, command)])
    while not list(tmp_path.glob(".out.*.partial")):
        time.sleep(0.05)
    told(gramian(*command), "another process is writing it")
    first.kill()
    first.wait()


def test_work_of_another_version_is_not_taken_up(tmp_path, monkeypatch):
    """Members of a model, runs of an experiment, and trees that parse -o has written; steps of EM and searches have tests of their own."""
    folder = TaskFolder(tmp_path / "tasks")
    folder.keep(Outcome({"n": 3}, value=9))
    assert folder.find({"n": 3}).value == 9
    with suppress(KeyboardInterrupt), resumed(str(tmp_path / "out"), [], "x") as (out, _):
        out.write("a\n")
        raise KeyboardInterrupt
    monkeypatch.setattr("gramian.tasks.task_runner.__version__", "99.0")
    monkeypatch.setattr("gramian.io.resume.__version__", "99.0")
    assert folder.find({"n": 3}) is None
    with resumed(str(tmp_path / "out"), [], "x") as (_, done):
        assert done == 0
    assert (tmp_path / "out").read_text() == ""
