"""Enumeration = reference = kernel on random tiny grammars: Z, posteriors, counts; and no underflow."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from chart_cases import (
    Case,
    cases,
    edges_of,
    enumerate_derivations,
    forest_edges,
    forest_items,
    skeleton,
)
from hypothesis import assume, given, settings

from gramian.chart import reference
from gramian.chart.inference import ChartParser, Pruning

EXACT = Pruning(beam=0, item=0, edge=0)


@settings(max_examples=60)
@given(cases(max_words=4))
def test_reference_equals_enumeration(case: Case) -> None:
    emission = reference.emissions(case.grammar, case.words)
    count = reference.fill_chart(case.grammar, emission, reference.COUNT).total
    assume(count <= 20_000)
    derivations = enumerate_derivations(case.grammar, emission)
    assert count == len(derivations)
    chart = reference.fill_chart(case.grammar, emission)
    if not derivations:
        assert chart.total == -np.inf
        assert reference.best_derivation(case.grammar, emission) is None
        return
    total = sum(weight for weight, _ in derivations)
    np.testing.assert_allclose(chart.total, np.log(total), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        reference.fill_chart(case.grammar, emission, reference.REAL).total, total, rtol=1e-9
    )

    states: dict[tuple, float] = defaultdict(float)
    edges: dict[tuple, float] = defaultdict(float)
    for weight, derivation in derivations:
        for node in derivation:
            states[node] += weight / total
        for edge in edges_of(skeleton(derivation)):
            edges[edge] += weight / total
    for item, posterior in reference.state_posteriors(chart).items():
        expected = [states.get((*item, state), 0.0) for state in range(len(posterior))]
        np.testing.assert_allclose(posterior, expected, rtol=1e-9, atol=1e-12)
    for edge, value in reference.edge_posteriors(chart).items():
        np.testing.assert_allclose(value, edges.get(edge, 0.0), rtol=1e-9, atol=1e-12)

    best = reference.best_derivation(case.grammar, emission)
    assert best is not None
    np.testing.assert_allclose(np.exp(best.log_weight), max(derivations)[0], rtol=1e-9)
    np.testing.assert_allclose({d: w for w, d in derivations}[best.nodes], max(derivations)[0], rtol=1e-9)


def compare_with_reference(case: Case, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    chart = reference.fill_chart(case.grammar, reference.emissions(case.grammar, case.words))
    forest = ChartParser(case.grammar).forest(case.words, EXACT)
    if forest is None:
        assert chart.total == -np.inf
        return
    np.testing.assert_allclose(forest.log_ratio, chart.total, rtol=1e-6, atol=1e-5)
    posteriors = reference.state_posteriors(chart)
    items = forest_items(forest)
    for number, item in enumerate(items):
        expected = posteriors.pop(item)
        np.testing.assert_allclose(forest.item_posterior[number], expected.sum(), rtol=rtol, atol=atol)
        place = slice(forest.item_start[number], forest.item_start[number + 1])
        found = forest.inside[place].astype(float) * forest.outside[place]
        if expected.sum() > 1e-6:
            np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=rtol, atol=atol)
    assert all(vector.sum() < atol for vector in posteriors.values())  # what the forest does not have
    expected_edges = reference.edge_posteriors(chart)
    for edge, value in zip(forest_edges(forest), forest.edge_posterior, strict=True):
        np.testing.assert_allclose(value, expected_edges.pop(edge), rtol=rtol, atol=atol)
    assert all(value < atol for value in expected_edges.values())
    is_tag = forest.item_symbol >= case.grammar.n_phrases
    per_word = np.bincount(forest.item_first_word[is_tag], forest.item_posterior[is_tag], len(case.words))
    np.testing.assert_allclose(per_word, 1, rtol=rtol)
    np.testing.assert_allclose(forest.root_posterior.sum(), 1, rtol=rtol)


@settings(max_examples=80)
@given(cases(max_words=7, max_phrases=4))
def test_kernel_equals_reference(case: Case) -> None:
    compare_with_reference(case)


@settings(max_examples=30)
@given(cases(max_words=6, spread=8.0, state_spread=5.0))
def test_kernel_equals_reference_when_words_scores_are_extreme(case: Case) -> None:
    compare_with_reference(case, rtol=1e-3, atol=1e-5)
