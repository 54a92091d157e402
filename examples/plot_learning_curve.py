"""
How many trees are enough?
==========================

F1 on unseen sentences, as the treebank grows: a plain PCFG is soon as good as it gets, a grammar with latent states goes on.
"""

import matplotlib.pyplot as plt

from gramian import Parser
from gramian.evaluate import GoldBrackets
from gramian.learn import PCFG, SpectralClustering
from gramian.treebank import Treebank
from made_up_english import sample

trees = list(sample(1600, seed=1))
test = list(sample(150, seed=2))
gold = GoldBrackets(test)


def f1(learner, number):
    parser = Parser(learner.fit(Treebank.from_trees(trees[:number])).model_)
    return gold.score([one.tree for one in parser.parse_many([list(tree.words) for tree in test])]).f1


# %%
# From a hundred trees on, doubled each time.

sizes = [100, 200, 400, 800, 1600]
figure, axes = plt.subplots(figsize=(6, 3.5))
for name, learner in (("no states", PCFG()), ("8 states", SpectralClustering(8))):
    axes.plot(sizes, [f1(learner, size) for size in sizes], marker="o", label=name)
axes.set(xscale="log", xlabel="trees to learn from", ylabel="F1, unseen sentences")
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
axes.legend()
figure.tight_layout()
