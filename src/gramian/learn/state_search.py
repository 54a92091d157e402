"""How many states each symbol gets: search by what the grammar is worth (Narayan and Cohen 2016), and cheap rules to compare with.

A clustering is kept for every symbol and number of states that is tried; it is the one that training with so many states makes. A
candidate then costs counting, and whatever it takes to score a grammar: F1 on sentences that it was not learnt from, or the likelihood of
such trees.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from gramian.base import number_of_jobs
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.learn.cluster import SpectralClustering
from gramian.learn.counting import count_states
from gramian.learn.learner import Maximisation, mean_log_likelihood
from gramian.learn.observations import Columns, Observations
from gramian.learn.search_trials import Assignment, FoundStates, Scores, Trials
from gramian.learn.state_allocation import allocate_states
from gramian.learn.tables import Layout
from gramian.trees.labels import is_intermediate
from gramian.value_types import Jobs, OneOf, Whole, check_value

_log = logging.getLogger(__name__)

Score = Callable[[LPCFG], float]


class ClusterCache:
    """The clusters of the nodes of a treebank, for any number of states of any symbol, made when they are first asked for.

    They are those that the learner makes of so many states; its own numbers of states are the start of a search, and `largest` is the
    most states that a search gives to a symbol.
    """

    def __init__(self, learner: SpectralClustering, seen: Observations, largest: int = 32) -> None:
        self.learner, self.seen, self.largest = learner, seen, largest
        self._clustered = cache(self._cluster)
        self._locks = [Lock() for _ in range(seen.bank.n_symbols)]

    @cached_property
    def _columns(self) -> tuple[Columns, Columns]:
        return self.seen.feature_columns(self.learner.features, self.learner.lexicon)

    @property
    def start(self) -> Assignment:
        """The number of states that the learner gives to every symbol."""
        return tuple(self.learner.allocate(self.seen).tolist())

    def singular_values(self, symbol: int) -> list[float]:
        """Return the singular values of a symbol, the largest first; none if it has no features."""
        return self._clustered(symbol, self.largest)[1]

    def grammar(self, n_states: Sequence[int]) -> LPCFG:
        """Return the grammar with so many states of each symbol."""
        seen, learner = self.seen, self.learner
        hard = np.zeros(len(seen.bank.label), np.int32)
        layout = Layout.of(seen.productions, np.asarray(n_states, np.int32))
        with threadpool_limits(1):  # as in learning: several threads would change the order of sums
            for symbol, number in enumerate(n_states):
                if number > 1:
                    with self._locks[symbol]:  # another thread may be at it
                        hard[seen.nodes(symbol)] = self._clustered(symbol, number)[0]
            counts = count_states(seen.bank, layout, hard)
            return Maximisation(seen, learner.smoothing, learner.lexicon).grammar(counts)

    def _cluster(self, symbol: int, number: int) -> tuple[npt.NDArray[np.int32], list[float]]:
        nodes, weight = self.seen.nodes(symbol), self.seen.bank.node_weight
        states, _, spectrum = self.learner.cluster(nodes, self._columns, number, weight)
        return states, spectrum


def states_by_singular_values(cache: ClusterCache, least: float = 0.2) -> Assignment:
    """Return for every symbol the number of singular values above a share of its largest; the learner's own number is the most."""
    spectra = map(cache.singular_values, range(len(cache.start)))
    return tuple(
        max(1, min(most, sum(value > least * values[0] for value in values))) if most > 1 and values else 1
        for most, values in zip(cache.start, spectra, strict=True)
    )


def held_out_score(held: Observations) -> Score:
    """Return a score for :func:`search_states`: the mean log-likelihood of trees that the grammar was not learnt from."""
    return lambda grammar: mean_log_likelihood(grammar, held)


