"""What all commands have in common: the names and bounds of options, and a look at the output before work begins."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tiny_grammar import FIXTURES
from typer.testing import CliRunner

from gramian.cli import app, main
from gramian.io.lock import locked

MODEL = str(FIXTURES / "version-1.grammar")


def commands(group, name="gramian"):
    """List all commands, those of groups included."""
    for part, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {part}")
        else:
            yield f"{name} {part}", command


COMMANDS = dict(commands(typer.main.get_command(app)))
OPTIONS = [(name, option) for name, command in COMMANDS.items() for option in command.params]


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=lambda part: getattr(part, "name", part))
def test_options_have_one_name_and_one_meaning(name, option):
    if option.name == "jobs":
        assert {"--jobs", "-j"} <= set(option.opts)
    if option.name == "quiet":
        assert {"--quiet", "-q"} <= set(option.opts)
    if option.name == "output":
        assert {"--output", "-o"} <= set(option.opts)
    assert not {"--threads", "--n-jobs", "--random-state"} & set(option.opts)


@pytest.mark.parametrize("name", [name for name, option in OPTIONS if "--seed" in option.opts])
def test_a_seed_is_not_below_zero(name, monkeypatch, capsys):
    needed = ["none.mrg", "-o", "out"] if name.endswith(" train") else []
    monkeypatch.setattr(sys, "argv", [*name.split(), *needed, "--seed", "-1"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "'--seed'" in said or "random_state must be at least 0" in said


@pytest.mark.parametrize("group", [[], ["dep"], ["wfa"]], ids=str)
def test_summaries_of_commands_fit_on_one_line(group):
    shown = CliRunner().invoke(app, [*group, "--help"]).output
    lines = shown.partition("Commands:\n")[2].splitlines()
    assert len(lines) >= 4
    assert all(line.startswith("  ") and line.endswith(".") and not line.endswith("..") for line in lines)


@pytest.mark.parametrize(
    "command",
    [
        ("train", "none.mrg"),
        ("sample",),
        ("convert", "none.mrg", "--to", "tokens"),
        ("parse", "none.txt"),
        ("edit", "none.mrg", "none.rules"),
        ("complexity", "none.mrg"),
        ("compress", "none.grammar"),
        ("wfa", "train", "none.txt"),
        ("wfa", "draw", "none.wfa"),
        ("wfa", "convert", "none.wfa"),
        ("dep", "train", "none.conllu"),
        ("dep", "parse", "none.conllu", "-m", "none.dep"),
        ("dep", "draw", "NN", "left", "-m", "none.dep"),
    ],
    ids=" ".join,
)
def test_an_output_that_cannot_be_written_is_told_before_anything_is_read(
    gramian, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    folder = (".", "cannot be written")
    if command[0] == "parse":  # which may write to a folder, if it can be made
        folder = ("/dev/null/x/", "this folder cannot be written to")
    for output, fault in (("no/such/out", "there is no folder no/such"), folder):
        code, _, err = gramian(*command, "-o", output)
        assert code == 2
        assert err.startswith(f"gramian: {output}: {fault}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [("split", "none.mrg", "-o"), ("experiment", "ablation", "none.mrg", "--out")],
    ids=lambda command: command[0],
)
def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_read(
    gramian, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for output in ("file", "file/below"):
        code, _, err = gramian(*command, output)
        assert code == 2
        assert err.startswith(f"gramian: {output}: this folder cannot be written to")


def test_every_command_with_an_output_is_among_these():
    """Who adds a command that writes adds it to the tests above."""
    writing = {name for name, option in OPTIONS if option.name in ("output", "out")}
    assert writing == {
        *(
            "gramian train",
            "gramian edit",
            "gramian complexity",
            "gramian sample",
            "gramian convert",
            "gramian parse",
            "gramian compress",
            "gramian split",
            "gramian experiment",
        ),
        *(
            "gramian wfa train",
            "gramian wfa draw",
            "gramian wfa convert",
            "gramian wfa extract",
            "gramian dep train",
            "gramian dep parse",
            "gramian dep draw",
        ),
    }


def test_what_is_no_plain_file_is_written_to_and_not_replaced(gramian):
    code = gramian("sample", "-n", "1", "-o", "/dev/null")[0]
    assert code == 0
    assert Path("/dev/null").is_char_device()


REPLACING = [
    ("compress", "none.grammar"),
    ("wfa", "train", "none.txt"),
    ("dep", "train", "none.conllu"),
    ("sample", "-m", "none.grammar"),
    ("convert", "none.mrg", "--to", "tokens"),
    ("parse", "none.txt", "-m", "none.grammar"),
    ("wfa", "draw", "none.wfa"),
    ("wfa", "convert", "none.wfa"),
    ("dep", "parse", "none.conllu", "-m", "none.dep"),
    ("dep", "draw", "NN", "left", "-m", "none.dep"),
    ("train", "trees.mrg", "--method", "pcfg"),
]


@pytest.mark.parametrize("order", ["--force first", "--force last"])
@pytest.mark.parametrize("command", REPLACING, ids=" ".join)
def test_a_file_that_exists_is_replaced_only_by_force(gramian, command, order, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").write_text("dear")
    (tmp_path / "trees.mrg").write_text("(S (NP (NNS dogs)) (VP (VBP bark)))\n")
    told = []
    for force in ((), ("--force",)):
        first, last = (force, ()) if order == "--force first" else ((), force)
        code, _, err = gramian(*command, *first, "-o", "out", *last)
        told.append((code, err))
        if not force:
            assert (tmp_path / "out").read_text() == "dear"
    refusal = (
        "gramian: out: this file exists and would be replaced; try: choose another name, or pass --force\n"
    )
    assert told[0][0] == 2
    assert told[0][1].endswith(refusal)
    if command[0] == "train":
        assert told[1][0] == 0
    else:
        assert told[1][1].startswith("gramian: none")  # it goes on, to the input that is not there
        assert (tmp_path / "out").read_text() == "dear"


@pytest.mark.parametrize(
    "command",
    [
        ("parse", "text", "-m", MODEL),
        ("wfa", "train", "text"),
        ("dep", "train", "text"),
        ("compress", MODEL),
        ("train", "trees", "--method", "pcfg"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_two_on_one_output(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a b\n")
    (tmp_path / "trees").write_text("(S (NP (NNS dogs)) (VP (VBP bark)))\n")
    monkeypatch.setattr(
        sys, "argv", ["gramian", *command, "-o", "out", "-q"][: None if command[0] != "compress" else -1]
    )
    with locked("out"), pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("gramian: out: another process is writing it (")
    assert not (tmp_path / "out").exists()


def test_memory_is_not_told_where_the_system_does_not_tell_it():
    code = (
        "import sys, types, gramian; sys.modules['msvcrt'] = types.ModuleType('msvcrt'); sys.platform = 'win32'\n"
        "from gramian.system import peak_megabytes; print(peak_megabytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0.0\n"
