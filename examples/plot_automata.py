"""
Automata that predict the next tag
==================================

How many states does an automaton need to predict the tags of a made-up English, and what does it depend on? The curves are those of Balle
et al. (2014), figures 3 to 5: spectral learning with a small and a large basis, EM, and n-grams to compare with.
"""

# %%
# Strings are the tags of sampled trees.

import matplotlib.pyplot as plt

from gramian.automata import PNFAEM, BasisOptions, NGram, Sequences, SpectralWFA
from gramian.evaluate.sequence_scores import next_symbol_scores
from made_up_english import sample

train = Sequences.from_strings(tree.tags for tree in sample(2000, seed=1))
test = Sequences.from_strings((tree.tags for tree in sample(500, seed=2)), train.alphabet)

# %%
# A basis of symbols alone sees pairs and triples; frequent substrings see further. EM starts anew for each number of states.

symbols, substrings = BasisOptions("symbols", empty=False), BasisOptions(size=300)
learners = {
    "spectral, symbols": [SpectralWFA(n, basis=symbols, repair=None) for n in (1, 2, 3, 4, 6, 8, 10, 12, 16)],
    "spectral, 300 substrings": [
        SpectralWFA(n, basis=substrings, repair=None) for n in (1, 2, 3, 4, 6, 8, 10, 12, 16, 20)
    ],
    "EM, 40 iterations": [PNFAEM(n, max_iter=40, pseudo_count=1e-3) for n in (2, 4, 8, 12, 20)],
}


def error_rate(model):
    return next_symbol_scores(model, test).word_error_rate


figure, axes = plt.subplots(figsize=(6, 3.8))
for name, curve in learners.items():
    models = [learner.fit(train).model_ for learner in curve]
    axes.plot(
        [model.n_states for model in models],
        [error_rate(model) for model in models],
        marker="o",
        label=name,
    )
for order, style in ((1, ":"), (2, "-."), (3, "--")):
    model = NGram(order, smoothing="none").fit(train).model_
    label = f"{order}-gram, {model.n_states} states"
    axes.axhline(error_rate(model), color="grey", linestyle=style, label=label)
axes.set(xlabel="states", ylabel="wrong next tags, %")
axes.xaxis.get_major_locator().set_params(integer=True)
axes.legend(fontsize=8)
figure.tight_layout()
