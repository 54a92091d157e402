import pytest
from toy_treebank import toy_sentences

from gramian.dependency import SHAGParser
from gramian.errors import OptionError
from gramian.experiments import attachment_study
from gramian.experiments.attachment_study import VARIANTS, attachment_by_steps, attachment_point

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
    point = attachment_point("extended, factor 10", 3, TRAIN, TEST, single_root=True, helped=True)
    learner = SHAGParser("spectral", n_states=3, smoothing=0.01).fit(TRAIN)
    assert point.uas == pytest.approx(100.0 * learner.score(TEST), abs=1e-9)


def test_unknown_variants_are_refused():
    with pytest.raises(OptionError, match="must be one of DET"):
        attachment_point("nonsense", 1, TRAIN, TEST)


def test_marginals_are_decoded_as_they_are_unless_help_is_asked_for(monkeypatch):
    helpers = []

    def decode(grammar, helper, *rest, **options):
        helpers.append(helper)
        return attachment_study.decode_as_ever(grammar, helper, *rest, **options)

    monkeypatch.setattr(attachment_study, "decode_as_ever", attachment_study.decode, raising=False)
    monkeypatch.setattr(attachment_study, "decode", decode)
    attachment_point("DET", 1, TRAIN[:20], TEST[:1])
    attachment_point("DET", 1, TRAIN[:20], TEST[:1], helped=True)
    assert helpers[0] is None
    assert helpers[1] is not None


def test_steps_of_em_go_on_where_they_were():
    scores = attachment_by_steps(3, [1, 4, 10], TRAIN, TEST, random_state=2)
    assert list(scores) == [1, 4, 10]
    whole = attachment_point("EM, 10 steps", 3, TRAIN, TEST, random_state=2)
    assert scores[10] == pytest.approx(whole.uas, abs=0.5)
