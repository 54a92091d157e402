import pytest
from toy_treebank import toy_sentences

from gramian.dependency import SHAGParser
from gramian.experiments.recipes import shag

TRAIN, TEST = toy_sentences(150, seed=1), toy_sentences(40, seed=2)


@pytest.fixture(scope="module")
def measure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    files = {}
    for part, sentences in (("train", TRAIN), ("dev", TEST)):
        files[part] = str(folder / f"{part}.conllu")
        (folder / f"{part}.conllu").write_text("".join(f"{sentence}\n" for sentence in sentences))

    def measure(seed=0, **changed):
        settings = {"train": 0, "test": 0, "symbols": "auto", "single_root": False, "helped": False}
        return shag.measure({"files": files, "settings": settings | changed, "seed": seed})

    return measure


def test_more_states_attach_better(measure):
    chosen = ["DET", "DET+F", "symbols, mass 0.0005", "EM, 10 steps"]
    points = [measure(variant=name, states=4) for name in chosen]
    # The noun phrases of the toy treebank differ by what comes first and what comes after; one state cannot tell.
    det, det_f, *_, em = (point["uas"] for point in points)
    assert det <= det_f <= em + 1.0
    assert em > 85.0


def test_a_point_scores_as_the_estimator_does(measure):
    point = measure(variant="extended, factor 10", states=3, single_root=True, helped=True)
    learner = SHAGParser("spectral", n_states=3, smoothing=0.01).fit(TRAIN)
    assert point["uas"] == pytest.approx(100.0 * learner.score(TEST), abs=1e-4)


def test_marginals_are_decoded_as_they_are_unless_help_is_asked_for(measure, monkeypatch):
    helpers = []

    def decode(grammar, helper, *rest, **options):
        helpers.append(helper)
        return decode_as_before(grammar, helper, *rest, **options)

    decode_as_before = shag.decode
    monkeypatch.setattr(shag, "decode", decode)
    for helped in (False, True):
        measure(variant="DET", states=1, helped=helped, train=20, test=1)
    assert helpers[0] is None
    assert helpers[1] is not None


def test_steps_of_em_go_on_where_they_were(measure):
    scores = measure(states=3, steps=[1, 4, 10], seed=2)
    assert [name for name in scores if name.startswith("uas")] == [
        "uas after 1",
        "uas after 4",
        "uas after 10",
    ]
    whole = measure(variant="EM, 10 steps", states=3, seed=2)
    assert scores["uas after 10"] == pytest.approx(whole["uas"], abs=0.5)


def test_phrases_of_dependency_trees_attach_as_well_as_automata_where_these_are_as_good_as_can_be(measure):
    phrases = measure(vertical="spectral-cluster", states=4)
    assert phrases["fallback"] == 0
    assert phrases["uas"] >= measure(variant="DET", states=1)["uas"] > 95.0
