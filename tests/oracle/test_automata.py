"""Enumeration, plain Python and compiled code agree on tiny automata."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.automata import WFA, Basis, Sequences, SpectralWFA, extract, hankel_blocks
from gramian.automata import automata_reference as reference
from gramian.automata.pnfa import MoveCounts, random_pnfa
from gramian.automata.prefix_forest import PrefixForest
from gramian.automata.spectral import spectral_factors

ALPHABET = ("a", "b")
STATISTICS = ("string", "prefix", "substring")


def words(longest: int) -> list[tuple[str, ...]]:
    return [word for length in range(longest + 1) for word in itertools.product(ALPHABET, repeat=length)]


def real_automaton(seed: int, n: int) -> WFA:
    rng = np.random.default_rng(seed)
    return WFA(rng.normal(size=n), rng.normal(size=n), 0.4 * rng.normal(size=(2, n, n)), ALPHABET)


def pnfa(seed: int, n: int) -> WFA:
    return random_pnfa(Sequences.from_strings(["ab", "b", "aab"]), n, np.random.default_rng(seed))


def finite_pnfa(seed: int, n: int) -> WFA:
    """A PNFA whose states only lead to later ones: strings are shorter than n, and can all be listed."""
    counts = np.random.default_rng(seed).random((2, n, n)) * np.triu(np.ones((n, n)), 1)
    return MoveCounts(np.eye(n)[0], np.ones(n), counts).estimate(ALPHABET)


def paths(model: WFA, word: tuple[str, ...]) -> list[tuple[float, tuple[int, ...]]]:
    """Every state path of a word with its weight."""
    found = []
    for path in itertools.product(range(model.n_states), repeat=len(word) + 1):
        weight = model.initial[path[0]] * model.final[path[-1]]
        for symbol, source, target in zip(word, path, path[1:], strict=False):
            weight *= model.transitions[ALPHABET.index(symbol), source, target]
        found.append((float(weight), path))
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.lists(st.sampled_from(words(4)), min_size=1, max_size=6))
def test_scores(seed: int, n: int, strings: list[tuple[str, ...]]) -> None:
    model = real_automaton(seed, n)
    enumerated = [sum(weight for weight, _ in paths(model, word)) for word in strings]
    np.testing.assert_allclose(
        [reference.score(model, word) for word in strings], enumerated, rtol=1e-10, atol=1e-13
    )
    np.testing.assert_allclose(model.score(strings), enumerated, rtol=1e-10, atol=1e-13)
    log_abs, sign = model.signed_log_score(strings)
    np.testing.assert_allclose(sign * np.exp(log_abs), enumerated, rtol=1e-10, atol=1e-13)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.lists(st.sampled_from(words(3)), min_size=1, max_size=6))
def test_expected_counts(seed: int, n: int, strings: list[tuple[str, ...]]) -> None:
    model = pnfa(seed, n)
    initial, final, transitions = np.zeros(n), np.zeros(n), np.zeros((2, n, n))
    log_likelihood = 0.0
    for word in strings:
        listed = paths(model, word)
        total = sum(weight for weight, _ in listed)
        log_likelihood += np.log(total)
        for weight, path in listed:
            initial[path[0]] += weight / total
            final[path[-1]] += weight / total
            for symbol, source, target in zip(word, path, path[1:], strict=False):
                transitions[ALPHABET.index(symbol), source, target] += weight / total
    forest = PrefixForest.from_sample(Sequences.from_strings(strings, ALPHABET))
    for value, counts in (
        reference.expected_counts(model, strings),
        forest.expected_counts(model),
        forest.expected_counts(model, n_jobs=3),
    ):
        assert value == pytest.approx(log_likelihood, rel=1e-10)
        np.testing.assert_allclose(counts.initial, initial, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(counts.final, final, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(counts.transitions, transitions, rtol=1e-9, atol=1e-12)


def test_sampled_paths_have_the_expected_counts() -> None:
    model, rng = pnfa(3, 3), np.random.default_rng(0)
    strings = [("a", "b"), ("b",), ("a", "b"), ()]
    forest = PrefixForest.from_sample(Sequences.from_strings(strings, ALPHABET))
    expected = reference.expected_counts(model, strings)[1].transitions
    runs = 4000
    mean = sum(forest.sampled_counts(model, rng).transitions for _ in range(runs)) / runs
    # Five standard errors of a mean of counts whose variance is at most 2.
    np.testing.assert_allclose(mean, expected, rtol=0, atol=5 * np.sqrt(2 / runs))
    assert mean.sum() == pytest.approx(5.0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_three_observable_functions(seed: int, n: int) -> None:
    model = finite_pnfa(seed, n)
    everything = words(n)
    probability = {word: reference.score(model, word) for word in everything}
    assert sum(probability.values()) == pytest.approx(1.0, rel=1e-12)
    assert model.total_mass() == pytest.approx(1.0, rel=1e-12)
    for statistic in STATISTICS:
        observed = [
            sum(p * reference.occurrences(word, piece, statistic) for word, p in probability.items())
            for piece in words(3)
        ]
        converted = model.convert("string", statistic)
        np.testing.assert_allclose(converted.score(words(3)), observed, rtol=1e-10, atol=1e-13)
        back = converted.convert(statistic, "string")
        np.testing.assert_allclose(back.score(words(3)), model.score(words(3)), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=20, deadline=None)
@given(strings=st.lists(st.sampled_from(words(4)), min_size=1, max_size=8))
def test_hankel_blocks_are_counts(statistic: str, strings: list[tuple[str, ...]]) -> None:
    sample = Sequences.from_strings(strings, ALPHABET)
    basis = Basis.of_strings(words(2), [(), ("b",), ("a", "b")], ALPHABET)
    blocks = hankel_blocks(sample, basis, statistic)
    prefixes, suffixes = list(basis.prefixes), list(basis.suffixes)

    def mean(piece: tuple[str, ...]) -> float:
        return float(np.mean([reference.occurrences(word, piece, statistic) for word in strings]))

    for symbol, infix in [(-1, ()), (0, ("a",)), (1, ("b",))]:
        counted = [[mean(u + infix + v) for v in suffixes] for u in prefixes]
        block = blocks.matrix if symbol < 0 else blocks.of_symbol(symbol)
        np.testing.assert_allclose(block.toarray(), counted, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(blocks.prefix_values, [mean(u) for u in prefixes], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(blocks.suffix_values, [mean(v) for v in suffixes], rtol=1e-12, atol=1e-15)


def shrunk(model: WFA) -> WFA:
    """The automaton with its operators scaled so that sums over all strings converge."""
    factor = min(1.0, 0.7 / model.spectral_radius)
    return WFA(model.initial, model.final, factor * model.transitions, model.alphabet)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["probabilistic", "real"])
def test_exact_recovery(statistic: str, seed: int, kind: str) -> None:
    """From exact Hankel blocks the function comes back, whatever was observed."""
    n = 1 + seed % 4
    model = pnfa(seed, n) if kind == "probabilistic" else shrunk(real_automaton(seed, n))
    observed = model.convert("string", statistic)
    recovered = extract(observed.score, ALPHABET, n_states=n, statistic=statistic, tolerance=1e-12).model
    for other in STATISTICS:
        truth = model.convert("string", other).score(words(6))
        found = recovered.convert("string", other).score(words(6))
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-8 * max(1.0, np.abs(truth).max()))


def test_smaller_ranks_are_leading_blocks() -> None:
    sample = pnfa(0, 3).sample(500)
    blocks = hankel_blocks(sample, Basis.frequent(sample, 20))
    whole, cut = spectral_factors(blocks, 6).truncated(3), spectral_factors(blocks, 3).wfa
    np.testing.assert_allclose(whole.score(words(4)), cut.score(words(4)), rtol=1e-9, atol=1e-12)


def test_learning_converges_to_the_truth() -> None:
    model = pnfa(1, 2)
    far, near = (
        np.abs(
            SpectralWFA(2, repair=None).fit(model.sample(m)).model_.score(words(3)) - model.score(words(3))
        ).max()
        for m in (300, 100_000)
    )
    assert near < 0.01
    assert near < far
