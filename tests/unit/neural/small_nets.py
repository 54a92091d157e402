"""Nets that are learnt in a moment, and sentences in which words decide: for several tests."""

import numpy as np

from gramian.neural import Learning, NetSize
from gramian.trees import Tree

SMALL = NetSize(word=12, char=6, char_units=5, layers=2, units=10, hidden=14, tag_hidden=8)
QUICK = Learning(
    rate=0.02, warm_up=5, batch_words=60, average=0.8, dropout=0.0, hidden_dropout=0.0, word_dropout=0.0
)


def made_up_trees(n, seed=0):
    """Sentences in which a phrase with `with` belongs to the noun before it if that is a dog, else to the verb."""
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(n):
        one, two, three = rng.choice(["dog", "cat", "Bird"], 3)
        verb = rng.choice(["sees", "hears"])
        noun, other = f"(NP (DT the) (NN {two}))", f"(PP (IN with) (NP (DT a) (NN {three})))"
        rest = f"(NP {noun} {other})" if two == "dog" else f"{noun} {other}"
        if rng.random() < 0.3:
            rest = "(S (VP (TO to) (VP (VB sleep))))"
        trees.append(Tree.parse(f"(S (NP (DT the) (NN {one})) (VP (VBZ {verb}) {rest}) (. .))"))
    return trees
