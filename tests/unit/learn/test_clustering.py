"""Spectral clustering: latent states are found again, and counted as they should be."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learn_cases import sentences, small_trees
from sklearn.metrics import adjusted_rand_score

from gramian.errors import OptionError
from gramian.learn import Clustering, Features, LexiconOptions, Observations, Smoothing, SpectralClustering
from gramian.learn.cluster import disturbed
from gramian.learn.counting import count_states
from gramian.learn.smoothing import NO_SMOOTHING
from gramian.learn.tables import Layout
from gramian.training import TrainingSettings
from gramian.treebank import SETS, Treebank

KINDS = ("NP", "VP", "N", "V", "D")  # what has two states


def agreement(bank: Treebank, truth: np.ndarray, states: np.ndarray) -> dict[str, float]:
    """Return the adjusted Rand index of each symbol's states: 1 for the truth, 0 for chance."""
    return {
        name: adjusted_rand_score(truth[nodes], states[nodes])
        for name in KINDS
        for nodes in [bank.label == bank.symbols.index(name)]
    }


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_states_are_recovered(seed, record_property):
    bank, truth = sentences(1000, seed)
    learner = SpectralClustering(
        2,
        allocation="all",
        features=Features(heads=None),
        clustering=Clustering(restarts=5),
        random_state=seed,
    ).fit(bank)
    assert learner.states_.shape == bank.label.shape
    found = agreement(bank, truth, learner.states_)
    for name, value in found.items():
        record_property(f"adjusted Rand index of {name}", round(value, 3))
    print({name: round(value, 3) for name, value in found.items()})
    assert min(found.values()) > 0.8, found
    assert np.mean(list(found.values())) > 0.9, found
    shuffled = np.random.default_rng(seed).permutation(learner.states_)
    assert max(agreement(bank, truth, shuffled).values()) < 0.05


def test_the_grammar_is_the_counted_states():
    bank, _ = sentences(300, 0)
    learner = SpectralClustering(
        2, allocation="all", features=Features(heads=None), smoothing=NO_SMOOTHING
    ).fit(bank)
    grammar, states = learner.model_, learner.states_
    s, np_, vp = (bank.symbols.index(name) for name in ("S", "NP", "VP"))
    (rule,) = np.flatnonzero((grammar.binary_rules == [s, np_, vp]).all(axis=1))
    block = grammar.binary[grammar.binary_start[rule] : grammar.binary_start[rule + 1]].reshape(2, 2, 2)
    roots = bank.tree_start[1:] - 1
    for state in (0, 1):
        chosen = roots[states[roots] == state]
        for i in (0, 1):
            for j in (0, 1):
                share = (
                    np.mean((states[bank.left[chosen]] == i) & (states[bank.right[chosen]] == j))
                    if len(chosen)
                    else None
                )
                if share is not None:
                    assert block[state, i, j] == pytest.approx(share, abs=1e-6)
    np.testing.assert_allclose(
        grammar.root[grammar.state_start[s] : grammar.state_start[s + 1]],
        np.bincount(states[roots], minlength=2) / len(roots),
        rtol=1e-6,
    )


def random_states(bank: Treebank, n_states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(bank.label)) * n_states[bank.label]).astype(np.int32)


banks = st.lists(small_trees(5), min_size=1, max_size=4).map(Treebank.from_trees)


@settings(max_examples=30)
@given(banks, st.integers(0, 2**32 - 1))
def test_hard_counts_against_a_loop(bank, seed):
    rng = np.random.default_rng(seed)
    seen = Observations(bank)
    n_states = rng.integers(1, 4, bank.n_symbols).astype(np.int32)
    layout = Layout.of(seen.productions, n_states)
    states = random_states(bank, n_states, rng)
    counts = count_states(bank, layout, states)
    expected = layout.zeros()
    for node, rule in enumerate(seen.productions.node_production):
        left, right = bank.left[node], bank.right[node]
        if bank.word[node] >= 0:
            expected.lexical[layout.lexical_start[rule] + states[node]] += 1
        elif right < 0:
            expected.unary_block(rule)[states[node], states[left]] += 1
        else:
            expected.binary_block(rule)[states[node], states[left], states[right]] += 1
        if bank.parent[node] < 0:
            expected.root[layout.root_start[bank.label[node]] + states[node]] += 1
    for part in ("binary", "unary", "lexical", "root"):
        np.testing.assert_array_equal(getattr(counts, part), getattr(expected, part))


@pytest.mark.parametrize("features", sorted(SETS))
@pytest.mark.parametrize("projection", ["weighted", "raw"])
def test_every_setting_gives_a_grammar_without_gaps(features, projection):
    from gramian.grammar.lpcfg import check

    bank, _ = sentences(120, 3)
    clustering = Clustering(projection=projection)
    learner = SpectralClustering(3, allocation="all", features=Features(features), clustering=clustering)
    check(learner.fit(bank).model_, 1e-4)


