"""Completion of Hankel blocks, quadratic automata and convex learning, on functions that are known."""

from itertools import product

import numpy as np
import pytest

from gramian.automata import (
    WFA,
    Basis,
    BasisOptions,
    Completion,
    ConstrainedWFA,
    ConvexWFA,
    QuadraticWFA,
    Sequences,
    TensorHMM,
)
from gramian.automata.completion import completed_blocks, shrunk
from gramian.automata.convex import convex_operators
from gramian.automata.hankel import hankel_blocks, hankel_blocks_of
from gramian.automata.methods import learner_of, method_settings
from gramian.automata.positive_moments import _hidden_markov
from gramian.automata.quadratic import normalised, squared
from gramian.automata.spectral import spectral_factors
from gramian.errors import OptionError

STRINGS = [tuple(string) for length in range(5) for string in product("ab", repeat=length)]


def learn(sample, *arguments, **options):
    return learner_of(*arguments, **options).fit(sample).model_


@pytest.fixture(scope="module")
def truth() -> WFA:
    """Two states over two symbols."""
    moves = [[[0.3, 0.2], [0.0, 0.1]], [[0.0, 0.1], [0.4, 0.2]]]
    return WFA([1.0, 0.0], [0.4, 0.3], moves, ("a", "b"))


@pytest.fixture(scope="module")
def basis() -> Basis:
    short = [string for string in STRINGS if len(string) <= 2]
    return Basis.of_strings(short, short, ("a", "b"))


