"""Glued grammars: every sentence has a tree, whatever form the rules have."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_grammar import low_rank_grammar, tiny_grammar

from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.grammar.glue import END, end_scores, glued, root_label

SENTENCES = [[".", "."], ["the", "dog", "the", "cat", "with"], ["barks", "the", "telescope", "saw"]]


def log_ratio(grammar, words: list[str]) -> float:
    forest = ChartParser(glued(grammar)).forest(
        [*(grammar.lexicon.score(word) for word in words), end_scores(grammar)], Pruning(guess=0.0)
    )
    assert forest is not None
    return forest.log_ratio


def test_the_root_is_the_most_frequent_one():
    assert root_label(tiny_grammar()) == "S"
    grammar = glued(tiny_grammar())
    assert grammar.symbols[-1] == END
    assert grammar.symbols[grammar.n_phrases - 2 : grammar.n_phrases] == ("S", "@S")


@pytest.mark.parametrize("words", SENTENCES, ids=" ".join)
def test_low_rank_and_whole_blocks_agree(words):
    assert log_ratio(low_rank_grammar(), words) == pytest.approx(log_ratio(tiny_grammar(), words), abs=1e-5)


def test_operators():
    """With their weights given, the blocks may be anything; the coarse grammar is that of the weights."""
    grammar = tiny_grammar()
    coarse = grammar.coarse
    operators = replace(
        grammar, binary_weight=coarse.binary, unary_weight=coarse.unary, root_weight=coarse.root
    )
    assert log_ratio(operators, SENTENCES[1]) == pytest.approx(log_ratio(grammar, SENTENCES[1]), abs=1e-5)
    assert np.count_nonzero(glued(operators).coarse.root) == 1
