"""Splitting and merging states: counts are kept, equal states cost nothing to merge, losses are those of the likelihood."""

import numpy as np
import pytest
from learn_cases import big_case, sentences

from gramian.learn import Observations, SplitMerge
from gramian.learn.counting import count_states
from gramian.learn.learner import Maximisation
from gramian.learn.lexicon_counts import LexiconOptions
from gramian.learn.smoothing import Smoothing
from gramian.learn.split_merge import merge_losses, merged, split
from gramian.learn.tables import LatentTables, Layout

NONE = Smoothing(0.0, 0.0, 0.0)
PARTS = ("binary", "unary", "lexical", "root")


def together(counts):
    """Groups that merge all states of each symbol."""
    return [np.zeros(n, np.int64) for n in counts.layout.n_states]


def test_merging_adds_up_counts():
    counts = big_case(1).tables
    groups = [np.arange(n) // 2 for n in counts.layout.n_states]
    after = merged(counts, groups)
    assert after.layout.n_states.tolist() == [-(-n // 2) for n in counts.layout.n_states.tolist()]
    for rule, (a, b, c) in enumerate(counts.layout.productions.binary):
        expected = np.zeros(after.binary_block(rule).shape)
        for (i, j, k), value in np.ndenumerate(counts.binary_block(rule)):
            expected[groups[a][i], groups[b][j], groups[c][k]] += value
        np.testing.assert_allclose(after.binary_block(rule), expected, rtol=1e-12)
    for part in PARTS:
        assert getattr(after, part).sum() == pytest.approx(getattr(counts, part).sum(), rel=1e-12)


def test_splitting_is_undone_by_merging():
    counts = big_case(2).tables
    after, parents = split(
        counts, np.full(len(counts.layout.n_states), 100), np.random.default_rng(0), noise=0.0
    )
    np.testing.assert_array_equal(after.layout.n_states, 2 * counts.layout.n_states)
    back = merged(after, parents)
    for part in PARTS:
        np.testing.assert_allclose(getattr(back, part), getattr(counts, part), rtol=1e-12)


def test_splitting_respects_the_room():
    counts = big_case(2).tables
    room = counts.layout.n_states.copy()
    room[0] *= 2
    after, parents = split(counts, room, np.random.default_rng(0))
    assert after.layout.n_states[0] == room[0]
    np.testing.assert_array_equal(after.layout.n_states[1:], counts.layout.n_states[1:])
    assert [len(parent) for parent in parents] == after.layout.n_states.tolist()


def test_noise_tells_halves_apart():
    counts = big_case(2).tables
    after, _ = split(counts, np.full(len(counts.layout.n_states), 100), np.random.default_rng(0), noise=0.02)
    plain, _ = split(counts, np.full(len(counts.layout.n_states), 100), np.random.default_rng(0), noise=0.0)
    ratio = after.binary / plain.binary
    assert 0.98 <= ratio.min() < 0.99
    assert 1.01 < ratio.max() <= 1.02


def unsmoothed(n: int = 200) -> tuple[Observations, np.ndarray]:
    bank, truth = sentences(n, 0)
    seen = Observations(bank)
    return seen, truth


def maximised(seen: Observations, counts: LatentTables) -> LatentTables:
    """Return probabilities with nothing smoothed."""
    return Maximisation(seen, NONE, LexiconOptions(shrinkage=0.0, tag_shrinkage=0.0)).tables(counts)


def test_states_that_do_not_differ_cost_nothing_to_merge():
    seen, truth = unsmoothed()
    layout = Layout.of(seen.productions, np.full(seen.bank.n_symbols, 2, np.int32))
    counts, _ = split(
        count_states(seen.bank, layout, truth), np.full(seen.bank.n_symbols, 9), np.random.default_rng(0), 0.0
    )
    twins = [np.array([(0, 1), (2, 3)])] * seen.bank.n_symbols
    others = [np.array([(0, 2)])] * seen.bank.n_symbols
    tables = maximised(seen, counts)
    np.testing.assert_allclose(np.concatenate(merge_losses(seen, tables, counts, twins)), 0, atol=1e-2)
    losses = dict(zip(seen.bank.symbols, merge_losses(seen, tables, counts, others), strict=True))
    for name in ("NP", "VP", "N", "V", "D"):
        assert losses[name][0] > 20  # these states do differ


def test_loss_of_a_merge_is_the_fall_of_the_likelihood():
    """For a tag that stands once in every tree the estimate is exact."""
    seen, truth = unsmoothed()
    bank = seen.bank
    n_states = np.ones(bank.n_symbols, np.int32)
    tag = bank.symbols.index("V")
    n_states[tag] = 2
    states = np.where(bank.label == tag, truth, 0).astype(np.int32)
    counts = count_states(bank, Layout.of(seen.productions, n_states), states)
    tables = maximised(seen, counts)
    expectation = seen.trees.expect(tables)
    pairs = [
        np.array([(0, 1)]) if symbol == tag else np.zeros((0, 2), np.int64)
        for symbol in range(bank.n_symbols)
    ]
    loss = merge_losses(seen, tables, counts, pairs)[tag][0]
    before = expectation.log_likelihood.sum()
    after = seen.trees.expect(maximised(seen, merged(counts, together(counts)))).log_likelihood.sum()
    assert loss == pytest.approx(before - after, rel=1e-3)
    assert loss > 0


def test_history_leads_from_each_cycle_to_the_one_before():
    bank, _ = sentences(200, 1)
    learner = SplitMerge(3, split_steps=3, merge_steps=1, smooth_steps=1).fit(bank)
    assert len(learner.history_) == 3
    before = np.ones(bank.n_symbols, int)
    for cycle in learner.history_:
        for symbol, parents in enumerate(cycle):
            assert set(parents.tolist()) == set(range(before[symbol]))
            assert len(parents) <= 2 * before[symbol]
        before = np.array([len(parents) for parents in cycle])
    np.testing.assert_array_equal(before, learner.model_.n_states)
    assert before.max() > 1
