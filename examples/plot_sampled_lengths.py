"""
Does the grammar write sentences like its treebank's?
=====================================================

A grammar is also a source of sentences. Those of a good one are as long as the treebank's; a PCFG without states knows less about that.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian.grammar.tree_sampling import TreeSampler
from gramian.learn import PCFG, SpectralClustering
from gramian.treebank import Treebank
from made_up_english import sample

trees = list(sample(1000, seed=1))
bank = Treebank.from_trees(trees)

# %%
# A thousand trees of each, of at most 30 words.

lengths = {"treebank": [len(tree.words) for tree in trees]}
for name, learner in (("no states", PCFG()), ("8 states", SpectralClustering(8))):
    sampler = TreeSampler(learner.fit(bank).model_, random_state=0, max_length=30)
    lengths[name] = [len(sampler.draw().words) for _ in range(1000)]
figure, axes = plt.subplots(figsize=(6, 3.5))
for name, values in lengths.items():
    counts = np.bincount(values, minlength=31)
    axes.plot(counts / counts.sum(), label=f"{name}, mean {np.mean(values):.1f}")
axes.set(xlabel="words", ylabel="share of sentences")
axes.legend()
figure.tight_layout()
