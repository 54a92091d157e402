"""Expectation-maximisation from any start: random, a stored grammar, or spectral clusters.

A few smoothed steps from a spectral start do what tens of steps from a random one do not (Cohen and Collins 2014 saw the same
with another start). Smoothing happens inside the maximisation step, so the likelihood of the training trees need not rise at every
step; without smoothing it does.
"""

import io
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypedDict, cast
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from gramian import __version__
from gramian.base import Report, estimator
from gramian.errors import GramianError
from gramian.grammar import LPCFG
from gramian.io.model_files import checksum
from gramian.io.output import writing
from gramian.io.schema import as_document, parse_document, parse_json
from gramian.learn.cluster import SpectralClustering
from gramian.learn.counting import random_counts
from gramian.learn.learner import LatentLearner, Maximisation
from gramian.learn.observations import Observations
from gramian.learn.smoothing import Smoothing
from gramian.learn.tables import LatentTables, Layout, tables_of
from gramian.progress import tell_progress
from gramian.value_types import Constraint, Function, InstanceOf, Whole, option, or_none

_log = logging.getLogger(__name__)
_TENSORS = ("binary", "unary", "lexical", "root")
_LARGE = (
    10_000_000  # cells; more take a good part of a step to write, and are kept after every fourth one only
)


_MOST_STATES = 4096  # of a symbol


class _Head(TypedDict):
    """What a checkpoint says of its arrays."""

    mark: str
    likelihoods: str
    facts: str
    checksum: str


class _Checkpoint:
    """A file that holds the counts after the latest step; without a path, nothing is kept.

    `options` is what determines the counts besides the treebank; a file made with other options or trees, or by another
    version of gramian, is not taken up.
    """

    def __init__(self, path: str | None, ending: str, seen: Observations, options: str) -> None:
        self._path = None if path is None else Path(path + ending)
        self._seen, self._mark = seen, f"{__version__} {seen.digest} {options}"

    def save(
        self, counts: LatentTables, likelihoods: list[float], facts: Mapping[str, Any] | None = None
    ) -> None:
        """Write the counts after ``len(likelihoods)`` steps, and a report's facts about the way to them; whole or not at all."""
        if self._path is None:
            return
        head = {"mark": self._mark, "likelihoods": json.dumps(likelihoods), "facts": json.dumps(facts or {})}
        tensors = {name: getattr(counts, name) for name in _TENSORS} | {"n_states": counts.layout.n_states}
        sealed = np.array(json.dumps(head | {"checksum": checksum(head, tensors)}))
        try:
            with writing(
                self._path
            ) as file:  # array by array, since a copy of all would be most of what is in memory
                np.savez(cast(io.TextIOWrapper, file).buffer, head=sealed, **tensors)
        except GramianError:  # there is no room, and what was kept takes some
            self.remove()
            raise

    def load(self) -> tuple[LatentTables, list[float], dict[str, Any]] | None:
        """Return counts and likelihoods of the steps done, and the facts; or None if there is no file that fits."""
        if self._path is None:
            return None
        try:
            with np.load(self._path) as file:
                head = parse_document(_Head, str(file["head"]))
                if head["mark"] != self._mark:
                    return None
                tensors = {name: file[name] for name in (*_TENSORS, "n_states")}
                if head["checksum"] != checksum(head, tensors):
                    raise ValueError("its checksum differs")
                n_states = np.asarray(tensors.pop("n_states"), np.int32)
                likelihoods = as_document(list[float], parse_json(head["likelihoods"]), "likelihoods")
                facts = as_document(dict[str, Any], parse_json(head["facts"]), "facts")
                self._check(n_states, tensors)
        except (OSError, BadZipFile, KeyError, ValueError, EOFError) as error:
            if not isinstance(error, FileNotFoundError):
                _log.info("%s: invalid checkpoint (%s); learning begins anew", self._path, error)
            return None
        return LatentTables(Layout.of(self._seen.productions, n_states), **tensors), likelihoods, facts

    def _check(self, n_states: npt.NDArray[np.int32], tensors: Mapping[str, npt.NDArray[Any]]) -> None:
        """Raise a ValueError if arrays are not counts of the productions: kernels rely on their sizes."""
        if (
            n_states.shape != (self._seen.bank.n_symbols,)
            or not 1 <= n_states.min() <= n_states.max() <= _MOST_STATES
        ):
            raise ValueError("numbers of states that do not match the treebank")
        expected = Layout.of(self._seen.productions, n_states).zeros(np.float32)
        for name, tensor in tensors.items():
            fits = tensor.shape == getattr(expected, name).shape and tensor.dtype.kind == "f"
            if not fits or not np.isfinite(tensor).all() or (tensor < 0).any():
                raise ValueError(f"{name} holds no counts of the productions")

    def remove(self) -> None:
        """Delete the file, if there is one."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Watch:
    """Which step of expectation-maximisation is kept, and when to stop.

    Attributes
    ----------
    score : callable
        Called after every step with its number and the grammar's maker (a function without arguments); what it returns, higher being
        better, decides which step's grammar is kept.
    patience : int
        Stop after so many steps without improvement.

    Examples
    --------
    >>> watch = Watch(lambda iteration, grammar: -abs(iteration - 3), patience=2)  # the third iteration is best
    >>> watch.patience
    2
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"score": Function(), "patience": Whole(1)}

    score: Callable[[int, Callable[[], LPCFG]], float]
    patience: int = 3


