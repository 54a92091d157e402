"""What a model's confidences are worth, and its expert beside its grammars: learnt from trees the model has not seen.

Confidences of the trees that a model was learnt from say nothing, since it knows these. So the same members are trained once more without
one fold (:mod:`gramian.training.folds`), parse it, and what they get right there gives the curves (:mod:`gramian.parsing.calibration`) and
the expert's weight of the model that was learnt from all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.chart.combine import COMBINATIONS, EXPERT_WEIGHT
from gramian.evaluate import GoldBrackets, judged
from gramian.parsing.calibration import Calibration, Curve
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.training.folds import FoldTask, held_out
from gramian.training.members import MemberTask, Workplace
from gramian.training.parallel import Outcome
from gramian.training.training_data import Fold
from gramian.trees import Tree

LAST = Fold(9, 10)
"""The fold that is held out: the last, since the neighbours of its trees are on one side only."""
WEIGHTS = (0.25, 0.35, 0.45, 0.55, 0.65)
"""The weights of an expert that are tried."""
_MOST = 1000  # trees of a fold that are parsed; a curve has three parameters


def calibrate(
    model: Model,
    members: Sequence[MemberTask],
    place: Workplace,
    watch: Callable[[Outcome], None] | None = None,
) -> Model:
    """Return a model of all trees with calibrated confidences and, if it has an expert, a tuned weight of it."""
    report: dict[str, Any] = {}
    weight = None
    if model.expert is not None and model.reranker is None:  # a reranker has learnt with the usual weight
        [f1] = held_out(WeightsTask(), members, [LAST], place, watch)
        found = dict(zip(WEIGHTS, f1, strict=True))
        weight = max(WEIGHTS, key=lambda one: (found[one], -abs(one - EXPERT_WEIGHT)))
        report["F1 by weight of the expert"] = {f"{one}": round(value, 2) for one, value in found.items()}
    several = model.others or model.expert is not None or model.neural is not None
    ways = COMBINATIONS if several else COMBINATIONS[:1]
    work = OutcomesTask(combinations=tuple(ways), expert_weight=weight)
    [outcomes] = held_out(work, members, [LAST], place, watch)
    curves = {
        way: Calibration(**{kind: _curve(*rows) for kind, rows in found.items()})
        for way, found in outcomes.items()
    }
    report["nodes"] = {kind: len(rows[0]) for kind, rows in outcomes[ways[0]].items()}
    report = dict(model.report) | {"calibration": report}
    return replace(model, calibration=curves, expert_weight=weight, report=report)


@dataclass(frozen=True, kw_only=True)
class WeightsTask(FoldTask):
    """The F1 (gold tags put in) of the model of a fold on this fold, for each weight of its expert."""

    weights: tuple[float, ...] = WEIGHTS

    def work(self, model: Model, trees: list[Tree]) -> list[float]:
        """Return the F1 of each weight."""
        trees = _sample(trees)
        gold = GoldBrackets(trees)
        parses = (_parses(model, trees, expert_weight=weight) for weight in self.weights)
        return [gold.score([tree for tree, _ in found]).f1_gold_tags for found in parses]


@dataclass(frozen=True, kw_only=True)
class OutcomesTask(FoldTask):
    """The posteriors of phrases and tags in the best trees of a fold, and whether each is right, for each way to combine."""

    combinations: tuple[str, ...]
    expert_weight: float | None = None

    def work(self, model: Model, trees: list[Tree]) -> dict[str, dict[str, list[list[float]]]]:
        """Return posteriors and outcomes, by way and kind."""
        trees = _sample(trees)
        gold, found = GoldBrackets(trees), {}
        for way in self.combinations:
            parses = _parses(model, trees, way, expert_weight=self.expert_weight)
            found[way] = {
                kind: [sure.round(7).tolist(), right.astype(int).tolist()]
                for kind, (sure, right) in judged(gold, parses).items()
            }
        return found


def _curve(posteriors: Sequence[float], right: Sequence[float]) -> Curve | None:
    """Return a curve through what was parsed; fallbacks, which have no posterior, stay as they are."""
    values = np.array(posteriors)
    known = values > 0
    return Curve.fit(values[known], np.array(right, np.bool_)[known]) if known.any() else None


def _sample(trees: Sequence[Tree]) -> list[Tree]:
    """Return trees from everywhere in a fold, not more than suffice."""
    places = np.linspace(0, len(trees) - 1, min(len(trees), _MOST)).astype(int)
    return [trees[place] for place in places]


def _parses(
    model: Model, trees: Sequence[Tree], combination: str = "product", *, expert_weight: float | None
) -> list[tuple[Tree, tuple[float, ...]]]:
    parser = Parser(replace(model, expert_weight=expert_weight), combination=combination)
    results = parser.parse_many([list(tree.words) for tree in trees])
    return [(result.tree, result.confidences) for result in results]
