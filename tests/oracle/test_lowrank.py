"""Rules of low rank: exact where nothing is approximated, and decompositions as good as tensorly's."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from chart_cases import Case, cases, enumerate_derivations, forest_edges, grammar_of, sentence, skeleton
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gramian.chart import chart_reference as reference
from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.chart.derivations import viterbi
from gramian.grammar import LPCFG
from gramian.grammar.compress.decompose import compare, fit_probabilities, fit_signed
from gramian.grammar.compress.lowrank import compress
from gramian.grammar.lpcfg import Factors

EXACT = Pruning(beam=0, item=0, edge=0, fine=0, split=0)


def in_full_rank(grammar: LPCFG, chosen: np.ndarray) -> LPCFG:
    """The same grammar with the chosen rules as sums of one product for each pair of the children's states."""
    grammar = grammar.expanded
    rank, start = np.zeros(len(chosen), np.int32), np.zeros((len(chosen), 3), np.int64)
    values: list[np.ndarray] = [np.empty(0)]
    blocks: list[np.ndarray] = [np.empty(0)]
    for rule, is_chosen in enumerate(chosen):
        block = grammar.binary_block(rule)
        if not is_chosen:
            blocks.append(block.ravel())
            continue
        _, left, right = block.shape
        rank[rule] = left * right
        pairs = np.eye(left * right).reshape(left * right, left, right)
        for side, matrix in enumerate(
            (block.reshape(len(block), -1).T, pairs.sum(axis=2), pairs.sum(axis=1))
        ):
            start[rule, side] = sum(map(len, values))
            values.append(matrix.ravel())
    factors = Factors(
        rank, np.ones(len(chosen), np.float32), start, np.concatenate(values).astype(np.float32)
    )
    return replace(grammar, binary=np.concatenate(blocks).astype(np.float32), factors=factors)


