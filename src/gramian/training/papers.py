"""Settings of papers as recipes, so that what a paper did can be done again by name; what they leave open is gramian's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gramian.errors import OptionError
from gramian.training.recipe import Recipe

_AS_PUBLISHED: dict[str, Any] = {
    "projection": "raw",
    "rule_smoothing": 0.0,
    "state_smoothing": 0.0,
    "sister_share": 0.0,
    "collapse_tags": True,
    "full": True,
}

PAPERS: Mapping[str, Mapping[str, Any]] = {
    # A plain reimplementation of Narayan and Cohen (2015): four features a side, scaled by nothing.
    "thesis": {
        **_AS_PUBLISHED,
        "method": "spectral-cluster",
        "n_states": 8,
        "allocation": "all",
        "features": "thesis",
        "heads": "none",
        "scaling": False,
        "k_means_restarts": 10,
        "lexicon": "pos",
        "rare_words": 5,
    },
    # Narayan and Cohen (2015, 2016): scaled features, k-means from random starts, rare words by their tag and its morphology.
    "clustering": {
        **_AS_PUBLISHED,
        "method": "spectral-cluster",
        "allocation": "frequency",
        "features": "paper",
        "k_means_start": "random",
        "k_means_restarts": 10,
        "lexicon": "pos",
        "rare_words": 20,
    },
    # Cohen et al. (2013): moments, with the paper's smoothing, which is the default.
    "moments": {
        "method": "spectral-moments",
        "allocation": "frequency",
        "features": "paper",
        "lexicon": "pos",
        "rare_words": 5,
        "collapse_tags": True,
        "full": True,
    },
}
"""What ``gramian train --preset-paper`` sets: fields of :class:`Recipe` by the name of a paper."""


def paper_recipe(paper: str, **options: Any) -> Recipe:
    """Return the recipe of a paper, some of its options changed.

    Examples
    --------
    >>> recipe = paper_recipe("thesis", n_states=4)
    >>> recipe.method, recipe.n_states, recipe.features, recipe.collapse_tags
    ('spectral-cluster', 4, 'thesis', True)
    """
    if paper not in PAPERS:
        raise OptionError(f"preset_paper must be one of {', '.join(PAPERS)}, got {paper!r}")
    return Recipe(**(dict(PAPERS[paper]) | options))
