"""Curves of error against states, and the tags they are drawn for."""

from typing import Any

import pytest

from gramian.automata import BasisOptions, Sequences, SpectralWFA
from gramian.automata.tagset import universal_tag
from gramian.evaluate.sequence_scores import next_symbol_scores
from gramian.experiments.recipes.wfa import learnt_models

# After x comes what came before x: a bigram cannot know.
STRINGS = Sequences.from_strings(["axa", "bxb"] * 20 + ["axaxa", "bxbxb"] * 5)


def error_rates(seed: int = 0, **settings: Any) -> dict[str, float]:
    return {
        name: next_symbol_scores(model, STRINGS).word_error_rate
        for name, model, _ in learnt_models(settings, STRINGS, seed)
    }


def test_baselines_by_hand() -> None:
    """Fifty strings: 40 of 3 symbols and 10 of 5 make 220 events."""
    rates = error_rates(curve="baselines")
    # 60 x and 50 STOPs against 55 each of a, b: always x.
    assert rates["unigram"] == pytest.approx(100 * 160 / 220)
    # At the start one of two is wrong (25); after a or b, 110 times, x follows 60 times; after x a or b: 30 wrong.
    assert rates["bigram"] == pytest.approx(100 * (25 + 50 + 30) / 220)
    # Two symbols back tell a from b after x. After START a (or b) always x; after xa (or xb) 50 STOPs, 10 x.
    assert rates["trigram"] == pytest.approx(100 * (25 + 10) / 220)


def test_points_are_those_of_the_learner() -> None:
    rates = error_rates(curve="spectral", states=[5, 2, 99], basis="20", scaled=False)
    assert list(rates) == ["2", "5"]  # the block has no rank of 99
    for rank, rate in rates.items():
        learner = SpectralWFA(int(rank), basis=BasisOptions(size=20), repair=None)
        assert rate == pytest.approx(next_symbol_scores(learner.fit(STRINGS).model_, STRINGS).word_error_rate)


def test_universal_tags() -> None:
    penn = "NNP VBZ DT JJ NN IN CD NNS , CC PRP MD RB VB TO UH ."
    universal = "NOUN VERB DET ADJ NOUN ADP NUM NOUN . CONJ PRON VERB ADV VERB PRT X ."
    assert [universal_tag(tag) for tag in penn.split()] == universal.split()
    assert universal_tag("no-such-tag") == "X"


def test_the_published_basis_of_symbols_has_no_empty_string():
    """Two states do not remember what came before x without the row that sees where strings begin."""
    (published,) = error_rates(curve="spectral", states=[2], basis="symbols", scaled=False).values()
    (extended,) = error_rates(curve="spectral", states=[2], basis="symbols and empty", scaled=False).values()
    assert published == pytest.approx(100 * 160 / 220)
    assert extended == pytest.approx(100 * 105 / 220)


def test_convergence_ends_where_em_does():
    rates = error_rates(curve="convergence", states=4, steps=[1, 20, 5], pseudo_count=1e-3, seed=3)
    assert list(rates) == ["after 1", "after 5", "after 20"]
    end = error_rates(curve="em", states=[4], iterations=20, pseudo_count=1e-3, seed=3)
    assert rates["after 20"] == pytest.approx(end["4"])
