"""
Do confidences mean what they say?
==================================

Of all phrases that a parser is 80 % sure of, 80 % should be right. Here every phrase of parsed sentences is put into a bin by its
confidence; the bars say how many of the bin are right.
"""

# %%
# A grammar of a made-up English, and sentences it has not seen. Few trees, so that there is something to doubt.

import matplotlib.pyplot as plt
import numpy as np

from gramian import Parser
from gramian.learn import SpectralClustering
from gramian.treebank import Treebank
from made_up_english import sample

parser = Parser(SpectralClustering(8).fit(Treebank.from_trees(sample(400, seed=1))).model_)
test = list(sample(300, seed=2))

# %%
# A phrase is right if the gold tree has it.

sure, right = [], []
for gold, result in zip(test, parser.parse_many([list(tree.words) for tree in test]), strict=True):
    wanted = set(gold.spans(preterminals=False))
    for label, start, end, confidence in result.spans:
        if end - start > 1:
            sure.append(confidence)
            right.append((label, start, end) in wanted)
bins = np.clip((np.array(sure) * 10).astype(int), 0, 9)
shares = [np.mean(np.array(right)[bins == one]) if (bins == one).any() else np.nan for one in range(10)]

# %%
# Bars on the line keep their promise.

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.bar(np.arange(10) / 10 + 0.05, shares, width=0.09, label="right")
axes.plot([0, 1], [0, 1], color="grey", linestyle="--", label="as promised")
axes.set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1.02))
axes.legend()
figure.tight_layout()
