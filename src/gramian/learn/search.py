"""How many states each symbol gets: search by what the grammar is worth (Narayan and Cohen 2016), and cheap rules to compare with.

The singular vectors of every symbol are computed once, at the largest rank; a clustering is kept for every symbol and number of states
that is tried. A candidate then costs counting, and whatever it takes to score a grammar: F1 on development sentences, or the
likelihood of held-out trees.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from gramian.errors import InputError, OptionError
from gramian.grammar import LPCFG
from gramian.learn.cluster import SpectralClustering, _project, count_states, feature_columns
from gramian.learn.em import tables_of
from gramian.learn.observations import Observations
from gramian.learn.smoothing import Smoothing
from gramian.learn.states import allocate_states
from gramian.learn.tables import Layout

__all__ = [
    "ClusterCache",
    "FoundStates",
    "Trial",
    "held_out_score",
    "search_states",
    "states_by_singular_values",
]

Assignment: TypeAlias = tuple[int, ...]
"""A number of states for every symbol."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _one_thread(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Keep linear algebra to one thread, as in learning: several would change the order of sums, and so the grammars."""
    return threadpool_limits.wrap(limits=1)(function)


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
        self._columns = feature_columns(seen, learner.features)
        self._vectors: dict[int, tuple[npt.NDArray[np.float32], int, npt.NDArray[np.floating]]] = {}
        self._states: dict[tuple[int, int], npt.NDArray[np.int32]] = {}
        self._locks = [Lock() for _ in range(seen.bank.n_symbols)]

    @property
    def start(self) -> Assignment:
        """The number of states that the learner gives to every symbol."""
        own = self.learner
        return tuple(allocate_states(self.seen.label_count, own.states, own.allocation, own.growth).tolist())

    def singular_values(self, symbol: int) -> npt.NDArray[np.floating]:
        """Return the singular values of a symbol, the largest first; none if it has no features."""
        return self._projected(symbol)[2]

    @_one_thread
    def grammar(self, n_states: Sequence[int]) -> LPCFG:
        """Return the grammar with so many states of each symbol."""
        seen, own = self.seen, self.learner
        order, starts = seen.bank.by_label
        hard = np.zeros(len(seen.bank.label), np.int32)
        for symbol, number in enumerate(n_states):
            if number > 1:
                hard[order[starts[symbol] : starts[symbol + 1]]] = self._clustered(symbol, number)
        layout = Layout.of(seen.productions, np.asarray(n_states, np.int32))
        smoothing = Smoothing(own.rule_shrinkage, own.state_shrinkage, own.sister_share)
        return seen.grammar(count_states(seen.bank, layout, hard), smoothing)

    def _projected(self, symbol: int) -> tuple[npt.NDArray[np.float32], int, npt.NDArray[np.floating]]:
        """Return the projections of a symbol's nodes, the rank, and the singular values."""
        if symbol not in self._vectors:
            order, starts = self.seen.bank.by_label
            nodes = order[starts[symbol] : starts[symbol + 1]]
            vectors, svd = _project(self.learner, nodes, *self._columns, self.largest)
            values = np.zeros(0) if svd is None else svd.singular_values
            self._vectors[symbol] = vectors, vectors.shape[1] // 2, values
        return self._vectors[symbol]

    def _clustered(self, symbol: int, number: int) -> npt.NDArray[np.int32]:
        with self._locks[symbol]:
            if (symbol, number) not in self._states:
                vectors, rank, _ = self._projected(symbol)
                used = min(rank, number)
                both = np.concatenate([vectors[:, :used], vectors[:, rank : rank + used]], axis=1)
                self._states[symbol, number] = _k_means(both, number, self.learner)
            return self._states[symbol, number]


def _k_means(
    vectors: npt.NDArray[np.float32], number: int, learner: SpectralClustering
) -> npt.NDArray[np.int32]:
    distinct = len(np.unique(vectors, axis=0)) if vectors.shape[1] else 1
    if distinct == 1:
        return np.zeros(len(vectors), np.int32)
    from sklearn.cluster import KMeans

    model = KMeans(
        min(number, distinct), n_init=learner.restarts, max_iter=50, random_state=learner.random_state
    )
    found: npt.NDArray[np.int32] = model.fit(vectors).predict(vectors)
    return found


