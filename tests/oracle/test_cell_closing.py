"""A chart with closed cells = enumeration of the trees whose spans are open; with no tree in open cells, all cells open."""

from collections.abc import Sequence

import numpy as np
import pytest
from chart_cases import ambiguous_grammars, binarised_tree, cases, enumerate_derivations, skeleton, words_of
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from gramian.chart import chart_reference as reference
from gramian.chart.backend import ChartInput
from gramian.chart.cell_closing import COMPLETE, PARTIAL, ClosingTable
from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.chart.forest import cell_number

EXACT = Pruning(beam=0, item=0, edge=0, fine=0, split=0)


@settings(max_examples=150)
@given(cases(max_words=5, max_states=2), st.data())
def test_the_chart_has_exactly_the_trees_in_open_cells(case, data):
    words, emission = words_of(case), reference.emissions(case.grammar, case.words)
    if not 0 < reference.fill_chart(case.grammar, emission, reference.COUNT).total <= 20_000:
        reject()
    n = len(words)
    kinds_of_cells = st.sampled_from([0, COMPLETE, PARTIAL, COMPLETE | PARTIAL])
    cells = data.draw(st.lists(kinds_of_cells, min_size=n * (n + 1) // 2, max_size=n * (n + 1) // 2))
    cells[:n], cells[-1] = [COMPLETE | PARTIAL] * n, COMPLETE | PARTIAL
    total = 0.0
    for weight, derivation in enumerate_derivations(case.grammar, emission):
        spans = binarised_tree(case.grammar, skeleton(derivation), words).spans(preterminals=False)
        kinds = [
            (PARTIAL if label.startswith("@") else COMPLETE) & cells[cell_number(start, end, n)]
            for label, start, end in spans
        ]
        total += weight if all(kinds) else 0.0
    allowed = ClosingTable(case.grammar).allowed(np.array(cells, np.uint8))
    forest = ChartParser(case.grammar).forest(case.words, EXACT, allowed)
    if forest is None:
        assert total == 0
    else:
        np.testing.assert_allclose(forest.log_ratio, np.log(total), rtol=1e-5, atol=1e-5)


class Denier:
    """An expert of all weight that expects brackets in some spans only, or in none."""

    name, weight = "denier", 1.0

    def __init__(self, expected: Sequence[tuple[int, int]]) -> None:
        self.expected = expected

    def posterior(self, words, forest):
        raise AssertionError("it is asked before charts are filled")

    def fill(self, sentences, table, first, spans):
        spans[:], table[:] = 0, 0
        for words, begin in zip(sentences, first, strict=False):
            for start, end in self.expected:
                cell = begin + cell_number(start, end, len(words))
                spans[cell] = table[cell] = 1
        return [self.weight] * len(sentences)


@pytest.mark.parametrize("is_left", [False, True])
def test_a_sentence_without_a_tree_in_open_cells_is_parsed_with_all_open(is_left):
    grammar, scores = ambiguous_grammars()[is_left], ambiguous_grammars()[2]
    sentence = ChartInput(scores, None, list("abcda"))
    assert len(scores) == 5

    def forests(pruning, *expected):
        chart = ChartParser(grammar, experts=[Denier(expected)])
        return chart, chart.forests([sentence, sentence], pruning)

    _, opened = forests(Pruning(close=0))
    chart, denied = forests(Pruning())
    assert chart.posteriors([sentence], Pruning()).log_prob[0] == -np.inf
    for found, expected in zip(denied, opened, strict=True):
        np.testing.assert_array_equal(found.item_symbol, expected.item_symbol)
        np.testing.assert_array_equal(found.inside, expected.inside)
    suffixes, prefixes = [(k, 5) for k in range(1, 4)], [(0, k) for k in range(2, 5)]
    chart, partly = forests(Pruning(), *(suffixes if is_left else prefixes))
    assert np.isfinite(chart.posteriors([sentence], Pruning()).log_prob[0])
    assert len(partly[0].item_symbol) < len(opened[0].item_symbol)
