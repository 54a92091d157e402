"""Selection of feature templates on held-out trees.

Models with all templates are trained without a tenth of the trees. The templates are then left out one after the other, the least useful
first, as long as the log-likelihood of the held-out trees and their relations decreases by no more than a small share. The weights stay as
they are, so that the selection costs little more than scoring the held-out trees once for each template.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gramian.dependency.arc_templates import TemplateChoice
from gramian.dependency.half_constituents import marginals
from gramian.dependency.held_out_scores import ArcTraining

_TOLERANCE = 1e-3  # share of the loss that leaving out one template may cost
_MIN_PROBABILITY = 1e-5


def select_templates(training: ArcTraining) -> TemplateChoice:
    """Return the templates that held-out trees need; all if there are few trees."""
    [part] = training.held_out_parts(1)
    if not part:
        return training.templates
    table, scorer, labeller = training.models_without(part)
    tokens = [table.encode(training.sentences[index].tokens) for index in part]
    trees = [training.trees[index] for index in part]
    number_of = {name: number for number, name in enumerate(training.names)}
    targets = [[number_of[name] for name in training.relations[index]] for index in part]

    def arc_loss(kept: tuple[int, ...]) -> float:
        candidate, total = replace(scorer, kept=kept), 0.0
        for index, views, tree in zip(part, tokens, trees, strict=True):
            arcs = marginals(training.grammar, training.symbols[index], candidate.factors(views)).arcs
            gold = arcs[tree[1:], np.arange(1, len(tree))]
            total -= float(np.log(np.maximum(gold, _MIN_PROBABILITY)).sum())
        return total

    def relation_loss(kept: tuple[int, ...]) -> float:
        if labeller is None:
            return 0.0
        candidate, total = replace(labeller, kept=kept), 0.0
        for views, tree, target in zip(tokens, trees, targets, strict=True):
            scores = candidate.scores(views, tree)
            total += float(
                np.logaddexp.reduce(scores, axis=1).sum() - scores[range(len(target)), target].sum()
            )
        return total

    return TemplateChoice(
        _needed(training.templates.arcs, arc_loss), _needed(training.templates.relations, relation_loss)
    )


def _needed(kept: tuple[int, ...], loss: Callable[[tuple[int, ...]], float]) -> tuple[int, ...]:
    """Return the templates without which the loss grows.

    Examples
    --------
    >>> _needed((0, 1, 2), lambda kept: 10.0 - 3.0 * (1 in kept) + 0.1 * (2 in kept))
    (1,)
    """

    def without(template: int) -> tuple[int, ...]:
        return tuple(other for other in kept if other != template)

    current = loss(kept)
    for template in sorted(kept, key=lambda template: loss(without(template))):
        smaller = without(template)
        value = loss(smaller) if smaller else np.inf
        if value <= current * (1 + _TOLERANCE):
            kept, current = smaller, min(value, current)
    return kept