@dataclass(frozen=True)
class Trial:
    """One candidate of a search.

    Attributes
    ----------
    symbol : str
        The symbol whose number of states was changed; empty for the start.
    states : int
        Its number of states.
    score : float
    assignment : tuple of int
        The number of states of every symbol.
    """

    symbol: str
    states: int
    score: float
    assignment: Assignment


@dataclass(frozen=True)
class FoundStates:
    """The outcome of a search.

    Attributes
    ----------
    n_states : tuple of int
        The best number of states found for every symbol.
    score, start_score : float
        Of the best candidate, and of the start.
    trials : tuple of Trial
        All candidates, in the order they were tried.
    """

    n_states: Assignment
    score: float
    start_score: float
    trials: tuple[Trial, ...]


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


def held_out_score(held: Observations) -> Callable[[LPCFG], float]:
    """Return a score for :func:`search_states`: the mean log-likelihood of trees that the grammar was not learnt from."""

    def score(grammar: LPCFG) -> float:
        return float(held.trees.expect(tables_of(grammar, held)).log_likelihood.mean())

    return score


@_one_thread
def search_states(
    cache: ClusterCache,
    score: Callable[[LPCFG], float],
    *,
    method: Literal["beam", "greedy"] = "beam",
    symbols: int = 20,
    beam: int = 5,
    step: int = 5,
    reach: int = 4,
    budget: int | None = None,
    jobs: int = 1,
    log: str | Path | None = None,
    say: Callable[[str], None] | None = None,
) -> FoundStates:
    """Search for the numbers of states with the best score.

    Symbol by symbol, the most frequent first, a coarse grid of numbers is tried, then the numbers around the best ones.

    Parameters
    ----------
    cache : ClusterCache
    score : callable
        Of a grammar; higher is better.
    method : {"beam", "greedy"}
        ``"beam"``: a queue of the `beam` best assignments (Narayan and Cohen 2016, figure 2). ``"greedy"``: only the best goes on, and the
        most states of a symbol depend on its frequency (their released program).
    symbols : int
        How many symbols are searched over; the others keep the learner's numbers.
    beam : int
    step : int
        Width of the coarse grid; greedy has a tenth of the most states.
    reach : int
        How far from a number of the grid is looked.
    budget : int, optional
        Stop after so many candidates.
    jobs : int
        Threads; the result does not depend on it.
    log : path, optional
        File with a line for every candidate; one that is there is not scored again.
    say : callable, optional
        Told when a better assignment is found.

    References
    ----------
    Shashi Narayan and Shay B. Cohen (2016). Optimizing spectral learning for parsing. ACL.
    """
    if method not in ("beam", "greedy"):
        raise OptionError(f"method is 'beam' or 'greedy', not {method!r}")
    if min(symbols, beam, step, reach, jobs) < 1:
        raise OptionError("symbols, beam, step, reach and jobs are 1 or more")
    search = _Search(cache, score, budget, jobs, _Log(log, cache), say)
    count = cache.seen.label_count
    chosen = np.argsort(-count, kind="stable")[:symbols].tolist()
    most = allocate_states(count, cache.largest, "frequency").tolist()
    start = search.run("", [cache.start], 0)[0]
    queue: list[tuple[float, int, int, str, Assignment]] = [(-start.score, 0, 0, "coarse", start.assignment)]
    pushed = 1
    while queue and not search.is_spent:
        _, _, place, stage, own = heapq.heappop(queue)
        if method == "greedy":
            queue.clear()
        if place == len(chosen):
            break
        symbol = chosen[place]
        if stage == "coarse":
            grid = _grid(
                own[symbol], most[symbol], step if method == "beam" else max(1, most[symbol] // 10), method
            )
        else:
            around = range(max(1, own[symbol] - reach), min(most[symbol], own[symbol] + reach) + 1)
            grid = sorted({own[symbol], *around})
        following = (place, "refine") if stage == "coarse" else (place + 1, "coarse")
        for trial in search.run(cache.seen.name(symbol), [_changed(own, symbol, n) for n in grid], symbol):
            pushed += 1
            heapq.heappush(queue, (-trial.score, pushed, *following, trial.assignment))
        queue = heapq.nsmallest(beam, queue)
    best = max(search.trials, key=lambda trial: trial.score)
    return FoundStates(best.assignment, best.score, start.score, tuple(search.trials))


def _grid(own: int, most: int, step: int, method: str) -> list[int]:
    """Return the numbers of a coarse search; what a symbol has is among them."""
    if method == "greedy" and most < 10:
        return sorted({1, own})
    return sorted({1, own, *range(step, most + 1, step)})


def _changed(own: Assignment, symbol: int, number: int) -> Assignment:
    return (*own[:symbol], number, *own[symbol + 1 :])


class _Search:
    """Scores candidates, each once, several at a time."""

    def __init__(
        self, cache: ClusterCache, score: Callable[[LPCFG], float], budget: int | None, jobs: int, log: _Log,
        say: Callable[[str], None] | None,
    ) -> None:  # fmt: skip
        self.trials: list[Trial] = []
        self._cache, self._score, self._budget, self._jobs = cache, score, budget, jobs
        self._log, self._say = log, say
        self._known: dict[Assignment, float] = {}

    @property
    def is_spent(self) -> bool:
        return self._budget is not None and len(self._known) >= self._budget

    def run(self, name: str, candidates: Sequence[Assignment], symbol: int) -> list[Trial]:
        """Return the trials of some assignments, as far as the budget goes."""
        new = [one for one in dict.fromkeys(candidates) if one not in self._known]
        if self._budget is not None:
            new = new[: max(0, self._budget - len(self._known))]
        for assignment, value in self._scored(new):
            self._log.keep(name, assignment, value)
            best = max(self._known.values(), default=-np.inf)
            self._known[assignment] = value
            self.trials.append(Trial(name, assignment[symbol], value, assignment))
            if value > best and self._say is not None:
                self._say(f"{name or 'start'}: {assignment[symbol]} states, score {value:.3f}")
        return [Trial(name, one[symbol], self._known[one], one) for one in candidates if one in self._known]

    def _scored(self, candidates: list[Assignment]) -> Iterator[tuple[Assignment, float]]:
        def value(assignment: Assignment) -> float:
            found = self._log.find(assignment)
            return self._score(self._cache.grammar(assignment)) if found is None else found

        if self._jobs == 1:
            yield from ((one, value(one)) for one in candidates)
            return
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="search") as pool:
            yield from zip(candidates, pool.map(value, candidates), strict=True)


