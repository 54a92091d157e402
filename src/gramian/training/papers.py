"""How papers train, prune, decode and score, so that each can be repeated by name; what a paper leaves open has gramian's default."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from gramian.settings import Setting
from gramian.value_types import OneOf, or_none

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class PaperPreset(NamedTuple):
    """The settings of a paper."""

    about: str
    training: Mapping[str, Any]  #: settings of the command that trains it, by name
    parsing: Mapping[str, Any] = _NOTHING  #: settings of ``gramian parse``
    #: what is scored: labelled brackets, brackets of trees in Chomsky normal form, attachments, or predicted symbols
    scoring: Literal["brackets", "cnf", "arcs", "symbols"] = "brackets"
    command: Literal["train", "wfa train", "dep train"] = "train"


_BINARY = {"binarisation.collapse_tags": True, "compress": False}
_UNSMOOTHED = {"smoothing.rule": 0.0, "smoothing.state": 0.0, "smoothing.sister_share": 0.0}
_ALL_NODES = {"clustering.sample": None, "clustering.projection": "raw"}

# Items whose marginal under the grammar without states is below 0.00005 are pruned, and nothing else; then the sum of the marginals
# of all nodes is maximised (Goodman 1996).
PUBLISHED_PARSING: Mapping[str, Any] = {
    "decoder": "max-marginal-sum",
    "pruning.item": 0.00005,
    **dict.fromkeys(("pruning.beam", "pruning.guess", "pruning.split", "pruning.edge", "pruning.fine"), 0.0),
}

_CLUSTERING = {
    **_BINARY,
    **_UNSMOOTHED,
    **_ALL_NODES,
    "method": "spectral-cluster",
    "allocation": "frequency",
    "features.templates": "paper",
    "clustering.start": "random",
    "clustering.max_iter": 100,
    "lexicon": "pos",
    "lexicon.rare": 19,
    "features.rare_words": 20,
}

PAPERS: Mapping[str, PaperPreset] = {
    # Four features a side, scaled by nothing; k-means as scikit-learn had it in 2018: ten starts by k-means++.
    "thesis": PaperPreset(
        "a reimplementation of Narayan and Cohen (2015) in Python",
        {
            **_BINARY,
            **_UNSMOOTHED,
            **_ALL_NODES,
            "method": "spectral-cluster",
            "n_states": 8,
            "allocation": "all",
            "features.templates": "thesis",
            "heads": "none",
            "features.scaling": False,
            "clustering.restarts": 10,
            "clustering.max_iter": 300,
            "lexicon": "pos",
            "lexicon.rare": 4,
            "features.rare_words": 5,
            "smoothing.floor": 0.00005,
        },
        PUBLISHED_PARSING,
        "cnf",
    ),
    # Scaled features, k-means from random nodes (Matlab's 'sample'), rare words by their tag.
    "clustering": PaperPreset("Narayan and Cohen (2015)", _CLUSTERING, PUBLISHED_PARSING),
    # Moments with the paper's smoothing, which is the default.
    "moments": PaperPreset(
        "Cohen et al. (2013)",
        {
            **_BINARY,
            "method": "spectral-moments",
            "allocation": "frequency",
            "features.templates": "paper",
            "lexicon": "pos",
            "lexicon.rare": 4,
            "features.rare_words": 5,
        },
        PUBLISHED_PARSING,
    ),
    # The clusters of 2015, and a search over all labels without gramian's additions.
    "optimised": PaperPreset(
        "Narayan and Cohen (2016)",
        {
            **_CLUSTERING,
            "search.method": "beam",
            "search.budget": 0,
            "search.symbols": 0,
            "search.groups": False,
            "search.by_count": False,
            "search.parsing": "published",
        },
        PUBLISHED_PARSING,
    ),
    # EM without smoothing from a random start, 15 iterations, the same number of states for every label.
    "tensor": PaperPreset(
        "Cohen and Collins (2012)",
        {
            **_BINARY,
            **_UNSMOOTHED,
            "method": "em",
            "n_states": 8,
            "allocation": "all",
            "max_iter": 15,
            "lexicon": "pos",
        },
        PUBLISHED_PARSING,
    ),
    "wfa": PaperPreset(
        "Balle et al. (2014), sections 5 and 6",
        {"method": "spectral", "basis.kind": "symbols", "basis.empty": False, "repair": None},
        scoring="symbols",
        command="wfa train",
    ),
    "shag": PaperPreset(
        "Balle et al. (2014), section 7",
        {"method": "spectral", "basis.kind": "extended", "basis.cut_factor": 10.0},
        scoring="arcs",
        command="dep train",
    ),
}
"""The settings of each paper by its name, for ``paper=NAME``; see :class:`gramian.training.TrainingSettings`."""


def paper_setting(command: str) -> Setting:
    """Return the setting ``paper`` of a command: ``"parse"``, or one that trains."""
    names = [name for name, paper in PAPERS.items() if paper.parsing or command != "parse"]
    names = [name for name in names if command in ("parse", PAPERS[name].command)]
    known = "; ".join(f"{name}: {PAPERS[name].about}" for name in names)
    return Setting("paper", or_none(OneOf(*names)), None, f"Start from the settings of a paper ({known}).")


def with_paper(chosen: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return the settings of a command in which ``paper`` is replaced by that paper's; others take precedence over these."""
    values = dict(chosen)
    name = values.pop("paper", None)
    if name is None:
        return values
    preset = PAPERS[name]
    return dict(preset.parsing if command == "parse" else preset.training) | values
