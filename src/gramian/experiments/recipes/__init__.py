"""The recipes, one file each. A recipe names its cells, measures one of them with one seed, and says what to show."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gramian.errors import OptionError

if TYPE_CHECKING:
    from gramian.experiments.plan import Recipe

__all__ = ["RECIPES", "recipe"]

RECIPES = {
    "thesis": "training size, number of states and an earlier implementation: a thesis rerun (Narayan and Cohen's algorithm)",
    "learning-curve": "training size against F1 and time, for every learner",
    "ablation": "what features, scaling, smoothing, lexicon, states and binarisation are worth",
    "speed": "words, states and trees against time, with fitted exponents",
    "states": "how many states each label gets: rules, likelihood and search (Narayan and Cohen 2016)",
    "languages": "every treebank of a folder, for every learner (Narayan and Cohen 2016)",
    "tensor": "rules of low rank: states, rank and gate against time and F1 (Cohen and Collins 2012)",
    "noise": "models against F1 for each scheme of noise and each way to combine them (Narayan and Cohen 2015)",
    "self-training": "sentences without trees against F1, for teacher, student and one grammar (Huang, Harper and Petrov 2010)",
    "annotate": "clicks of a simulated annotator, and F1 by annotated trees, chosen actively or at random",
    "wfa": "automata of tags: states against word error rate (Balle et al. 2014)",
    "pautomac": "PAutomaC problems of a folder: perplexity against that of the true automaton (Verwer et al. 2014)",
    "spice": "SPiCe problems of a folder: how well the next symbol is ranked (Balle et al. 2016)",
    "shag": "dependency grammars of automata: states against attachment (Balle et al. 2014)",
}
"""Name of each recipe, and what it shows."""


def recipe(name: str) -> Recipe:
    """Return a recipe by name.

    Examples
    --------
    >>> recipe("thesis").name
    'thesis'
    """
    if name not in RECIPES:
        raise OptionError(f"unknown experiment {name!r}; try one of: {', '.join(RECIPES)}")
    loaded: Recipe = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").RECIPE
    return loaded
