from itertools import product

import numpy as np
import pytest

from gramian.errors import OptionError, ScoreError
from gramian.evaluate import Comparison, approximate_randomisation, paired_bootstrap, score, significance
from gramian.trees import Tree

FIRST = np.array([[4, 5], [3, 6], [5, 5], [2, 7], [6, 6], [3, 4]], dtype=float)
SECOND = np.array([[3, 5], [3, 5], [4, 5], [2, 6], [5, 7], [3, 4]], dtype=float)


def ratio(statistics: np.ndarray) -> float:
    above, below = statistics.sum(axis=0)
    return float(100 * above / below)


def test_scores_are_ratios_of_sums() -> None:
    for outcome in (
        paired_bootstrap(FIRST, SECOND, samples=10),
        approximate_randomisation(FIRST, SECOND, samples=10),
    ):
        assert outcome.first == pytest.approx(100 * 23 / 33, rel=1e-12)
        assert outcome.second == pytest.approx(100 * 20 / 32, rel=1e-12)
        assert outcome.difference == pytest.approx(100 * 23 / 33 - 62.5, rel=1e-12)


def test_randomisation_comes_near_to_all_swaps() -> None:
    """With six sentences all 64 ways to swap can be listed."""
    observed = abs(ratio(FIRST) - ratio(SECOND))
    exact = 0
    for swaps in product([False, True], repeat=len(FIRST)):
        mask = np.array(swaps)[:, None]
        one, two = np.where(mask, SECOND, FIRST), np.where(mask, FIRST, SECOND)
        exact += abs(ratio(one) - ratio(two)) >= observed - 1e-9
    outcome = approximate_randomisation(FIRST, SECOND, samples=20_000, random_state=1)
    # Four standard errors of a share drawn 20,000 times are at most 0.0142.
    assert outcome.p_value == pytest.approx(exact / 64, abs=0.0142)
    assert outcome.interval is None


def test_bootstrap_comes_near_to_all_resamples() -> None:
    """Of three sentences there are 27 resamples."""
    first, second = FIRST[:3], SECOND[:3]
    observed = ratio(first) - ratio(second)
    exact = 0
    for chosen in product(range(3), repeat=3):
        difference = ratio(first[list(chosen)]) - ratio(second[list(chosen)])
        exact += abs(difference - observed) >= abs(observed) - 1e-9
    outcome = paired_bootstrap(first, second, samples=20_000, random_state=2)
    assert 0 < exact < 27
    assert outcome.p_value == pytest.approx(exact / 27, abs=0.0142)


def test_the_interval_covers_the_middle_of_the_resamples() -> None:
    """Differences of words are right or wrong: the interval must be near to the normal one."""
    generator = np.random.default_rng(5)
    gains = generator.integers(-1, 2, size=1_000)
    first = np.column_stack([10 + gains, np.full(1_000, 20)])
    second = np.column_stack([np.full(1_000, 10), np.full(1_000, 20)])
    outcome = paired_bootstrap(first, second, samples=4_000, random_state=3)
    spread = 1.96 * 100 * gains.std() / 20 / np.sqrt(1_000)
    assert outcome.interval is not None
    low, high = outcome.interval
    assert low == pytest.approx(outcome.difference - spread, abs=0.15 * spread)
    assert high == pytest.approx(outcome.difference + spread, abs=0.15 * spread)


def test_equal_outputs_do_not_differ() -> None:
    for test in (paired_bootstrap, approximate_randomisation):
        outcome = test(FIRST, FIRST, samples=99)
        assert (outcome.p_value, outcome.difference) == (1, 0)


def test_the_seed_decides() -> None:
    for test in (paired_bootstrap, approximate_randomisation):
        runs = [test(FIRST, SECOND, samples=500, random_state=seed) for seed in (1, 1, 2)]
        assert runs[0] == runs[1]
        assert runs[0].p_value != runs[2].p_value or runs[0].interval != runs[2].interval
        generator = np.random.default_rng(1)
        assert test(FIRST, SECOND, samples=500, random_state=generator).p_value == runs[0].p_value


def test_more_samples_than_are_drawn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "_CHUNK", 60)
    for test in (paired_bootstrap, approximate_randomisation):
        outcome: Comparison = test(FIRST, SECOND, samples=1_001)
        assert outcome.samples == 1_001
        assert (outcome.p_value * 1_002) == pytest.approx(round(outcome.p_value * 1_002), abs=1e-9)


def test_scores_of_trees_can_be_compared() -> None:
    gold = [Tree.parse("(S (NP (N a) (N b)) (V c))")] * 40
    wrong = [Tree.parse("(S (N a) (VP (N b) (V c)))")] * 40
    good, bad = score(gold, gold), score(gold, wrong)
    outcome = approximate_randomisation(good.statistics("f1"), bad.statistics("f1"), samples=999)
    assert (outcome.first, outcome.second, outcome.p_value) == (100, 50, 0.001)
    assert outcome.signature == "test:randomisation|samples:999|sides:2|seed:0"


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_bad_input_is_named(test: object) -> None:
    assert callable(test)
    with pytest.raises(ScoreError, match="same sentences, got 6 and 5"):
        test(FIRST, SECOND[:5])
    with pytest.raises(ScoreError, match="shape"):
        test(FIRST.T, SECOND.T)
    with pytest.raises(ScoreError, match="shape"):
        test(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(OptionError, match="samples"):
        test(FIRST, SECOND, samples=0)


def test_confidence_lies_between_0_and_1() -> None:
    with pytest.raises(OptionError, match="confidence"):
        paired_bootstrap(FIRST, SECOND, confidence=95)
