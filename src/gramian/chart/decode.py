"""Decoders: which tree of a chart is the answer.

All but Viterbi work on posteriors of the pruned chart, summed over states (Goodman 1996; Matsuzaki, Miyao &
Tsujii 2005; Petrov & Klein 2007):

====================  =================================================================================
``max-recall``        expected number of correct labelled brackets, less a constant for each bracket; the default
``max-marginal-sum``  sum of the posteriors of all symbols of the binarised tree, intermediate ones and tags among them, and no
                      constant: Goodman's criterion as Cohen et al. (2012, 2013) and Cohen and Collins (2012) have it
``max-rule-product``  product of the posteriors of the tree's edges, tags and root
``max-rule-sum``      sum of the same: the expected number of correct rules
``variational``       probability under the PCFG of this sentence nearest to the model: edge given parent
``viterbi``           the most probable tree with states
====================  =================================================================================

:mod:`gramian.chart.decode_reference` has the same in plain Python.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels as kernels
from gramian.chart.decode_kernels import ItemScores
from gramian.chart.derivations import viterbi
from gramian.chart.forest import Forest, Posteriors
from gramian.chart.tree_arrays import Decoded, Derivations
from gramian.errors import OptionError

Ints = npt.NDArray[np.int32]
Doubles = npt.NDArray[np.float64]
BestTrees: TypeAlias = tuple[Doubles, Ints, Ints, Ints, Doubles]

DECODERS = ("max-recall", "max-marginal-sum", "max-rule-product", "max-rule-sum", "variational", "viterbi")
DEFAULT_DECODER = "max-recall"
"""The decoder of a parser that names none; its trees are what rerankers choose from."""
RECALL_PENALTY = 0.5
NEURAL_RECALL_PENALTY = 0.4
"""Beside a neural expert, since its product with grammars leaves out more brackets than it gets wrong; chosen on trees held out."""


def decode_batch(posteriors: Posteriors, decoder: str, *, recall_penalty: float) -> Derivations:
    """Return the best tree of each sentence, by any decoder but Viterbi."""
    added = scores(posteriors, decoder, recall_penalty=recall_penalty)
    _, first, items, edges, score = best_derivations(posteriors, added)
    return Derivations(first, items, edges, np.arange(len(score), dtype=np.int32), score)


def decode(
    forest: Forest, decoder: str = DEFAULT_DECODER, *, recall_penalty: float = RECALL_PENALTY
) -> Decoded | None:
    """Return the best tree of a forest; None if no tree has a probability, as may happen with models that have negative weights.

    `recall_penalty` is what a bracket costs under ``max-recall``. Without it every bracket that has any probability would be worth having;
    half of the F1 that is to be expected is the value that maximises it, and a half, which leaves out what is less likely than not, does
    as well on treebanks of six languages.
    """
    if decoder == "viterbi":
        return viterbi(forest)
    best = decode_batch(forest.posteriors, decoder, recall_penalty=recall_penalty)
    return Decoded(best.items, best.edges, float(best.score[0])) if len(best.items) else None


def scores(posteriors: Posteriors, decoder: str, *, recall_penalty: float = RECALL_PENALTY) -> ItemScores:
    """Return what a decoder adds up over a tree; see :func:`decode`."""
    p = posteriors
    if decoder == "max-recall":
        recall: ItemScores = kernels.recall_scores(
            float(recall_penalty), p.first_item, p.item_symbol, p.item_cell, p.root, p.edge, p.labels.arrays, p.label_posteriors
        )  # fmt: skip
        return recall
    item, edge, root = np.abs(p.item), np.abs(p.edge), np.abs(p.root)
    none, is_tag = np.zeros_like(item), p.item_symbol >= p.n_phrases
    if decoder == "max-marginal-sum":
        edge, root = (np.where(x > 0, np.float32(0), np.float32(-np.inf)) for x in (edge, root))
        return ItemScores(item, edge, root)
    if decoder == "max-rule-sum":
        edge, root = (np.where(x > 0, x, np.float32(-np.inf)) for x in (edge, root))
        return ItemScores(np.where(is_tag, item, none), edge, root)
    with np.errstate(divide="ignore", invalid="ignore"):
        item, edge, root = np.log(item), np.log(edge), np.log(root)
        if decoder == "max-rule-product":
            return ItemScores(np.where(is_tag, item, none), edge, root)
        if decoder == "variational":
            return ItemScores(none, edge - np.repeat(item, np.diff(p.edge_first)), root)
    raise OptionError(f"decoder must be one of {', '.join(DECODERS)}, got {decoder!r}")


def best_derivations(posteriors: Posteriors, scores: ItemScores) -> BestTrees:
    """Return the best sum of each item and what is below it, and the best trees; see the kernel."""
    p = posteriors
    best: BestTrees = kernels.best_derivations(
        p.n_phrases, p.first_item, p.item_symbol, p.edge_first, p.edge_left, p.edge_right, scores
    )
    return best
