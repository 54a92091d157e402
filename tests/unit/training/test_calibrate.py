"""Calibration on a fold held out: which weight and curves come of what models say there."""

from dataclasses import replace

import numpy as np
import pytest

from gramian.evaluate import GoldBrackets
from gramian.experts import EXPERT_KINDS, ExpertPart, SpanCRF
from gramian.learn import PCFG
from gramian.parsing.calibration import Curve
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.training import calibrate as module
from gramian.training.calibrate import LAST, OutcomesTask, WeightsTask, calibrate, calibrate_on
from gramian.treebank import Treebank
from gramian.trees import Tree

TREES = [
    Tree.parse(text)
    for text in [
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN town))))) (. .))",
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat)) (PP (IN in) (NP (NN town)))) (. .))",
        "(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)) (. .))",
    ]
]


@pytest.fixture(scope="module")
def model() -> Model:
    bank = Treebank.from_trees(TREES)
    crf = SpanCRF(max_iter=2, slots=4096).fit(bank).model_
    return Model(PCFG().fit(bank).model_, (ExpertPart("crf", crf),))


def test_posteriors_and_outcomes_are_those_of_the_best_trees(model, monkeypatch):
    found = OutcomesTask(combinations=("product", "sum"), weights=(("crf", 0.25),)).work(model, TREES)
    assert set(found) == {"product", "sum"}
    results = [Parser(model.with_weights({"crf": 0.25})).parse(list(tree.words)) for tree in TREES]
    outcomes = GoldBrackets(TREES).outcomes([result.tree for result in results])
    expected = [
        (sure, right)
        for result, row in zip(results, outcomes, strict=True)
        for node, sure, right in zip(result.tree.subtrees(), result.confidences, row, strict=True)
        if node.word is None and right is not None
    ]
    np.testing.assert_allclose(np.transpose(found["product"]["phrases"]), expected, atol=1e-6)
    monkeypatch.setitem(EXPERT_KINDS, "crf", EXPERT_KINDS["crf"]._replace(tried_weights=(0.0, 1.0)))
    [one, other] = WeightsTask().work(model, TREES)
    assert (
        one
        == GoldBrackets(TREES)
        .score([Parser(model.with_weights({"crf": 0.0})).parse(list(tree.words)).tree for tree in TREES])
        .f1_gold_tags
    )
    assert other != one or other > 50


def test_not_more_trees_than_suffice_are_parsed(model, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 2)
    found = OutcomesTask(combinations=("product",)).work(model, TREES)
    assert len(found["product"]["tags"][0]) == sum(word != "." for tree in TREES[::2] for word in tree.words)


@pytest.fixture
def told(monkeypatch):
    """Let the fold say what a test wants it to."""
    says = {
        WeightsTask: [80.0, 82.0, 81.9, 81.0, 70.0],
        OutcomesTask: {
            way: {
                "phrases": [[0.9] * 1000 + [0.0] * 50, [1] * 600 + [0] * 400 + [0] * 50],
                "tags": [[0.5] * 1000, [1] * 900 + [0] * 100],
            }
            for way in ("product", "sum", "coverage", "coverage-dynamic", "hierarchical")
        },
    }
    asked = {}

    def held_out(work, members, folds, place, watch):
        asked[type(work)] = work
        assert folds == [LAST]
        if isinstance(work, WeightsTask):
            return [says[WeightsTask]]
        return [{way: says[OutcomesTask][way] for way in work.combinations}]

    monkeypatch.setattr(module, "held_out", held_out)
    asked["says"] = says
    return asked


def test_the_best_weight_is_taken_the_usual_one_of_equals(model, told):
    told["says"][WeightsTask][0] = told["says"][WeightsTask][2] = 82.0
    assert calibrate(model, [], None).expert("crf").weight == 0.45
    told["says"][WeightsTask][:3] = [81.0, 82.0, 81.9]
    found = calibrate(model, [], None)
    assert found.expert("crf").weight == 0.35
    assert told[OutcomesTask].weights == (("crf", 0.35),)
    assert set(found.calibration) == {"product", "sum", "coverage", "coverage-dynamic", "hierarchical"}
    assert found.report["calibration"]["F1 by weight of the expert"]["0.35"] == 82.0
    curves = found.calibration["sum"]
    # Makeshifts have no posterior and no part in the curve.
    assert curves.phrases([0.9])[0] == pytest.approx(0.6, abs=0.01)
    assert curves.tags([0.5])[0] == pytest.approx(0.9, abs=0.01)


def test_a_single_grammar_has_one_curve_and_no_weight(model, told):
    found = calibrate(replace(model, experts=()), [], None)
    assert set(found.calibration) == {"product"}
    assert found.experts == ()
    assert WeightsTask not in told


def test_where_nothing_was_parsed_there_is_no_curve():
    assert module._curve([0.0, 0.0], [1, 0]) is None
    assert isinstance(module._curve([0.0, 0.5], [1, 0]), Curve)


def test_trees_that_no_part_has_seen_will_do_instead_of_a_fold(model):
    found = calibrate_on(model, TREES)
    rows = OutcomesTask(combinations=("product",), weights=(("crf", found.expert("crf").weight),)).work(
        model, TREES
    )["product"]
    assert found.calibration["product"].phrases == module._curve(*rows["phrases"])


def test_the_neural_expert_is_weighed_beside_what_was_found_for_the_other(model, told, monkeypatch):
    told["says"][WeightsTask] = [80.0, 81.0, 82.0, 83.0, 84.0]
    found = calibrate(replace(model, experts=(*model.experts, ExpertPart("neural", object()))), [], None)
    assert [part.weight for part in found.experts] == [0.65, 0.7]
    assert told[WeightsTask].others == (("crf", 0.65),)
