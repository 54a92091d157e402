"""Training on what is annotated so far, in seconds."""

import logging
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from gramian.annotate.proposals import LabelSet, Proposer, usual_tags
from gramian.errors import OptionError
from gramian.evaluate import score
from gramian.parsing.parser import Parser
from gramian.progress import handled
from gramian.trees import Tree

MIN_TREES = 5
"""Trees that a grammar can be trained on."""


class Retrained(NamedTuple):
    """A proposer, and how it was chosen: F1 on annotated trees of the new grammar (trained on the other half) and of the first model."""

    proposer: Proposer
    trees: int
    f1: float | None = None
    first_f1: float | None = None
    is_first: bool = False


def train_proposer(trees: Sequence[Tree], labels: LabelSet, n_states: int = 4) -> Proposer:
    """Return a proposer with a small grammar that is trained on some trees.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (NN rain)) (VP (VBZ falls)))")
    >>> proposer = train_proposer([tree] * 10, LabelSet.of([tree]), n_states=1)
    >>> print(proposer.propose([["rain", "falls"]])[0].tree)
    (S (NP (NN rain)) (VP (VBZ falls)))
    """
    from gramian.training import (
        TrainingRun,
        TrainingSettings,
    )  # needs scikit-learn

    options = {"method": "spectral-cluster", "n_states": n_states, "ensemble_size": 1, "preset": "whole"}
    with warnings.catch_warnings(), handled(logging.NullHandler(), logging.WARNING):
        warnings.simplefilter("ignore")  # few trees have fewer different nodes than states
        model = TrainingRun(trees, TrainingSettings.of(options)).run()
    return Proposer(Parser(model), labels, usual_tags(trees))


def retrain(trees: Sequence[Tree], labels: LabelSet, first: Parser | None = None) -> Retrained:
    """Train on all annotated trees, unless the parser that annotation began with is better.

    Both are scored on the annotated trees: the first parser on all of them, the grammar on each half after training on the other.
    """
    if len(trees) < MIN_TREES:
        raise OptionError(
            f"{len(trees)} finished trees are too few to train on; try: finish at least {MIN_TREES}"
        )
    new = train_proposer(trees, labels)
    if first is None or len(trees) < 2 * MIN_TREES:
        if first is not None:
            return Retrained(Proposer(first, labels, usual_tags(trees)), len(trees), is_first=True)
        return Retrained(new, len(trees))
    halves = [trees[::2], trees[1::2]]
    parsed: list[Tree] = []
    for known, rest in (halves, halves[::-1]):
        proposer = train_proposer(known, labels)
        parsed += [proposal.tree for proposal in proposer.propose([tree.words for tree in rest])]
    gold = [*halves[1], *halves[0]]
    old = Proposer(first, labels, usual_tags(trees))
    first_f1 = score(
        gold, [proposal.tree for proposal in old.propose([tree.words for tree in gold])]
    ).f1_gold_tags
    f1 = score(gold, parsed).f1_gold_tags
    return Retrained(old if first_f1 > f1 else new, len(trees), f1, first_f1, first_f1 > f1)
