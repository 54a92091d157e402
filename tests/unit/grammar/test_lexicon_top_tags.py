"""The most probable tag of a word, which tells about words that look like it."""

from dataclasses import replace

import numpy as np
from tiny_grammar import tiny_grammar


def test_the_most_probable_tag_of_each_word_the_first_of_equal_ones():
    lexicon = tiny_grammar().lexicon
    chances = np.random.default_rng(0).choice([0.25, 0.5], len(lexicon.entry_tag)).astype(np.float32)
    lexicon = replace(lexicon, entry_probability=chances)
    for number, word in enumerate(lexicon.words):
        entries = range(lexicon.entry_start[number], lexicon.entry_start[number + 1])
        best = max(entries, key=lambda entry: (chances[entry], -entry))
        assert lexicon.top_tag(word) == lexicon.tags[lexicon.entry_tag[best]]
    assert lexicon.top_tag("no such word") is None
