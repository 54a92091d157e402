"""What all learners of grammars share: the estimator, its report, and progress.

Learners follow scikit-learn: the constructor only stores, ``fit`` validates and learns, learnt attributes end in ``_``.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from gramian.corpus import Treebank
from gramian.errors import InputError, MissingExtraError
from gramian.grammar import LPCFG
from gramian.learn.lexicon_counts import is_penn_english
from gramian.learn.observations import Observations
from gramian.learn.smoothing import Smoothing
from gramian.trees import HeadRules

try:
    from sklearn.base import BaseEstimator
    from threadpoolctl import threadpool_limits
except ModuleNotFoundError:  # pragma: no cover - only without the extra
    raise MissingExtraError("scikit-learn", "train", "learning a grammar") from None

__all__ = ["PCFG", "Learner", "Report"]


class Report:
    """Seconds per stage, facts per symbol, and whatever else a learner tells; becomes part of the model file.

    Parameters
    ----------
    say : callable, optional
        Called with one line of text when a stage ends or something is worth telling.
    """

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self.facts: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}
        self._say = say

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and tell when it ends."""
        began = time.perf_counter()
        yield
        took = time.perf_counter() - began
        self.seconds[name] = round(self.seconds.get(name, 0.0) + took, 3)
        self.say(f"{name}: {took:.1f} s")

    def say(self, line: str) -> None:
        """Pass a line on to whoever watches."""
        if self._say is not None:
            self._say(line)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        megabytes = peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        return {**self.facts, "seconds": self.seconds, "peak memory (MB)": round(megabytes)}


class Learner(BaseEstimator):  # type: ignore[misc]
    """Base of the learners: a treebank goes in, ``grammar_`` and ``report_`` come out."""

    heads: str | None
    jobs: int
    say: Callable[[str], None] | None

    def fit(self, treebank: Treebank | Observations, y: object = None) -> Self:
        """Learn a grammar.

        Parameters
        ----------
        treebank : Treebank or Observations
            Observations are shared by learners that see the same treebank.
        y : ignored

        Returns
        -------
        self
        """
        report = Report(self.say)
        seen = (
            treebank
            if isinstance(treebank, Observations)
            else Observations(
                treebank,
                heads=self.head_rules(treebank),
                jobs=self.jobs,
                lexicon=getattr(self, "lexicon", "auto"),
            )
        )
        if seen.bank.n_trees == 0:
            raise InputError(
                "there is no tree to learn from", "treebank", hint="look at the file with: gramian inspect"
            )
        # Linear algebra in several threads would change the order of sums, and so the model.
        with threadpool_limits(1):
            self.grammar_: LPCFG = self._learn(seen, report)
        report.facts["symbols"] = self._symbol_table(seen)
        self.report_: dict[str, Any] = report.as_dict()
        return self

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        raise NotImplementedError

    def head_rules(self, bank: Treebank) -> HeadRules | None:
        """Return the head rules that the option `heads` stands for, given the treebank's labels."""
        heads = getattr(self, "heads", None)
        if heads == "auto":
            return HeadRules.collins() if is_penn_english(bank) else None
        return None if heads in (None, "none") else HeadRules.named(str(heads))

    def _symbol_table(self, seen: Observations) -> dict[str, dict[str, Any]]:
        """Return count and number of states of each symbol, most frequent first."""
        order = np.argsort(-seen.label_count, kind="stable")
        return {
            seen.name(number): {
                "count": int(seen.label_count[number]), "states": int(self.grammar_.n_states[number]),
            }
            for number in order.tolist()
        }  # fmt: skip


class PCFG(Learner):
    """The grammar without hidden states: relative frequencies.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")] * 3)
    >>> PCFG().fit(bank).grammar_.n_states.max()
    np.int32(1)
    """

    def __init__(
        self, *, heads: str | None = None, jobs: int = 1, say: Callable[[str], None] | None = None
    ) -> None:
        self.heads, self.jobs, self.say = heads, jobs, say

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        from gramian.learn.cluster import count_states
        from gramian.learn.tables import Layout

        with report.stage("counts"):
            layout = Layout.of(seen.productions, np.ones(seen.bank.n_symbols, np.int32))
            counts = count_states(seen.bank, layout, np.zeros(len(seen.bank.label), np.int32))
        with report.stage("grammar"):
            return seen.grammar(counts, Smoothing(0.0, 0.0, 0.0))