def test_completion_fills_in_what_was_left_out(truth, basis):
    """Exact values of a function of rank two, all cells of the rarer strings taken away: nothing else fits a low rank."""
    exact = hankel_blocks_of(truth.score, basis)
    values = np.unique(exact.matrix.toarray())
    rare = float(values[len(values) // 4])  # a quarter of the cells is unknown
    made = completed_blocks(exact, 1, Completion(least=1, penalty=1e-7, max_iter=1))
    assert made.matrix.shape == exact.matrix.shape
    holes = exact.matrix.toarray()
    unknown = holes < rare
    assert 0.1 < unknown.mean() < 0.5
    found = completed_blocks(exact, round(1 / rare), Completion(least=1, penalty=1e-5, max_iter=1000))
    error = np.abs(found.matrix.toarray() - holes)
    assert error[unknown].max() < 0.35 * rare < holes[unknown].max()
    assert error[~unknown].max() < 1e-3


def test_cells_of_one_string_have_one_value(truth, basis):
    sample = Sequences.from_strings([["a"], ["b", "a"], [], ["a", "b", "a"], ["a", "b"]] * 7, ("a", "b"))
    blocks = completed_blocks(hankel_blocks(sample, basis), len(sample), Completion(least=8, penalty=0.05))
    value: dict[tuple, float] = {}
    for u, prefix in enumerate(basis.prefixes):
        for v, suffix in enumerate(basis.suffixes):
            cells = {(*prefix, *suffix): blocks.matrix.toarray()[u, v]}
            cells |= {
                (*prefix, s, *suffix): blocks.of_symbol(place).toarray()[u, v] for place, s in enumerate("ab")
            }
            for string, cell in cells.items():
                assert value.setdefault(string, cell) == pytest.approx(cell, abs=1e-12)
    np.testing.assert_allclose(blocks.prefix_values, [value[prefix] for prefix in basis.prefixes])


def test_completion_that_costs_nothing_changes_nothing(truth, basis):
    exact = hankel_blocks_of(truth.score, basis)
    same = completed_blocks(exact, 10**9, Completion(least=1, penalty=0.0))
    np.testing.assert_allclose(same.stacked.toarray(), exact.stacked.toarray(), atol=1e-12)
    automaton = spectral_factors(same, 2).wfa
    np.testing.assert_allclose(automaton.score(STRINGS), truth.score(STRINGS), atol=1e-9)


def test_shrunk_singular_values():
    matrix = np.diag([3.0, 2.0, 0.5])
    np.testing.assert_allclose(np.linalg.svd(shrunk(matrix, 1.0))[1], [2.0, 1.0, 0.0], atol=1e-12)


def test_a_square_is_never_negative_and_sums_to_one():
    rng = np.random.default_rng(3)
    raw = WFA(rng.normal(size=3), rng.normal(size=3), 0.4 * rng.normal(size=(2, 3, 3)), ("a", "b"))
    assert (raw.score(STRINGS) < 0).any()
    both = squared(raw)
    assert both.n_states == 6
    np.testing.assert_allclose(both.score(STRINGS), raw.score(STRINGS) ** 2, atol=1e-12)
    assert normalised(both).total_mass() == pytest.approx(1.0)
    wild = squared(WFA([1.0], [1.0], [[[2.0]]], ("a",)))
    assert normalised(wild).total_mass() == pytest.approx(1.0)


def test_a_quadratic_automaton_is_found_again():
    """A square of a function of rank one: spectral learning of the roots has it exactly, and no string is below zero."""
    truth = WFA([1.0], [0.4], [[[0.36]], [[0.24]]], ("a", "b"))
    sample = truth.sample(4000, random_state=0)
    learner = QuadraticWFA("auto", basis=BasisOptions("ends", 60, 6)).fit(sample)
    scores = learner.model_.score(STRINGS)
    assert (scores >= 0).all()
    assert np.abs(scores - truth.score(STRINGS)).max() < 0.05
    assert learner.model_.total_mass() == pytest.approx(1.0)


def test_convex_operators_of_exact_blocks(truth, basis):
    exact = hankel_blocks_of(truth.score, basis)
    found = convex_operators(exact, 0.0, max_iter=20_000)
    np.testing.assert_allclose(found.score(STRINGS), truth.score(STRINGS), atol=2e-3)
    counted = hankel_blocks(truth.sample(500, random_state=4), basis, "string")
    ranks = [
        np.linalg.matrix_rank(np.hstack(list(convex_operators(counted, penalty).transitions)), 1e-8)
        for penalty in (0.0, 0.002, 0.05)
    ]
    assert ranks[0] > ranks[1] > ranks[2] > 0
    with pytest.raises(OptionError, match="needs the empty string"):
        convex_operators(hankel_blocks_of(truth.score, Basis.symbols("ab", empty=False)), 0.1)


def test_convex_learning_chooses_its_penalty(truth):
    sample = truth.sample(2000, random_state=1)
    found = ConvexWFA(basis=BasisOptions(size=8)).fit(sample).model_
    assert np.abs(found.score(STRINGS) - truth.score(STRINGS)).max() < 0.08


def test_settings_of_methods(truth):
    sample = truth.sample(300, random_state=2)
    with pytest.raises(OptionError, match=r"^basis.kind requires method spectral or .*, not em$"):
        learn(sample, "em", 2, settings={"basis.kind": "symbols"})
    with pytest.raises(OptionError, match=r"^penalty requires method convex, not spectral$"):
        learn(sample, "spectral", 2, settings={"penalty": 0.1})
    settings = {"basis.size": 8, "max_iter": 20, "penalty": 1e-6}
    assert learn(sample, "convex", 2, settings=settings).n_states == 2
    symbols = {"basis.kind": "symbols"}
    published = symbols | {"basis.empty": False, "minimum_mass": 0.001}
    own = learn(sample, "spectral", 2, settings=symbols)
    assert not np.allclose(
        own.score(STRINGS), learn(sample, "spectral", 2, settings=published).score(STRINGS)
    )
    completed = learn(sample, "spectral", 2, settings={"basis.size": 7, "completion.least": 3})
    assert not np.allclose(completed.score(STRINGS), own.score(STRINGS))
    for repair in ("cluster", "clip"):
        assert learn(sample, "spectral-em", 2, settings={"repair": repair}).is_probabilistic(1e-6)
    few = learn(sample, "em", 2, settings={"max_iter": 1, "n_restarts": 1})
    many = learn(sample, "em", 2, settings={"max_iter": 30, "n_restarts": 1})
    assert many.log_score(sample).sum() > few.log_score(sample).sum()
    assert learn(sample, "quadratic", 2).n_states == 3
    assert learn(sample, "convex", settings={"basis.size": 5, "penalty": 0.001}).n_states == 5
    assert learn(sample, "ngram", 1).n_states == 1


def test_every_setting_of_a_method_is_one_that_its_learner_takes():
    settings = method_settings()
    assert {"n_states", "random_state", "basis.size", "completion.penalty", "order", "penalty"} <= set(
        settings
    )
    assert "alphabet" not in settings
    assert settings["repair"].note == "method spectral, spectral-em, spectral-clip, spectral-cluster"
    assert settings["basis.size"].default == "by method"
    assert learner_of("em", settings={"tolerance": 0.5}).tolerance == 0.5


def test_convex_learning_with_a_number_of_states() -> None:
    """An automaton of two states is found again among the directions of a basis of six suffixes."""
    truth = WFA([1.0, 0.0], [0.2, 0.4], [[[0.1, 0.4], [0.0, 0.2]], [[0.3, 0.0], [0.3, 0.1]]], ("a", "b"))
    blocks = hankel_blocks_of(truth.score, Basis.up_to("ab", 2))
    model = convex_operators(blocks, 0.0, n_states=2, max_iter=20_000)
    assert model.n_states == 2
    np.testing.assert_allclose(model.score(["", "a", "bab"]), truth.score(["", "a", "bab"]), atol=1e-3)
    assert (
        ConvexWFA(3, penalty=1e-7, basis=BasisOptions(size=8), max_iter=50)
        .fit(["ab", "b", ""] * 5)
        .model_.n_states
        == 3
    )


@pytest.mark.parametrize("seed", range(3))
def test_tensor_decomposition_recovers_a_hidden_markov_model(seed: int) -> None:
    """From exact moments, the model itself comes back, up to the order of its states."""
    rng = np.random.default_rng(seed)
    emitted, moves = rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(2), 2)
    transitions = np.array([np.diag(emitted[:, s]) @ moves for s in range(3)])
    truth = WFA(rng.dirichlet(np.ones(2)), emitted[:, -1], transitions, ("a", "b", "c"))
    observed = hankel_blocks_of(
        truth.convert("string", "substring").score, Basis.up_to("abc", 2), "substring"
    )
    raw = spectral_factors(observed, 2).wfa.convert("substring", "string")
    model = _hidden_markov(raw, rng)
    assert model.is_probabilistic()
    np.testing.assert_allclose(np.sort(model.final), np.sort(truth.final), atol=1e-3)
    words = ["", "a", "cab", "bba"]
    np.testing.assert_allclose(model.score(words), truth.score(words), atol=1e-4)


def test_constraints_give_distributions_near_the_truth() -> None:
    truth = WFA([1.0, 0.0], [0.2, 0.4], [[[0.1, 0.4], [0.0, 0.2]], [[0.3, 0.0], [0.3, 0.1]]], ("a", "b"))
    sample, test = truth.sample(5000, random_state=1), truth.sample(2000, random_state=2)
    for learner in (ConstrainedWFA(), ConstrainedWFA(4), TensorHMM()):
        model = learner.fit(sample).model_
        assert model.is_probabilistic()
        assert model.log_score(test).mean() > truth.log_score(test).mean() - 0.15, learner
    assert ConstrainedWFA(4).fit(sample).model_.n_states <= 4
