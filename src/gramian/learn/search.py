"""How many states each symbol gets: search by what the grammar is worth (Narayan and Cohen 2016), and cheap rules to compare with.

The singular vectors of every symbol are computed once, at the largest rank; a clustering is kept for every symbol and number of states
that is tried. A candidate then costs counting, and whatever it takes to score a grammar: F1 on sentences that it was not learnt from, or
the likelihood of such trees.
"""

from __future__ import annotations

import hashlib
import heapq
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from gramian.base import Jobs, OneOf, Whole, check_value, number_of_jobs
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.learn.cluster import SpectralClustering, k_means, project_nodes
from gramian.learn.counting import count_states
from gramian.learn.learner import mean_log_likelihood
from gramian.learn.maximise import Maximisation
from gramian.learn.observations import Columns, Observations
from gramian.learn.states import allocate_states
from gramian.learn.tables import Layout
from gramian.learn.trials import Assignment, FoundStates, Trial, TrialLog
from gramian.trees.labels import is_intermediate

__all__ = [
    "ClusterCache",
    "FoundStates",
    "Trial",
    "held_out_score",
    "search_states",
    "states_by_singular_values",
]

_log = logging.getLogger(__name__)

Score = Callable[[LPCFG], float]
Scores = Callable[[Sequence[Assignment]], Iterable[float]]


class ClusterCache:
    """The nodes of a treebank, projected once, and clustered into any number of states when first asked.

    Parameters
    ----------
    learner : SpectralClustering
        Its features, scaling, smoothing and seed are used; its states, as the start of a search.
    seen : Observations
    largest : int
        The most states of a symbol.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.trees import Tree
    >>> texts = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (PRP it)) (VP (VBZ runs)))"
    >>> bank = Treebank.from_trees([Tree.parse(text) for text in texts] * 60)
    >>> cache = ClusterCache(SpectralClustering(2), Observations(bank), largest=4)
    >>> cache.grammar([2 if name == "NP" else 1 for name in bank.symbols]).n_states.max()
    np.int32(2)
    """

    def __init__(self, learner: SpectralClustering, seen: Observations, largest: int = 32) -> None:
        self.learner, self.seen, self.largest = learner, seen, largest
        self._vectors: dict[int, tuple[npt.NDArray[np.float32], int, npt.NDArray[np.floating]]] = {}
        self._states: dict[tuple[int, int], npt.NDArray[np.int32]] = {}
        self._locks = [Lock() for _ in range(seen.bank.n_symbols)]

    @cached_property
    def _columns(self) -> tuple[Columns, Columns]:
        return self.seen.feature_columns(self.learner.features, self.learner.lexicon)

    @property
    def start(self) -> Assignment:
        """The number of states that the learner gives to every symbol."""
        own = self.learner
        return tuple(self.seen.allocate(own.n_states, own.allocation, own.growth).tolist())

    def singular_values(self, symbol: int) -> npt.NDArray[np.floating]:
        """Return the singular values of a symbol, the largest first; none if it has no features."""
        return self._projected(symbol)[2]

    def grammar(self, n_states: Sequence[int]) -> LPCFG:
        """Return the grammar with so many states of each symbol."""
        seen, own = self.seen, self.learner
        hard = np.zeros(len(seen.bank.label), np.int32)
        layout = Layout.of(seen.productions, np.asarray(n_states, np.int32))
        with threadpool_limits(1):  # as in learning: several threads would change the order of sums
            for symbol, number in enumerate(n_states):
                if number > 1:
                    hard[seen.nodes(symbol)] = self._clustered(symbol, number)
            return Maximisation(seen, own.smoothing, own.lexicon).grammar(
                count_states(seen.bank, layout, hard)
            )

    def _projected(self, symbol: int) -> tuple[npt.NDArray[np.float32], int, npt.NDArray[np.floating]]:
        """Return the projections of a symbol's nodes, the rank, and the singular values."""
        if symbol not in self._vectors:
            own = self.learner
            vectors, svd = project_nodes(
                self.seen.nodes(symbol),
                self._columns,
                self.largest,
                own.features,
                own.clustering,
                own.random_state,
            )
            values = np.zeros(0) if svd is None else svd.singular_values
            self._vectors[symbol] = vectors, vectors.shape[1] // 2, values
        return self._vectors[symbol]

    def _clustered(self, symbol: int, number: int) -> npt.NDArray[np.int32]:
        with self._locks[symbol]:
            if (symbol, number) not in self._states:
                vectors, rank, _ = self._projected(symbol)
                used = min(rank, number)
                both = np.concatenate([vectors[:, :used], vectors[:, rank : rank + used]], axis=1)
                self._states[symbol, number] = self._k_means(both, number)
            return self._states[symbol, number]

    def _k_means(self, vectors: npt.NDArray[np.float32], number: int) -> npt.NDArray[np.int32]:
        if not vectors.shape[1]:
            return np.zeros(len(vectors), np.int32)
        own = self.learner
        model = k_means(vectors, number, own.clustering.restarts, own.random_state)
        found: npt.NDArray[np.int32] = model.predict(vectors)
        return found


