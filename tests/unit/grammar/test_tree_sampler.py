"""Sampling: what is drawn is what the grammar's tables say, for each seed the same."""

from collections import Counter
from dataclasses import replace
from itertools import islice
from math import sqrt

import numpy as np
import pytest
from tiny_grammar import COUNT, TAG_OF, TAGS, emission, low_rank_grammar, probability, tiny_grammar

from gramian.errors import OptionError
from gramian.grammar.tree_sampling import TreeSampler
from gramian.trees import Tree


def draw(n: int, **options) -> list[Tree]:
    return list(islice(TreeSampler(tiny_grammar(), **options), n))


def test_frequencies_match_probabilities(monkeypatch):
    # Emissions are drawn so that they sum to one in every state; the tables written by hand do so only nearly.
    total = {tag: sum(emission(tag, word) for word in COUNT if tag in TAG_OF[word]) for tag in TAGS}
    monkeypatch.setattr("tiny_grammar.emission", lambda tag, word: emission(tag, word) / total[tag])
    n = 10_000
    sampler = TreeSampler(tiny_grammar(), random_state=5)
    counts = Counter(str(tree) for tree in islice(sampler, n))
    assert sampler.rejected == 0
    frequent = [text for text, count in counts.items() if count >= 20]
    assert len(frequent) > 50
    for text in frequent:
        expected = probability(Tree.parse(text))
        assert counts[text] / n == pytest.approx(expected, abs=4.5 * sqrt(expected / n))


def test_short_trees_come_with_their_share():
    short = draw(2000, random_state=1, max_length=3)
    assert max(len(tree.words) for tree in short) == 3
    everything = [tree for tree in draw(6000, random_state=2) if len(tree.words) <= 3]
    one_word = [sum(len(tree.words) == 1 for tree in trees) / len(trees) for trees in (short, everything)]
    assert one_word[0] == pytest.approx(one_word[1], abs=0.05)


def test_rules_of_low_rank():
    low = list(islice(TreeSampler(low_rank_grammar(), random_state=7), 100))
    assert low == draw(100, random_state=7)


def test_same_seed_same_trees():
    assert draw(50, random_state=3) == draw(50, random_state=3)
    assert draw(50, random_state=3) != draw(50, random_state=4)


def test_rejections_are_counted():
    sampler = TreeSampler(tiny_grammar(), max_length=2)
    trees = list(islice(sampler, 100))
    assert sampler.rejected > 0
    assert {len(tree.words) for tree in trees} <= {1, 2}


def test_a_tag_without_words_stands_for_itself():
    grammar = tiny_grammar()
    lexicon = grammar.lexicon
    keep = lexicon.entry_tag != 2  # IN, the tag of "with" alone
    assert (~keep).sum() == 1
    words = [word for word in lexicon.words if word != "with"]
    state_keep = np.repeat(keep, lexicon.n_states[lexicon.entry_tag])
    cut = replace(
        lexicon,
        words=tuple(words),
        word_count=np.array([COUNT[word] for word in words], np.int32),
        entry_start=np.cumsum([0] + [len(TAG_OF[word]) for word in words]).astype(np.int32),
        entry_tag=lexicon.entry_tag[keep],
        entry_probability=lexicon.entry_probability[keep],
        entry_states=lexicon.entry_states[state_keep],
    )
    trees = list(islice(TreeSampler(replace(grammar, lexicon=cut)), 200))
    prepositions = {leaf.word for tree in trees for leaf in tree.leaves() if leaf.label == "IN"}
    assert prepositions == {"IN"}


def test_what_cannot_be_drawn_from():
    grammar = tiny_grammar()
    with pytest.raises(OptionError, match="not probabilities"):
        TreeSampler(replace(grammar, binary_weight=np.ones(9)))
    with pytest.raises(OptionError, match="max_length"):
        TreeSampler(grammar, max_length=0)
    no_words = replace(grammar, root=np.zeros_like(grammar.root))
    no_words.root[4 + 1] = 1.0  # always S, whose shortest tree has one word
    endless = replace(
        no_words,
        binary_rules=np.array([[4, 4, 4]], np.int32), binary=np.ones(1, np.float32),
        unary_rules=np.empty((0, 2), np.int32), unary=np.empty(0, np.float32),
    )  # fmt: skip
    with pytest.raises(OptionError, match="larger max_length"):
        TreeSampler(endless, max_length=3).draw()
