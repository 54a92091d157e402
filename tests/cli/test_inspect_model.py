"""``gramian inspect MODEL``: what a model file says about itself and its states."""

import json
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import save_file

from gramian.learn import EM
from gramian.parsing.model import Model
from gramian.parsing.model_store import save_model
from gramian.treebank import Treebank
from gramian.trees import Tree

TREES = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))", "(S (NP (PRP it)) (VP (VBZ runs)) (. !))"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    learner = EM(n_states=2, allocation="all", max_iter=2)
    learner.fit(Treebank.from_trees([Tree.parse(text) for text in TREES] * 20))
    report = dict(learner.report_)
    costs = {name: report.pop(name) for name in ("seconds", "peak memory (MB)")}
    path = tmp_path_factory.mktemp("model") / "tiny.grammar"
    save_model(
        Model(
            learner.model_, options={"method": "em", "states": 2}, data={"trees": 40, "attribution": "Us, freely given"},
            metrics={"f1": 98.76, "signature": "f1|any"}, report=report,
        ),
        path,
    )  # fmt: skip
    path.with_name("tiny.grammar.log.json").write_text(json.dumps(costs))
    return path


@pytest.fixture
def inspect(gramian):
    return partial(gramian, "inspect")


def test_a_model_tells_how_it_was_learnt(inspect, model):
    code, out, err = inspect(model)
    assert code == 0
    for text in ("Us, freely given", "method em", "trees 40", "f1 98.76", "f1|any", "expectation-maximisation",
                 "peak memory (MB)", "log-likelihood from", "4 phrases (1 of them intermediate)", "5 tags"):  # fmt: skip
        assert text in out
    rows = {
        line.split()[0]: line.split()[-2:]
        for line in out.splitlines()
        if line.startswith("  ") and line[2] != " "
    }
    assert rows["NP"] == ["40", "2"]
    assert max(map(len, out.splitlines())) <= 110
    assert "--label" in err


def test_json_of_a_model_has_everything(inspect, model):
    code, out, _ = inspect(model, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["format"] == "grammar"
    assert facts["data"]["attribution"] == "Us, freely given"
    assert len(facts["report"]["log-likelihood"]) == 2
    assert facts["report"]["seconds"]["expectation-maximisation"] >= 0
    assert [symbol["count"] for symbol in facts["symbols"]] == [40] * 6 + [20] * 3
    assert facts["bytes"] == model.stat().st_size


def test_the_states_of_a_label(inspect, model):
    code, out, _ = inspect(model, "--label", "NP")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("NP: a phrase of 2 states")
    assert [line[:14].split()[0] for line in lines[1:] if line[:14].strip()] in (["0", "1"], ["1", "0"])
    assert {line[14:22].strip() for line in lines[1:]} == {"rules", "words", "places", "as in"}
    assert any("S → · VP …" in line for line in lines)


def test_json_of_a_label(inspect, model):
    _, out, _ = inspect(model, "--label", "VBZ", "--json")
    (symbol,) = json.loads(out)
    assert symbol["kind"] == "tag"
    assert np.isclose(sum(state["share"] for state in symbol["states"]), 1)
    assert {state["words"][0]["name"] for state in symbol["states"]} <= {"sleeps", "runs"}


def test_wrong_labels_and_places_for_them(inspect, model, tmp_path):
    code, _, err = inspect(model, "--label", "NPP")
    assert (code, err) == (2, "gramian: the grammar has no label 'NPP'; try: NP, PRP\n")
    trees = tmp_path / "trees.mrg"
    trees.write_text(TREES[0])
    code, _, err = inspect(trees, "--label", "NP")
    assert code == 2
    assert "--label requires a model" in err


def test_a_damaged_model(inspect, model, tmp_path):
    whole = model.read_bytes()
    damaged = tmp_path / "damaged.grammar"
    damaged.write_bytes(whole[: len(whole) // 2])
    code, out, err = inspect(damaged)
    assert (code, out) == (2, "")
    assert "cut short" in err
    damaged.write_bytes(whole[:-4] + b"\x01\x02\x03\x04")
    assert "damaged" in inspect(damaged)[2]


def test_models_of_other_kinds(inspect, tmp_path):
    path = tmp_path / "sequences"
    header = {"kind": "wfa", "version": 1, "states": 3, "about": {"method": "spectral"}}
    save_file({"initial": np.ones(3)}, path, {"gramian-automata": json.dumps(header)})
    code, out, _ = inspect(path)
    assert code == 0
    assert "a wfa model" in out
    assert "method spectral" in out
    assert json.loads(inspect(path, "--json")[1])["states"] == 3
    assert inspect(path, "--label", "NP")[0] == 2
