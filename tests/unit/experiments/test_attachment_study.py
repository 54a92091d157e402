import pytest
from toy_treebank import toy_sentences

from gramian.dependency import SHAGParser
from gramian.errors import OptionError
from gramian.experiments.attachment_study import VARIANTS, attachment_point

TRAIN, TEST = toy_sentences(150, seed=1), toy_sentences(40, seed=2)


def test_every_figure_has_its_variants():
    assert {variant.figure for variant in VARIANTS.values()} == {8, 9, 10}


def test_points_come_by_variant_and_states():
    chosen = ["DET", "DET+F", "symbols, mass 0.0005", "EM, 10 steps"]
    points = [
        attachment_point(name, n_states, TRAIN, TEST)
        for name in chosen
        for n_states in ((2, 4) if VARIANTS[name].states is None else (2,))
    ]
    assert [(point.variant, point.n_states) for point in points] == [
        ("DET", 1), ("DET+F", 2), *((name, states) for name in chosen[2:] for states in (2, 4)),
    ]  # fmt: skip
    # The noun phrases of the toy treebank differ by what comes first and what comes after; one state cannot tell.
    det, det_f, *_, em = points
    assert det.uas <= det_f.uas <= em.uas + 1.0
    assert em.uas > 85.0


def test_a_point_scores_as_the_estimator_does():
    point = attachment_point("extended, factor 10", 3, TRAIN, TEST, single_root=True)
    learner = SHAGParser("spectral", n_states=3, smoothing=0.01).fit(TRAIN)
    assert point.uas == pytest.approx(100.0 * learner.score(TEST), abs=1e-9)


def test_unknown_variants_are_refused():
    with pytest.raises(OptionError, match="must be one of DET"):
        attachment_point("nonsense", 1, TRAIN, TEST)