def states_by_singular_values(cache: ClusterCache, least: float = 0.2) -> Assignment:
    """Return for every symbol the number of singular values above a share of its largest; the learner's own number is the most.

    Parameters
    ----------
    cache : ClusterCache
    least : float
    """
    return tuple(
        max(1, min(most, int((values > least * values[0]).sum()))) if most > 1 and len(values) else 1
        for most, values in ((most, cache.singular_values(symbol)) for symbol, most in enumerate(cache.start))
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
    symbols: int = 20,
    beam: int = 5,
    step: int = 5,
    reach: int = 4,
    budget: int | None = None,
    n_jobs: int | None = None,
    elsewhere: Scores | None = None,
    log: str | Path | None = None,
    judge: str = "",
) -> FoundStates:
    """Search for the numbers of states with the best score. Better assignments are logged as they are found.

    Symbol by symbol, the most frequent first, a coarse grid of numbers is tried, then the numbers around the best ones.

    Parameters
    ----------
    cache : ClusterCache
    score : callable
        Of a grammar; higher is better.
    method : {"beam", "greedy"}
        ``"beam"``: a queue of the `beam` best assignments (Narayan and Cohen 2016, figure 2). ``"greedy"``: only the best goes on, and the
        most states of a symbol depend on its frequency (their released program).
    together : bool
        Before single symbols, try fewer and more states of all symbols, then of all intermediate ones, all phrases and all tags:
        such steps are large enough for a few hundred sentences to tell, and a small budget gets somewhere.
    symbols : int
        How many single symbols are searched over; the others keep what they have.
    beam : int
    step : int
        Width of the coarse grid; greedy has a tenth of the most states.
    reach : int
        How far from a number of the grid is looked.
    budget : int, optional
        Stop after so many candidates.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    elsewhere : callable, optional
        Scores assignments in its own way, on a cluster say, and returns the scores in the same order; instead of `score`.
    log : path, optional
        File with a line for every candidate; one that is there is not scored again.
    judge : str
        With `log`: stands for what the score depends on, such as the sentences; a log of another judge is refused.

    References
    ----------
    Shashi Narayan and Shay B. Cohen (2016). Optimizing spectral learning for parsing. ACL.
    """
    check_value("method", method, OneOf("beam", "greedy"))
    for name, value in zip(("symbols", "beam", "step", "reach"), (symbols, beam, step, reach), strict=True):
        check_value(name, value, Whole(1))
    check_value("n_jobs", n_jobs, Jobs())
    if elsewhere is None:
        if score is None:
            raise OptionError("a search needs a score")
        elsewhere = _in_threads(cache, score, number_of_jobs(n_jobs))
    names = [cache.seen.name(symbol) for symbol in range(cache.seen.bank.n_symbols)]
    about = f"{cache.learner.identity()} {cache.largest} {cache.seen.digest}"
    about = hashlib.sha256(about.encode()).hexdigest()[:16]
    trials = TrialLog(log, f"{about} {judge}".strip(), names)
    search = _Search(elsewhere, budget, trials)
    count = cache.seen.label_count
    most = allocate_states(count, cache.largest, "frequency").tolist()
    places = _groups(cache) if together else []
    places += [(names[symbol], [symbol]) for symbol in np.argsort(-count, kind="stable")[:symbols].tolist()]
    start = search.run("", [cache.start], range(len(names)))[0]
    queue: list[tuple[float, int, int, str, Assignment]] = [(-start.score, 0, 0, "coarse", start.assignment)]
    pushed = 1
    while queue and not search.is_spent:
        _, _, place, stage, own = heapq.heappop(queue)
        if method == "greedy":
            queue.clear()
        if place == len(places):
            break
        name, changed = places[place]
        symbol = changed[0]
        following = (place + 1, "coarse")
        if len(changed) > 1:
            candidates = [own, *(_scaled(own, changed, most, factor) for factor in _FACTORS)]
        elif stage == "coarse":
            width = step if method == "beam" else max(1, most[symbol] // 10)
            candidates = [_changed(own, symbol, n) for n in _grid(own[symbol], most[symbol], width, method)]
            following = (place, "refine")
        else:
            around = range(max(1, own[symbol] - reach), min(most[symbol], own[symbol] + reach) + 1)
            candidates = [_changed(own, symbol, n) for n in sorted({own[symbol], *around})]
        for trial in search.run(name, candidates, changed):
            pushed += 1
            heapq.heappush(queue, (-trial.score, pushed, *following, trial.assignment))
        queue = heapq.nsmallest(beam, queue)
    best = max(search.trials, key=lambda trial: trial.score)
    return FoundStates(best.assignment, best.score, start.score, tuple(search.trials))


_FACTORS = (0.5, 0.7, 1.4, 2.0)


def _groups(cache: ClusterCache) -> list[tuple[str, list[int]]]:
    """Return the groups of symbols whose states are changed together, with names."""
    bank = cache.seen.bank
    tags = list(range(bank.n_phrases, bank.n_symbols))
    between = [symbol for symbol in range(bank.n_phrases) if is_intermediate(bank.symbols[symbol])]
    phrases = sorted(set(range(bank.n_phrases)) - set(between))
    everything = list(range(bank.n_symbols))
    groups = {"all labels": everything, "intermediate labels": between, "phrases": phrases, "tags": tags}
    return [(name, group) for name, group in groups.items() if len(group) > 1]


def _scaled(own: Assignment, changed: Sequence[int], most: Sequence[int], factor: float) -> Assignment:
    """Multiply the states of some symbols, within what their frequency allows."""
    found = list(own)
    for symbol in changed:
        found[symbol] = max(1, min(max(most[symbol], own[symbol]), round(factor * own[symbol])))
    return tuple(found)


def _grid(own: int, most: int, step: int, method: str) -> list[int]:
    """Return the numbers of a coarse search; what a symbol has is among them."""
    if method == "greedy" and most < 10:
        return sorted({1, own})
    return sorted({1, own, *range(step, most + 1, step)})


def _changed(own: Assignment, symbol: int, number: int) -> Assignment:
    return (*own[:symbol], number, *own[symbol + 1 :])


def _in_threads(cache: ClusterCache, score: Score, n_jobs: int) -> Scores:
    """Return a function that scores assignments here, several at a time."""

    def values(assignments: Sequence[Assignment]) -> Iterator[float]:
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="search") as pool:
            yield from pool.map(lambda assignment: score(cache.grammar(assignment)), assignments)

    return values


