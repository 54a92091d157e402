"""Curves from posteriors to confidences: their shape, what they learn, and how a model file and a parser hold them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from tiny_grammar import tiny_model

from gramian.errors import ModelFileError
from gramian.evaluate import reliability
from gramian.io.model_files import checksum
from gramian.parsing.calibration import Calibration, Curve
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser
from gramian.trees import Tree

SLOPES = st.floats(0, 5)
SENTENCE = ["the", "dog", "saw", "a", "cat", "with", "a", "telescope", "."]


def logit(value):
    return np.log(value / (1 - value))


@given(SLOPES, SLOPES, st.floats(-5, 5), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_a_curve_never_falls_and_stays_between_0_and_1(low, high, shift, posteriors):
    values = Curve(low, high, shift)(sorted(posteriors))
    assert (np.diff(values) >= -1e-12).all()
    assert ((values >= 0) & (values <= 1)).all()


def test_the_formula_at_a_point_worked_out_by_hand():
    # Log-odds at p = 1/2: low * log(1/2) - high * log(1/2) + shift = 2 * -0.6931 + 1 * 0.6931 + 0.5.
    value = Curve(2.0, 1.0, 0.5)([0.5])[0]
    assert logit(value) == pytest.approx(0.5 - np.log(2), rel=1e-9)


def test_a_curve_is_learnt_back():
    random = np.random.default_rng(1)
    posteriors = random.beta(2, 0.5, 40_000)
    truth = Curve(0.6, 0.4, -0.3)
    right = random.random(40_000) < truth(posteriors)
    found = Curve.fit(posteriors, right)
    asked = np.linspace(0.05, 0.999, 50)
    np.testing.assert_allclose(found(asked), truth(asked), atol=0.02)
    assert reliability(found(posteriors), right).ece < 0.01 < reliability(posteriors, right).ece


def test_few_or_one_sided_observations_do_not_lead_astray():
    assert Curve.fit([0.9], [True])([0.5])[0] == pytest.approx(0.5, abs=0.1)
    sure = Curve.fit([0.9] * 50, [True] * 50)([0.9])[0]
    assert 0.9 < sure < 1
    # Where the truth falls with the posterior, the best that never falls is flat.
    curve = Curve.fit([0.9] * 500 + [0.1] * 500, [False] * 400 + [True] * 100 + [True] * 400 + [False] * 100)
    np.testing.assert_allclose(curve([0.1, 0.9]), 0.5, atol=0.02)


def test_the_likelihood_is_as_high_as_a_search_finds():
    random = np.random.default_rng(5)
    posteriors = random.random(300)
    right = random.random(300) < posteriors**2

    def cost(curve: Curve) -> float:
        values = curve(posteriors)
        away = (curve.low - 1) ** 2 + (curve.high - 1) ** 2 + curve.shift**2
        return -np.log(np.where(right, values, 1 - values)).sum() + away / 2

    found = Curve.fit(posteriors, right)
    for step in (0.1, -0.1):
        for name in ("low", "high", "shift"):
            assert cost(found) < cost(replace(found, **{name: getattr(found, name) + step}))


def test_nodes_take_the_curve_of_their_kind_and_makeshifts_stay():
    tree = Tree.parse("(S (NP (NN time)) (VB flies))")
    calibration = Calibration(Curve(shift=1.0), Curve(shift=-1.0))
    found = calibration.confidences(tree, [0.0, 0.5, 0.5, 0.5])
    up = 1 / (1 + np.exp(-1))
    assert found == pytest.approx((0.0, up, 1 - up, 1 - up), abs=1e-12)
    assert Calibration(tags=Curve(shift=-1.0)).confidences(tree, [0.0, 0.5, 1.5, 0.5])[:2] == (0.0, 0.5)
    assert Calibration().confidences(tree, [0.0, 0.5, 1.5, 0.5]) == (0.0, 0.5, 1.0, 0.5)


# -- in a file, and in a parser -----------------------------------------------------------------------------------


@pytest.fixture
def calibrated():
    curves = {
        "product": Calibration(Curve(0.5, 0.7, -0.2), Curve(0.9, 0.4, 0.1)),
        "sum": Calibration(Curve()),
    }
    return replace(tiny_model(), calibration=curves)


def test_a_model_file_holds_them(calibrated, tmp_path):
    path = tmp_path / "calibrated.grammar"
    save_model(calibrated, path)
    found = load_model(path)
    assert found.calibration == calibrated.calibration
    save_model(replace(found, calibration={}), path)
    save_model(tiny_model(), tmp_path / "plain.grammar")
    assert path.read_bytes() == (tmp_path / "plain.grammar").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"calibration": {"product": {"phrases": {"low": -1.0, "high": 1.0, "shift": 0.0}, "tags": None}}},
        {"calibration": {"product": {"phrases": {"low": "much"}, "tags": None}}},
        {"calibration": {"product": {"phrases": {"steep": 1.0}, "tags": None}}},
        {"calibration": {"product": {"words": None}}},
        {"calibration": {"product": {"phrases": {"low": 1e999}, "tags": None}}},
        {"calibration": [1]},
    ],
)
def test_curves_that_are_none_are_refused(calibrated, tmp_path, change):
    path = tmp_path / "bad.grammar"
    save_model(calibrated, path)
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["gramian"]) | change
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header["checksum"] = checksum(header, tensors)
    save_file(tensors, path, {"gramian": json.dumps(header)})
    with pytest.raises(ModelFileError, match=r"holds no model|invalid model header: not JSON"):
        load_model(path)


def test_a_parser_gives_calibrated_confidences_and_the_same_tree(calibrated):
    raw = Parser(replace(calibrated, calibration={})).parse(SENTENCE)
    found = Parser(calibrated).parse(SENTENCE)
    assert found.tree == raw.tree
    assert found.confidences != raw.confidences
    curves = calibrated.calibration["product"]
    for node, sure, posterior in zip(found.tree.subtrees(), found.confidences, raw.confidences, strict=True):
        curve = curves.phrases if node.word is None else curves.tags
        assert sure == pytest.approx(curve([posterior])[0], abs=1e-12)
    # One grammar is combined with nothing, whatever the way.
    assert Parser(calibrated, combination="sum").parse(SENTENCE).confidences == found.confidences
    assert all(sure == 0 for sure in Parser(calibrated, max_seconds=1e-9).parse(["dog"] * 300).confidences)
