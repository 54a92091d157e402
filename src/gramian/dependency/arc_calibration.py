"""Calibration of the confidences of arcs (Platt 1999): of all arcs with a confidence of 80 %, 80 % should be correct.

Marginals come from weights that were fitted to the training trees, so that they are too close to 0 and 1 in new sentences. A scorer that
is trained without a tenth of the trees shows by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gramian.dependency.arc_models import Labeller, fit_arc_scorer, fit_labeller
from gramian.dependency.arc_net_scores import NetArcScorer, NetArcScores
from gramian.dependency.arc_tokens import Tokens, TokenTable
from gramian.dependency.half_constituents import decode, marginals
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.trees import Sentence

_PARTS = 10  # one is held out
_MIN_SENTENCES = 50
_FACTOR_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_NET_WEIGHTS = (0.25, 0.5, 0.75, 1.0)
_RELATION_WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)
_CERTAIN = 1e-9  # arcs that are this close to 1 have no alternative


@dataclass(frozen=True)
class ArcCalibration:
    """The confidence of an arc with marginal p is sigmoid(slope logit(p) + bias).

    Examples
    --------
    >>> ArcCalibration(0.5, 0.0)(np.array([0.5, 0.9, 1.0])).round(2).tolist()
    [0.5, 0.75, 1.0]
    """

    slope: float = 1.0
    bias: float = 0.0

    def __call__(self, marginals: Array) -> Array:
        """Return the confidences of arcs."""
        confidences = 1.0 / (1.0 + np.exp(-self.slope * _logits(marginals) - self.bias))
        return np.where(marginals >= 1.0 - _CERTAIN, 1.0, confidences)


def held_out_sentences(n_sentences: int, n_trees: int) -> list[bool]:
    """Tell which sentences are held out: a tenth; none if there are few.

    Sentences may be given in several versions; two whose indices differ by `n_trees` have the same tree.
    """
    return [n_trees >= _MIN_SENTENCES and index % n_trees % _PARTS == 0 for index in range(n_sentences)]


def fit_arc_calibration(
    grammar: SHAG,
    sentences: Sequence[Sentence],
    symbols: Sequence[Symbols],
    trees: Sequence[Symbols],
    relations: Sequence[Sequence[str]],
    is_held_out: Sequence[bool],
    *,
    column: str,
    labeller: Labeller,
    net: NetArcScorer | None = None,
    max_iter: int,
    random_state: int,
    n_jobs: int,
) -> tuple[ArcCalibration, NetArcScorer | None]:
    """Fit a calibration on held-out trees, and choose the weights of the net that was trained without them.

    Without held-out trees, the calibration changes nothing. Parameters are those of :func:`gramian.dependency.arc_models.fit_arc_scorer`
    and :func:`held_out_sentences`.
    """
    if not any(is_held_out):
        return ArcCalibration(), net
    seen = [index for index, out in enumerate(is_held_out) if not out]
    held_out = [index for index, out in enumerate(is_held_out) if out]
    table = TokenTable.fit([sentences[index] for index in seen], "xpos" if column == "xpos" else "upos")
    tokens = [table.encode(sentences[index].tokens) for index in seen]
    seen_trees = [trees[index] for index in seen]
    scorer = fit_arc_scorer(
        grammar,
        table,
        tokens,
        [symbols[index] for index in seen],
        seen_trees,
        max_iter=max_iter,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    examples = [
        _HeldOut(symbols[index], trees[index], scorer.factors(table.encode(sentences[index].tokens)))
        for index in held_out
    ]
    if net is not None:
        scores = net.read([sentences[index] for index in held_out])
        net = _with_arc_weights(net, grammar, examples, scores)
        examples = [
            example._replace(factors=net.combined(example.factors, score))
            for example, score in zip(examples, scores, strict=True)
        ]
        held_out_labeller = fit_labeller(
            table,
            tokens,
            seen_trees,
            [relations[index] for index in seen],
            names=labeller.relations,
            max_iter=max_iter,
            random_state=random_state,
        )
        net = _with_relation_weight(
            net,
            replace(held_out_labeller, root_only=labeller.root_only),
            [table.encode(sentences[index].tokens) for index in held_out],
            examples,
            [relations[index] for index in held_out],
            scores,
        )
    decoded = [decode(grammar, None, example.symbols, example.factors) for example in examples]
    outcomes = [result.heads == example.tree[1:] for result, example in zip(decoded, examples, strict=True)]
    return _fit(np.concatenate([result.confidences for result in decoded]), np.concatenate(outcomes)), net


class _HeldOut(NamedTuple):
    """A held-out sentence with its tree and the factors of its arcs."""

    symbols: Symbols
    tree: Symbols
    factors: Array


def _with_arc_weights(
    net: NetArcScorer, grammar: SHAG, examples: Sequence[_HeldOut], scores: Sequence[NetArcScores]
) -> NetArcScorer:
    """Return the net with the weights that give the arcs of held-out trees the highest probability."""

    def loss(candidate: NetArcScorer) -> float:
        total = 0.0
        for example, score in zip(examples, scores, strict=True):
            arcs = marginals(grammar, example.symbols, candidate.combined(example.factors, score)).arcs
            gold = arcs[example.tree[1:], np.arange(1, len(example.tree))]
            total -= float(np.log(np.maximum(gold, _CERTAIN)).sum())
        return total

    candidates = [
        replace(net, arc_weight=arc_weight, factor_weight=factor_weight)
        for factor_weight in _FACTOR_WEIGHTS
        for arc_weight in _NET_WEIGHTS
    ]
    return min(candidates, key=loss)


def _with_relation_weight(
    net: NetArcScorer,
    labeller: Labeller,
    tokens: Sequence[Tokens],
    examples: Sequence[_HeldOut],
    relations: Sequence[Sequence[str]],
    scores: Sequence[NetArcScores],
) -> NetArcScorer:
    """Return the net with the weight that gives most words of held-out trees the right relation to their gold head."""

    def n_right(candidate: NetArcScorer) -> int:
        total = 0
        for views, example, gold, score in zip(tokens, examples, relations, scores, strict=True):
            more = candidate.relation_scores(score, example.tree[1:])
            names = labeller.label(views, example.tree, more)
            total += sum(name == other for name, other in zip(names, gold, strict=True))
        return total

    return max((replace(net, relation_weight=weight) for weight in _RELATION_WEIGHTS), key=n_right)


def _fit(confidences: Array, outcomes: Array) -> ArcCalibration:
    """Fit a logistic regression of outcomes on logits."""
    from sklearn.linear_model import LogisticRegression

    undecided = confidences < 1.0 - _CERTAIN
    confidences, outcomes = confidences[undecided], outcomes[undecided]
    if not 0 < outcomes.sum() < len(outcomes):
        return ArcCalibration()
    model = LogisticRegression(C=1e4).fit(_logits(confidences)[:, None], outcomes)
    return ArcCalibration(max(float(model.coef_[0, 0]), 0.0), float(model.intercept_[0]))


def _logits(marginals: Array) -> Array:
    clipped = np.clip(marginals, _CERTAIN, 1.0 - _CERTAIN)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))