@settings(max_examples=50)
@given(cases(max_words=4), st.integers(0, 2**32 - 1))
def test_at_full_rank_enumeration_reference_and_kernel_know_no_difference(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.random(len(case.grammar.binary_rules)) < rng.choice([0.5, 1.0])  # mixed, or all
    grammar = in_full_rank(case.grammar, chosen)
    emission = reference.emissions(case.grammar, case.words)
    assume(reference.fill_chart(case.grammar, emission, reference.COUNT).total <= 20_000)
    derivations = enumerate_derivations(case.grammar, emission)
    total = sum(weight for weight, _ in derivations)
    forest = ChartParser(grammar).forest(case.words, EXACT)
    if not total > 0:
        assert forest is None
        return
    chart = reference.fill_chart(grammar, emission)
    np.testing.assert_allclose(chart.total, np.log(total), rtol=1e-5, atol=1e-5)
    assert forest is not None
    np.testing.assert_allclose(forest.log_ratio, np.log(total), rtol=1e-5, atol=1e-5)
    expected: dict[tuple, float] = defaultdict(float)
    for weight, derivation in derivations:
        for node in skeleton(derivation):
            expected[node] += weight / total
    for edge, posterior in reference.edge_posteriors(chart).items():
        assert posterior <= expected[edge[0]] + 1e-5
    exact = ChartParser(case.grammar).forest(case.words, EXACT)
    assert exact is not None
    assert forest_edges(forest) == forest_edges(exact)
    best = viterbi(forest)
    assert best is not None
    highest = max(weight for weight, _ in derivations)
    np.testing.assert_allclose(best.score, np.log(highest / total), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(forest.edge_posterior, exact.edge_posterior, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(forest.item_posterior, exact.item_posterior, rtol=2e-5, atol=2e-6)
    items = zip(forest.item_symbol, forest.item_first_word, forest.item_end, strict=True)
    for item, posterior in zip(items, forest.item_posterior, strict=True):
        np.testing.assert_allclose(posterior, expected[tuple(map(int, item))], rtol=2e-5, atol=2e-6)


def in_shared_rank(grammar: LPCFG, rank: int, rng: np.random.Generator) -> LPCFG:
    """A grammar of the same rules, in which a symbol has one matrix for each place in a rule."""
    start = grammar.state_start[grammar.binary_rules] * rank + grammar.state_start[-1] * rank * np.arange(3)
    n_rules = len(grammar.binary_rules)
    values = rng.gamma(0.5, size=3 * rank * int(grammar.state_start[-1])).astype(np.float32)
    weight = rng.gamma(1.0, size=n_rules).astype(np.float32)
    factors = Factors(np.full(n_rules, rank, np.int32), weight, start, values)
    return replace(grammar, binary=np.empty(0, np.float32), factors=factors)


@settings(max_examples=50)
@given(cases(max_words=6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_products_that_all_rules_share(case: Case, rank: int, seed: int) -> None:
    grammar = in_shared_rank(case.grammar, rank, np.random.default_rng(seed))
    chart = reference.fill_chart(grammar, reference.emissions(grammar, case.words))
    forest = ChartParser(grammar).forest(case.words, EXACT)
    assert (forest is None) == (chart.total == -np.inf)
    if forest is None:
        return
    np.testing.assert_allclose(forest.log_ratio, chart.total, rtol=1e-5, atol=1e-5)
    expected = reference.edge_posteriors(chart)
    for edge, posterior in zip(forest_edges(forest), forest.edge_posterior, strict=True):
        np.testing.assert_allclose(posterior, expected[edge], rtol=1e-4, atol=2e-6)


def total_in_rank_space(grammar: LPCFG, emission: np.ndarray, rank: int) -> float:
    """Sum over all derivations without state vectors of phrases wider than a word (Yang, Liu and Tu 2022)."""
    assert grammar.factors is not None
    size, first = int(grammar.state_start[-1]) * rank, grammar.state_start
    values = grammar.factors.values.astype(float).reshape(3, size)
    matrices = [
        [table[rank * first[a] : rank * first[a + 1]].reshape(rank, -1) for a in range(grammar.n_symbols)]
        for table in values
    ]
    n, n_phrases = len(emission), grammar.n_phrases
    sides: dict[tuple[int, int, int], list[np.ndarray]] = {}  # V y and W y of items
    roots = np.zeros(grammar.n_symbols)
    for word in range(n):
        y = {a: emission[word, first[a] - first[n_phrases] : first[a + 1] - first[n_phrases]].astype(float)
             for a in range(n_phrases, grammar.n_symbols)}  # fmt: skip
        for rule, (phrase, tag) in enumerate(grammar.unary_rules.tolist()):
            y[phrase] = y.get(phrase, 0) + grammar.unary_block(rule) @ y[tag]
        for a, vector in y.items():
            sides[a, word, word + 1] = [matrices[side][a] @ vector for side in (1, 2)]
            if n == 1:
                roots[a] = grammar.root[first[a] : first[a + 1]] @ vector
    across = [[matrices[side][a] @ matrices[0][a].T for a in range(grammar.n_symbols)] for side in (1, 2)]
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            end = start + width
            products: dict[int, np.ndarray] = {}
            for rule, (a, b, c) in enumerate(grammar.binary_rules.tolist()):
                for split in range(start + 1, end):
                    if (b, start, split) in sides and (c, split, end) in sides:
                        pair = sides[b, start, split][0] * sides[c, split, end][1]
                        products[a] = products.get(a, 0) + float(grammar.factors.weight[rule]) * pair
            for a, vector in products.items():
                sides[a, start, end] = [matrix[a] @ vector for matrix in across]
                if width == n:
                    roots[a] = grammar.root[first[a] : first[a + 1]] @ (matrices[0][a].T @ vector)
    return float(roots.sum())


@settings(max_examples=30)
@given(cases(max_words=5), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_rank_space_gives_the_same_total(case: Case, rank: int, seed: int) -> None:
    grammar = in_shared_rank(case.grammar, rank, np.random.default_rng(seed))
    total = total_in_rank_space(grammar, reference.emissions(grammar, case.words), rank)
    forest = ChartParser(grammar).forest(case.words, EXACT)
    if forest is None:
        assert total == 0
    else:
        np.testing.assert_allclose(forest.log_ratio, np.log(total), rtol=1e-5, atol=1e-5)


def planted(shape: tuple[int, int, int], rank: int, seed: int, noise: float = 0.0) -> np.ndarray:
    """A positive tensor of a known rank, or nearly."""
    rng = np.random.default_rng(seed)
    u, v, w = (rng.dirichlet(np.full(size, 0.3), rank) for size in shape)
    tensor = np.einsum("qa,qb,qc->abc", u, v, w) * (1 + noise * rng.random(shape))
    return (tensor / tensor.sum(axis=(1, 2), keepdims=True).max()).astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_least_squares_are_as_good_as_those_of_tensorly(seed: int) -> None:
    tensorly = pytest.importorskip("tensorly")
    from tensorly.decomposition import parafac

    tensor = planted((7, 6, 5), 3, seed, noise=0.5)
    theirs = min(
        float(np.linalg.norm(tensorly.cp_to_tensor(
            parafac(tensor.astype(float), 3, init=init, n_iter_max=1000, tol=1e-10, random_state=seed)
        ) - tensor))
        for init in ("svd", "random")
    )  # fmt: skip
    found = fit_signed(tensor, [3], lambda _: False, 4, np.random.default_rng(seed))
    assert found is not None
    ours = np.linalg.norm(np.einsum("qa,qb,qc->abc", *(matrix.astype(float) for matrix in found)) - tensor)
    assert 0 < ours <= 1.01 * theirs
    np.testing.assert_allclose(compare(tensor, np.ones(7, np.float32), found, True)[1], ours, rtol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_are_likelier_than_a_non_negative_fit_of_tensorly(seed: int) -> None:
    tensorly = pytest.importorskip("tensorly")
    from tensorly.decomposition import non_negative_parafac

    tensor = planted((7, 6, 5), 3, seed, noise=0.5)
    weight = np.random.default_rng(seed).dirichlet(np.ones(7)).astype(np.float32)
    joint = tensor * weight[:, None, None]
    joint /= joint.sum()
    fit = tensorly.cp_to_tensor(
        non_negative_parafac(joint.astype(float), 3, n_iter_max=2000, tol=1e-12, random_state=seed)
    )

    def divergence(other: np.ndarray) -> float:
        return float((joint * np.log(joint / np.maximum(other / other.sum(), 1e-12))).sum())

    found = fit_probabilities(tensor, weight, [1, 2, 3], lambda *_: False)
    assert found is not None
    assert min(matrix.min() for matrix in found) >= 0
    product = np.einsum("qa,qb,qc->abc", *(matrix.astype(float) for matrix in found))
    ours = divergence(product * weight[:, None, None])
    assert ours <= divergence(fit) + 0.01
    np.testing.assert_allclose(product.sum(axis=(1, 2)), tensor.sum(axis=(1, 2)), rtol=1e-4)
    np.testing.assert_allclose(compare(tensor, weight, found, False)[0], ours, rtol=0.05, atol=2e-3)


def planted_grammar(rank: int, seed: int) -> LPCFG:
    """A grammar of six states whose rule tensors are whole but of a low rank."""
    rng = np.random.default_rng(seed)
    rules = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 2], [0, 2, 2], [0, 1, 1]], np.int32)
    states = np.array([6, 6, 6], np.int32)
    grammar = grammar_of(("A", "C", "x"), 2, states, rules, np.array([[0, 2], [1, 2]], np.int32), rng)
    blocks = [planted((6, 6, 6), rank, seed + number) / 5 for number in range(len(rules))]
    return replace(grammar, binary=np.concatenate([block.ravel() for block in blocks]))


@pytest.mark.parametrize("seed", range(3))
def test_a_grammar_whose_tensors_are_of_low_rank_loses_nothing(seed: int) -> None:
    grammar = planted_grammar(2, seed)
    small = compress(grammar, 2, signed=True, starts=4)
    assert small.gamma < 1e-3 * np.linalg.norm(grammar.binary_block(0))
    assert small.grammar.factors is not None
    assert small.grammar.factors.rank.tolist() == [2] * 5
    words = sentence(grammar, 6, np.random.default_rng(seed))
    before = reference.fill_chart(grammar, reference.emissions(grammar, words))
    after = ChartParser(small.grammar).forest(words, EXACT)
    assert after is not None
    np.testing.assert_allclose(after.log_ratio, before.total, rtol=1e-3, atol=1e-3)
    expected = reference.edge_posteriors(before)
    for edge, posterior in zip(forest_edges(after), after.edge_posterior, strict=True):
        np.testing.assert_allclose(posterior, expected[edge], atol=1e-3)


@settings(max_examples=30)
@given(cases(max_words=4))
def test_rules_of_one_product_have_the_best_derivation_of_their_tensors(case: Case) -> None:
    margins = [
        block.sum(axis=axes)
        for block in map(case.grammar.binary_block, range(len(case.grammar.binary_rules)))
        for axes in ((1, 2), (0, 2), (0, 1))
    ]
    sizes = np.array(list(map(len, margins)), np.int64)
    start = (np.cumsum(sizes) - sizes).reshape(-1, 3)
    ones = np.ones(len(start))
    values = np.concatenate([np.empty(0), *margins]).astype(np.float32)
    factors = Factors(ones.astype(np.int32), ones.astype(np.float32), start, values)
    small = replace(case.grammar, binary=np.empty(0, np.float32), factors=factors)
    forests = [ChartParser(one).forest(case.words, EXACT) for one in (small, small.expanded)]
    if forests[0] is None or forests[1] is None:
        return
    first, second = (viterbi(forest) for forest in forests)
    assert first is not None
    assert second is not None
    np.testing.assert_allclose(first.score, second.score, rtol=1e-4, atol=1e-4)
