"""The ``gramian`` command: one sub-command a file; stdout is data, stderr is talk.

Nothing here imports numpy, numba or scikit-learn before a sub-command runs, so that ``--help`` stays instant.
Exit codes: 0 done, 1 done with failures under ``--strict``, 2 usage or bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from gramian.cli.compress import compress
from gramian.cli.convert import convert
from gramian.cli.dep import app as dep
from gramian.cli.doctor import doctor
from gramian.cli.eval import evaluate
from gramian.cli.experiment import experiment
from gramian.cli.inspect import inspect
from gramian.cli.models import models
from gramian.cli.options import GroupedCommand
from gramian.cli.parse import parse
from gramian.cli.sample import sample
from gramian.cli.search import search
from gramian.cli.serve import serve
from gramian.cli.split import split
from gramian.cli.train import TrainCommand, train
from gramian.cli.wfa import app as wfa
from gramian.errors import GramianError, InputError
from gramian.interruption import interruptible, was_interrupted

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """Runs a command, or shows its help; tells faults of the system that it may meet anywhere from those of the program."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            try:
                return super().main(*arguments, **options)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            _let_go()  # the reader of our output (head, less) has seen enough
            sys.exit(0)
        except OSError as error:
            if error.strerror is None or was_interrupted(error):
                raise
            _let_go()
            name = str(error.filename) if error.filename else "output"
            raise InputError(error.strerror, name, hint="check the disk and its permissions") from None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _let_go()
            raise typer.Exit(0) from None  # before typer makes another code of it


def _let_go() -> None:
    """Send what stdout still holds nowhere: it could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _open_streams() -> None:
    """Open stdin, stdout and stderr if they were closed before the command began: else a file of ours might get their numbers.

    What is read from or written to them then is an error of the system, as it would be; what is said goes nowhere.
    """
    for number, name, flags in (
        (0, "stdin", os.O_WRONLY),
        (1, "stdout", os.O_RDONLY),
        (2, "stderr", os.O_WRONLY),
    ):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


app = typer.Typer(
    name="gramian",
    cls=_Commands,
    help="Learn grammars and automata by spectral methods, and parse with them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_versions(wanted: bool) -> None:
    if not wanted:
        return
    import platform

    from gramian import __version__
    from gramian.io.machine import versions

    print(f"gramian {__version__}")
    print(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for package, number in versions(("numpy", "scipy", "numba", "scikit-learn", "safetensors")).items():
        print(f"{package} {number or 'not installed'}")
    raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_versions, is_eager=True, help="Print the versions that matter."
    ),
) -> None:
    pass


app.command()(inspect)
app.command()(convert)
app.command()(split)
app.command("eval")(evaluate)
app.command(cls=TrainCommand)(train)
app.command(cls=GroupedCommand)(parse)
for _command in (search, models, sample, compress, experiment, serve, doctor):
    app.command()(_command)
app.add_typer(dep)
app.add_typer(wfa)


def main() -> None:
    """Run the command line; known errors become one message and exit code 2, Ctrl-C one and 130."""
    with interruptible():
        _open_streams()
        try:
            app()
        except GramianError as error:
            if was_interrupted(error):
                raise KeyboardInterrupt from None
            print(f"gramian: {error}", file=sys.stderr)
            sys.exit(2)
