"""The check of a grammar: the one written by hand is whole, and every fault has a name."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_grammar import low_rank_grammar, tiny_grammar

from gramian.grammar.lpcfg import check


def changed(array: np.ndarray, place, value) -> np.ndarray:
    copy = array.copy()
    copy[place] = value
    return copy


G = tiny_grammar()
L = G.lexicon
FAULTS = {
    "symbols are distinct": {"symbols": ("@S", *G.symbols[:-1])},
    "symbols are labels": {"symbols": ("a b", *G.symbols[1:])},
    "there are phrases and tags": {"n_phrases": 11},
    "n_states lies within": {"n_states": changed(G.n_states, 2, 0)},
    "state_prior has shape": {"n_states": changed(G.n_states, 2, 3)},
    "root has shape": {"root": G.root[:-1]},
    "before has shape": {"before": G.before[:, 1:]},
    "binary_rules lies within": {"binary_rules": changed(G.binary_rules, (0, 0), 7)},
    "unary_rules lies within": {"unary_rules": changed(G.unary_rules, (0, 1), 2)},
    "binary has shape": {"binary": G.binary[1:]},
    "binary rules are distinct": {
        "binary_rules": np.concatenate([G.binary_rules, G.binary_rules[:1]]),
        "binary": np.concatenate([G.binary, G.binary[:2]]),
    },
    "unary is finite": {"unary": changed(G.unary, 0, np.inf)},
    "probabilities are not negative": {"unary": changed(G.unary, slice(0, 2), [-0.1, 0.25])},
    "rules of a phrase in a state sum to one": {"binary": changed(G.binary, 0, 0.6)},
    "root sum to one": {"root": G.root * np.float32(0.9)},
    "shares of a symbol's states sum to one": {"state_prior": G.state_prior * np.float32(1.1)},
    "tags before sum to one": {"before": G.before * 2},
    "tags after a symbol sum to one": {"after": changed(G.after, (3, 0), 0.9)},
    "weights are given for all rules or for none": {"binary_weight": np.ones(9)},
}
LEXICON_FAULTS = {
    "the lexicon has the grammar's tags": {"tags": L.tags[1:]},
    "its tags have as many states": {"n_states": changed(L.n_states, 0, 2)},
    "every tag has a share": {"tag_prior": changed(L.tag_prior, 0, 0.0)},
    "words are distinct": {"words": ("a", *L.words[1:])},
    "every word has entries": {"entry_start": changed(L.entry_start, 1, 0)},
    "entry_tag lies within": {"entry_tag": changed(L.entry_tag, 0, 5)},
    "entry_states has shape": {"entry_states": L.entry_states[1:]},
    "feature_weights has shape": {"features": L.features[1:]},
    "classes name a tag": {"classes": ("x", *L.classes[1:])},
    "classes lies within": {"classes": ("9", *L.classes[1:])},
    "class_states has shape": {"classes": L.classes[1:]},
}


def test_the_grammar_written_by_hand_is_whole():
    check(G, tolerance=1e-6)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault):
    with pytest.raises(ValueError, match=fault):
        check(replace(G, **FAULTS[fault]))


@pytest.mark.parametrize("fault", LEXICON_FAULTS)
def test_faults_of_the_lexicon(fault):
    with pytest.raises(ValueError, match=fault):
        check(replace(G, lexicon=replace(L, **LEXICON_FAULTS[fault])))


def test_operators_are_measured_by_their_weights():
    weights = {
        "binary_weight": np.array([1, 1, 0.6, 0.2, 1, 0.5, 0.4, 0.25, 0.45]),
        "unary_weight": np.array([0.2, 0.1, 0.3]),
        "root_weight": np.bincount([4], minlength=11).astype(float),
    }
    check(replace(G, binary=-3 * G.binary, **weights))
    weights["unary_weight"] = np.array([0.3, 0.1, 0.3])
    with pytest.raises(ValueError, match="rules of a phrase"):
        check(replace(G, **weights))


def test_rules_of_low_rank():
    low = low_rank_grammar()
    check(low)
    for message, fault in (
        ("factors are all there", {"values": low.factors.values[1:]}),
        ("factors.start lies within", {"start": low.factors.start - 1}),
        ("factors are all there", {"rank": low.factors.rank + 9}),
    ):
        with pytest.raises(ValueError, match=message):
            check(replace(low, factors=replace(low.factors, **fault)))
    with pytest.raises(ValueError, match="binary has shape"):
        check(replace(low, binary=G.binary))
