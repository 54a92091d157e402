"""
A map of states
===============

The states of the past-tense verb, laid out so that near is alike: verbs with an object, without one, with a clause. The page
draws the same map.
"""

import matplotlib.pyplot as plt

from gramian.grammar.describe import Describer
from gramian.grammar.state_names import state_name
from gramian.learn import SpectralEM
from gramian.treebank import Treebank
from gramian.web.state_views import state_map
from made_up_english import sample

grammar = SpectralEM(8).fit(Treebank.from_trees(sample(1000, seed=1))).model_
verb = grammar.symbols.index("VBD")
states = Describer(grammar).describe(verb).states

# %%
# Each in one line, made from its words and places:

for state in states:
    print(f"{state.share:.0%}", state_name(state, "VBD", "tag"))

# %%
# A circle is as large as its state is frequent.

places = state_map(grammar, verb).points
figure, axes = plt.subplots(figsize=(6, 4))
for state in states:
    x, y = places[state.state]
    axes.scatter([x], [y], s=2500 * state.share, alpha=0.4)
    axes.annotate(
        ", ".join(part.name for part in state.words[:2]), (x, y), ha="center", va="center", fontsize=8
    )
axes.margins(0.2)
axes.set(xticks=[], yticks=[])
figure.tight_layout()
