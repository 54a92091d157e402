"""Scores of training sentences by log-linear models that were trained without them (cross-fitting).

The calibration of confidences, the net and its weights are fitted to such scores, since those of a model for its own training sentences
are too good.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from gramian.dependency.arc_models import fit_arc_scorer, fit_labeller
from gramian.dependency.arc_net_scores import NetArcScorer
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.half_constituents import marginals
from gramian.dependency.split_head_automata import SHAG, Array, Symbols
from gramian.trees import Sentence

_PARTS = 10  # one of them is held out
_MIN_SENTENCES = 50
_FOLDS = 4  # of the other parts
_FACTOR_WEIGHTS = (0.25, 0.5, 0.75, 1.0)
_NET_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
_RELATION_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_MIN_PROBABILITY = 1e-5


class HeldOutScores(NamedTuple):
    """A sentence with its tree and the scores of models that have not seen it."""

    symbols: Symbols
    tree: Symbols  #: heads, starting with -1 for the root
    targets: Symbols  #: the number of the relation of each word
    factors: Array  #: of arcs, shape (N + 1, N + 1)
    relations: Array  #: the score of each relation of each word to its gold head, shape (N, L)

    def log_probabilities(self, grammar: SHAG) -> tuple[Array, Array]:
        """Return those of the heads, shape (N, N + 1), and relations of words."""
        arcs = marginals(grammar, self.symbols, self.factors).arcs[:, 1:].T
        relations = np.exp(self.relations - self.relations.max(axis=1, keepdims=True))
        relations /= relations.sum(axis=1, keepdims=True)
        return np.log(np.maximum(arcs, _MIN_PROBABILITY)), np.log(np.maximum(relations, _MIN_PROBABILITY))


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

    @property
    def folds(self) -> list[list[int]]:
        """The indices of parts of the sentences: first the held-out tenth, empty if there are few sentences; then the others."""
        parts: list[list[int]] = [[] for _ in range(_FOLDS + 1)]
        has_held_out = self.n_gold >= _MIN_SENTENCES
        for index in range(len(self.sentences)):
            number = index % self.n_trees
            is_held_out = has_held_out and number < self.n_gold and number % _PARTS == 0
            parts[0 if is_held_out else 1 + number % _FOLDS].append(index)
        return parts

    def scores(self, fold: Sequence[int], *, has_relations: bool = True) -> list[HeldOutScores]:
        """Return the scores of the sentences of a fold by models that are trained on all others; those of relations on request."""
        if not fold:
            return []
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
            max_iter=self.max_iter,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        labeller = None
        if has_relations:
            labeller = fit_labeller(
                table,
                tokens,
                trees,
                [self.relations[index] for index in others],
                names=self.names,
                max_iter=self.max_iter,
                random_state=self.random_state,
            )
        number_of = {name: number for number, name in enumerate(self.names)}
        results = []
        for index in fold:
            views, tree = table.encode(self.sentences[index].tokens), self.trees[index]
            targets = np.asarray([number_of[name] for name in self.relations[index]], np.int32)
            scores = np.zeros((len(tree) - 1, 0)) if labeller is None else labeller.scores(views, tree)
            results.append(HeldOutScores(self.symbols[index], tree, targets, scorer.factors(views), scores))
        return results


def with_chosen_weights(
    net: NetArcScorer, grammar: SHAG, sentences: Sequence[Sentence], scores: Sequence[HeldOutScores]
) -> NetArcScorer:
    """Return the net with the weights that give held-out trees the most probable arcs and the most right relations."""
    net_scores = net.read(sentences)
    pairs = list(zip(scores, net_scores, strict=True))

    def arc_loss(candidate: NetArcScorer) -> float:
        total = 0.0
        for row, net_row in pairs:
            arcs = marginals(grammar, row.symbols, candidate.combined(row.factors, net_row)).arcs
            gold = arcs[row.tree[1:], np.arange(1, len(row.tree))]
            total -= float(np.log(np.maximum(gold, _MIN_PROBABILITY)).sum())
        return total

    def n_right_relations(candidate: NetArcScorer) -> int:
        total = 0
        for row, net_row in pairs:
            best = (row.relations + candidate.relation_scores(net_row, row.tree[1:])).argmax(axis=1)
            total += int((best == row.targets).sum())
        return total

    candidates = (
        replace(net, arc_weight=arc_weight, factor_weight=factor_weight)
        for factor_weight, arc_weight in product(_FACTOR_WEIGHTS, _NET_WEIGHTS)
    )
    net = min(candidates, key=arc_loss)
    return max((replace(net, relation_weight=weight) for weight in _RELATION_WEIGHTS), key=n_right_relations)
