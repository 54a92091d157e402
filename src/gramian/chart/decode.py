"""Decoders: which tree of a forest is the answer.

All but Viterbi work on posteriors of the pruned forest, summed over states (Goodman 1996; Matsuzaki, Miyao &
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
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.chart import decode_kernels as kernels
from gramian.chart.decode_kernels import ItemScores
from gramian.chart.derivations import viterbi
from gramian.chart.forest import Forest
from gramian.chart.readout import Decoded
from gramian.errors import OptionError

Floats = npt.NDArray[np.float32]

DECODERS = ("max-recall", "max-marginal-sum", "max-rule-product", "max-rule-sum", "variational", "viterbi")
RECALL_PENALTY = 0.5
NEURAL_RECALL_PENALTY = 0.4
"""Beside a neural expert, since its product with grammars leaves out more brackets than it gets wrong; chosen on trees held out."""

_ALONE = np.ones((1, 1), np.float32)


def decode(
    forest: Forest, decoder: str = "max-recall", *, recall_penalty: float = RECALL_PENALTY
) -> Decoded | None:
    """Return the best tree of a forest; None if no tree has a probability, as may happen with models that have negative weights.

    `recall_penalty` is what a bracket costs under ``max-recall``. Without it every bracket that has any probability would be worth having;
    half of the F1 that is to be expected is the value that maximises it, and a half, which leaves out what is less likely than not, does
    as well on treebanks of six languages.
    """
    if decoder == "viterbi":
        return viterbi(forest)
    return best_tree(forest, scores(forest, decoder, recall_penalty=recall_penalty))


def scores(
    forest: Forest, decoder: str = "max-recall", *, recall_penalty: float = RECALL_PENALTY
) -> ItemScores:
    """Return what a decoder adds up; see :func:`decode`."""
    if decoder == "max-recall":
        votes = kernels.Votes(forest.label_posterior[None], _ALONE)
        items = np.array([0, len(forest.item_symbol)]), forest.item_symbol, forest.item_cell
        edges = forest.root_posterior, forest.edge_posterior
        found: ItemScores = kernels.recall_scores(
            float(recall_penalty), *items, *edges, forest.labels.arrays, votes
        )
        return found
    posteriors = forest.item_posterior, forest.edge_posterior, forest.root_posterior
    return posterior_scores(
        decoder, forest.item_symbol >= forest.grammar.n_phrases, forest.edge_first, *posteriors
    )


def posterior_scores(
    decoder: str, is_tag: npt.NDArray[np.bool_], edge_first: npt.NDArray[np.int32], items: Floats, edges: Floats,
    roots: Floats,
) -> ItemScores:  # fmt: skip
    """Return what a decoder adds up that looks at the posteriors of items, edges and roots alone, be it of one sentence or of several."""
    item, edge, root = np.abs(items), np.abs(edges), np.abs(roots)
    if decoder == "max-marginal-sum":
        edge, root = (np.where(x > 0, np.float32(0), np.float32(-np.inf)) for x in (edge, root))
        return ItemScores(item, edge, root)
    none = np.zeros_like(item)
    if decoder == "max-rule-sum":
        edge, root = (np.where(x > 0, x, np.float32(-np.inf)) for x in (edge, root))
        return ItemScores(np.where(is_tag, item, none), edge, root)
    with np.errstate(divide="ignore", invalid="ignore"):
        item, edge, root = np.log(item), np.log(edge), np.log(root)
        if decoder == "max-rule-product":
            return ItemScores(np.where(is_tag, item, none), edge, root)
        if decoder == "variational":
            return ItemScores(none, edge - np.repeat(item, np.diff(edge_first)), root)
    raise OptionError(f"decoder must be one of {', '.join(DECODERS)}, got {decoder!r}")


def best_tree(forest: Forest, scores: ItemScores) -> Decoded | None:
    """Return the tree with the highest sum of scores, or None if all are -inf."""
    _, choice, root, score = best_below(forest, scores)
    if root < 0:
        return None
    items, edges = kernels.read_tree(root, choice, forest.edge_left, forest.edge_right, forest.n_words)
    return Decoded(items, edges, score)


def best_below(
    forest: Forest, scores: ItemScores
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32], int, float]:
    """Return of each item the best sum of itself and what is below, its edge there or -1; the best root or -1, and its sum."""
    found: tuple[npt.NDArray[np.float64], npt.NDArray[np.int32], int, float] = kernels.best_tree(
        forest.grammar.n_phrases,
        forest.item_symbol,
        forest.edge_first,
        forest.edge_left,
        forest.edge_right,
        scores,
    )
    return found