def test_more_states_than_there_are_differences():
    """Trees that are all alike: states that nothing tells apart stay empty, and the grammar is whole."""
    from gramian.grammar.lpcfg import check

    bank = Treebank.read(io.StringIO("(S (N a) (V b))\n" * 30))
    learner = SpectralClustering(4, allocation="all", smoothing=NO_SMOOTHING).fit(bank)
    assert set(learner.states_.tolist()) == {0}
    check(learner.model_, 1e-4)


def test_a_sorted_treebank_keeps_its_states():
    """The first hundreds of nodes of a symbol may be all alike."""
    bank = Treebank.read(
        io.StringIO(
            "(S (A (N a)) (V b))\n" * 400
            + "(S (A (N c) (M d)) (W e))\n" * 100
            + "(S (A (M d)) (U f))\n" * 100
        )
    )
    learner = SpectralClustering(3, allocation="all").fit(bank)
    phrase = learner.states_[bank.label == bank.symbols.index("A")]
    assert len(np.unique(phrase)) == 3
    assert len(np.unique(phrase[:400])) == 1


def test_the_report_tells_spectra_and_stages(caplog):
    bank, _ = sentences(200, 0)
    caplog.set_level("INFO", "gramian")
    learner = SpectralClustering(2, allocation="all").fit(bank)
    report = learner.report_
    assert report["symbols"]["NP"] == {
        "count": int((bank.label == bank.symbols.index("NP")).sum()),
        "states": 2,
    }
    assert set(report["singular values"]) == set(report["symbols"])
    values = report["singular values"]["NP"]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0
    assert {"features", "projections and clusters", "counts", "grammar"} <= set(report["seconds"])
    assert any(line.startswith("features: ") for line in caplog.messages)


def test_the_plain_setting_of_the_thesis():
    learner = TrainingSettings.of(paper="thesis", n_states=3, random_state=7).estimator()
    assert (learner.n_states, learner.allocation, learner.random_state) == (3, "all", 7)
    # rare is what was seen less than 5 times
    assert learner.lexicon == LexiconOptions(4, 0.0, 0.0, suffixes=False)
    assert learner.features == Features("thesis", rare_words=5, scaling=False, heads="none")
    assert learner.clustering == Clustering(projection="raw", restarts=10, max_iter=300, sample=None)
    assert learner.smoothing == Smoothing(0.0, 0.0, 0.0, floor=0.00005)
    learner.set_params(smoothing__floor=0.0)
    bank, _ = sentences(200, 0)
    grammar = learner.fit(bank).model_
    assert set(grammar.n_states.tolist()) == {3}
    # Nothing is smoothed: as many cells as there are different rules with states.
    states, binary = learner.states_, np.flatnonzero(bank.right >= 0)
    used = {(states[node], states[bank.left[node]], states[bank.right[node]], learner.model_.symbols[bank.label[node]],
             bank.label[bank.left[node]], bank.label[bank.right[node]]) for node in binary}  # fmt: skip
    in_use = grammar.state_prior > 0
    cells = 0
    for rule, (parent, *_) in enumerate(grammar.binary_rules):
        block = grammar.binary[grammar.binary_start[rule] : grammar.binary_start[rule + 1]].reshape(3, 9)
        cells += np.count_nonzero(
            block[in_use[grammar.state_start[parent] : grammar.state_start[parent + 1]]]
        )
    assert cells == len(used)


def test_k_means_may_see_all_nodes_or_a_sample():
    bank, _ = sentences(200, 0)
    few, all_of_few, everything, default = (
        SpectralClustering(4, allocation="all", clustering=Clustering(sample=sample)).fit(bank).states_
        for sample in (20, 20, None, 10_000)
    )
    np.testing.assert_array_equal(few, all_of_few)
    np.testing.assert_array_equal(everything, default)  # no symbol has as many nodes
    assert (few != everything).any()


def test_an_unknown_feature_set():
    with pytest.raises(
        OptionError, match=r"^features.templates must be one of thesis, plain, paper, rich, got 'poor'$"
    ):
        SpectralClustering(features=Features("poor")).fit(sentences(5, 0)[0])


def test_k_means_may_begin_at_random_nodes():
    bank, _ = sentences(200, 0)
    states = [
        SpectralClustering(4, allocation="all", clustering=Clustering(start=start)).fit(bank).states_
        for start in ("k-means++", "random", "random")
    ]
    np.testing.assert_array_equal(states[1], states[2])
    assert (states[0] != states[1]).any()
    with pytest.raises(OptionError, match=r"clustering.start must be one of k-means\+\+, random, got 'far'"):
        SpectralClustering(clustering=Clustering(start="far")).fit(bank)


def test_additive_noise_of_the_paper_goes_by_the_mean():
    """Raw projections have a mean; a coordinate whose mean is zero then gets no noise at all."""
    vectors = np.array([[1.0, 4.0], [-1.0, 4.0]] * 500)
    rng = np.random.default_rng(0)
    noisy = disturbed(vectors, "additive", 0.1, rng, by_mean=True) - vectors
    assert (noisy[:, 0] == 0).all()
    assert noisy[:, 1].var() == pytest.approx(0.1 * 4, rel=0.15)
    own = disturbed(vectors, "additive", 0.1, rng) - vectors
    assert own[:, 1].var() == pytest.approx(0.1 * 16, rel=0.15)