class _Search:
    """Scores candidates, each once."""

    def __init__(self, score: Scores, budget: int | None, log: TrialLog) -> None:
        self.trials: list[Trial] = []
        self._score, self._log = score, log
        self._budget = np.inf if budget is None else budget
        self._known: dict[Assignment, float] = {}

    @property
    def is_spent(self) -> bool:
        return len(self._known) >= self._budget

    def run(self, name: str, candidates: Sequence[Assignment], changed: Sequence[int]) -> list[Trial]:
        """Return the trials of some assignments, as far as the budget goes."""
        new = [one for one in dict.fromkeys(candidates) if one not in self._known]
        new = [one for place, one in enumerate(new) if len(self._known) + place < self._budget]
        # Scores come in order; those of the log need no work, so that what was scored is kept whatever comes.
        left = [one for one in new if self._log.find(one) is None]
        with threadpool_limits(1):  # as in learning: several threads would change the order of sums
            fresh = iter(self._score(left)) if left else iter(())
            for one in new:
                known = self._log.find(one)
                score = next(fresh) if known is None else known
                trial = Trial(name, sum(one[symbol] for symbol in changed), score, one)
                if score > max(self._known.values(), default=-np.inf):
                    number = len(self.trials) + 1
                    _log.info(
                        "candidate %d: %s, %d states, %.3f", number, name or "start", trial.states, score
                    )
                self._known[one] = score
                self.trials.append(trial)
                self._log.keep(trial)
        return [
            Trial(name, sum(one[symbol] for symbol in changed), self._known[one], one)
            for one in candidates
            if one in self._known
        ]
