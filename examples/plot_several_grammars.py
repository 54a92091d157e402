"""
Several grammars together
=========================

Grammars of different binarisations and seeds err in different places. What do two or four of them gain over one?
"""

import matplotlib.pyplot as plt

from gramian import Parser
from gramian.evaluate import GoldBrackets
from gramian.learn import SpectralClustering
from gramian.parsing.model import Model
from gramian.treebank import Shape, Treebank
from made_up_english import sample

trees, test = list(sample(400, seed=1)), list(sample(200, seed=2))
gold = GoldBrackets(test)
banks = {side: Treebank.from_trees(trees, shape=Shape(direction=side)) for side in ("left", "right")}
grammars = [
    SpectralClustering(8, random_state=seed).fit(banks[side]).model_ for seed in (0, 1) for side in banks
]

# %%
# Posteriors are combined; the tree with the most expected brackets is the answer.


def f1(*members):
    parser = Parser(Model(members))
    return gold.score([one.tree for one in parser.parse_many([list(tree.words) for tree in test])]).f1


alone = [f1(one) for one in grammars]
together = [f1(*grammars[:2]), f1(*grammars)]
figure, axes = plt.subplots(figsize=(6, 3.5))
names = ["left 0", "right 0", "left 1", "right 1", "two", "four"]
axes.bar(names, alone + together, color=["#9fbfd5"] * 4 + ["#0072b2"] * 2)
axes.set(ylabel="F1, unseen sentences", ylim=(min(alone) - 1, 100))
figure.tight_layout()
