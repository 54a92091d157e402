"""Guesses of posteriors, by which the coarse chart is pruned: sums over chains of tags around a phrase."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from gramian.chart import guess_kernels
from gramian.chart.backend import ChartInput, NumbaBackend, PlacedGrammar
from gramian.chart.chart_parser import Pruning
from gramian.chart.coarse_arrays import Tags
from gramian.chart.grammar_arrays import grammar_arrays
from gramian.grammar import LPCFG
from gramian.parsing.model_store import load_model
from gramian.parsing.words import WordTable

FIXTURE = Path(__file__).parents[1] / "grammar" / "fixtures" / "version-1.grammar"
WORDS = ["the", "saw", "saw", "glorp", "with", "a", "cat"]


@pytest.fixture(scope="module")
def grammar() -> LPCFG:
    return load_model(FIXTURE).grammar


def scores_of(grammar: LPCFG, words: list[str]) -> list:
    table = WordTable(grammar.lexicon)
    return [word.scores for word in table.read(words)]


def chances(grammar: LPCFG, words: list, backwards: bool) -> np.ndarray:
    """Sum over all sequences of the words' tags, times the chance of each symbol to follow (or to be followed by) them."""
    share = grammar.before.sum(axis=1)
    edge = grammar.before.shape[1] - 1
    total = np.zeros(grammar.n_symbols)
    for tags in product(*(range(len(word.tags)) for word in words)):
        weight = 1.0
        sequence = [int(word.tags[place]) for word, place in zip(words, tags, strict=True)]
        for word, place in zip(words, tags, strict=True):
            weight *= float(word.coarse[place])
        for near, far in pairwise(sequence):
            if backwards:
                weight *= float(grammar.after[grammar.n_phrases + near, far])
            else:
                weight *= float(
                    grammar.before[grammar.n_phrases + far, near] / share[grammar.n_phrases + near]
                )
        if backwards:
            end = grammar.after[grammar.n_phrases + sequence[-1], edge] if sequence else 1.0
            total += weight * end * grammar.after[:, sequence[0] if sequence else edge]
        else:
            begin = grammar.before[grammar.n_phrases + sequence[0], edge] if sequence else 1.0
            last = share[grammar.n_phrases + sequence[-1]] if sequence else 1.0
            total += weight * begin * grammar.before[:, sequence[-1] if sequence else edge] / last
    return total


def test_guesses_are_sums_over_chains_of_tags(grammar: LPCFG) -> None:
    words = scores_of(grammar, WORDS)
    start = np.concatenate([[0], np.cumsum([len(word.tags) for word in words])]).astype(np.int32)
    symbol = (np.concatenate([word.tags for word in words]) + grammar.n_phrases).astype(np.int32)
    score = np.concatenate([word.coarse for word in words]).astype(np.float64)
    before, after, before_scale, after_scale = guess_kernels.outside_guesses(
        Tags(start, symbol, score), grammar_arrays(grammar, grammar.coarse)
    )
    for position in range(len(words) + 1):
        expected = chances(grammar, words[:position], backwards=False)
        np.testing.assert_allclose(before[position] * np.exp(before_scale[position]), expected, rtol=1e-5)
        # The other scale holds the probability of all words besides; it is gone from a ratio.
        expected = chances(grammar, words[position:], backwards=True)
        np.testing.assert_allclose(
            after[position] * np.exp(after_scale[position] - after_scale[len(words)]), expected, rtol=1e-5
        )
    for place in range(len(words)):  # guesses of a word's tags sum to nearly one: both tables were counted
        tags = symbol[start[place] : start[place + 1]]
        guess = score[start[place] : start[place + 1]] * before[place, tags] * after[place + 1, tags]
        total = guess.sum() * np.exp(before_scale[place] + after_scale[place + 1])
        assert total == pytest.approx(1, rel=0.5)


def test_guesses_drop_what_is_unlikely_and_keep_the_rest(grammar: LPCFG) -> None:
    words = scores_of(grammar, WORDS)
    chart = NumbaBackend(
        [PlacedGrammar(grammar, np.zeros_like(grammar.lexicon.n_states))], grammar.lexicon.n_states
    )
    sizes = []
    for guess in (0.0, 1e-12, 1e-2, 0.3):
        pruning = Pruning(beam=1e-9, item=0, edge=0, guess=guess, split=0)
        sizes.append(len(chart.find([ChartInput(words)], pruning).coarse.forest.item_symbol))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == sizes[1] > sizes[3]
    without_beam = chart.find([ChartInput(words)], Pruning(beam=0, item=0, edge=0, guess=1.0, split=0))
    assert len(without_beam.coarse.forest.item_symbol) >= sizes[0]
