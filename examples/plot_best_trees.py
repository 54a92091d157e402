"""
The best trees of an ambiguous sentence
=======================================

*I saw the girl with the telescope near the river.* has many trees. How does the grammar of the English model distribute the probability?
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian

parser = gramian.load()

# %%
# The ten best trees in the order of their probability given the words, and the sum of these probabilities.

result = parser.parse("I saw the girl with the telescope near the river.", k=10)
shares = np.sort([np.exp(tree.log_prob_tree - result.log_prob_words) for tree in result.alternatives])[::-1]
figure, axes = plt.subplots(figsize=(6, 3.5))
axes.bar(range(1, len(shares) + 1), shares, label="each tree")
axes.plot(range(1, len(shares) + 1), np.cumsum(shares), color="black", marker=".", label="sum")
axes.set(xlabel="tree", ylabel="probability given the words", ylim=(0, 1.02))
axes.set_xticks(range(1, len(shares) + 1))
axes.legend()
figure.tight_layout()

# %%
# The best tree, and the phrases of the next tree with other phrases:

best = result.alternatives[0].tree
print(best.pretty())
others = (set(tree.tree.spans()) - set(best.spans()) for tree in result.alternatives[1:])
print(next(filter(None, others), "none"))
