"""
Which phrases go wrong?
=======================

Recall of each label, without states and with them: what is hidden in the treebank matters most where something attaches.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from gramian import Parser
from gramian.learn import PCFG, SpectralClustering
from gramian.treebank import Treebank
from made_up_english import sample

bank = Treebank.from_trees(sample(800, seed=1))
test = list(sample(200, seed=2))
seen = Counter(label for tree in test for label, _, _ in tree.spans(preterminals=False))
labels = [label for label, _ in seen.most_common()]

# %%
# A gold phrase is found if the parse has it over the same words.

figure, axes = plt.subplots(figsize=(6, 3.5))
for place, (name, learner) in enumerate((("no states", PCFG()), ("8 states", SpectralClustering(8)))):
    parser = Parser(learner.fit(bank).model_)
    found: Counter[str] = Counter()
    for gold, result in zip(test, parser.parse_many([list(tree.words) for tree in test]), strict=True):
        parsed = set(result.tree.spans())
        found.update(span[0] for span in gold.spans(preterminals=False) if span in parsed)
    values = [100 * found[label] / seen[label] for label in labels]
    axes.barh(np.arange(len(labels)) + 0.38 * place, values, height=0.36, label=name)
axes.set_yticks(np.arange(len(labels)) + 0.19, [f"{label} ({seen[label]})" for label in labels])
axes.invert_yaxis()
axes.set(xlabel="found, %", xlim=(0, 100))
axes.legend(loc="lower left")
figure.tight_layout()
