"""The options of commands that have settings: the usual settings by name, ``--set`` and ``--config`` for all, and a list of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import typer
from typer._click.exceptions import NoSuchOption

from gramian.cli.options import Command
from gramian.errors import OptionError
from gramian.settings import Setting, likely_names, read_settings

Settings: TypeAlias = Mapping[str, Setting]

SET: Any = typer.Option((), "--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
CONFIG: Any = typer.Option(
    None, "--config", metavar="FILE", help="TOML file of settings; the command line takes precedence."
)
SEED_SETTING: Any = typer.Option(
    None, "--seed", metavar="INTEGER", help="Random seed; the same seed gives the same result."
)
_SPELT = {"n_states": "--states", "random_state": "--seed"}


def list_settings_option(load: Callable[[], Settings]) -> Any:
    """Return the option that prints the settings that `load` returns, and ends the command."""

    def print_settings(is_wanted: bool) -> None:
        if is_wanted:
            from gramian.settings import listing

            print(listing(load()))
            raise typer.Exit

    return typer.Option(
        False, "--list-settings", is_eager=True, callback=print_settings, help="List all settings and exit."
    )


def setting_parameter(setting: Setting) -> inspect.Parameter:
    """Return the parameter of a command that has a setting as an option of its own."""
    is_flag, is_list = setting.default is False, setting.default == ()
    kinds = setting.constraint.describe().split(" or ")[0]
    option = typer.Option(
        False if is_flag else () if is_list else None,
        _SPELT.get(setting.name, f"--{setting.name.replace('_', '-')}"),
        help=setting.about,
        metavar=None if is_flag else kinds if "|" in kinds else kinds.split()[0].upper(),
        show_default=False,
    )
    kind: Any = bool if is_flag else list[str] if is_list else str | None
    return inspect.Parameter(setting.name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)


def chosen_settings(
    options: Mapping[str, Any],
    assignments: Iterable[str],
    config: str | None,
    load: Callable[[], Settings],
    command: str,
) -> dict[str, Any]:
    """Return the settings that a command was given: options of their own before ``--set``, and this before a file."""
    given = {name: value for name, value in options.items() if value not in (None, False, (), [])}
    if not (given or assignments or config):
        return {}  # and nothing needs to be loaded
    known = load()
    chosen = read_settings(assignments, config, known, command)
    for name, value in given.items():
        chosen[name] = known[name].read(value) if isinstance(value, str) else known[name].checked(value)
    return chosen


def with_settings(function: Callable[..., None], settings: Iterable[Setting]) -> inspect.Signature:
    """Return the signature of a command whose ``**options`` are settings."""
    signature = inspect.signature(function)
    *first, _ = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in signature.parameters.values()
    ]
    required = [
        parameter
        for parameter in first
        if not parameter.name.startswith(("assignments", "config", "list_settings"))
    ]
    return signature.replace(
        parameters=[
            *required,
            *map(setting_parameter, settings),
            *(parameter for parameter in first if parameter not in required),
        ]
    )


def settings_command(load: Callable[[], Settings]) -> type[SettingsCommand]:
    """Return the class of a command whose settings are those that `load` returns."""
    return type("LoadedSettingsCommand", (SettingsCommand,), {"settings": staticmethod(load)})


class SettingsCommand(Command):
    """A command with settings: tells of an unknown option which setting it is."""

    settings: Callable[[], Settings]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        try:
            return super().parse_args(ctx, args)
        except NoSuchOption as error:
            group = "" if ctx.parent.parent is None else f"{ctx.parent.info_name} "
            command = group + ctx.info_name
            name = error.option_name.lstrip("-").removeprefix("no-").replace("-", "_")
            known, options = (
                type(self).settings(),
                {option for item in self.params for option in item.opts},
            )
            likely = [name] if name in known else likely_names(name, known, command)
            if not likely:
                raise
            spelt = {item: _SPELT.get(item, f"--{item.replace('_', '-')}") for item in likely}
            hints = [
                spelt[item] if spelt[item] in options else f"--set {item}{'' if '=' in item else '=VALUE'}"
                for item in likely
            ]
            raise OptionError(f"there is no option {error.option_name}; try: {' or '.join(hints)}") from None