class _Log:
    """Candidates that were scored, one JSON line each; the first line says of what."""

    def __init__(self, path: str | Path | None, cache: ClusterCache) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[Assignment, float] = {}
        if self._path is None:
            return
        about = {
            "search": _fingerprint(cache),
            "symbols": [cache.seen.name(n) for n in range(len(cache.start))],
        }
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        lines = text.splitlines()
        if text and not text.endswith("\n"):  # it was cut short
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n")
        if not lines:
            self._path.write_text(json.dumps(about) + "\n", encoding="utf-8")
        elif _record(lines[0]) != about:
            raise InputError(
                "this log is of another treebank or learner", str(path), 1, hint="another file, or remove it"
            )
        for line in lines[1:]:
            record = _record(line)
            if record.keys() >= {"states", "score"}:
                self._known[tuple(record["states"])] = record["score"]

    def find(self, assignment: Assignment) -> float | None:
        return self._known.get(assignment)

    def keep(self, name: str, assignment: Assignment, score: float) -> None:
        if self._path is None or assignment in self._known:
            return
        self._known[assignment] = score
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"symbol": name, "score": score, "states": list(assignment)}) + "\n")


def _record(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _fingerprint(cache: ClusterCache) -> str:
    """Return what a score depends on beside the assignment: trees and learner."""
    bank = cache.seen.bank
    options = {
        name: value for name, value in cache.learner.get_params().items() if name not in ("say", "jobs", "watch", "checkpoint")
    }  # fmt: skip
    total = hashlib.sha256(repr((sorted(options.items(), key=str), cache.largest, bank.symbols)).encode())
    for column in (bank.label, bank.word, bank.tree_start):
        total.update(np.ascontiguousarray(column).tobytes())
    return total.hexdigest()[:16]
