"""``gramian models``: the models that are installed, with their scores and licences."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import typer

from gramian.cli.console import print_json
from gramian.cli.options import AS_JSON
from gramian.errors import OptionError

if TYPE_CHECKING:
    from gramian.parsing.installed_models import InstalledModel


def models(
    action: str = typer.Argument("list", metavar="[list|install]", help="What to do.", show_default=False),
    language: str = typer.Argument(
        "", metavar="[CODE]", help="Language code, such as fr.", show_default=False
    ),
    run: bool = typer.Option(False, "--run", help="With install: run the command instead of printing it."),
    as_json: bool = AS_JSON,
) -> None:
    """List or install language models.

    gramian models install CODE prints the command that installs a package; with --run it runs it. Installed models are listed with their
    training data, scores and licences. gramian parse -m CODE and gramian.load("CODE") load one of them.
    """
    from gramian.parsing.installed_models import PACKAGES, install_command, installed_models

    if action == "install":
        command = install_command(language)
        if run:
            raise SystemExit(subprocess.call([sys.executable, "-m", *command.split()]))
        print(command)
        return
    if action != "list":
        raise OptionError(f"models takes 'list' or 'install', got {action!r}; try: gramian models install fr")
    installed = [_facts(model) for model in installed_models()]
    if as_json:
        print_json(installed, indent=2)
        return
    for facts in installed:
        f1 = "not scored" if facts["f1"] is None else f"F1 {facts['f1']:.2f}"
        trees = "" if facts["trees"] is None else f", {facts['trees']:,} trees"
        size = f"{facts['megabytes']:.1f} MB"
        print(f"{facts['language']}  {facts['package']}, {size}{trees}, {f1}, licence {facts['licence']}")
        if facts["attribution"]:
            print(f"    {facts['attribution']}")
    missing = {
        code: name
        for code, name in PACKAGES.items()
        if code not in {facts["language"] for facts in installed}
    }
    if missing:
        print("\nNot installed; each is installed by one command in a copy of gramian's repository:")
    for code, name in missing.items():
        print(f"{code}  {name:<12} {install_command(code)}")


def _facts(model: InstalledModel) -> dict[str, Any]:
    from gramian.io.header import grammar_header, read_header

    header = grammar_header(str(model.path), read_header(str(model.path)))
    data, metrics = header.get("data", {}), header.get("metrics", {})
    return {
        "language": model.language,
        "package": model.package,
        "path": str(model.path),
        "megabytes": round(model.path.stat().st_size / 1e6, 3),
        "trees": data.get("trees"),
        "f1": metrics.get("f1"),
        "scored on": metrics.get("dev"),
        "licence": model.licence,
        "attribution": data.get("attribution"),
    }
