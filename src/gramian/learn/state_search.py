"""How many states each symbol gets: search by what the grammar is worth (Narayan and Cohen 2016), and cheap rules to compare with.

A clustering is kept for every symbol and number of states that is tried; it is the one that training with so many states makes. A
candidate then costs counting, and whatever it takes to score a grammar: F1 on sentences that it was not learnt from, or the likelihood of
such trees.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Meta
from threadpoolctl import threadpool_limits

from gramian import __version__
from gramian.base import number_of_jobs
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.io.schema import SchemaError, parse_document
from gramian.learn.cluster import SpectralClustering
from gramian.learn.counting import count_states
from gramian.learn.learner import Maximisation, allocate_states, mean_log_likelihood
from gramian.learn.observations import Columns, Observations
from gramian.learn.tables import Layout
from gramian.progress import tell_progress
from gramian.system import open_private
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
        return self.learner.cluster(
            self.seen.nodes(symbol), self._columns, number, self.seen.bank.node_weight
        )


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

    Examples
    --------
    >>> from gramian.learn import Observations, SpectralClustering
    >>> from gramian.treebank import Treebank
    >>> from gramian.trees import Tree
    >>> observations = Observations(Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")] * 4))
    >>> cache = ClusterCache(SpectralClustering(2), observations, largest=3)
    >>> len(search_states(cache, held_out_score(observations), budget=2).trials)
    1
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
    while queue and len(search.known) < search.budget:
        _, _, position, stage, assignment = heapq.heappop(queue)
        furthest = max(furthest, position)
        if method == "greedy":
            queue.clear()
        if position == len(places):
            break
        name, changed = places[position]
        following = (position + 1, "coarse")
        if len(changed) > 1:
            candidates = [assignment, *(_scaled(assignment, changed, most, factor) for factor in _FACTORS)]
        else:
            symbol = changed[0]
            here, top = assignment[symbol], most[symbol]
            if stage == "coarse":
                width = step if method == "beam" else max(1, top // 10)
                numbers = {1, *(() if method == "greedy" and top < 10 else range(width, top + 1, width))}
                following = (position, "refine")
            else:
                numbers = set(range(max(1, here - reach), min(top, here + reach) + 1))
            candidates = [
                (*assignment[:symbol], n, *assignment[symbol + 1 :]) for n in sorted(numbers | {here})
            ]
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


def _scaled(assignment: Assignment, changed: Sequence[int], most: Sequence[int], factor: float) -> Assignment:
    """Multiply the states of some symbols, within what their frequency allows."""
    scaled = list(assignment)
    for symbol in changed:
        scaled[symbol] = max(
            1, min(max(most[symbol], assignment[symbol]), round(factor * assignment[symbol]))
        )
    return tuple(scaled)


def _in_threads(cache: ClusterCache, score: Score, n_jobs: int) -> Scores:
    """Return a function that scores assignments here, several at a time."""

    def values(assignments: Sequence[Assignment]) -> Iterator[float]:
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="search") as pool:
            yield from pool.map(lambda assignment: score(cache.grammar(assignment)), assignments)

    return values


Assignment: TypeAlias = tuple[int, ...]
"""A number of states for every symbol."""


Scores: TypeAlias = Callable[[Sequence[Assignment]], Iterable[float]]
"""Scores assignments, in their order."""


@dataclass(frozen=True)
class Trial:
    """One candidate of a search."""

    symbol: str  # or group of symbols whose number of states was changed; empty for the start
    states: int  # of the symbol; of a group, of all its symbols together
    score: float
    assignment: Assignment


@dataclass(frozen=True)
class FoundStates:
    """The outcome of a search."""

    n_states: Assignment  #: the best assignment
    #: score, start_score: its score, and that of the start
    score: float
    start_score: float
    trials: tuple[Trial, ...]  #: all candidates in their order
    #: finished_labels, n_labels: how many labels the search has finished, of those that it was to visit
    finished_labels: int = 0
    n_labels: int = 0

    def steps(self) -> list[tuple[int, Trial]]:
        """Return the trials that were better than all before them, with their numbers, from 1."""
        improvements: list[tuple[int, Trial]] = []
        for number, trial in enumerate(self.trials, start=1):
            if not improvements or trial.score > improvements[-1][1].score:
                improvements.append((number, trial))
        return improvements


@dataclass(frozen=True)
class _Line:
    """One line of the log."""

    symbol: str
    score: float
    states: tuple[Annotated[int, Meta(ge=1, le=4096)], ...]
    checksum: str


class Trials:
    """Scores candidates, each once, as far as the budget goes; better ones are logged as they are found.

    With a file, every score is one JSON line with a checksum that also depends on the `identity` of the search, all that a score depends
    on. Candidates that the file has are not scored again; lines of other searches, or damaged ones, count for nothing.
    """

    def __init__(self, score: Scores, budget: int | None, path: str | Path | None, identity: str) -> None:
        self.done: list[Trial] = []
        self._score, self.budget = score, math.inf if budget is None else budget
        self._path = None if path is None else Path(path)
        self._identity = f"{__version__} {identity}"
        self.known: dict[Assignment, float] = {}
        self._stored = {} if self._path is None else self._read(self._path)

    def _read(self, path: Path) -> dict[Assignment, float]:
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        if text and not text.endswith("\n"):  # the last line was cut short
            self._write("")
        stored = {}
        for line in text.splitlines():
            with suppress(SchemaError):
                record = parse_document(_Line, line)
                if record.checksum == self._checksum(record.states, record.score):
                    stored[record.states] = record.score
        return stored

    def run(self, name: str, candidates: Sequence[Assignment], changed: Sequence[int]) -> list[Trial]:
        """Return the trials of some assignments, as far as the budget goes."""

        def trial(assignment: Assignment, score: float) -> Trial:
            return Trial(name, sum(assignment[symbol] for symbol in changed), score, assignment)

        new = [candidate for candidate in dict.fromkeys(candidates) if candidate not in self.known]
        if self.budget < math.inf:
            new = new[: int(self.budget) - len(self.known)]
        unscored = [candidate for candidate in new if candidate not in self._stored]
        with threadpool_limits(1):  # as in learning: several threads would change the order of sums
            scores = iter(self._score(unscored)) if unscored else iter(())
            for candidate in new:  # scores come in order, and each is written before the next is waited for
                is_stored = candidate in self._stored
                tried = trial(candidate, self._stored[candidate] if is_stored else next(scores))
                if tried.score > max(self.known.values(), default=-math.inf):
                    shown = len(self.done) + 1, name or "start", tried.states, tried.score
                    _log.info("candidate %d: %s, %d states, %.3f", *shown)
                self.known[candidate] = tried.score
                self.done.append(tried)
                if self._path is not None and not is_stored:
                    checksum = self._checksum(candidate, tried.score)
                    record = _Line(symbol=name, score=tried.score, states=candidate, checksum=checksum)
                    self._write(json.dumps(asdict(record), ensure_ascii=False))
                if self.budget < math.inf:
                    tell_progress(_log, "candidates", len(self.known), self.budget)
        return [
            trial(candidate, self.known[candidate]) for candidate in candidates if candidate in self.known
        ]

    def _checksum(self, states: Assignment, score: float) -> str:
        return hashlib.sha256(repr((self._identity, states, score)).encode()).hexdigest()[:16]

    def _write(self, line: str) -> None:
        assert self._path is not None
        with open(self._path, "a", encoding="utf-8", opener=open_private) as file:
            file.write(line + "\n")
