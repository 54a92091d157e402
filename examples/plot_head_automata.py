"""
States of head automata
=======================

A split head-automata grammar has an automaton for what stands left and one for what stands right of each head. How many states do they
need? The curves of Balle, Carreras, Luque & Quattoni (2014, figures 8-10), on a made-up English.
"""

# %%
# Trees are sampled and become dependencies by head rules.

import matplotlib.pyplot as plt

from gramian.dependency import HeadBasis, SHAGParser
from gramian.trees import HeadRules, to_dependencies
from made_up_english import sample

rules = HeadRules.named("collins")
train, test = (
    [to_dependencies(tree, rules) for tree in sample(count, seed)] for count, seed in ((800, 1), (200, 2))
)

# %%
# DET and DET+F have one and two states. With three the other methods are already better, and they stay so when there are more states than
# the data can tell apart.

symbols, discarding = HeadBasis("symbols"), HeadBasis("symbols", mass=0.0005)
learners = {
    "DET": SHAGParser("det"),
    "DET+F": SHAGParser("det+f"),
    "symbols": SHAGParser("spectral", basis=symbols),
    "symbols, small singular values discarded": SHAGParser("spectral", basis=discarding),
    "extended basis": SHAGParser("spectral"),
    "EM, 25 iterations": SHAGParser("em", max_iter=25, start="random"),
}
figure, axes = plt.subplots(figsize=(6, 3.8))
for name, learner in learners.items():
    if learner.method.startswith("det"):
        uas = 100 * learner.fit(train).score(test)
        axes.axhline(uas, linestyle=":", color="grey")
        axes.text(12, uas, name, ha="right", va="bottom", color="grey")
    else:
        states = [1, 2, 3, 5, 8, 12]
        curve = [100 * learner.set_params(n_states=n).fit(train).score(test) for n in states]
        axes.plot(states, curve, marker="o", label=name)
axes.set(xlabel="states of an automaton, at most", ylabel="UAS, unseen sentences")
axes.legend()
figure.tight_layout()
