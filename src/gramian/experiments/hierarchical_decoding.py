"""Many models decoded as Narayan and Cohen (2015) do: a reranker within each scheme of noise, then coverage across schemes.

Within a scheme a log-linear reranker (Charniak and Johnson 2005) chooses among the models' own trees; it learns from trees of folds that
the models have not seen. Of the schemes' trees, the one is taken whose labels most of them have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gramian.chart.tree_arrays import to_tree
from gramian.experts import MaxEntReranker, RerankModel
from gramian.experts.rerank_candidates import own_trees, read_candidates, scored, written_candidates
from gramian.learn.observations import head_rules
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.parsing.parser_settings import parser_options
from gramian.training import TrainingData, TrainingRun, TrainingSettings
from gramian.training.folds import FoldTask, held_out
from gramian.training.members import TaskRunner, member_tasks
from gramian.training.papers import PUBLISHED_PARSING
from gramian.training.training_data import Fold
from gramian.trees import Tree

_LEAST_CHOICES = 10  # sentences with different trees that a reranker learns from


def published_parser(model: Model, combination: str = "product") -> Parser:
    """Return a parser that prunes and decodes as the papers do."""
    options = parser_options(PUBLISHED_PARSING)[1]
    return Parser(model, combination=combination, max_seconds=None, **options)


@dataclass(frozen=True, kw_only=True)
class OwnTreesTask(FoldTask):
    """Find the models' own trees of a fold's sentences, scored."""

    def work(self, model: Model, trees: list[Tree]) -> dict[str, Any]:
        """Return them as JSON values."""
        parser = published_parser(model)
        candidates = []
        for tree in trees:
            forest = parser.forest(tree.words)
            derived = None if forest is None else own_trees(forest, parser.decoder)[0]
            if derived is not None and len(derived):
                candidates.append(scored(tuple(tree.words), derived, tree))
        return written_candidates(candidates)


class RerankedModels(NamedTuple):
    """Models of one scheme, and what was learnt to choose among their trees; nothing if they hardly ever differ."""

    parser: Parser
    reranker: RerankModel | None

    @classmethod
    def learn(cls, data: TrainingData, settings: TrainingSettings, folds: int) -> RerankedModels:
        """Learn the models that settings ask for, then again without each fold, and the reranker from what these say about it."""
        model = TrainingRun(data, settings).run()
        work = [Fold(number, folds) for number in range(folds)]
        held_out_candidates = held_out(OwnTreesTask(), member_tasks(settings, data), work, TaskRunner(data))
        sentences = [sentence for fold in held_out_candidates for sentence in read_candidates(fold)]
        learnt = None
        if sum(len(sentence.trees) > 1 for sentence in sentences) >= _LEAST_CHOICES:
            heads = head_rules(settings.heads, data.bank)
            learnt = MaxEntReranker(heads=heads).fit(sentences).model_
        return cls(published_parser(model), learnt)

    def tree(self, words: Sequence[str]) -> Tree:
        """Return the tree that the reranker finds the most probable of the models' own."""
        forest = self.parser.forest(words)
        trees, derivations = (None, []) if forest is None else own_trees(forest, self.parser.decoder)
        if forest is None or trees is None or not derivations:
            return self.parser.parse(list(words)).tree
        best = 0 if self.reranker is None else int(np.argmax(self.reranker.scores(words, trees)))
        return to_tree(forest, derivations[best], words)


def most_covered(trees: Sequence[Tree]) -> Tree:
    """Return the tree whose labels, each over its span, are in most of the others; of equals the first.

    Examples
    --------
    >>> one, two = Tree.parse("(S (NP (D a) (N b)) (V c))"), Tree.parse("(S (D a) (VP (N b) (V c)))")
    >>> most_covered([two, one, one]) == one
    True
    """
    brackets = [set(tree.spans()) for tree in trees]
    covered = [sum(len(spans & other) for other in brackets) for spans in brackets]
    return trees[covered.index(max(covered))]
