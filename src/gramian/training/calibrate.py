"""What is learnt about a model from trees it has not seen: its confidences, the weights of its experts, when cells are closed.

Confidences of the trees that a model was learnt from say nothing, since it knows these. So the same members are trained once more
without one fold, parse it, and what they get right there gives the curves (:mod:`gramian.parsing.calibration`) and the experts' weights
of the model that was learnt from all.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from gramian.chart.combine import COMBINATIONS
from gramian.evaluate import GoldBrackets, judged
from gramian.experts import EXPERT_KINDS, CellClassifier
from gramian.io import model_files
from gramian.parsing.calibration import Calibration, Curve
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.tasks.task_runner import Outcome
from gramian.training.folds import FoldTask, held_out
from gramian.training.members import MemberTask, TaskRunner
from gramian.training.training_data import Fold, TrainingData
from gramian.trees import Tree

LAST = Fold(9, 10)
"""The fold that is held out: the last, since the neighbours of its trees are on one side only."""
_MOST = 1000  # trees of a fold that are parsed; a curve has three parameters


def calibrate(
    model: Model,
    members: Sequence[MemberTask],
    runner: TaskRunner,
    watch: Callable[[Outcome], None] | None = None,
) -> Model:
    """Return a model of all trees with calibrated confidences and, if it has experts, tuned weights of them."""
    return _calibrated(model, lambda work: held_out(work, members, [LAST], runner, watch)[0])


def calibrate_on(model: Model, trees: Sequence[Tree]) -> Model:
    """Return a model with weights and confidences that suit trees which none of its parts has seen."""
    return _calibrated(model, lambda work: work.work(model, list(trees)))


def _calibrated(model: Model, ask: Callable[[FoldTask], Any]) -> Model:
    report: dict[str, Any] = {}
    weights: dict[str, float] = {}
    # a reranker has learnt with the usual weights
    for part in model.experts if model.reranker is None else ():
        kind = EXPERT_KINDS[part.kind]
        f1 = ask(WeightsTask(kind=part.kind, others=tuple(weights.items())))
        ranked = [
            (value, -abs(weight - kind.weight), weight)
            for weight, value in zip(kind.tried_weights, f1, strict=True)
        ]
        weights[part.kind] = max(ranked, key=itemgetter(0, 1))[2]
        of = "the expert" if part.kind == "crf" else "the neural expert"
        report[f"F1 by weight of {of}"] = {f"{weight}": round(value, 2) for value, _, weight in ranked}
    ways = COMBINATIONS if len(model.grammars) > 1 or model.experts else COMBINATIONS[:1]
    outcomes = ask(OutcomesTask(combinations=tuple(ways), weights=tuple(weights.items())))
    curves = {
        way: Calibration(**{kind: _curve(*rows) for kind, rows in pairs.items()})
        for way, pairs in outcomes.items()
    }
    report["nodes"] = {kind: len(rows[0]) for kind, rows in outcomes[ways[0]].items()}
    report = dict(model.report) | {"calibration": report}
    return replace(model, calibration=curves, report=report).with_weights(weights)


@dataclass(frozen=True, kw_only=True)
class WeightsTask(FoldTask):
    """The F1 (gold tags put in) of the model of a fold on this fold, for each weight of one of its experts."""

    RESULT: ClassVar[Any] = list[float]

    kind: str = "crf"
    others: tuple[tuple[str, float], ...] = ()  # weights found before

    def work(self, model: Model, trees: list[Tree]) -> list[float]:
        """Return the F1 of each weight."""
        trees = _sample(trees)
        gold, f1 = GoldBrackets(trees), []
        for weight in EXPERT_KINDS[self.kind].tried_weights:
            weighted = model.with_weights({**dict(self.others), self.kind: weight})
            f1.append(gold.score([tree for tree, _ in _parses(weighted, trees)]).f1_gold_tags)
        return f1


@dataclass(frozen=True, kw_only=True)
class OutcomesTask(FoldTask):
    """The posteriors of phrases and tags in the best trees of a fold, and whether each is right, for each way to combine."""

    RESULT: ClassVar[Any] = dict[str, dict[str, tuple[list[float], list[float]]]]

    combinations: tuple[str, ...]
    weights: tuple[tuple[str, float], ...] = ()

    def work(self, model: Model, trees: list[Tree]) -> dict[str, dict[str, list[list[float]]]]:
        """Return posteriors and outcomes, by way and kind."""
        trees, model = _sample(trees), model.with_weights(dict(self.weights))
        gold, outcomes = GoldBrackets(trees), {}
        for way in self.combinations:
            parses = _parses(model, trees, way)
            outcomes[way] = {
                kind: [sure.round(7).tolist(), right.astype(int).tolist()]
                for kind, (sure, right) in judged(gold, parses).items()
            }
        return outcomes


def _curve(posteriors: Sequence[float], right: Sequence[float]) -> Curve | None:
    """Return a curve through what was parsed; fallbacks, which have no posterior, stay as they are."""
    values = np.array(posteriors)
    known = values > 0
    return Curve.fit(values[known], np.array(right, np.bool_)[known]) if known.any() else None


def _sample(trees: Sequence[Tree]) -> list[Tree]:
    """Return trees from everywhere in a fold, not more than suffice."""
    indices = np.linspace(0, len(trees) - 1, min(len(trees), _MOST)).astype(int)
    return [trees[index] for index in indices]


def _parses(
    model: Model, trees: Sequence[Tree], combination: str = "product"
) -> list[tuple[Tree, tuple[float, ...]]]:
    results = Parser(model, combination=combination).parse_many([list(tree.words) for tree in trees])
    return [(result.tree, result.confidences) for result in results]


_log = logging.getLogger(__name__)

THRESHOLDS = (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008)
MAX_LOSS = 0.05  # of F1
_RUNS, _EVERY = 100, 20  # each 20th of a hundred runs of trees is held out
_MOST_HELD_OUT = 500  # trees that are parsed


def add_cells(model: Model, data: TrainingData, random_state: int = 0) -> Model:
    """Learn a classifier from most trees, choose its threshold on the others, and add it to a model.

    Held-out trees come in runs, since a classifier that knows the rest of a document loses less on it than on others. The grammars have
    seen them and find them too probable, so that the loss is rather overestimated.
    """
    bank = data.bank
    number = np.arange(bank.n_trees)
    is_held_out = number // max(1, bank.n_trees // _RUNS) % _EVERY == _EVERY - 1
    test_trees = number[is_held_out]
    classifier = CellClassifier(random_state=random_state).fit(bank.subset(number[~is_held_out]))
    cells = model_files.rounded("cells", classifier.model_)
    trees = [bank.tree(index) for index in test_trees[:: 1 + len(test_trees) // _MOST_HELD_OUT].tolist()]
    gold, sentences = GoldBrackets(trees), [list(tree.words) for tree in trees]
    f1: dict[float, float] = {}
    for threshold in THRESHOLDS if trees else ():
        parser = Parser(replace(model, cells=replace(cells, threshold=threshold)), rerank=False)
        score = gold.score([result.tree for result in parser.parse_many(sentences)])
        f1[threshold] = round(score.f1_gold_tags, 3)
        if f1[threshold] < f1[0.0] - MAX_LOSS:
            break
    chosen = max([value for value in f1 if f1[value] >= f1[0.0] - MAX_LOSS], default=0.0)
    _log.info("cells are closed below a probability of %g", chosen)
    report = dict(model.report) | {"F1 by threshold of cells": {str(key): value for key, value in f1.items()}}
    return replace(model, cells=model_files.rounded("cells", replace(cells, threshold=chosen)), report=report)
