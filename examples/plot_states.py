"""
How many states pay
===================

A made-up English hides which verbs take which objects and what attaches where behind 29 labels and tags. How much of it do grammars
with more and more states find, and what do the singular values say?
"""

# %%
# The treebank is sampled, so there is as much of it as one likes.

import matplotlib.pyplot as plt

from gramian import Parser
from gramian.evaluate import GoldBrackets
from gramian.learn import PCFG, Observations, SpectralClustering, SpectralEM
from gramian.treebank import Treebank
from made_up_english import sample

test = list(sample(200, seed=2))
gold = GoldBrackets(test)
seen = Observations(Treebank.from_trees(sample(1000, seed=1)))  # shared by all learners


def f1(learner):
    parser = Parser(learner.fit(seen).model_)
    return gold.score([result.tree for result in parser.parse_many(list(tree.words) for tree in test)]).f1


# %%
# One state is the plain PCFG. A few states more, and most of what is hidden is found.

numbers = [1, 2, 4, 8, 16]
figure, axes = plt.subplots(figsize=(6, 3.5))
for name, kind in (("clustering", SpectralClustering), ("clustering, then EM", SpectralEM)):
    values = [f1(PCFG() if states == 1 else kind(states)) for states in numbers]
    axes.plot(numbers, values, marker="o", label=name)
axes.set(xscale="log", xlabel="states of a label, at most", ylabel="F1, unseen sentences")
axes.set_xticks(numbers, numbers)
axes.legend()
figure.tight_layout()

# %%
# The singular values of a label's inside-outside covariance fall off where its states end: the verb has more to tell than the determiner,
# whose words are drawn alike everywhere.

report = SpectralClustering(16).fit(seen).report_["singular values"]
figure, axes = plt.subplots(figsize=(6, 3.5))
for tag in ("VBD", "NN", "IN", "DT"):
    values = report[f"/{tag}"]
    axes.plot(range(1, len(values) + 1), [value / values[0] for value in values], marker=".", label=tag)
axes.set(xlabel="rank", ylabel="singular value, the largest = 1")
axes.legend()
figure.tight_layout()
