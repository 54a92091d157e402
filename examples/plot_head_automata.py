"""
States of head automata
=======================

A split head-automata grammar has an automaton for what stands left and one for what stands right of each head. How many states do they
need? The curves of Balle, Carreras, Luque & Quattoni (2014, figures 8-10), on a made-up English.
"""

# %%
# Trees are sampled and become dependencies by head rules.

import matplotlib.pyplot as plt

from gramian.experiments.attachment_study import VARIANTS, attachment_point
from gramian.trees import HeadRules, to_dependencies
from made_up_english import sample

rules = HeadRules.named("collins")
train, test = (
    [to_dependencies(tree, rules) for tree in sample(count, seed)] for count, seed in ((800, 1), (200, 2))
)

# %%
# DET and DET+F have one and two states. With three the other methods are already better, and they stay so when there are more states than
# the data can tell apart.

chosen = ["DET", "DET+F", "symbols, mass 0", "symbols, mass 0.0005", "extended, factor 10", "EM, 25 steps"]
points = [
    attachment_point(name, n_states, train, test)
    for name in chosen
    for n_states in ([1, 2, 3, 5, 8, 12] if VARIANTS[name].states is None else [1])
]
figure, axes = plt.subplots(figsize=(6, 3.8))
for name in chosen:
    curve = [(point.n_states, point.uas) for point in points if point.variant == name]
    if len(curve) == 1:
        axes.axhline(curve[0][1], linestyle=":", color="grey")
        axes.text(12, curve[0][1], name, ha="right", va="bottom", color="grey")
    else:
        axes.plot(*zip(*curve, strict=True), marker="o", label=name)
axes.set(xlabel="states of an automaton, at most", ylabel="UAS, unseen sentences")
axes.legend()
figure.tight_layout()
