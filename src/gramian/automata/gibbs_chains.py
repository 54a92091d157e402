"""Gibbs chains that compete on held-out strings: the better ones continue after each round.

Each sweep of a chain draws the state paths of all strings given the weights (forward filtering, backward sampling), then the weights
given the paths' counts (Dirichlet); the models of the kept sweeps are averaged. Shibata and Yoshinaka won PAutomaC with a (collapsed)
sampler of this kind (ICGI 2012). Chains start from clustered spectral automata and from random ones, with several numbers of states and
both structures; dropping the worse part after each round is successive halving (Jamieson and Talwalkar 2016).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from gramian.automata.basis import Basis
from gramian.automata.hankel import hankel_blocks
from gramian.automata.pnfa import Structure, random_pnfa
from gramian.automata.pnfa_em import interpolated, run_em
from gramian.automata.prefix_forest import PrefixForest
from gramian.automata.repair import cluster_to_pnfa
from gramian.automata.sequences import Array, Sequences
from gramian.automata.spectral import SpectralFactors, spectral_factors
from gramian.automata.weighted_automaton import WFA
from gramian.progress import tell_progress

Start = Literal["cluster", "scaled", "random"]

_log = logging.getLogger(__name__)

_PSEUDO_COUNT = 5e-3  # of EM
_COSTLY = 32  # states from which on those joint starts alone go on that did best; hidden Markov models need many states to show their worth
_PATIENCE = 0.01  # that twice the states may lose in held-out log-probability in the first round, where they are not yet done


class Round(NamedTuple):
    """EM iterations, then Gibbs sweeps; models kept of these; the sweeps' prior; chains that go on."""

    em_iterations: int
    sweeps: int
    samples: int
    concentration: float
    survivors: int


# EM finds the hill, sweeps look around it. A strong prior lets early chains move; a weak one fits the sparse automata that survive.
ROUNDS = (Round(30, 30, 4, 0.1, 8), Round(70, 60, 6, 0.05, 4), Round(0, 160, 8, 0.03, 3))


@dataclass(frozen=True, eq=False)
class Chain:
    """A Gibbs chain: what it is, where it stands, and how its averaged models scored the held-out strings."""

    structure: Structure
    n_states: int
    start: Start
    model: WFA
    samples: tuple[WFA, ...] = ()
    held_out: Array = field(default_factory=lambda: np.array([-np.inf]))

    @property
    def name(self) -> str:
        """What the chain is, in words."""
        return f"{'PNFA' if self.structure == 'joint' else 'HMM'} from a {self.start} start"

    @property
    def mean(self) -> float:
        """Mean log-probability of a held-out string."""
        return float(self.held_out.mean())

    def advanced(self, forest: PrefixForest, plan: Round, seed: Sequence[int]) -> Chain:
        """Return the chain after one round on `forest`."""
        start, _ = run_em(
            forest,
            self.model,
            plan.em_iterations,
            tolerance=1e-6,
            pseudo_count=_PSEUDO_COUNT,
            structure=self.structure,
            single=True,
        )
        samples, last = run_chain(
            forest, start, plan.sweeps, plan.samples, plan.concentration, self.structure, seed
        )
        return replace(self, model=last, samples=samples)

    def scored(self, held_out: Sequences) -> Chain:
        """Return the chain with the log-scores of held-out strings."""
        logs = np.logaddexp.reduce([model.log_score(held_out) for model in self.samples], axis=0)
        return replace(self, held_out=logs - np.log(len(self.samples)))


def compete(
    sample: Sequences, held_out: Sequences, state_counts: tuple[int, ...], pool: Executor, seed: int
) -> tuple[list[Chain], list[Chain]]:
    """Let chains learn `sample`; return those of the last round, best first, and those that dropped out."""
    forest = PrefixForest.from_sample(sample)
    run = _Competition(forest, held_out, pool, seed)
    chains = _first_round(run, sample, state_counts)
    dropped: list[Chain] = []
    for number, plan in enumerate(ROUNDS):
        if number > 0:
            chains = run.round(number, chains)
        best = chains[0]
        standing = f"best {best.name}, {best.n_states} states, held-out log-probability {best.mean:.4f}"
        _log.info("round %d of %d: %d chains; %s", number + 1, len(ROUNDS), len(chains), standing)
        dropped = chains[plan.survivors :] + dropped
        chains = chains[: plan.survivors]
    return chains, dropped


