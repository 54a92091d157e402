"""Options that several commands share, so that they are written, and mean, the same everywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def checked_output(context: typer.Context, path: str) -> str:
    """Raise before work begins if the output cannot be written, or holds something and --force is not given."""
    from gramian.io.output import check_output

    check_output(path, force=context.params.get("force", False))
    return path


@contextmanager
def new_model(output: str, force: bool) -> Iterator[None]:
    """Keep other processes from writing a model file meanwhile, and what it holds from being lost."""
    from gramian.io.lock import locked
    from gramian.io.output import check_output

    with locked(output):
        check_output(output, force=force)  # another process may have finished since the options were checked
        yield


_TEXTS = (str, str | None, list[str])


class _Trusting:
    """Takes defaults of options, and texts, as they are: typer would load a library to check them, which takes a tenth of a second."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, that for help among them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if "process_value" not in vars(parameter):
                parameter.process_value = partial(_processed, parameter, parameter.process_value)
        return parameters


def _processed(option: Any, check: Any, context: Any, value: Any) -> Any:
    is_text = getattr(getattr(option, "type_descriptor", None), "annotation", None) in _TEXTS
    given = value is not None and value != option.default
    if (given and not is_text) or (option.required and value is None):
        try:
            return check(context, value)
        except typer.BadParameter as error:
            # of the library that typer checks with
            error.message = error.message.removeprefix("Value error, ")
            raise
    if value is None and option.nargs != 1:
        value = ()
    return value if option.callback is None else option.callback(context, option, value)


def command_group(name: str, about: str) -> typer.Typer:
    """Return a command that consists of others."""
    return typer.Typer(
        cls=Group, name=name, help=about, no_args_is_help=True, add_completion=False, rich_markup_mode=None
    )


class Command(_Trusting, TyperCommand):
    """A command."""


class Group(_Trusting, TyperGroup):
    """A command that others are part of."""


MODEL: Any = typer.Option(None, "--model", "-m", help="Model file; by default the bundled English model.")
MODEL_OUTPUT: Any = typer.Option(..., "--output", "-o", callback=checked_output, help="Model file to write.")
_TEXT_HELP = "Output file; .gz and .xz are compressed, - is stdout."
TEXT_OUTPUT: Any = typer.Option("-", "--output", "-o", callback=checked_output, help=_TEXT_HELP)


def jobs_option(about: str, default: int | None = 1) -> Any:
    """Return the option of how much runs at once, of which `about` says what that is."""
    return typer.Option(default, "--jobs", "-j", min=1, max=1024, help=about)


JOBS: Any = jobs_option("Number of threads; the result is the same.")
SEED: Any = typer.Option(
    0, "--seed", min=0, max=2**32 - 1, help="Random seed; the same seed gives the same result."
)
ALL_JOBS: Any = jobs_option("Number of threads, by default one per core; the result is the same.", None)
PRESET: Any = typer.Option(
    "auto", help="Annotation scheme of the treebank, such as penn or ftb; auto detects it from the labels."
)
FORCE: Any = typer.Option(
    False,
    "--force",
    is_eager=True,  # before --output, whose check depends on it
    help="Replace an existing file, or results in a folder.",
)
HEAD_RULES: Any = typer.Option(
    "auto", help="Head rules: a name or a file; auto selects those of the annotation scheme."
)
WAY: Any = typer.Option(
    "own",
    help="Approximation; own: use all strings, redirect rare transitions; published: use frequent prefixes, merge all conflicts.",
)
QUIET: Any = typer.Option(False, "--quiet", "-q", help="Print only errors.")
AS_JSON: Any = typer.Option(False, "--json", help="Print one JSON object.")
SKIP_BROKEN: Any = typer.Option(False, "--skip-broken", help="Skip malformed trees and report each.")
