"""Gibbs chains that compete on held-out strings: after each round the better part goes on.

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
from typing import Literal

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


@dataclass(frozen=True)
class Round:
    """EM iterations, then Gibbs sweeps; models kept of these; the sweeps' prior; chains that go on."""

    climbs: int
    sweeps: int
    samples: int
    concentration: float
    survivors: int


# EM finds the hill, sweeps look around it. A strong prior lets early chains move; a weak one fits the sparse automata that survive.
ROUNDS = (Round(30, 30, 4, 0.1, 8), Round(70, 60, 6, 0.05, 4), Round(0, 160, 8, 0.03, 3))


@dataclass(frozen=True, eq=False)
class Runner:
    """A chain: what it is, where it stands, and how its averaged models scored the held-out strings."""

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


def compete(
    sample: Sequences, held_out: Sequences, state_counts: tuple[int, ...], pool: Executor, seed: int
) -> tuple[list[Runner], list[Runner]]:
    """Let chains learn `sample`; return those of the last round, best first, and those that dropped out."""
    forest = PrefixForest.from_sample(sample)
    blocks = hankel_blocks(sample, Basis.frequent(sample, 500, max_length=6))
    factors = {
        start: spectral_factors(blocks, max(state_counts), scaled=start == "scaled")
        for start in ("cluster", "scaled")
    }
    entries: list[tuple[Structure, int, Start]] = [
        *(("joint", n, start) for n in state_counts for start in ("cluster", "scaled", "random")),
        *(("factored", n, start) for n in state_counts[-2:] for start in ("cluster", "random")),
    ]

    def begin(entry: tuple[Structure, int, Start]) -> Runner:
        structure, n, start = entry
        model = _first_model(sample, factors.get(start), structure, n, seed)
        return Runner(structure, model.n_states, start, model)

    runners = list(pool.map(begin, entries))
    dropped: list[Runner] = []
    for number, round_options in enumerate(ROUNDS):
        name = f"chains of round {number + 1} of {len(ROUNDS)}"
        tell_progress(_log, name, 0, len(runners))

        def run_round(
            pair: tuple[int, Runner], number: int = number, round_options: Round = round_options
        ) -> Runner:
            lane, runner = pair
            finished_runner = run(runner, forest, round_options, seed=(seed, number, lane))
            logs = np.logaddexp.reduce(
                [model.log_score(held_out) for model in finished_runner.samples], axis=0
            )
            finished_runner = replace(finished_runner, held_out=logs - np.log(len(finished_runner.samples)))
            _log.debug(
                "round %d: %s, %d states, held-out %.4f",
                number,
                finished_runner.name,
                finished_runner.n_states,
                finished_runner.mean,
            )
            return finished_runner

        finished = []
        for finished_runner in pool.map(run_round, enumerate(runners)):
            finished.append(finished_runner)
            tell_progress(_log, name, len(finished), len(runners))
        runners = sorted(finished, key=lambda runner: -runner.mean)
        best = runners[0]
        standing = f"best {best.name}, {best.n_states} states, held-out log-probability {best.mean:.4f}"
        _log.info("round %d of %d: %d chains; %s", number + 1, len(ROUNDS), len(runners), standing)
        dropped = runners[round_options.survivors :] + dropped
        runners = runners[: round_options.survivors]
    return runners, dropped


def run(runner: Runner, forest: PrefixForest, round_options: Round, *, seed: tuple[int, ...]) -> Runner:
    """Return the chain after one round on `forest`."""
    structure = runner.structure
    start, _ = run_em(
        forest,
        runner.model,
        round_options.climbs,
        tolerance=1e-6,
        pseudo_count=_PSEUDO_COUNT,
        structure=structure,
    )
    samples, last = run_chain(
        forest,
        start,
        round_options.sweeps,
        round_options.samples,
        round_options.concentration,
        structure,
        seed,
    )
    return replace(runner, model=last, samples=samples)


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
