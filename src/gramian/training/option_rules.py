"""Which methods have which options of a recipe, what an option needs beside it, and what learners call it."""

from __future__ import annotations

METHODS = {
    "best": "SpectralEM",
    "spectral-em": "SpectralEM",
    "spectral-cluster": "SpectralClustering",
    "spectral-moments": "SpectralMoments",
    "em": "EM",
    "split-merge": "SplitMerge",
    "pcfg": "PCFG",
}
"""The learner of each method."""

GROUPS = {
    "text": "Text without trees",
    "features": "Features of nodes (spectral methods)",
    "states": "Numbers of states, and how they are found",
    "smoothing": "Words and smoothing",
    "research": "Research: binarisation, noise, parts of papers",
}
"""Headings under which options are listed, by the name of the group; the usual ones have none."""

BEST_STATES = 32  # the most states of a label of the method best
POLISHED = ("best", "spectral-em")
CLUSTERED = (*POLISHED, "spectral-cluster")
SPECTRAL = (*CLUSTERED, "spectral-moments")
SMOOTHED = (*CLUSTERED, "em", "split-merge")
METHODS_WITH = {
    "allocation": (*SPECTRAL, "em"),
    "growth": (*SPECTRAL, "em"),
    "search": (*SPECTRAL, "em"),
    "features": SPECTRAL,
    "scaling": SPECTRAL,
    "svd_rank": CLUSTERED,
    "projection": CLUSTERED,
    "soft": CLUSTERED,
    "k_means_start": CLUSTERED,
    "k_means_restarts": CLUSTERED,
    "rule_smoothing": SMOOTHED,
    "state_smoothing": SMOOTHED,
    "sister_share": SMOOTHED,
    "moment_backoff": ("spectral-moments",),
    "moment_unsmoothed": ("spectral-moments",),
    "least_singular": ("spectral-moments",),
    "noise_level": CLUSTERED,
    "merge": POLISHED,
    "max_iter": (*POLISHED, "em"),
    "start": ("em",),
    "cycles": ("split-merge",),
    "device": (*POLISHED, "em", "split-merge"),
    "text": (*CLUSTERED, "em", "split-merge", "pcfg"),
}
TEXT_OPTIONS = (
    "text_kind",
    "known",
    "relations",
    "text_length",
    "teacher",
    "rounds",
    "silver_weight",
    "least_confidence",
    "best_trees",
)
PARTNERS = {
    "folds": "rerank",
    **dict.fromkeys(("budget", "judge", "search_symbols", "search_beam", "search_step"), "search"),
    **dict.fromkeys(("search_groups", "search_by_count"), "search"),
    **dict.fromkeys(TEXT_OPTIONS, "text"),
    "encoder_rate": "encoder",
}
PARAMETERS = {  # where a learner has another name
    "features": "features__templates",
    "scaling": "features__scaling",
    "svd_rank": "clustering__rank",
    "projection": "clustering__projection",
    "soft": "clustering__soft",
    "k_means_start": "clustering__start",
    "k_means_restarts": "clustering__restarts",
    "rule_smoothing": "smoothing__rule",
    "state_smoothing": "smoothing__state",
    "sister_share": "smoothing__sister_share",
    "moment_backoff": "backoff",
    "moment_unsmoothed": "unsmoothed",
    "least_singular": "least",
}
ELSEWHERE = ("search", "start", "text", "noise_level")  # decided not by the learner's parameters
NOT_NOTED = ("n_jobs", "verbose", "device", "watch", "start", "checkpoint")  # of the learner's parameters