def search_states(
    cache: ClusterCache,
    score: Score | None = None,
    *,
    method: Literal["beam", "greedy"] = "beam",
    together: bool = True,
    by_count: bool = True,
    symbols: int | None = 40,
    beam: int = 5,
    step: int = 5,
    reach: int = 4,
    budget: int | None = None,
    n_jobs: int | None = None,
    score_all: Scores | None = None,
    log: str | Path | None = None,
    judge: str = "",
) -> FoundStates:
    """Search for the numbers of states with the best score. Better assignments are logged as they are found.

    Symbol by symbol, the most frequent first, a coarse grid of numbers is tried, then the numbers around the best ones.

    The `score` of a grammar is the higher the better. ``"beam"`` keeps a queue of the `beam` best assignments (Narayan and Cohen
    2016, figure 2); with ``"greedy"`` only the best goes on, and the grid has a tenth of the most states, which depend on the
    symbol's frequency (their released program). The grid of a beam has the width `step`, and up to `reach` from a number of it is
    looked. Only so many `symbols` are searched over (all, if None), until `budget` candidates are scored; a warning says how many
    symbols a spent budget has left out. The result does not depend on `n_jobs` threads. `by_count`: a symbol seen less than 500 times
    gets fewer states at most than `cache.largest`.

    `together`: before single symbols, try fewer and more states of all symbols, then of all intermediate ones, all phrases and all
    tags: such steps are large enough for a few hundred sentences to tell, and a small budget gets somewhere. The paper has neither
    this nor `by_count`, and searches over all symbols.

    `score_all` scores several assignments in their order, on a cluster say, instead of `score`. The file `log` gets a line for every
    candidate; one that is there is not scored again, if `judge`, which stands for what the score depends on, is the same.
    """
    check_value("method", method, OneOf("beam", "greedy"))
    for name, value in {"beam": beam, "step": step, "reach": reach, "symbols": symbols or 1}.items():
        check_value(name, value, Whole(1))
    check_value("n_jobs", n_jobs, Jobs())
    if score_all is None:
        if score is None:
            raise OptionError("a search needs a score")
        score_all = _in_threads(cache, score, number_of_jobs(n_jobs))
    names = [cache.seen.name(symbol) for symbol in range(cache.seen.bank.n_symbols)]
    identity = f"{cache.learner.identity()} {cache.largest} {cache.seen.digest} {judge}"
    search = Trials(score_all, budget, log, identity)
    count = cache.seen.label_count
    most = allocate_states(count, cache.largest, "frequency" if by_count else "all").tolist()
    places = _groups(cache) if together else []
    n_groups = len(places)
    places += [(names[symbol], [symbol]) for symbol in np.argsort(-count, kind="stable")[:symbols].tolist()]
    start = search.run("", [cache.start], range(len(names)))[0]
    queue: list[tuple[float, int, int, str, Assignment]] = [(-start.score, 0, 0, "coarse", start.assignment)]
    pushed, furthest = 1, 0
    while queue and not search.is_spent:
        _, _, place, stage, own = heapq.heappop(queue)
        furthest = max(furthest, place)
        if method == "greedy":
            queue.clear()
        if place == len(places):
            break
        name, changed = places[place]
        following = (place + 1, "coarse")
        if len(changed) > 1:
            candidates = [own, *(_scaled(own, changed, most, factor) for factor in _FACTORS)]
        else:
            symbol = changed[0]
            here, top = own[symbol], most[symbol]
            if stage == "coarse":
                width = step if method == "beam" else max(1, top // 10)
                numbers = {1, *(() if method == "greedy" and top < 10 else range(width, top + 1, width))}
                following = (place, "refine")
            else:
                numbers = set(range(max(1, here - reach), min(top, here + reach) + 1))
            candidates = [(*own[:symbol], n, *own[symbol + 1 :]) for n in sorted(numbers | {here})]
        for trial in search.run(name, candidates, changed):
            pushed += 1
            heapq.heappush(queue, (-trial.score, pushed, *following, trial.assignment))
        queue = heapq.nsmallest(beam, queue)
    best = max(search.done, key=lambda trial: trial.score)
    n_labels, finished = len(places) - n_groups, max(0, furthest - n_groups)
    if finished < n_labels:
        ended = "the search has finished %d of %d labels in its budget of %s candidates"
        _log.warning(ended, finished, n_labels, budget)
    return FoundStates(best.assignment, best.score, start.score, tuple(search.done), finished, n_labels)


_FACTORS = (0.5, 0.7, 1.4, 2.0)


def _groups(cache: ClusterCache) -> list[tuple[str, list[int]]]:
    """Return the groups of symbols whose states are changed together, with names."""
    bank = cache.seen.bank
    between = [symbol for symbol in range(bank.n_phrases) if is_intermediate(bank.symbols[symbol])]
    groups = {
        "all labels": range(bank.n_symbols),
        "intermediate labels": between,
        "phrases": sorted(set(range(bank.n_phrases)) - set(between)),
        "tags": range(bank.n_phrases, bank.n_symbols),
    }
    return [(name, list(group)) for name, group in groups.items() if len(group) > 1]


def _scaled(own: Assignment, changed: Sequence[int], most: Sequence[int], factor: float) -> Assignment:
    """Multiply the states of some symbols, within what their frequency allows."""
    found = list(own)
    for symbol in changed:
        found[symbol] = max(1, min(max(most[symbol], own[symbol]), round(factor * own[symbol])))
    return tuple(found)


def _in_threads(cache: ClusterCache, score: Score, n_jobs: int) -> Scores:
    """Return a function that scores assignments here, several at a time."""

    def values(assignments: Sequence[Assignment]) -> Iterator[float]:
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="search") as pool:
            yield from pool.map(lambda assignment: score(cache.grammar(assignment)), assignments)

    return values
