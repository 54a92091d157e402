"""Charts of split head-automata: enumeration of all projective trees = reference = kernel."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.automata import WFA
from gramian.dependency import half_constituent_reference as reference
from gramian.dependency import half_constituents as inference
from gramian.dependency.split_head_automata import LEFT, RIGHT, SHAG
from gramian.trees import is_projective

SYMBOLS = ("a", "b", "?")


def projective_trees(words: int, single_root: bool) -> list[tuple[int, ...]]:
    """All heads of `words` words that form a projective tree below the root."""
    trees = []
    for heads in product(range(words + 1), repeat=words):
        if any(heads[word - 1] == word for word in range(1, words + 1)):
            continue
        if heads.count(0) == 0 or (single_root and heads.count(0) != 1):
            continue
        if all(_reaches_root(word, heads) for word in range(1, words + 1)) and is_projective(heads):
            trees.append(heads)
    return trees


def _reaches_root(word: int, heads: tuple[int, ...]) -> bool:
    for _ in heads:
        word = heads[word - 1]
        if word == 0:
            return True
    return False


TREES = {
    (words, single): projective_trees(words, single) for words in range(1, 6) for single in (True, False)
}


def random_grammar(rng: np.random.Generator, signed: bool) -> SHAG:
    draw = rng.standard_normal if signed else rng.random

    def automaton() -> WFA:
        n = int(rng.integers(1, 4))
        alphabet = SYMBOLS[: int(rng.integers(2, 4))]
        return WFA(draw(n), draw(n), draw((len(alphabet), n, n)), alphabet)

    automata = {(head, side): automaton() for head in SYMBOLS for side in (LEFT, RIGHT)}
    return SHAG.from_automata(SYMBOLS, {**automata, (None, RIGHT): automaton()})


def test_numbers_of_projective_trees():
    # Ternary trees: binomial(3n, n) / (2n + 1) with any number of words at the root (OEIS A001764), A006013 with one.
    assert [len(TREES[words, False]) for words in range(1, 6)] == [1, 3, 12, 55, 273]
    assert [len(TREES[words, True]) for words in range(1, 6)] == [1, 2, 7, 30, 143]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("single_root", [False, True])
@given(seed=st.integers(0, 2**32 - 1), words=st.integers(1, 5))
def test_partition_and_marginals(signed, single_root, seed, words):
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, signed)
    symbols = [SYMBOLS[number] for number in rng.integers(0, 3, words)]
    sentence = grammar.encode(symbols)
    factors = rng.random((words + 1, words + 1))
    partition, size, counts = 0.0, 0.0, np.zeros((words + 1, words + 1))
    for heads in TREES[words, single_root]:
        weight = grammar.tree_weight(symbols, heads)
        weight *= np.prod([factors[head, word] for word, head in enumerate(heads, 1)])
        partition, size = partition + weight, size + abs(weight)
        for word, head in enumerate(heads, 1):
            counts[head, word] += weight
    kernel = inference.marginals(grammar, sentence, factors, single_root=single_root)
    if partition == 0.0:
        assert kernel.sign == 0.0
        return
    total, arcs = reference.partition_and_marginals(grammar, sentence, factors, single_root=single_root)
    # Signed terms cancel: what is lost grows with the sum of absolute weights over their sum.
    tolerance = 1e-12 * size / abs(partition)
    assert kernel.sign * np.exp(kernel.log_partition) == pytest.approx(partition, rel=10 * tolerance + 1e-12)
    assert total == pytest.approx(partition, rel=10 * tolerance + 1e-12)
    np.testing.assert_allclose(arcs, counts / partition, rtol=0, atol=10 * tolerance + 1e-12)
    np.testing.assert_allclose(kernel.arcs, counts / partition, rtol=0, atol=10 * tolerance + 1e-12)


@given(seed=st.integers(0, 2**32 - 1), words=st.integers(1, 5), single_root=st.booleans())
def test_best_tree(seed, words, single_root):
    scores = np.random.default_rng(seed).standard_normal((words + 1, words + 1))
    best = max(
        TREES[words, single_root],
        key=lambda heads: sum(scores[head, word] for word, head in enumerate(heads, 1)),
    )
    assert reference.best_tree(scores, single_root=single_root) == best
    assert tuple(inference.best_tree(scores, single_root=single_root)) == best


def best_path(grammar: SHAG, symbols: list[str], heads: tuple[int, ...]) -> float:
    """Weight of a tree with the best states of every automaton, by trying all of them."""
    sentence = grammar.encode(symbols)
    weight = 1.0
    for head in range(len(sentence)):
        for side in (LEFT, RIGHT):
            if head == 0 and side == LEFT:
                continue
            words = [word for word, above in enumerate(heads, 1) if above == head and (word > head) == side]
            number = 2 * sentence[head] + side
            paths = product(range(grammar.n_states), repeat=len(words) + 1)
            best = 0.0
            for path in paths:
                value = grammar.initial[number, path[0]] * grammar.final[number, path[-1]]
                for word, before, after in zip(words if side else words[::-1], path, path[1:], strict=False):
                    value *= grammar.operators[grammar.rows[number, sentence[word]], before, after]
                best = max(best, value)
            weight *= best
    return weight


@given(seed=st.integers(0, 2**32 - 1), words=st.integers(1, 4), single_root=st.booleans())
def test_viterbi(seed, words, single_root):
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, signed=False).smoothed(0.1)
    symbols = [SYMBOLS[number] for number in rng.integers(0, 3, words)]
    sentence = grammar.encode(symbols)
    weights = {heads: best_path(grammar, symbols, heads) for heads in TREES[words, single_root]}
    heads, log_weight = inference.viterbi_tree(grammar, sentence, single_root=single_root)
    assert np.exp(log_weight) == pytest.approx(max(weights.values()), rel=1e-12)
    assert weights[tuple(heads.tolist())] == pytest.approx(max(weights.values()), rel=1e-12)
    slow = reference.viterbi(grammar, sentence, single_root=single_root)
    assert slow == pytest.approx(max(weights.values()), rel=1e-12)


@given(seed=st.integers(0, 2**32 - 1), signed=st.booleans())
def test_change_of_basis_changes_nothing(seed, signed):
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, signed)
    automata = {}
    for head in (*SYMBOLS, None):
        for side in (LEFT, RIGHT) if head is not None else (RIGHT,):
            wfa = grammar.automaton(head, side)
            rotation = np.linalg.qr(rng.standard_normal((wfa.n_states, wfa.n_states)))[0]
            automata[head, side] = wfa.change_basis(rotation * rng.uniform(0.5, 2.0))
    other = SHAG.from_automata(SYMBOLS, automata)
    sentence = grammar.encode(["a", "b", "a", "?", "b", "a"])
    here, there = inference.marginals(grammar, sentence), inference.marginals(other, sentence)
    assert here.sign == there.sign
    if here.sign != 0.0 and np.abs(here.arcs).max() < 1e3:
        assert here.log_partition == pytest.approx(there.log_partition, abs=1e-8)
        np.testing.assert_allclose(here.arcs, there.arcs, rtol=0, atol=1e-8)


def test_one_state_is_the_arc_factored_model():
    # With one state, the weight of a tree is a product over arcs and stops: marginals by the factors alone.
    rng = np.random.default_rng(3)
    probabilities = rng.random((2, 3, 3)) * 0.3
    automata = {
        (head, side): WFA([1.0], [1.0], probabilities[side, number][:, None, None], SYMBOLS)
        for number, head in enumerate(SYMBOLS)
        for side in (LEFT, RIGHT)
    }
    root = WFA([1.0], [1.0], np.ones((3, 1, 1)), SYMBOLS)
    grammar = SHAG.from_automata(SYMBOLS, {**automata, (None, RIGHT): root})
    flat = SHAG.from_automata(SYMBOLS, {(None, RIGHT): root}, dict.fromkeys((LEFT, RIGHT), root))
    numbers = [0, 1, 1, 2, 0]
    factors = np.ones((6, 6))
    for head in range(1, 6):
        for word in range(1, 6):
            factors[head, word] = probabilities[int(word > head), numbers[head - 1], numbers[word - 1]]
    symbols = [SYMBOLS[number] for number in numbers]
    here = inference.marginals(grammar, grammar.encode(symbols))
    there = inference.marginals(flat, flat.encode(symbols), factors)
    np.testing.assert_allclose(here.arcs, there.arcs, rtol=0, atol=1e-12)
