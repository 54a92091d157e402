"""Curves of error against states, and the tags they are drawn for."""

from __future__ import annotations

import pytest

from gramian.automata import BasisOptions, Sequences, SpectralWFA
from gramian.automata.tagset import universal_tag
from gramian.evaluate.sequence_scores import next_symbol_scores
from gramian.experiments.tag_study import baseline_points, em_convergence, em_curve, spectral_curve

# After x comes what came before x: a bigram cannot know.
STRINGS = Sequences.from_strings(["axa", "bxb"] * 20 + ["axaxa", "bxbxb"] * 5)


def test_baselines_by_hand() -> None:
    """Fifty strings: 40 of 3 symbols and 10 of 5 make 220 events."""
    unigram, bigram, trigram = baseline_points(STRINGS, STRINGS)
    # 60 x and 50 STOPs against 55 each of a, b: always x.
    assert unigram.word_error_rate == pytest.approx(100 * 160 / 220)
    # At the start one of two is wrong (25); after a or b, 110 times, x follows 60 times; after x a or b: 30 wrong.
    assert bigram.word_error_rate == pytest.approx(100 * (25 + 50 + 30) / 220)
    # Two symbols back tell a from b after x. After START a (or b) always x; after xa (or xb) 50 STOPs, 10 x.
    assert trigram.word_error_rate == pytest.approx(100 * (25 + 10) / 220)


def test_points_are_those_of_the_learner() -> None:
    points = spectral_curve(STRINGS, STRINGS, [5, 2, 99], basis_size=20)
    assert [point.n_states for point in points] == [2, 5]  # the block has no rank of 99
    for point in points:
        learnt = SpectralWFA(point.n_states, basis=BasisOptions(size=20), repair=None).fit(STRINGS).model_
        assert point.word_error_rate == pytest.approx(next_symbol_scores(learnt, STRINGS).word_error_rate)
        assert point.seconds > 0
    assert "symbols" in spectral_curve(STRINGS, STRINGS, [2], basis_size="symbols")[0].curve
    (repaired,) = spectral_curve(STRINGS, STRINGS, [7], basis_size=20, repair="em")
    (random,) = em_curve(STRINGS, STRINGS, [7], max_iter=60, n_restarts=4, n_jobs=1)
    best = 100 * 35 / 220  # what the trigram reaches; five symbols tell no more
    assert repaired.word_error_rate == pytest.approx(best, abs=5)
    assert random.word_error_rate >= best - 1e-9


def test_universal_tags() -> None:
    penn = [
        "NNP",
        "VBZ",
        "DT",
        "JJ",
        "NN",
        "IN",
        "CD",
        "NNS",
        ",",
        "CC",
        "PRP",
        "MD",
        "RB",
        "VB",
        "TO",
        "UH",
        ".",
    ]
    assert [universal_tag(tag) for tag in penn] == (
        [
            "NOUN",
            "VERB",
            "DET",
            "ADJ",
            "NOUN",
            "ADP",
            "NUM",
            "NOUN",
            ".",
            "CONJ",
            "PRON",
            "VERB",
            "ADV",
            "VERB",
            "PRT",
            "X",
            ".",
        ]
    )
    assert universal_tag("no-such-tag") == "X"


def test_a_small_language():
    strings = Sequences.from_strings(["ab" * (i % 4) for i in range(40)])
    points = [(point.curve, point.n_states) for point in baseline_points(strings, strings)]
    assert points == [("unigram", 1), ("bigram", 4), ("trigram", 7)]
    assert [point.n_states for point in em_curve(strings, strings, [1, 2], max_iter=3)] == [1, 2]


def test_the_published_basis_of_symbols_has_no_empty_string():
    """Two states do not remember what came before x without the row that sees where strings begin."""
    published = spectral_curve(STRINGS, STRINGS, [2], basis_size="symbols")
    own = spectral_curve(STRINGS, STRINGS, [2], basis_size="symbols and empty")
    assert [point.curve for point in (*published, *own)] == [
        "spectral, symbols",
        "spectral, symbols and empty",
    ]
    assert published[0].word_error_rate == pytest.approx(100 * 160 / 220)
    assert own[0].word_error_rate == pytest.approx(100 * 105 / 220)


def test_convergence_ends_where_em_does():
    rates = em_convergence(STRINGS, STRINGS, 4, [1, 20, 5], n_jobs=1, random_state=3)
    assert list(rates) == [1, 5, 20]
    (end,) = em_curve(STRINGS, STRINGS, [4], max_iter=20, n_jobs=1, random_state=3)
    assert rates[20] == pytest.approx(end.word_error_rate)
