"""The estimator of classifiers of chart cells."""

from collections import Counter
from dataclasses import KW_ONLY, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from gramian.base import Estimator, estimator
from gramian.errors import InputError
from gramian.experts import cell_kernels as kernels
from gramian.experts.cell_model import CELLS, CellModel
from gramian.experts.span_model import fit_tagger, tag_held_out
from gramian.loglinear.adagrad import mean_weights, new_tables
from gramian.loglinear.word_views import TAG, WordForms, frequent_words
from gramian.treebank import Treebank
from gramian.trees.labels import is_intermediate
from gramian.value_types import Number, PowerOfTwo, Whole, option


@estimator
class CellClassifier(Estimator):
    """Learns which cells of a chart hold a constituent, from the words around both ends.

    Attributes
    ----------
    model_ : CellModel
    report_ : dict

    References
    ----------
    B. Roark, K. Hollingshead (2008), Classifying chart cells for quadratic complexity context-free inference.
    N. Bodenstab, A. Dunlop, K. Hall, B. Roark (2011), Beam-width prediction for efficient context-free parsing.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> bank = Treebank.from_trees([Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (RB well)) (. .))")] * 20)
    >>> model = CellClassifier(threshold=0.2).fit(bank).model_
    >>> cells = model.open_cells(["the cat sleeps well .".split()])
    >>> [int(cell) for cell in cells.nonzero()[0]]  # words, subject, predicate, two ways to binarise the sentence, sentence
    [0, 1, 2, 3, 4, 5, 7, 11, 12, 14]
    """

    _: KW_ONLY
    max_iter: int = option(Whole(1), default=4)
    """Epochs."""
    rate: float = option(Number(above=0), default=0.1)
    """Learning rate of AdaGrad."""
    min_count: int = option(Whole(1), default=3)
    """Words seen less often are represented by their form."""
    slots: int = option(PowerOfTwo(1 << 12), default=1 << 20)
    """Size of the table of weights; a power of two."""
    least_weight: float = option(Number(0), default=0.02)
    """Weights below this become 0, and take no room in a file."""
    threshold: float = option(Number(0, 1), default=0.0)
    """Probability below which the model closes a cell."""
    random_state: int = 0
    verbose: bool = False

    def fit(self, treebank: Treebank, y: object = None) -> Self:
        """Learn from trees; `y` is ignored."""
        with self._fitting() as report:
            if treebank.n_trees == 0:
                hint = "look at the file with: gramian inspect"
                raise InputError("there is no tree to learn from", "treebank", hint=hint)
            sentences = list(treebank.sentences())
            known_tags = dict.fromkeys(chain.from_iterable(sentence.tags for sentence in sentences))
            number = {tag: index for index, tag in enumerate(known_tags)}
            words = [sentence.words for sentence in sentences]
            tags = [np.array([number[tag] for tag in sentence.tags], np.int32) for sentence in sentences]
            count = Counter(chain.from_iterable(words))
            forms = WordForms(frequent_words(count.items(), self.min_count))
            views = [forms.views(sentence) for sentence in words]
            with report.stage("tags"):
                tag_held_out(views, tags, len(number), self.random_state)
                guessed = np.concatenate([view[TAG] for view in views])
                tagger = fit_tagger(views, tags, len(number), self.random_state)
            with report.stage("weights"):
                tables = new_tables(self.slots, self.rate, smallest=0.005, square=1.0, floor=np.float32(0))
                model = CellModel(forms.frequent, len(number), tagger.weights, tables.weights, self.threshold)
                batch, gold = model.batch(words), _gold_cells(treebank)
                batch.views[TAG] = guessed
                rng, time = np.random.default_rng(self.random_state), 0.0
                for _ in range(self.max_iter):
                    order = rng.permutation(treebank.n_trees)
                    time = kernels.learn_cells(CELLS, batch, gold, order, tables, time)
                weights = mean_weights(tables.weights, tables.drift, int(time) + 1)
                weights[np.abs(weights) < self.least_weight] = 0
            self.model_ = replace(model, weights=weights)
            self.report_: dict[str, Any] = report.as_dict()
        return self


def _gold_cells(bank: Treebank) -> kernels.GoldCells:
    """Return the cells that trees fill with constituents, and with intermediate symbols of right (or head) and left binarisation."""
    trees, cells, kinds = [], [], []
    right = bank.shape if bank.shape.direction == "head" else replace(bank.shape, direction="right")
    for kind, shape in ((1, right), (2, replace(bank.shape, direction="left"))):
        shaped = bank if shape == bank.shape else bank.reshaped(shape)
        tree = np.repeat(np.arange(shaped.n_trees), np.diff(shaped.tree_start))
        width, length = (shaped.end - shaped.start).astype(np.int64), shaped.lengths[tree]
        partial = np.array([is_intermediate(symbol) for symbol in shaped.symbols], np.bool_)[shaped.label]
        used = (width > 1) & (width < length) & (partial | (kind == 1))
        cell = (width - 1) * (length + 1) - width * (width - 1) // 2 + shaped.start
        trees.append(tree[used])
        cells.append(cell[used])
        kinds.append(np.where(partial, kind, 0)[used])
    tree = np.concatenate(trees)
    order = np.argsort(tree, kind="stable")
    first = np.searchsorted(tree[order], np.arange(bank.n_trees + 1)).astype(np.int64)
    return kernels.GoldCells(
        first, np.concatenate(cells)[order], np.concatenate(kinds)[order].astype(np.int64)
    )
