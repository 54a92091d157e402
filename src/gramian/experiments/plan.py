"""What an experiment is before it runs: a recipe, its settings, its cells, and how long it may take.

A cell is one setting; a run is a cell with a seed. A run's task holds all that its result depends on, so that it can be done anywhere, and
found again.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gramian import __version__
from gramian.errors import InputError, OptionError

if TYPE_CHECKING:
    from gramian.experiments.data import Data
    from gramian.experiments.results import Results, Section

__all__ = ["Cell", "Options", "Plan", "Recipe", "Setting", "Task", "make_plan"]

Options: TypeAlias = Mapping[str, Any]
Task: TypeAlias = dict[str, Any]

_MOST_SEEDS = 1000
_LARGEST = 10**9


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment.

    Attributes
    ----------
    name : str
        Such as ``"states/best/8"``; ``--only`` matches it.
    settings : dict
        JSON values; what the recipe needs to know to measure it.
    seconds : float
        Roughly how long a run takes.
    repeats : bool
        False if nothing in it is left to chance, so that one run is enough.
    """

    name: str
    settings: dict[str, Any]
    seconds: float = 1.0
    repeats: bool = True


@dataclass(frozen=True)
class Setting:
    """What a TOML file may change: the usual value, that of a small run where it differs, and, of names, all there are."""

    usual: Any
    quick: Any = None
    choices: Collection[str] = ()


@dataclass(frozen=True)
class Recipe:
    """An experiment that can be run on any data of its kind.

    Attributes
    ----------
    name, title, about : str
    data : callable
        Finds the data in what the user named.
    settings : mapping of str to Setting
    cells : callable
        Data and the values of all settings to cells.
    measure : callable
        A task (settings, seed and files) to its figures. Runs in a worker.
    sections : callable
        Results to what the report shows.
    """

    name: str
    title: str
    about: str
    data: Callable[[str], Data]
    settings: Mapping[str, Setting]
    cells: Callable[[Data, Options], Sequence[Cell]]
    measure: Callable[[Task], dict[str, Any]]
    sections: Callable[[Results], list[Section]]

    def options(self, quick: bool = False) -> dict[str, Any]:
        """Return the values of all settings."""
        return {
            name: setting.quick if quick and setting.quick is not None else setting.usual
            for name, setting in self.settings.items()
        }


@dataclass(frozen=True)
class Plan:
    """What is going to be run.

    Attributes
    ----------
    recipe : Recipe
    data : Data
    options : mapping
        All settings, as they are used.
    seeds : int
    cells : tuple of Cell
    """

    recipe: Recipe
    data: Data
    options: Options
    seeds: int
    cells: tuple[Cell, ...] = field(repr=False)

    @property
    def toml(self) -> str:
        """All settings, as a file that gives the same plan again."""
        settings = {"seeds": self.seeds, **self.options}
        return "".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in settings.items()
        )

    def tasks(self, only: str | None = None) -> list[Task]:
        """Return the runs, seed by seed, of all cells or of those whose name matches a pattern."""
        chosen = [cell for cell in self.cells if only is None or matches(cell.name, only)]
        if not chosen:
            names = ", ".join(cell.name for cell in self.cells)
            raise OptionError(f"no cell is called {only!r}; there are: {names}")
        return [
            {
                "recipe": self.recipe.name,
                "cell": cell.name,
                "settings": cell.settings,
                "seed": seed,
                "seconds": cell.seconds,
                "files": self.data.files,
                "data": self.data.digest,
                "version": __version__,
            }
            for seed in range(self.seeds)
            for cell in chosen
            if seed == 0 or cell.repeats
        ]


def identity(task: Task) -> dict[str, Any]:
    """Return what of a task its result depends on: not where the data lie, nor what a cell is called."""
    return {name: task[name] for name in ("recipe", "settings", "seed", "data", "version")}


def matches(name: str, pattern: str) -> bool:
    """Whether a cell has this name, matches this pattern, or lies below it."""
    return name == pattern or name.startswith(f"{pattern}/") or fnmatchcase(name, pattern)


def make_plan(
    name: str,
    data: str,
    *,
    config: str | Path | Options | None = None,
    quick: bool = False,
    seeds: int | None = None,
) -> Plan:
    """Return the plan of an experiment.

    Parameters
    ----------
    name : str
        Of a recipe; see :data:`gramian.experiments.RECIPES`.
    data : str
        A file or folder of what the recipe wants.
    config : path or mapping, optional
        A TOML file, or the settings themselves.
    quick : bool
        A small run.
    seeds : int, optional
        How often each cell is run; 3 by default, 1 of a small run.
    """
    from gramian.experiments.data import preset_of
    from gramian.experiments.recipes import recipe

    chosen = recipe(name)
    options = chosen.options(quick)
    given = dict(config) if isinstance(config, Mapping) else {} if config is None else _read_options(config)
    asked = given.pop("seeds", 1 if quick else 3)
    seeds = asked if seeds is None else seeds
    if type(seeds) is not int or not 1 <= seeds <= _MOST_SEEDS:
        raise OptionError(f"seeds is a whole number from 1 to {_MOST_SEEDS:,}, not {_shortened(seeds)}")
    for key, value in given.items():
        options[key] = _checked(key, value, chosen)
    found = chosen.data(data)
    if options.get("preset") == "auto":
        options["preset"] = preset_of(next(iter(found.files.values())))
    return Plan(chosen, found, options, seeds, tuple(chosen.cells(found, options)))


def _read_options(path: str | Path) -> dict[str, Any]:
    """Read a TOML file of settings."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror})", str(path), hint="check the path") from None
    except RecursionError:
        raise InputError("is nested too deeply", str(path), hint="name = value, one a line") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number without end
        raise InputError(f"is no TOML: {error}", str(path), hint="name = value, one a line") from None


def _checked(key: str, value: Any, chosen: Recipe) -> Any:
    """Return a setting if it is one of the recipe's, and of the same kind as the default."""
    if key not in chosen.settings:
        known = ", ".join(["seeds", *chosen.settings])
        raise OptionError(f"the recipe {chosen.name} has no setting {key!r}; it has: {known}")
    setting = chosen.settings[key]
    for one in value if isinstance(value, list) else [value]:
        if setting.choices and one not in list(setting.choices):
            known = ", ".join(map(repr, setting.choices))
            raise OptionError(f"{key}: there is no {_shortened(one)}; there are: {known}")
    default = setting.usual
    if not isinstance(default, list):
        return _alike(key, value, default)
    if not isinstance(value, list) or (default and not value):
        raise OptionError(f"{key} is given as {_shortened(value)}, but is written like {default!r}")
    # What the elements of an empty list are shows in the small run's; else they are names.
    example = [*default, *(setting.quick or ()), ""][0]
    return [_alike(f"an element of {key}", one, example) for one in value]


def _alike(key: str, value: Any, default: Any) -> Any:
    """Return a value if it is of the same kind as another: a text, yes or no, or a number that is not too small and not absurd.

    A whole number is at least 1, unless 0 is the default, which then means all there are.
    """
    kinds = (int, float) if type(default) is float else (type(default),)
    if type(value) not in kinds:
        raise OptionError(f"{key} is given as {_shortened(value)}, but is written like {default!r}")
    least = 1 if type(default) is int and default else 0
    if type(value) in (int, float) and not least <= value <= _LARGEST:
        raise OptionError(f"{key} is a number from {least} to {_LARGEST:,}, not {_shortened(value)}")
    return value


def _shortened(value: Any, most: int = 60) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        return "a number without end"
    return text if len(text) <= most else f"{text[:most]} ..."
