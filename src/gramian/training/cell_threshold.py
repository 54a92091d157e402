"""A classifier of chart cells for a model, with the highest threshold that costs next to no F1 on held-out trees."""

import logging
from dataclasses import replace

import numpy as np

from gramian.evaluate import GoldBrackets
from gramian.experts import CellClassifier
from gramian.io import model_files
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.training.training_data import TrainingData

_log = logging.getLogger(__name__)

THRESHOLDS = (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008)
MAX_LOSS = 0.05  # of F1
_EVERY, _MOST = 20, 500  # each 20th tree is held out, at most so many are parsed


def add_cells(model: Model, data: TrainingData, random_state: int = 0) -> Model:
    """Learn a classifier from most trees, choose its threshold on the others, and add it to a model.

    The grammars have seen the held-out trees and find them too probable, so that the loss is rather overestimated.
    """
    bank = data.bank
    held_out = np.arange(_EVERY - 1, bank.n_trees, _EVERY)
    learnt = np.setdiff1d(np.arange(bank.n_trees), held_out)
    classifier = CellClassifier(random_state=random_state).fit(bank.subset(learnt))
    cells = model_files.rounded("cells", classifier.model_)
    trees = [bank.tree(index) for index in held_out[:_MOST].tolist()]
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