@estimator
class _Iterated(LatentLearner):
    """What learners have in common that end with steps of expectation-maximisation."""

    _: KW_ONLY
    max_iter: int = option(Whole(0), default=8)
    """Iterations of EM."""
    smoothing: Smoothing = option(InstanceOf(Smoothing), default=Smoothing())
    """Of every maximisation step."""
    watch: Watch | None = option(or_none(InstanceOf(Watch)), default=None)
    """Decides which step's grammar is kept, by default the last one's."""
    checkpoint: str | None = option(or_none(InstanceOf(str)), default=None)
    """File that holds the counts after the latest step. If it is there and fits treebank and options, learning goes on from it; it is
    removed at the end."""
    device: str | None = option(or_none(InstanceOf(str)), default=None)
    """Where expectations are taken: a device of torch, such as ``"cuda"``; by default the CPU, without torch."""

    def _iterate(self, model: Maximisation, start: Callable[[], LatentTables], report: Report) -> LPCFG:
        """Alternate expectation and maximisation; return the last grammar, or the best one if it is watched.

        `start` makes the first counts, unless there is a checkpoint to go on from.
        """
        seen, watch, best = model.seen, self.watch, None
        latest, best_file = (
            _Checkpoint(self.checkpoint, end, seen, self.identity()) for end in ("", ".best")
        )
        if (resumed := latest.load()) is not None:
            counts, likelihoods, facts = resumed
            report.facts |= facts
            report.say(f"resuming after iteration {len(likelihoods)}")
            if watch is not None and (stored := best_file.load()) is not None:
                best = (stored[1][0], int(stored[1][1]), stored[0])
        else:
            counts, likelihoods = start(), []
            latest.save(counts, likelihoods, report.facts)
        every = 1 if len(counts.binary) < _LARGE else 4
        with report.stage("expectation-maximisation"):
            tell_progress(_log, "steps of EM", len(likelihoods), self.max_iter)
            for step in range(len(likelihoods) + 1, self.max_iter + 1):
                tables = model.tables(counts)
                del counts  # as large as all else together
                expectation = seen.expect(tables, self._threads, self.device, spent=True)
                counts, total = expectation.counts, expectation.total
                del tables, expectation
                likelihoods.append(total)
                report.say(f"iteration {step}: log-likelihood {likelihoods[-1]:.1f}")
                if watch is not None:
                    value = watch.score(step, lambda held=counts: model.grammar(held))  # type: ignore[misc]
                    if best is None or value > best[0]:
                        best = (value, step, counts)
                        best_file.save(counts, [value, float(step)])
                    elif step - best[1] >= watch.patience:
                        break
                if step % every == 0:
                    latest.save(counts, likelihoods, report.facts)
                tell_progress(_log, "steps of EM", step, self.max_iter)
        report.facts["log-likelihood"] = [round(value, 2) for value in likelihoods]
        if best is not None:
            _, report.facts["best step"], counts = best
        with report.stage("grammar"):
            grammar = model.grammar(counts)
        for file in (latest, best_file):
            file.remove()
        return grammar


@estimator
class EM(_Iterated):
    """Learn a grammar by expectation-maximisation on the observed trees.

    Attributes
    ----------
    model_ : LPCFG
    report_ : dict
        With ``"log-likelihood"`` of the training trees before each step.

    References
    ----------
    Takuya Matsuzaki, Yusuke Miyao and Jun'ichi Tsujii (2005). Probabilistic CFG with latent annotations. ACL.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 40
    >>> learner = EM(n_states=2, allocation="all", max_iter=3).fit(trees)
    >>> [len(learner.report_["log-likelihood"]), int(learner.model_.n_states.max())]
    [3, 2]
    """

    _: KW_ONLY
    start: LPCFG | None = option(or_none(InstanceOf(LPCFG)), default=None)
    """Where to begin. By default relative frequencies, spread over the states with noise (Matsuzaki et al. 2005)."""
    max_iter: int = option(Whole(0), default=40)
    """Iterations."""

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        def start() -> LatentTables:
            if self.start is None:
                layout = Layout.of(seen.productions, self.allocate(seen))
                return random_counts(seen, layout, self.random_state)
            with report.stage("start"):
                tables = tables_of(self.start, seen.bank, seen.productions)
                return seen.expect(tables, self._threads, self.device).counts

        model = Maximisation(seen, self.smoothing, self.lexicon, self.device)
        return self._iterate(model, start, report)


@estimator
class SpectralEM(_Iterated, SpectralClustering):
    """Spectral clusters refined by a few steps of expectation-maximisation.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> learner = SpectralEM(n_states=2, allocation="all", max_iter=2).fit(trees)
    >>> len(learner.report_["log-likelihood"])
    2
    """

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        model = Maximisation(seen, self.smoothing, self.lexicon, self.device)
        return self._iterate(model, lambda: self._clustered_counts(seen, report), report)
