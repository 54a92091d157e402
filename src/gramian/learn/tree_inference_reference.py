"""Inside-outside over observed trees, one node at a time: slow and readable, the oracle of the kernels.

Equations as in Matsuzaki et al. (2005): inside vectors bottom-up, outside vectors top-down, and the expected count of a rule with states
is outside times parameter times inside, divided by the probability of the tree.
"""

import numpy as np

from gramian.learn.tables import LatentTables
from gramian.learn.tree_inference import Expectation
from gramian.treebank import Treebank


def expect(bank: Treebank, tables: LatentTables) -> Expectation:
    """Return expected counts and log-likelihoods of trees short enough not to underflow."""
    counts = tables.layout.zeros(np.float64)
    production = tables.layout.productions.node_production
    likelihood = np.empty(bank.n_trees)
    for tree in range(bank.n_trees):
        nodes = range(bank.tree_start[tree], bank.tree_start[tree + 1])
        root = nodes[-1]
        inside: dict[int, np.ndarray] = {}
        for node in nodes:
            left, right, rule = bank.left[node], bank.right[node], production[node]
            if bank.word[node] >= 0:
                inside[node] = tables.lexical_block(rule)
            elif right < 0:
                inside[node] = tables.unary_block(rule) @ inside[left]
            else:
                inside[node] = np.einsum("ijk,j,k", tables.binary_block(rule), inside[left], inside[right])
        prior = tables.root_block(bank.label[root])
        probability = float(prior @ inside[root])
        with np.errstate(divide="ignore"):
            likelihood[tree] = np.log(probability)
        if probability == 0:
            continue
        prior = prior * (1 if bank.weight is None else bank.weight[tree])
        outside = {root: prior}
        counts.root_block(bank.label[root])[:] += prior * inside[root] / probability
        for node in reversed(nodes):
            left, right, rule, above = bank.left[node], bank.right[node], production[node], outside[node]
            if bank.word[node] >= 0:
                counts.lexical_block(rule)[:] += above * inside[node] / probability
            elif right < 0:
                block = tables.unary_block(rule)
                outside[left] = above @ block
                counts.unary_block(rule)[:] += above[:, None] * block * inside[left] / probability
            else:
                block = tables.binary_block(rule)
                outside[left] = np.einsum("ijk,i,k", block, above, inside[right])
                outside[right] = np.einsum("ijk,i,j", block, above, inside[left])
                product = np.einsum("ijk,i,j,k->ijk", block, above, inside[left], inside[right])
                counts.binary_block(rule)[:] += product / probability
    return Expectation(counts, likelihood, bank.weight)
