"""Enumeration = reference = kernel on random tiny grammars: Z, posteriors, counts; and no underflow."""

from collections import defaultdict

import numpy as np
import pytest
from chart_cases import (
    Case,
    ambiguous_case,
    cases,
    edges_of,
    enumerate_derivations,
    forest_edges,
    forest_items,
    grammar_of,
    sentence,
    skeleton,
)
from hypothesis import assume, given, settings
from scipy.special import logsumexp

from gramian.chart import chart_reference as reference
from gramian.chart.backend import BackendFactory, NumbaBackend
from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.grammar import LPCFG
from gramian.grammar.lexicon import WordScores

EXACT = Pruning(beam=0, item=0, edge=0, fine=0, split=0)
BACKENDS = {"numba": 150, "torch": 50}
"""Backends, and how many random cases each is tried on."""
RTOL = 3e-6  # rules of low rank multiply out in single precision


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
    np.testing.assert_allclose(chart.total, np.log(total), rtol=RTOL, atol=RTOL)
    np.testing.assert_allclose(
        reference.fill_chart(case.grammar, emission, reference.REAL).total, total, rtol=RTOL
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
        np.testing.assert_allclose(posterior, expected, rtol=RTOL, atol=1e-9)
    for edge, value in reference.edge_posteriors(chart).items():
        np.testing.assert_allclose(value, edges.get(edge, 0.0), rtol=RTOL, atol=1e-9)

    best = reference.best_derivation(case.grammar, emission)
    assert best is not None
    np.testing.assert_allclose(np.exp(best.log_weight), max(derivations)[0], rtol=RTOL)
    np.testing.assert_allclose({d: w for w, d in derivations}[best.nodes], max(derivations)[0], rtol=RTOL)


def backend_of(name: str) -> BackendFactory:
    if name == "numba":
        return NumbaBackend
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    from gramian.chart.gpu.torch_backend import TorchBackend

    return TorchBackend.on("cpu")


def compare_with_reference(case: Case, backend: str, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    chart = reference.fill_chart(case.grammar, reference.emissions(case.grammar, case.words))
    forest = ChartParser(case.grammar, backend=backend_of(backend)).forest(case.words, EXACT)
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


@pytest.mark.parametrize("backend", BACKENDS)
def test_backend_equals_reference(backend: str) -> None:
    @settings(max_examples=BACKENDS[backend])
    @given(cases(max_words=7, max_phrases=4))
    def compare(case: Case) -> None:
        compare_with_reference(case, backend)

    compare()


@pytest.mark.parametrize("backend", BACKENDS)
def test_backend_equals_reference_when_words_scores_are_extreme(backend: str) -> None:
    @settings(max_examples=BACKENDS[backend] // 5)
    @given(cases(max_words=6, spread=8.0, state_spread=5.0))
    def compare(case: Case) -> None:
        compare_with_reference(case, backend, rtol=1e-3, atol=1e-5)

    compare()


@pytest.mark.parametrize("backend", BACKENDS)
def test_long_sentences_neither_underflow_nor_overflow(backend: str) -> None:
    """A right-linear grammar is a hidden Markov model: the forward algorithm knows its Z at any length."""
    rng = np.random.default_rng(3)
    rules = np.array([[0, 1, 0], [0, 2, 0], [0, 1, 1], [0, 2, 1]], np.int32)
    states = np.array([3, 2, 3], np.int32)
    grammar = grammar_of(("A", "x", "y"), 1, states, rules, np.empty((0, 2), np.int32), rng)
    length = 2 * BACKENDS[backend]
    for scale in (1e-20, 1.0, 1e20):
        words = [
            WordScores(word.tags, word.coarse * np.float32(scale), word.states)
            for word in sentence(grammar, length, rng, spread=3.0, state_spread=2.0)
        ]
        words[-1] = WordScores(np.zeros(1, np.int32), np.ones(1, np.float32), np.ones(2, np.float32))
        forest = ChartParser(grammar, backend=backend_of(backend)).forest(words, EXACT)
        assert forest is not None
        np.testing.assert_allclose(forest.log_ratio, forward(grammar, words), rtol=1e-6)
        is_tag = forest.item_symbol >= 1
        per_word = np.bincount(forest.item_first_word[is_tag], forest.item_posterior[is_tag], length)
        np.testing.assert_allclose(per_word, 1, rtol=1e-3)


def forward(grammar: LPCFG, words: list[WordScores]) -> float:
    """Log Z of a grammar with the rules A -> tag A and A -> tag tag, from left to right."""
    emission = reference.emissions(grammar, words)
    by_tag = np.split(np.log(np.maximum(emission, 1e-300)), [int(grammar.n_states[1])], axis=1)
    blocks = [
        np.log(grammar.binary[a:b].astype(float)).reshape(grammar.n_states[rule])
        for rule, a, b in zip(
            grammar.binary_rules, grammar.binary_start[:-1], grammar.binary_start[1:], strict=True
        )
    ]
    # log-weight of what is left of the phrase that begins here
    vector = np.log(grammar.root[:3].astype(float))
    for place in range(len(words) - 2):
        step = logsumexp(
            [logsumexp(blocks[tag] + by_tag[tag][place][:, None], axis=1) for tag in (0, 1)], axis=0
        )  # states of A before, states of A after
        vector = logsumexp(vector[:, None] + step, axis=0)
    ends = [
        logsumexp(blocks[2 + tag] + by_tag[tag][-2][:, None] + by_tag[0][-1], axis=(1, 2)) for tag in (0, 1)
    ]
    return float(logsumexp(vector + logsumexp(ends, axis=0)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sentence_of_moderate_length_equals_the_reference_in_logarithms(backend: str) -> None:
    case = ambiguous_case(16)
    compare_with_reference(case, backend, rtol=1e-4, atol=1e-6)


@settings(max_examples=40)
@given(cases(max_words=6, max_phrases=4))
def test_a_pruned_forest_is_a_distribution_over_its_own_trees(case: Case) -> None:
    chart = ChartParser(case.grammar)
    whole, forest = (
        chart.forest(case.words, EXACT),
        chart.forest(case.words, Pruning(beam=0.05, item=0.02, edge=0.02)),
    )
    assume(forest is not None)
    assert forest.log_ratio <= whole.log_ratio + 1e-4
    np.testing.assert_allclose(forest.root_posterior.sum(), 1, rtol=1e-4)
    through_edges = np.add.reduceat(np.append(forest.edge_posterior, 0), forest.edge_first[:-1])
    through_edges[forest.edge_first[:-1] == forest.edge_first[1:]] = 0
    is_phrase = forest.item_symbol < case.grammar.n_phrases
    np.testing.assert_allclose(
        through_edges[is_phrase], forest.item_posterior[is_phrase], rtol=1e-4, atol=1e-6
    )
    per_word = np.bincount(
        forest.item_first_word[~is_phrase], forest.item_posterior[~is_phrase], len(case.words)
    )
    np.testing.assert_allclose(per_word, 1, rtol=1e-4)
