"""What a model's confidences are worth, and its expert beside its grammars: learnt from trees the model has not seen.

Confidences of the trees that a model was learnt from say nothing, since it knows these. So the same members are trained once more without
one fold (:mod:`gramian.training.folds`), parse it, and what they get right there gives the curves (:mod:`gramian.parsing.calibration`) and
the expert's weight of the model that was learnt from all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gramian.chart.combine import COMBINATIONS, EXPERT_WEIGHT
from gramian.evaluate import GoldBrackets, judged
from gramian.parsing.calibration import Calibration, Curve
from gramian.parsing.model import Model
from gramian.training.folds import HeldOut, held_out
from gramian.training.parallel import Outcome
from gramian.trees import Tree

__all__ = ["FOLDS", "WEIGHTS", "calibrate", "fold_f1", "fold_outcomes"]

FOLDS = 10
"""One fold of so many is held out: the last, since the neighbours of its trees are on one side only."""
WEIGHTS = (0.25, 0.35, 0.45, 0.55, 0.65)
"""The weights of an expert that are tried."""
_MOST = 1000  # trees of a fold that are parsed; a curve has three parameters


def calibrate(
    model: Model,
    tasks: Sequence[dict[str, Any]],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    folder: str | Path | None = None,
    watch: Callable[[Outcome], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Model:
    """Return a model with calibrated confidences and, if it has an expert, a tuned weight of it.

    Parameters
    ----------
    model : Model
        Of all trees.
    tasks : sequence of dict
        Its members', as for :func:`gramian.training.members.train_member`.
    jobs, scheduler, folder, watch, say
        As for :func:`gramian.training.folds.held_out`.
    """

    def work(function: Callable[..., Any], **settings: Any) -> Any:
        [result] = held_out(
            function, settings, tasks, FOLDS, numbers=[FOLDS - 1], jobs=jobs, scheduler=scheduler, folder=folder, watch=watch,
            say=say,
        )  # fmt: skip
        return result

    report: dict[str, Any] = {}
    weight = None
    if model.expert is not None and model.reranker is None:  # a reranker has learnt with the usual weight
        f1 = work(fold_f1, weights=list(WEIGHTS))
        best = max(zip(f1, WEIGHTS, strict=True), key=lambda one: (one[0], -abs(one[1] - EXPERT_WEIGHT)))
        weight = best[1]
        report["F1 by weight of the expert"] = {
            f"{one}": round(value, 2) for one, value in zip(WEIGHTS, f1, strict=True)
        }
    ways = COMBINATIONS if model.others or model.expert is not None else COMBINATIONS[:1]
    outcomes = work(fold_outcomes, combinations=list(ways), expert_weight=weight)
    curves = {
        way: Calibration(**{kind: _curve(*rows) for kind, rows in found.items()})
        for way, found in outcomes.items()
    }
    report["nodes"] = {kind: len(rows[0]) for kind, rows in outcomes[ways[0]].items()}
    return replace(
        model, calibration=curves, expert_weight=weight, report=dict(model.report) | {"calibration": report}
    )


def fold_f1(fold: HeldOut, *, weights: Sequence[float]) -> list[float]:
    """Return the F1 (gold tags put in) of the model of a fold on this fold, for each weight of its expert."""
    trees = _sample(fold.trees)
    gold = GoldBrackets(trees)
    return [
        gold.score([tree for tree, _ in _parses(fold.model, trees, expert_weight=weight)]).f1_gold_tags
        for weight in weights
    ]


def fold_outcomes(
    fold: HeldOut, *, combinations: Sequence[str], expert_weight: float | None
) -> dict[str, dict[str, list[list[float]]]]:
    """Return, for each way to combine, the posteriors of phrases and tags in the best trees of a fold, and whether each is right."""
    trees = _sample(fold.trees)
    gold = GoldBrackets(trees)
    return {
        way: {
            kind: [sure.round(7).tolist(), right.astype(int).tolist()]
            for kind, (sure, right) in judged(
                gold, _parses(fold.model, trees, way, expert_weight=expert_weight)
            ).items()
        }
        for way in combinations
    }


def _curve(posteriors: Sequence[float], right: Sequence[float]) -> Curve | None:
    """Return a curve through what was parsed; makeshifts, which have no posterior, stay as they are."""
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
    from gramian.parsing.parser import Parser

    parser = Parser(replace(model, expert_weight=expert_weight), combination=combination)
    results = parser.parse_many([list(tree.words) for tree in trees])
    return [(result.tree, result.confidences) for result in results]
