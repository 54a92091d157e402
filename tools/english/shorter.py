"""Models of fewer words, so that the file stays small: words that text without trees showed a few times only."""

from collections.abc import Container
from dataclasses import replace

import numpy as np

from gramian.grammar.lexicon import Lexicon
from gramian.neural import NeuralModel


def shorter_lexicon(lexicon: Lexicon) -> Lexicon:
    """Return a lexicon without the words that weigh less than half a word of a tree: their tags and states are guessed from their form."""
    keeps = np.asarray(lexicon.word_count) > 0
    entries = keeps[lexicon.entry_word]
    states = np.repeat(entries, lexicon.n_states[lexicon.entry_tag])
    sizes = np.diff(lexicon.entry_start)[keeps]
    return replace(
        lexicon,
        words=tuple(word for word, keep in zip(lexicon.words, keeps.tolist(), strict=True) if keep),
        word_count=lexicon.word_count[keeps],
        entry_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        entry_tag=lexicon.entry_tag[entries],
        entry_probability=lexicon.entry_probability[entries],
        entry_states=lexicon.entry_states[states],
    )


def shorter_net(net: NeuralModel, words: Container[str]) -> NeuralModel:
    """Return a net that has learnt vectors of no other words; fixed vectors and spelling speak for these."""
    known = net.inventory.words
    weights = dict(net.weights)
    table = weights["word.weight"]
    first = len(table) - len(known)  # rows of what is no word
    kept = [place for place, word in enumerate(known) if word in words]
    weights["word.weight"] = np.concatenate([table[:first], table[first:][kept]])
    return replace(
        net, inventory=replace(net.inventory, words=tuple(known[place] for place in kept)), weights=weights
    )
