"""Scores of training sentences by log-linear models that were trained without them.

The calibration of confidences and the weights of nets are fitted to such scores, since those of a model for its own training sentences
are too good.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from gramian.dependency.arc_models import ArcScorer, Labeller, fit_arc_scorer, fit_labeller
from gramian.dependency.arc_net_scores import NetArcScorer
from gramian.dependency.arc_templates import ALL_TEMPLATES, TemplateChoice
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.half_constituents import marginals
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.trees import Sentence

_PARTS = 10
_MIN_SENTENCES = 50
_FACTOR_WEIGHTS = (0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_NET_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.25)
_RELATION_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_MIN_PROBABILITY = 1e-5


class HeldOutScores(NamedTuple):
    """A sentence with its tree and the scores of models that have not seen it."""

    symbols: Symbols
    tree: Symbols  #: heads, starting with -1 for the root
    targets: Symbols  #: the number of the relation of each word
    factors: Array  #: of arcs, shape (N + 1, N + 1)
    relations: Array  #: the score of each relation of each word to its gold head, shape (N, L)


@dataclass(frozen=True, eq=False)
class ArcTraining:
    """Training sentences of the log-linear models, and how these are trained."""

    grammar: SHAG
    sentences: Sequence[Sentence]
    symbols: Sequence[Symbols]
    trees: Sequence[Symbols]
    relations: Sequence[Sequence[str]]
    names: Sequence[str]  #: all relations
    column: Literal["upos", "xpos"]
    n_trees: int  #: sentences whose indices differ by this number are versions of one sentence
    n_gold: int  #: only these first trees are held out
    max_iter: int
    random_state: int
    n_jobs: int
    templates: TemplateChoice = ALL_TEMPLATES

    def held_out_parts(self, count: int) -> list[list[int]]:
        """Return the indices of tenths of the trees, at most ten; empty parts if there are few trees.

        A tenth is contiguous: sentences of one document share words, so that others of the document would make log-linear models look
        better than they are on new text.
        """
        parts: list[list[int]] = [[] for _ in range(count)]
        for index in range(len(self.sentences)) if self.n_gold >= _MIN_SENTENCES else ():
            number = index % self.n_trees
            part = number * _PARTS // self.n_gold
            if number < self.n_gold and part < count:
                parts[part].append(index)
        return parts

    def scores(self, fold: Sequence[int], *, has_relations: bool = True) -> list[HeldOutScores]:
        """Return the scores of the sentences of a fold by models that are trained on all others; those of relations on request."""
        if not fold:
            return []
        table, scorer, labeller = self.models_without(fold, has_relations=has_relations)
        number_of = {name: number for number, name in enumerate(self.names)}
        results = []
        for index in fold:
            views, tree = table.encode(self.sentences[index].tokens), self.trees[index]
            targets = np.asarray([number_of[name] for name in self.relations[index]], np.int32)
            scores = np.zeros((len(tree) - 1, 0)) if labeller is None else labeller.scores(views, tree)
            results.append(HeldOutScores(self.symbols[index], tree, targets, scorer.factors(views), scores))
        return results

    def models_without(
        self, fold: Sequence[int], *, has_relations: bool = True
    ) -> tuple[TokenTable, ArcScorer, Labeller | None]:
        """Return models that are trained on all sentences but those of a fold."""
        others = sorted(set(range(len(self.sentences))).difference(fold))
        table = TokenTable.fit([self.sentences[index] for index in others], self.column)
        tokens = [table.encode(self.sentences[index].tokens) for index in others]
        trees = [self.trees[index] for index in others]
        scorer = fit_arc_scorer(
            self.grammar,
            table,
            tokens,
            [self.symbols[index] for index in others],
            trees,
            kept=self.templates.arcs,
            max_iter=self.max_iter,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        if not has_relations:
            return table, scorer, None
        labeller = fit_labeller(
            table,
            tokens,
            trees,
            [self.relations[index] for index in others],
            names=self.names,
            kept=self.templates.relations,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        return table, scorer, labeller


def with_chosen_weights(
    net: NetArcScorer, grammar: SHAG, sentences: Sequence[Sequence[Sentence]], scores: Sequence[HeldOutScores]
) -> tuple[NetArcScorer, list[Array]]:
    """Return an ensemble with the weights that give held-out trees the most probable arcs and the most right relations.

    `sentences` are the sentences that each net has not seen, and `scores` those of log-linear models for all of them; without sentences,
    the weights stay as they are. Also return the products of factors and scores of nets.
    """
    if not scores:
        return net, []
    net_rows, relation_rows = [], []
    rows = iter(scores)
    for weights, part in zip(net.weights, sentences, strict=True):
        member = NetArcScorer(net.inventory, net.n_relations, (weights,))
        for net_row in member.read(part):
            net_rows.append(net_row)
            relation_rows.append(member.relation_scores(net_row, next(rows).tree[1:]))
    pairs = list(zip(scores, net_rows, strict=True))

    def arc_loss(candidate: NetArcScorer) -> float:
        total = 0.0
        for row, net_row in pairs:
            arcs = marginals(grammar, row.symbols, candidate.combined(row.factors, net_row)).arcs
            gold = arcs[row.tree[1:], np.arange(1, len(row.tree))]
            total -= float(np.log(np.maximum(gold, _MIN_PROBABILITY)).sum())
        return total

    def n_right_relations(weight: float) -> int:
        total = 0
        for row, relations in zip(scores, relation_rows, strict=True):
            total += int(((row.relations + weight * relations).argmax(axis=1) == row.targets).sum())
        return total

    candidates = (
        replace(net, arc_weight=arc_weight, factor_weight=factor_weight)
        for factor_weight, arc_weight in product(_FACTOR_WEIGHTS, _NET_WEIGHTS)
    )
    net = min(candidates, key=arc_loss)
    net = replace(net, relation_weight=max(_RELATION_WEIGHTS, key=n_right_relations))
    return net, [net.combined(row.factors, net_row) for row, net_row in pairs]
