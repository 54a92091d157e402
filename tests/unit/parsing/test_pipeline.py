"""Results of a batch from a device's arrays: trees as they were, sentences without a tree, confidences in the order of nodes."""

import numpy as np
import pytest

from gramian.chart.tree_arrays import TreeArrays
from gramian.parsing.calibration import Calibration, Curve
from gramian.parsing.pipeline import BatchResults
from gramian.parsing.sentences import ReadSentence
from gramian.trees import Tree

TREES = [
    Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NP (PRP it)) (PP (IN in) (NP (NN town))))))"),
    None,
    Tree.parse("(UH oh)"),
    Tree.parse("(FRAG (S (VP (VB go))) (. !))"),
    None,
]


def arrays(trees, names):
    """Nodes of trees, parents before children, with the number of the node above each."""
    first, labels, parents = [0], [], []
    for tree in trees:
        waiting = [] if tree is None else [(tree, -1)]
        while waiting:
            node, above = waiting.pop()
            waiting += [(child, len(labels)) for child in node.children[::-1]]
            labels.append(names.index(node.label))
            parents.append(above)
        first.append(len(labels))
    posterior = np.linspace(0.1, 0.9, len(labels)).astype(np.float32)
    whole = [np.array(one, np.int32) for one in (first, labels, parents)]
    return TreeArrays(*whole, posterior, -np.arange(len(trees)) - 1.0)


@pytest.mark.parametrize("calibration", [Calibration(), Calibration(Curve(0.5, 0.7), Curve(shift=-1))])
def test_results_are_the_trees_of_arrays(calibration):
    names = sorted({node.label for tree in TREES if tree for node in tree.subtrees()})
    found = arrays(TREES, names)
    words = [["no", "tree"] if tree is None else list(tree.words) for tree in TREES]
    offsets = ((0, 2),)
    reads = [ReadSentence(one, offsets if len(one) == 1 else None, None) for one in words]
    results = BatchResults(found, reads, names, calibration)
    for place in [3, 0, 2, 4, 1, 0]:  # in any order, and again
        result, tree = results.result(place), TREES[place]
        if tree is None:
            assert result is None
            continue
        assert result.tree == tree
        assert (result.status, result.log_prob_words, result.words) == ("parsed", -place - 1, tree.words)
        assert result.offsets == reads[place].offsets
        own = found.posterior[found.first[place] : found.first[place + 1]]
        np.testing.assert_allclose(result.confidences, calibration.confidences(tree, own.tolist()), rtol=1e-6)