@dataclass(frozen=True, eq=False)
class _Competition:
    """What all rounds share."""

    forest: PrefixForest
    held_out: Sequences
    pool: Executor
    seed: int

    def round(self, number: int, chains: Sequence[Chain], lane: int = 0) -> list[Chain]:
        """Return the chains after a round, best first; their seeds are numbered from `lane` on."""

        def advance(lane: int, chain: Chain) -> Chain:
            return chain.advanced(self.forest, ROUNDS[number], (self.seed, number, lane)).scored(
                self.held_out
            )

        finished: list[Chain] = []
        description = f"chains of round {number + 1} of {len(ROUNDS)}"
        for chain in self.pool.map(advance, range(lane, lane + len(chains)), chains):
            finished.append(chain)
            tell_progress(_log, description, len(finished), len(chains))
        return sorted(finished, key=lambda chain: -chain.mean)


def _first_round(run: _Competition, sample: Sequences, state_counts: tuple[int, ...]) -> list[Chain]:
    """Return the chains after the first round, best first.

    More states are tried as long as they help.
    """
    blocks = hankel_blocks(sample, Basis.frequent(sample, 500, max_length=6))
    factors = {
        start: spectral_factors(blocks, max(state_counts), scaled=start == "scaled")
        for start in ("cluster", "scaled")
    }
    joint: list[tuple[Structure, Start]] = [("joint", start) for start in ("cluster", "scaled", "random")]
    factored: list[tuple[Structure, Start]] = [("factored", start) for start in ("cluster", "random")]
    chains: list[Chain] = []
    for n in state_counts:

        def begin(way: tuple[Structure, Start], n: int = n) -> Chain:
            structure, start = way
            model = _first_model(sample, factors.get(start), structure, n, run.seed)
            return Chain(structure, model.n_states, start, model)

        largest = run.round(
            0, list(run.pool.map(begin, joint + factored * (n in state_counts[-2:]))), len(chains)
        )
        has_gained = not chains or largest[0].mean > chains[0].mean - _PATIENCE
        chains = sorted([*chains, *largest], key=lambda chain: -chain.mean)
        if not has_gained:
            break
        if n >= _COSTLY:
            best = [chain.start for chain in largest if chain.structure == "joint"]
            joint = [("joint", start) for start in best[:2]]
    return chains


def run_chain(
    forest: PrefixForest,
    start: WFA,
    n_sweeps: int,
    n_samples: int,
    concentration: float,
    structure: Structure = "joint",
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> tuple[tuple[WFA, ...], WFA]:
    """Run a Gibbs chain; return `n_samples` posterior means spread over its second half, and the weights drawn last, to go on from."""
    rng = np.random.default_rng(seed)
    kept = set(np.linspace(n_sweeps // 2, n_sweeps - 1, n_samples).astype(int).tolist())
    model, samples = start, []
    for sweep in range(n_sweeps):
        counts = forest.sampled_counts(model, rng, n_jobs)
        if sweep in kept:
            samples.append(counts.estimate(forest.alphabet, structure, concentration))
        model = counts.draw(forest.alphabet, structure, concentration, rng)
    return tuple(samples), model


def _first_model(
    sample: Sequences, factors: SpectralFactors | None, structure: Structure, n_states: int, seed: int
) -> WFA:
    noise = random_pnfa(sample, n_states, np.random.default_rng((seed, n_states)), structure)
    if factors is None:
        return noise
    rank = min(n_states, len(factors.singular_values))
    raw = factors.truncated(rank).convert("substring", "string")
    start = cluster_to_pnfa(raw, sample, n_states, structure=structure, random_state=seed)
    return interpolated(start, noise) if start.n_states == n_states else start
