"""A reranker for a model: learnt from the candidates of models that have not seen the sentences."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, ClassVar

from gramian.experts import MaxEntReranker
from gramian.experts.rerank_candidates import CANDIDATES, candidates
from gramian.experts.rerank_scored import Scored, read_candidates, scored, written_candidates
from gramian.io import model_files
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.tasks.task_runner import Outcome
from gramian.training.folds import FoldTask, held_out
from gramian.training.members import MemberTask, TaskRunner
from gramian.training.training_data import Fold
from gramian.trees import HeadRules, Tree

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CandidatesTask(FoldTask):
    """Find the `k` best candidates of a fold's sentences, scored."""

    RESULT: ClassVar[Any] = dict[str, Any]

    k: int = CANDIDATES
    weights: tuple[tuple[str, float | None], ...] = ()  # of experts

    def work(self, model: Model, trees: list[Tree]) -> dict[str, Any]:
        """Return the candidates as JSON values; :func:`gramian.experts.rerank_scored.read_candidates` reads them."""
        parser = Parser(model.with_weights(dict(self.weights)))
        found = []
        for tree in trees:
            forest = parser.forest(tree.words)
            best = None if forest is None else candidates(forest, self.k)[0]
            if best is not None and len(best):
                found.append(scored(tuple(tree.words), best, tree))
        return written_candidates(found)


class _Candidates:
    """Candidates of all folds, read anew each time from what tasks returned, which is far smaller."""

    def __init__(self, folds: Sequence[dict[str, Any]]) -> None:
        self._folds = folds

    def __iter__(self) -> Iterator[Scored]:
        return chain.from_iterable(map(read_candidates, self._folds))


def add_reranker(
    model: Model, members: Sequence[MemberTask], folds: int, heads: HeadRules | None, runner: TaskRunner
) -> Model:
    """Train the same members on folds of the treebank, rank their parses of the rest, and add what is learnt to the model."""
    numbers = count(1)

    def watch(outcome: Outcome) -> None:
        what = "model" if isinstance(outcome.task, MemberTask) else "parses"
        number, total = outcome.task.fold.number + 1, folds * (len(members) + 1)
        _log.info("fold %d of %d, %s: %s (%d of %d)", number, folds, what, outcome.how, next(numbers), total)

    work = CandidatesTask(weights=tuple((part.kind, part.weight) for part in model.experts))
    found = held_out(work, members, [Fold(number, folds) for number in range(folds)], runner, watch)
    reranker = MaxEntReranker(heads=heads)
    reranker.fit(_Candidates(found))
    about = {**reranker.report_, "folds": folds}
    del about["seconds"], about["peak memory (MB)"]
    report = dict(model.report) | {"reranker": about}
    return replace(model, reranker=model_files.rounded("reranker", reranker.model_), report=report)
