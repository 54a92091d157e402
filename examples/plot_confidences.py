"""
Are confidences calibrated?
===========================

Of all phrases with a confidence of 80 %, 80 % should be right. The phrases that the English model finds in 200 everyday sentences are put
into bins by confidence; each bar is the share of right phrases.
"""

# %%
# The sentences were written and annotated for gramian; the model has not seen them.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gramian

gold_trees = list(gramian.read_trees(Path.cwd().parent / "tests" / "data" / "everyday"))
results = gramian.load().parse_many([list(tree.words) for tree in gold_trees])

# %%
# A phrase is right if the gold tree has it.

confidences, right = [], []
for gold, result in zip(gold_trees, results, strict=True):
    wanted = set(gold.spans(preterminals=False))
    for label, start, end, confidence in result.spans:
        if end - start > 1:
            confidences.append(confidence)
            right.append((label, start, end) in wanted)
bins = np.clip((np.array(confidences) * 10).astype(int), 0, 9)
shares = [np.mean(np.array(right)[bins == index]) if (bins == index).any() else np.nan for index in range(10)]

# %%
# Bars that end on the line are calibrated.

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.bar(np.arange(10) / 10 + 0.05, shares, width=0.09, label="English model")
axes.plot([0, 1], [0, 1], color="grey", linestyle="--", label="calibrated")
axes.set(xlabel="confidence", ylabel="share of right phrases", xlim=(0, 1), ylim=(0, 1.02))
axes.legend()
figure.tight_layout()
