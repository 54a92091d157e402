"""
Which phrases go wrong?
=======================

Recall of each label by the English model, on 200 everyday sentences that were written and annotated for gramian.
"""

from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gramian

gold_trees = list(gramian.read_trees(Path.cwd().parent / "tests" / "data" / "everyday"))
results = gramian.load().parse_many([list(tree.words) for tree in gold_trees])

# %%
# A gold phrase is found if the parse has it over the same words. Labels with fewer than ten phrases are left out.

seen: Counter[str] = Counter()
found: Counter[str] = Counter()
for gold, result in zip(gold_trees, results, strict=True):
    parsed = set(result.tree.spans())
    seen.update(span[0] for span in gold.spans(preterminals=False))
    found.update(span[0] for span in gold.spans(preterminals=False) if span in parsed)
labels = [label for label, count in seen.most_common() if count >= 10]
figure, axes = plt.subplots(figsize=(6, 3.5))
axes.barh(np.arange(len(labels)), [100 * found[label] / seen[label] for label in labels])
axes.set_yticks(np.arange(len(labels)), [f"{label} ({seen[label]})" for label in labels])
axes.invert_yaxis()
axes.set(xlabel="found, %", xlim=(0, 100))
figure.tight_layout()
