"""What all commands have in common: the names and bounds of options, and a look at the output before work begins."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from gramian.cli import app, main


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
    assert option.name not in ("threads", "n_jobs", "random_state")


@pytest.mark.parametrize("name", [name for name, option in OPTIONS if option.name == "seed"])
def test_a_seed_is_not_below_zero(name):
    needed = ["none.mrg", "-o", "out"] if name == "gramian train" else []
    done = CliRunner().invoke(app, [*name.split()[1:], *needed, "--seed", "-1"])
    assert done.exit_code == 2
    assert "'--seed'" in done.output


@pytest.mark.parametrize(
    "command",
    [
        ("sample",),
        ("convert", "none.mrg", "--to", "tokens"),
        ("parse", "none.txt"),
        ("train", "none.mrg"),
        ("compress", "none.grammar"),
        ("wfa", "train", "none.txt"),
        ("wfa", "draw", "none.wfa"),
        ("dep", "train", "none.conllu"),
        ("dep", "parse", "none.conllu", "-m", "none.dep"),
    ],
    ids=" ".join,
)
def test_an_output_that_cannot_be_written_is_told_before_anything_is_read(
    command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for output, fault in (("no/such/out", "there is no folder no/such"), (".", "cannot be written")):
        monkeypatch.setattr(sys, "argv", ["gramian", *command, "-o", output])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        assert capsys.readouterr().err.startswith(f"gramian: {output}: {fault}")
    assert list(tmp_path.iterdir()) == []


def test_memory_is_not_told_where_the_system_does_not_tell_it():
    code = "import sys; sys.modules['resource'] = None; import gramian.base as base; print(base.peak_megabytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0.0\n"
