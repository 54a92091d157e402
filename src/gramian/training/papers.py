"""The settings of papers, so that each can be repeated by name; what a paper leaves open has gramian's default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_AS_PUBLISHED: dict[str, Any] = {
    "clustering.projection": "raw",
    "smoothing.rule": 0.0,
    "smoothing.state": 0.0,
    "smoothing.sister_share": 0.0,
    "binarisation.collapse_tags": True,
    "compress": False,
}

PAPERS: Mapping[str, Mapping[str, Any]] = {
    # A plain reimplementation of Narayan and Cohen (2015): four features a side, scaled by nothing.
    "thesis": {
        **_AS_PUBLISHED,
        "method": "spectral-cluster",
        "n_states": 8,
        "allocation": "all",
        "features.templates": "thesis",
        "heads": "none",
        "features.scaling": False,
        "clustering.restarts": 10,
        "lexicon": "pos",
        "lexicon.rare": 4,
        "features.rare_words": 5,
    },
    # Narayan and Cohen (2015, 2016): scaled features, k-means from random starts, rare words by their tag and its morphology.
    "clustering": {
        **_AS_PUBLISHED,
        "method": "spectral-cluster",
        "allocation": "frequency",
        "features.templates": "paper",
        "clustering.start": "random",
        "clustering.restarts": 10,
        "lexicon": "pos",
        "lexicon.rare": 19,
        "features.rare_words": 20,
    },
    # Cohen et al. (2013): moments, with the paper's smoothing, which is the default.
    "moments": {
        "method": "spectral-moments",
        "allocation": "frequency",
        "features.templates": "paper",
        "lexicon": "pos",
        "lexicon.rare": 4,
        "features.rare_words": 5,
        "binarisation.collapse_tags": True,
        "compress": False,
    },
}
"""The settings of each paper by its name, for ``paper=NAME``; see :class:`gramian.training.TrainingSettings`."""
