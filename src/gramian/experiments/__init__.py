"""The papers' tables and figures as recipes that run on your data: TOML in; JSONL, CSV, plots and one HTML report out.

Names are imported when first used, so that listing the recipes costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramian.experiments.plan import Cell, Plan, Recipe, make_plan
    from gramian.experiments.recipes import RECIPES, recipe
    from gramian.experiments.results import Results, Spread
    from gramian.experiments.run import Experiment, run_experiment

_HOME = {
    **dict.fromkeys(("Cell", "Plan", "Recipe", "make_plan"), "plan"),
    **dict.fromkeys(("RECIPES", "recipe"), "recipes"),
    **dict.fromkeys(("Results", "Spread"), "results"),
    **dict.fromkeys(("Experiment", "run_experiment"), "run"),
}

__all__ = [
    "RECIPES",
    "Cell",
    "Experiment",
    "Plan",
    "Recipe",
    "Results",
    "Spread",
    "make_plan",
    "recipe",
    "run_experiment",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
