import numpy as np
import pytest

from gramian.automata import WFA, NGram, Sequences
from gramian.errors import ScoreError
from gramian.evaluate.sequence_scores import ndcg, next_symbol_scores, pautomac_score

COIN = WFA([1.0], [0.25], [[[0.5]], [[0.25]]], ("a", "b"))  # always predicts "a"


def test_word_error_rate_by_hand() -> None:
    scores = next_symbol_scores(COIN, Sequences.from_strings(["aab", "", "za"]))
    # Events: a a b STOP, STOP, z a STOP; right are the three a's.
    assert (scores.events, scores.errors) == (8, 5)
    assert scores.word_error_rate == pytest.approx(62.5)
    assert scores.log_likelihood == -np.inf  # z cannot be


def test_perplexity_by_hand() -> None:
    scores = next_symbol_scores(COIN, Sequences.from_strings(["ab", ""]))
    assert scores.log_likelihood == pytest.approx(np.log(0.5 * 0.25 * 0.25 * 0.25))
    assert scores.perplexity == pytest.approx((0.5 * 0.25 * 0.25 * 0.25) ** (-1 / 4))
    assert "stop" in scores.signature()


def test_many_strings_are_scored_in_blocks() -> None:
    one, many = Sequences.from_strings(["ab"]), Sequences.from_strings(["ab"] * 2500)
    single, total = next_symbol_scores(COIN, one), next_symbol_scores(COIN, many)
    assert (total.events, total.errors) == (2500 * single.events, 2500 * single.errors)


def test_pautomac_score_by_its_formula() -> None:
    strings = Sequences.from_strings(["", "a", "b", "aa"])
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    score = pautomac_score(COIN, strings, truth)
    model = np.array([0.25, 0.125, 0.0625, 0.0625])
    model /= model.sum()
    assert score.perplexity == pytest.approx(2 ** -(truth * np.log2(model)).sum())
    assert score.target == pytest.approx(2 ** -(truth * np.log2(truth)).sum())
    assert score.gap > 0
    assert pautomac_score(COIN, strings, model).gap == pytest.approx(0, abs=1e-12)
    with pytest.raises(ScoreError, match="4 test strings but 2"):
        pautomac_score(COIN, strings, [0.5, 0.5])


def test_pautomac_score_of_bad_scores() -> None:
    negative = WFA([1.0], [-0.5], [[[-0.5]]], ("a",))
    strings = Sequences.from_strings(["", "a"])
    score = pautomac_score(negative, strings, [2 / 3, 1 / 3])
    assert score.not_positive == 1
    assert score.gap == pytest.approx(0, abs=1e-12)
    impossible = pautomac_score(NGram(2, smoothing="none").fit(["a"]).model_, strings, [0.5, 0.5])
    assert impossible.perplexity == np.inf


def test_ndcg_by_hand() -> None:
    model = WFA([1.0], [0.1], [[[0.5]], [[0.3]], [[0.1]]], (0, 1, 2))
    prefixes = Sequences.from_strings([[], [1]], (0, 1, 2))
    gains = [{0: 0.2, 1: 0.5, -1: 0.3}, {2: 1.0}]
    best = [0.5 + 0.3 / np.log2(3) + 0.2 / 2, 1.0]
    got = [0.2 + 0.5 / np.log2(3) + 0.3 / np.log2(5), 1.0 / 2]  # ranked 0, 1, 2 (before STOP, a tie)
    targets = list(zip(best, gains, strict=True))
    assert ndcg(model, prefixes, targets) == pytest.approx((got[0] / best[0] + got[1]) / 2)
    with pytest.raises(ScoreError):
        ndcg(model, prefixes, targets[:1])
