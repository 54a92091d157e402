"""Bayesian probabilistic automata by Gibbs sampling: an average over many automata instead of one.

Each sweep draws the state paths of all strings given the weights (forward filtering, backward sampling), then
the weights given the paths' counts (Dirichlet). The models of the kept sweeps, each the posterior mean given
its counts, are averaged. Shibata and Yoshinaka won PAutomaC with a (collapsed) sampler of this kind (ICGI
2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gramian.automata.pnfa import Structure
from gramian.automata.trie import PrefixForest
from gramian.automata.wfa import WFA

__all__ = ["Chain", "run_chain"]


class Chain(NamedTuple):
    """Posterior means at the kept sweeps, each a PNFA; and the weights drawn last, where another run can go on."""

    samples: tuple[WFA, ...]
    last: WFA


def run_chain(
    forest: PrefixForest,
    start: WFA,
    n_sweeps: int,
    n_samples: int,
    concentration: float,
    structure: Structure = "joint",
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> Chain:
    """Run one Gibbs chain from `start`, and keep `n_samples` models spread over its second half."""
    rng = np.random.default_rng(seed)
    kept = set(np.linspace(n_sweeps // 2, n_sweeps - 1, n_samples).astype(int).tolist())
    model, samples = start, []
    for sweep in range(n_sweeps):
        counts = forest.sampled_counts(model, rng, n_jobs)
        if sweep in kept:
            samples.append(counts.estimate(forest.alphabet, structure, concentration))
        model = counts.draw(forest.alphabet, structure, concentration, rng)
    return Chain(tuple(samples), model)
