"""
Automata that predict the next tag
==================================

How many states does an automaton need to predict the tags of a made-up English, and what does it depend on? The curves are those of Balle
et al. (2014), figures 3 to 5: spectral learning with a small and a large basis, EM, and n-grams to compare with.
"""

# %%
# Strings are the tags of sampled trees.

import matplotlib.pyplot as plt

from gramian.automata import Sequences
from gramian.experiments.tag_study import baseline_points, em_curve, spectral_curve
from made_up_english import sample

train = Sequences.from_strings(tree.tags for tree in sample(2000, seed=1))
test = Sequences.from_strings((tree.tags for tree in sample(500, seed=2)), train.alphabet)

# %%
# A basis of symbols alone sees pairs and triples; frequent substrings see further. EM starts anew for each number of states, the spectral
# automata are all cut from one decomposition.

states = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20]
curves = {
    "spectral, symbols": spectral_curve(train, test, states, basis_size="symbols"),
    "spectral, 300 substrings": spectral_curve(train, test, states, basis_size=300),
    "EM, 40 iterations": em_curve(train, test, [2, 4, 8, 12, 20], max_iter=40),
}
figure, axes = plt.subplots(figsize=(6, 3.8))
for name, points in curves.items():
    axes.plot(
        [point.n_states for point in points],
        [point.word_error_rate for point in points],
        marker="o",
        label=name,
    )
for point, style in zip(baseline_points(train, test), (":", "-.", "--"), strict=True):
    axes.axhline(
        point.word_error_rate, color="grey", linestyle=style, label=f"{point.curve}, {point.n_states} states"
    )
axes.set(xlabel="states", ylabel="wrong next tags, %")
axes.xaxis.get_major_locator().set_params(integer=True)
axes.legend(fontsize=8)
figure.tight_layout()
