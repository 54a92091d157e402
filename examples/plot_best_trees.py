"""
The best trees of an ambiguous sentence
=======================================

*Anna saw the picture of wood with a telescope near the bridge.* has many trees. How is the probability shared out among them?
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import Parser
from gramian.learn import SpectralClustering
from gramian.treebank import Treebank
from made_up_english import sample

parser = Parser(SpectralClustering(8).fit(Treebank.from_trees(sample(800, seed=1))).model_)

# %%
# The best ten trees in the order of their probability given the words, and what they add up to.

result = parser.parse("Anna saw the picture of wood with a telescope near the bridge .", k=10)
shares = np.sort([np.exp(one.log_prob_tree - result.log_prob_words) for one in result.alternatives])[::-1]
figure, axes = plt.subplots(figsize=(6, 3.5))
axes.bar(range(1, len(shares) + 1), shares, label="of the tree")
axes.plot(range(1, len(shares) + 1), np.cumsum(shares), color="black", marker=".", label="of all so far")
axes.set(xlabel="tree", ylabel="probability given the words", ylim=(0, 1.02))
axes.set_xticks(range(1, len(shares) + 1))
axes.legend()
figure.tight_layout()

# %%
# The best one, and where the second differs from it:

print(result.alternatives[0].tree.pretty())
print(set(result.alternatives[1].tree.spans()) - set(result.alternatives[0].tree.spans()))
