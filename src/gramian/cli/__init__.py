"""The ``gramian`` command: one sub-command a file; stdout is data, stderr is talk.

Nothing here imports numpy, numba or scikit-learn before a sub-command runs, so that ``--help`` stays instant; and a sub-command's own file
is all that is loaded of them when it runs.
Exit codes: 0 done, 1 done with failures in strict mode, 2 usage or bad input, 130 interrupted.
"""

import io
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer

from gramian.cli.console import TerminalText, say
from gramian.cli.options import Command, Group
from gramian.errors import GramianError, InputError, MissingExtraError
from gramian.interruption import interruptible, was_interrupted

__all__ = ["app", "main"]

# The commands in the order of the help: file and, where its name differs, function.
_FUNCTIONS = {
    "inspect": "", "convert": "", "split": "", "eval": "evaluate", "train": "", "parse": "", "search": "", "edit": "", "complexity": "",
    "models": "", "sample": "", "compress": "", "experiment": "", "serve": "", "doctor": "", "dep": "", "wfa": "",
}  # fmt: skip
_SUGGESTIONS = """Three commands to try:

  gramian parse "The cat sat on the mat."    print the tree of a sentence
  gramian serve                              parse and explore trees in a browser
  gramian train TREES.mrg -o MY.grammar      train a parser on a treebank

gramian --help lists all commands."""
_CLASSES = {"train": "TrainCommand", "parse": "ParseCommand"}


class _Found(Mapping[str, Any]):
    """Commands by name; each is loaded when it is first looked up."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(_FUNCTIONS)

    def __len__(self) -> int:
        return len(_FUNCTIONS)

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            function = _FUNCTIONS[name] or name
            module = import_module(f"gramian.cli.{name}")
            app = getattr(module, "app", None)
            if app is None:
                app = typer.Typer(add_completion=False, rich_markup_mode=None)
                app.command(name, cls=getattr(module, _CLASSES.get(name, ""), Command))(
                    getattr(module, function)
                )
            self._loaded[name] = typer.main.get_command(app)
        return self._loaded[name]


class _Commands(Group):
    """Runs a command, or shows its help; tells faults of the system that it may meet anywhere from those of the program."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": _Found()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; without any, suggest what to try."""
        if not args:
            print(_SUGGESTIONS)
            raise typer.Exit
        return super().parse_args(ctx, args)

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
    if sys.stdout.isatty() and isinstance(sys.stdout, io.TextIOWrapper):
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = TerminalText(sys.stdout.detach(), encoding, errors, line_buffering=True)


app = typer.Typer(
    name="gramian",
    cls=_Commands,
    help="Learn grammars and automata by spectral methods, and parse with them.",
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
    from gramian.system import versions

    print(f"gramian {__version__}")
    print(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for package, number in versions(("numpy", "scipy", "numba", "scikit-learn", "safetensors")).items():
        print(f"{package} {number or 'not installed'}")
    raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_versions,
        is_eager=True,
        help="Print the versions of gramian and its dependencies.",
    ),
) -> None:
    pass


def main() -> None:
    """Run the command line; known errors become one message and exit code 2, Ctrl-C one and 130."""
    with interruptible():
        _open_streams()
        try:
            try:
                app()
            except ModuleNotFoundError as error:
                raise MissingExtraError.of_import(error) from None
        except GramianError as error:
            if was_interrupted(error):
                raise KeyboardInterrupt from None
            say(f"gramian: {error}")
            sys.exit(2)
