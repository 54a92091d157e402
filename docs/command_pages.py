"""The reference of the command line, made from the commands: the help of each, and its settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from gramian.cli import app

INTRODUCTION = """# Command line

All commands, their options and their settings, as `gramian COMMAND --help` and `--list-settings` print them. Options that are not listed
by `--help` are settings: pass them with `--set NAME=VALUE` or in a TOML file with `--config FILE`; Python uses the same names.

Exit codes: 0 success, 1 failures in strict mode or problems found, 2 wrong usage or invalid input, 130 interrupted.
"""


def commands(group: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return the names of all commands below a group, such as ``("dep", "train")``."""
    for name in group.commands:
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from commands(command, (*names, name))
        else:
            yield (*names, name)


def page() -> str:
    """Return the text of the page."""
    runner = CliRunner(env={"COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1"})
    text = INTRODUCTION
    for names in commands(typer.main.get_command(app)):
        text += f"\n## gramian {' '.join(names)}\n"
        help_text = runner.invoke(app, [*names, "--help"], prog_name="gramian").output.strip()
        text += f"\n```text\n{help_text}\n```\n"
        if "--list-settings" in help_text:
            settings = runner.invoke(app, [*names, "--list-settings"], prog_name="gramian").output.strip()
            text += f"\n### Settings of gramian {' '.join(names)}\n\n```text\n{settings}\n```\n"
    return text


def write(path: Path) -> None:
    """Write the page, unless it would not change."""
    text = page()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
