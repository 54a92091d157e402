"""What an experiment is before it runs: a recipe, its settings, its cells, and how long it may take.

A cell is one setting; a run is a cell with a seed. A run's task holds all that its result depends on, so that it can be done anywhere, and
found again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gramian import __version__
from gramian.errors import OptionError
from gramian.settings import Setting, find_setting, read_settings
from gramian.value_types import Boolean, Constraint, Each, Either, Number, OneOf, Text, Whole

if TYPE_CHECKING:
    from gramian.experiments.data import Data
    from gramian.experiments.results import Results, Section

Options: TypeAlias = Mapping[str, Any]
Task: TypeAlias = dict[str, Any]

_MOST_SEEDS = 1000
_LARGEST = 10**9


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment.

    Examples
    --------
    >>> Cell("states/8", {"n_states": 8}).settings
    {'n_states': 8}
    """

    name: str  #: such as ``"states/best/8"``; ``--only`` matches it
    settings: dict[str, Any]  #: JSON values; what the recipe needs to know to measure it
    repeats: bool = True  #: false if nothing in it is left to chance, so that one run is enough


@dataclass(frozen=True)
class ExperimentSetting:
    """What a user may change: the usual value, that of a small run where it differs, and, of names, all there are."""

    usual: Any
    quick: Any = None
    choices: Collection[str] = ()

    @property
    def constraint(self) -> Constraint:
        """Values are like the usual one; whole numbers are at least 1, unless 0 is usual, which then means all there are."""
        if not isinstance(self.usual, list):
            return self._like(self.usual)
        # What the elements of an empty list are shows in the small run's; else they are names.
        each = self._like([*self.usual, *(self.quick or ()), ""][0])
        return Each(each) if self.usual else Either(Each(each), OneOf([]))

    def _like(self, example: Any) -> Constraint:
        if self.choices:
            return OneOf(*self.choices)
        if isinstance(example, bool):
            return Boolean()
        if isinstance(example, str):
            return Text()
        return Number(0, _LARGEST) if isinstance(example, float) else Whole(1 if example else 0, _LARGEST)


@dataclass(frozen=True)
class Recipe:
    """An experiment that can be run on any data of its kind.

    Examples
    --------
    >>> from gramian.experiments import RECIPES
    >>> "thesis" in RECIPES
    True
    """

    name: str
    title: str
    about: str
    data: Callable[[str], Data]  #: finds the data in what the user named
    settings: Mapping[str, ExperimentSetting]
    cells: Callable[[Data, Options], Sequence[Cell]]  #: data and the values of all settings to cells
    #: a task (settings, seed and files) to its figures. Runs in a worker.
    measure: Callable[[Task], dict[str, Any]]
    sections: Callable[[Results], list[Section]]  #: results to what the report shows

    def declared(self) -> dict[str, Setting]:
        """Return the settings of the experiment, by name."""
        settings = {
            name: Setting(name, setting.constraint, setting.usual) for name, setting in self.settings.items()
        }
        return {"seeds": Setting("seeds", Whole(1, _MOST_SEEDS), 3, "Repeats of every cell.")} | settings

    def options(self, quick: bool = False) -> dict[str, Any]:
        """Return the values of all settings."""
        return {
            name: setting.quick if quick and setting.quick is not None else setting.usual
            for name, setting in self.settings.items()
        }


@dataclass(frozen=True)
class Plan:
    """What is going to be run.

    Examples
    --------
    >>> from gramian.experiments import make_plan
    >>> len(make_plan("thesis", "treebank/").cells)  # doctest: +SKIP
    """

    recipe: Recipe
    data: Data
    options: Options  #: all settings, as they are used
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
            raise OptionError(f"there is no cell {only!r}; cells: {names}")
        return [
            {
                "recipe": self.recipe.name,
                "cell": cell.name,
                "settings": cell.settings,
                "seed": seed,
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

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "trees.mrg").write_text("(S (NP (NN Time)) (VP (VBZ flies)))" * 20)
    ...     plan = make_plan("ablation", f"{folder}/trees.mrg", config={"parts": ["smoothing"]}, seeds=1)
    >>> [cell.name for cell in plan.cells][:2]
    ['usual/usual settings', 'smoothing/none']
    """
    from gramian.experiments.data import preset_of
    from gramian.experiments.recipes import recipe

    chosen = recipe(name)
    declared, command = chosen.declared(), f"experiment {name}"
    given = dict(config) if isinstance(config, Mapping) else read_settings((), config, declared, command)
    if seeds is not None:
        given["seeds"] = seeds
    given = {key: find_setting(key, declared, command).checked(value) for key, value in given.items()}
    seeds = given.pop("seeds", 1 if quick else 3)
    options = chosen.options(quick) | given
    treebank = chosen.data(data)
    if options.get("preset") == "auto":
        options["preset"] = preset_of(next(iter(treebank.files.values())))
    return Plan(chosen, treebank, options, seeds, tuple(chosen.cells(treebank, options)))
