"""The best trees of several sentences at once are those of their forests, one by one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from chart_cases import ambiguous_case, ambiguous_grammars, cases, sentence
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ensemble import joint_words, with_other_states

from gramian.chart.backend import ChartInput
from gramian.chart.chart_parser import ChartParser
from gramian.chart.combine import ExpertPosterior, sentence_weight
from gramian.chart.decode import DECODERS, decode, decode_batch
from gramian.chart.forest import Allowed, Forest, Pruning
from gramian.chart.tree_arrays import confidences, to_tree, tree_arrays
from gramian.grammar.lexicon import WordScores
from gramian.parsing.calibration import Calibration
from gramian.parsing.pipeline import BatchResults
from gramian.parsing.sentences import ReadSentence

EXACT = Pruning(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class SpanExpert:
    """Says of each label over each span what numbers drawn for the sentence say."""

    name = "drawn"

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def _table(self, words: Sequence[str], n_labels: int) -> np.ndarray:
        rng = np.random.default_rng(len(words))
        return rng.random((len(words) * (len(words) + 1) // 2, n_labels)).astype(np.float32)

    def posterior(self, words: Sequence[str], forest: Forest) -> ExpertPosterior:
        table = self._table(words, len(forest.labels.names))
        return ExpertPosterior(
            replace(forest, labels_over_spans=table), sentence_weight(self.weight, 1 / len(words))
        )

    def fill(
        self, sentences: Sequence[Sequence[str]], table: np.ndarray, first: Sequence[int], spans: np.ndarray
    ) -> list[float]:
        for words, begin in zip(sentences, first, strict=False):
            own = self._table(words, table.shape[1])
            spans[begin : begin + len(own)] = own[:, 0] ** 4
            table[begin : begin + len(own)] = own
        return [sentence_weight(self.weight, 1 / len(words)) for words in sentences]


def compare(chart: ChartParser, sentences: list[list[WordScores]], pruning: Pruning = EXACT) -> None:
    """All that is asked for: trees, confidences and probabilities, under every decoder but one."""
    assert not chart.needs_forests
    words = [[f"w{place}" for place in range(len(scores))] for scores in sentences]
    batch = [ChartInput(scores, None, own) for scores, own in zip(sentences, words, strict=True)]
    for decoder in set(DECODERS) - {"viterbi"}:
        posteriors = chart.posteriors(batch, pruning)
        found = tree_arrays(posteriors, decode_batch(posteriors, decoder, recall_penalty=0.3))
        reads = [ReadSentence(own, None, None) for own in words]
        results = BatchResults(found, reads, chart.labels.names, Calibration())
        for place, (one, own) in enumerate(zip(batch, words, strict=True)):
            forest = chart.forests([one], pruning)[0]
            best = None if forest is None else decode(forest, decoder, recall_penalty=0.3)
            result = results.result(place)
            if forest is None or best is None:
                assert result is None
                continue
            assert result is not None
            assert result.tree == to_tree(forest, best, own)
            assert result.log_prob_words == pytest.approx(forest.log_ratio, rel=1e-6)
            expected = np.minimum(confidences(forest, best), 1)
            np.testing.assert_allclose(result.confidences, expected, rtol=1e-4, atol=1e-6)


@settings(max_examples=20)
@given(cases(max_words=4), st.integers(0, 1000))
def test_one_grammar_and_two_of_the_same_rules(case, seed):
    rng = np.random.default_rng(seed)
    sentences = [case.words, *(sentence(case.grammar, n, rng) for n in (1, 3, 5))]
    compare(ChartParser(case.grammar), sentences)
    compare(ChartParser(case.grammar), sentences, Pruning())
    pair = [case, with_other_states(case, seed)]
    compare(ChartParser([one.grammar for one in pair]), [joint_words(pair)] * 2)


def test_grammars_of_two_binarisations_and_experts():
    right, left, words = ambiguous_grammars()
    twice = [replace(word, states=np.repeat(word.states, 2)) for word in words]
    sentences = [twice, twice[1:4], twice[:1], twice[::-1]]
    compare(ChartParser([right, left]), sentences)
    experts = [SpanExpert(0.5), SpanExpert(0.25)]
    compare(ChartParser([right, left], experts=experts), sentences)
    compare(ChartParser([right, left], experts=[SpanExpert(0.9)]), sentences)


def test_what_a_sentence_does_not_allow_holds_for_it_alone():
    case = ambiguous_case(5)
    n_phrases, chart = case.grammar.n_phrases, ChartParser(case.grammar)
    symbols = np.ones((2, n_phrases + 1), np.bool_)
    symbols[1, :n_phrases] = False
    row = np.zeros(15, np.int32)
    row[5] = 1  # no phrase over the first two words
    free, bound = ChartInput(case.words), ChartInput(case.words, Allowed(row, symbols))
    forests = chart.forests([free, bound, free, bound], EXACT)
    alone = [chart.forests([one], EXACT)[0] for one in (free, bound)]
    for place, forest in enumerate(forests):
        np.testing.assert_array_equal(forest.edge_left, alone[place % 2].edge_left)
        np.testing.assert_array_equal(forest.item_posterior, alone[place % 2].item_posterior)
        np.testing.assert_array_equal(forest.inside, alone[place % 2].inside)
    assert 5 not in forests[1].item_cell
    assert 5 in forests[0].item_cell


def test_experts_that_must_see_forests_and_other_combinations_do_not_go_together_so():
    case = ambiguous_case(3)
    grammars = [case.grammar, case.grammar]
    assert not ChartParser(case.grammar, "coverage").needs_forests
    assert ChartParser(grammars, "coverage").needs_forests

    class SeesForests:
        name, weight = "crf", 0.5

        def posterior(self, words, forest):
            return ExpertPosterior(forest, self.weight)

    assert ChartParser(grammars, experts=[SeesForests()]).needs_forests


def test_forests_of_the_same_rules_have_the_same_items_and_edges():
    """Who combines forests tells by that which ones can be."""
    case = ambiguous_case(4)
    pair = [case, with_other_states(case, 1)]
    chart = ChartParser([one.grammar for one in pair])
    for forest in chart.forests([ChartInput(joint_words(pair))] * 2, EXACT):
        one, other = forest.members
        assert one.edge_left is other.edge_left is forest.edge_left
        assert one.item_posterior is not other.item_posterior
