"""Learners: what they promise about likelihood, validity and repeatability."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from gramian.automata import (
    PNFAEM,
    WFA,
    Basis,
    BasisOptions,
    BestModel,
    Mixture,
    NGram,
    Sequences,
    SpectralWFA,
    hankel_blocks,
)
from gramian.automata.gibbs_chains import run_chain
from gramian.automata.methods import learner_of
from gramian.automata.pnfa import MoveCounts, random_pnfa
from gramian.automata.prefix_forest import PrefixForest
from gramian.automata.repair import clip_to_pnfa, cluster_to_pnfa
from gramian.automata.spectral import spectral_factors
from gramian.errors import OptionError


@pytest.fixture(scope="module")
def truth() -> WFA:
    """Three states over two symbols, far from each other."""
    transitions = np.zeros((2, 3, 3))
    transitions[0, 0, 1] = 0.9
    transitions[1, 0, 0] = 0.05
    transitions[1, 1, 2] = 0.7
    transitions[0, 1, 0] = 0.2
    transitions[0, 2, 2] = 0.4
    transitions[1, 2, 0] = 0.2
    final = 1.0 - transitions.sum(axis=(0, 2))
    return WFA([1.0, 0.0, 0.0], final, transitions, ("a", "b"))


@pytest.fixture(scope="module")
def sample(truth: WFA) -> Sequences:
    return truth.sample(3000, random_state=1)


@pytest.mark.parametrize("structure", ["joint", "factored"])
def test_em_climbs(sample: Sequences, structure: str) -> None:
    fitted = PNFAEM(4, structure=structure, max_iter=30, tolerance=0.0).fit(sample)
    assert (np.diff(fitted.log_likelihoods_) > -1e-7 * abs(fitted.log_likelihood_)).all()
    assert fitted.model_.is_probabilistic()
    assert fitted.model_.log_score(sample).sum() >= fitted.log_likelihood_ - 1e-6


def test_em_comes_near_the_truth(truth: WFA, sample: Sequences) -> None:
    learnt = PNFAEM(3, n_restarts=3, random_state=2).fit(sample).model_
    test = truth.sample(3000, random_state=9)
    assert learnt.log_score(test).mean() > truth.log_score(test).mean() - 0.02


def test_factored_models_are_hidden_markov_models(sample: Sequences) -> None:
    model = PNFAEM(3, structure="factored", max_iter=10).fit(sample).model_
    moves = model.transitions / model.transitions.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(moves[0], moves[1], rtol=1e-9, atol=1e-12)


def test_threads_do_not_change_results(sample: Sequences) -> None:
    models = [PNFAEM(5, max_iter=8, n_jobs=jobs).fit(sample).model_ for jobs in (1, 2, 5)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].transitions, other.transitions)
    forest, start = PrefixForest.from_sample(sample), random_pnfa(sample, 4, np.random.default_rng(0))
    options = {"n_sweeps": 6, "n_samples": 2, "concentration": 0.1}
    (_, first), (_, second) = (run_chain(forest, start, n_jobs=jobs, **options) for jobs in (1, 3))
    np.testing.assert_array_equal(first.transitions, second.transitions)


def test_gibbs_beats_its_start(truth: WFA, sample: Sequences) -> None:
    forest, start = PrefixForest.from_sample(sample), random_pnfa(sample, 6, np.random.default_rng(0))
    samples, _ = run_chain(forest, start, n_sweeps=80, n_samples=5, concentration=0.1)
    assert all(model.is_probabilistic() for model in samples)
    test = truth.sample(2000, random_state=9)
    average = Mixture(samples, np.full(5, 0.2))
    assert average.log_score(test).mean() > truth.log_score(test).mean() - 0.05


def test_a_forest_shares_prefixes() -> None:
    forest = PrefixForest.from_sample(Sequences.from_strings(["abc", "abd", "ab", "ab", ""]))
    (tree,) = forest.trees
    assert forest.n_nodes == 5
    assert tree.weight.sum() == 5
    assert tree.n_path_states == 4 + 4 + 3 + 3 + 1


def test_estimators_score_and_tell(sample: Sequences, caplog: pytest.LogCaptureFixture) -> None:
    fitted = PNFAEM(3, max_iter=5).fit(sample)
    assert fitted.score(sample) == pytest.approx(fitted.model_.log_score(sample).mean())
    with caplog.at_level("INFO", logger="gramian"):
        PNFAEM(3, max_iter=5, n_restarts=2).fit(sample)
    assert "EM start 2" in caplog.text
    values = cross_val_score(NGram(2), list(sample)[:60], cv=3)
    assert np.isfinite(values).all()


def test_unseen_states_stop() -> None:
    model = MoveCounts(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.zeros((1, 2, 2))).estimate(("a",))
    assert model.is_probabilistic()
    assert model.final.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("statistic", ["string", "prefix", "substring"])
@pytest.mark.parametrize("basis", ["frequent", "ends", "matching"])
def test_spectral_learns_from_every_statistic(
    truth: WFA, sample: Sequences, statistic: str, basis: str
) -> None:
    fitted = SpectralWFA(3, statistic=statistic, basis=BasisOptions(basis, 60), repair=None).fit(sample)
    strings = ["", "a", "ab", "aba", "abab", "aab"]
    np.testing.assert_allclose(fitted.model_.score(strings), truth.score(strings), rtol=0, atol=0.04)
    found = fitted.diagnostics_
    assert found.n_states == 3
    assert found.spectral_radius < 1
    assert found.total_mass == pytest.approx(1.0, abs=0.05)
    assert (np.diff(found.singular_values) <= 0).all()


def test_symbol_basis_and_scaling(truth: WFA, sample: Sequences) -> None:
    symbols = BasisOptions("symbols")
    for options in ({"basis": symbols}, {"scaled": True}, {"scaled": True, "basis": symbols}):
        model = SpectralWFA(3, repair=None, **options).fit(sample).model_
        np.testing.assert_allclose(model.score(["", "ab"]), truth.score(["", "ab"]), rtol=0, atol=0.05)


def test_sparse_and_dense_decompositions_agree(sample: Sequences) -> None:
    """Of 650 substrings, few singular vectors come from the sparse solver, many from the dense one."""
    blocks = hankel_blocks(sample, Basis.frequent(sample, 650, max_length=12))
    assert min(blocks.basis.shape) > 600
    few, many = (spectral_factors(blocks, rank).truncated(3) for rank in (3, 300))
    strings = ["", "ab", "aba"]
    np.testing.assert_allclose(few.score(strings), many.score(strings), rtol=1e-6)


def test_automatic_rank(truth: WFA, sample: Sequences) -> None:
    fitted = SpectralWFA(repair=None).fit(sample)
    assert 2 <= fitted.diagnostics_.n_states <= 6
    sized = SpectralWFA(basis=BasisOptions(size="auto"), repair=None).fit(sample)
    np.testing.assert_allclose(sized.model_.score(["", "ab"]), truth.score(["", "ab"]), rtol=0, atol=0.05)


def test_minimum_mass_drops_directions(sample: Sequences) -> None:
    fitted = SpectralWFA(30, repair=None, minimum_mass=0.05).fit(sample)
    values = fitted.diagnostics_.singular_values
    assert fitted.diagnostics_.n_states == np.count_nonzero(values >= 0.05 * values.sum()) < 30


@pytest.mark.parametrize("repair", ["clip", "cluster", "em"])
def test_repair_gives_distributions(sample: Sequences, repair: str) -> None:
    """Ten directions are noise for three states: the raw automaton is none."""
    raw = SpectralWFA(10, repair=None).fit(sample)
    assert raw.diagnostics_.negative_share > 0
    model = SpectralWFA(10, repair=repair).fit(sample).model_
    assert model.is_probabilistic(1e-12)
    assert (model.score(sample) >= 0).all()
    assert model.total_mass() == pytest.approx(1.0, abs=1e-8)
    prefixes = ["", "a", "b", "ab", "abb"]
    whole = model.prefix_score(prefixes)
    parts = model.score(prefixes) + sum(model.prefix_score([p + s for p in prefixes]) for s in "ab")
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-10)
    assert whole[0] == pytest.approx(1.0, abs=1e-8)


def test_repair_by_em_predicts(truth: WFA, sample: Sequences) -> None:
    test = truth.sample(2000, random_state=9)
    clustered = SpectralWFA(3, repair="cluster").fit(sample).model_
    refined = SpectralWFA(3, repair="em").fit(sample).model_
    assert refined.log_score(test).mean() > truth.log_score(test).mean() - 0.02
    assert refined.log_score(test).mean() > clustered.log_score(test).mean()


def test_repair_of_exact_automata_changes_nothing(truth: WFA, sample: Sequences) -> None:
    hidden = truth.change_basis(np.random.default_rng(0).normal(size=(3, 3)))
    strings = ["", "ab", "abb", "aba"]
    # A pseudo-count of 1e-6 a weight remains.
    clipped = clip_to_pnfa(hidden, sample)
    np.testing.assert_allclose(clipped.score(strings), truth.score(strings), rtol=0, atol=2e-5)
    # Every prefix of this automaton leads to one state, so that clusters are its states.
    counted = cluster_to_pnfa(hidden, sample, pseudo_count=0.0)
    np.testing.assert_allclose(counted.score(strings), truth.score(strings), rtol=0, atol=0.03)


def test_the_best_model(truth: WFA, sample: Sequences) -> None:
    fitted = BestModel(4, random_state=5).fit(sample)
    test = truth.sample(2000, random_state=9)
    assert fitted.model_.log_score(test).mean() > truth.log_score(test).mean() - 0.02
    assert sum(one.weight for one in fitted.candidates_) == pytest.approx(1.0)
    again = BestModel(4, random_state=5, n_jobs=1).fit(sample).model_
    np.testing.assert_array_equal(again.log_score(test), fitted.model_.log_score(test))


@pytest.mark.parametrize("strings", [["", ""], ["a"], ["ab", "ab", "ab"]])
@pytest.mark.parametrize("method", ["best", "em", "spectral", "spectral-em", "ngram"])
def test_tiny_samples(strings: list[str], method: str) -> None:
    model = learner_of(method, 3).fit(Sequences.from_strings(strings)).model_
    assert model.log_score(strings[:1])[0] > np.log(0.3)


@pytest.mark.parametrize("estimator", [PNFAEM(3), SpectralWFA(3), NGram(2), BestModel(3)])
def test_estimators_keep_their_parameters(estimator: PNFAEM) -> None:
    copied = clone(estimator.set_params(alphabet=("a", "b")))
    assert copied.get_params() == estimator.get_params()
    assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.mark.parametrize(
    ("estimator", "fault"),
    [
        (PNFAEM(0), "n_states must be at least 1, got 0"),
        (PNFAEM(n_restarts=0), "n_restarts"),
        (PNFAEM(max_iter=0), "max_iter"),
        (PNFAEM(pseudo_count=-1.0), "pseudo_count"),
        (PNFAEM(n_jobs=0), "n_jobs"),
        (PNFAEM(structure="loose"), "structure"),
        (PNFAEM(start="nowhere"), "start"),
        (PNFAEM(alphabet=("a",)), "alphabet"),
        (SpectralWFA(0), "n_states"),
        (SpectralWFA(3, basis="none"), "basis must be a BasisOptions or a Basis"),
        (SpectralWFA(3, basis=BasisOptions("none")), "basis.kind must be one of frequent, ends"),
        (SpectralWFA(3, statistic="none"), "statistic"),
        (SpectralWFA(3, repair="none"), "repair"),
        (SpectralWFA(3, basis=BasisOptions(size=0)), "basis.size must be at least 1, got 0"),
        (SpectralWFA(3, basis=BasisOptions(max_length=-1)), "basis.max_length"),
        (SpectralWFA(3, minimum_mass=-1.0), "minimum_mass"),
        (SpectralWFA(held_out=1.0), "held_out must be above 0 and less than 1"),
        (SpectralWFA(alphabet=("a",)), "alphabet"),
        (NGram(0), "order"),
        (NGram(2, smoothing="good-turing"), "smoothing must be one of kneser-ney, none"),
        (NGram(2, alphabet=("a",)), "alphabet"),
        (BestModel(0), "n_states"),
    ],
)
def test_bad_parameters_are_named(estimator: PNFAEM, fault: str, sample: Sequences) -> None:
    with pytest.raises(OptionError, match=fault):
        estimator.fit(sample)
    with pytest.raises(OptionError):
        estimator.set_params(alphabet=None).fit([])
