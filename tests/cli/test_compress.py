"""``gramian compress``: a smaller model, and what it says about its size, error and speed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gramian.grammar.compress.lowrank import compared
from gramian.learn import EM
from gramian.parsing.model import Model
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import load
from gramian.treebank import Treebank
from gramian.trees import Tree

TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN on) (NP (NNS mats)))) (VP (VBZ sleeps)))",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    learner = EM(n_states=8, allocation="all", max_iter=2)
    learner.fit(Treebank.from_trees([Tree.parse(text) for text in TREES] * 20))
    path = tmp_path_factory.mktemp("model") / "large.grammar"
    save_model(Model(learner.model_, options={"method": "em"}, metrics={"f1": 98.76}), path)
    return path


def test_a_smaller_model_that_parses_the_same(gramian, model, tmp_path):
    small = tmp_path / "small.grammar"
    code, out, err = gramian("compress", model, "-o", small, "--rank", "4")
    assert (code, err) == (0, "")
    assert out.startswith(f"{small}: ")
    assert [line.split()[0] for line in out.splitlines()[1:]] == [
        "rank",
        "size",
        "error",
        "guarantee",
        "speed",
    ]
    assert small.stat().st_size < model.stat().st_size
    assert load_model(small).metrics == {}  # scores were those of the other model
    words = Tree.parse(TREES[0]).words
    assert load(small).parse(words).tree == load(model).parse(words).tree == Tree.parse(TREES[0])


def test_what_it_says_is_what_the_file_holds(gramian, model, tmp_path):
    small = tmp_path / "small.grammar"
    code, out, _ = gramian("compress", model, "-o", small, "--rank", "2", "--json", "--epsilon", "1e-4")
    about = json.loads(out)
    measured = compared(load_model(model).grammar, load_model(small).grammar)
    assert code == 0
    np.testing.assert_allclose(about["gamma"], measured.gamma, rtol=1e-6)
    np.testing.assert_allclose(about["loss"], measured.loss, rtol=1e-3, atol=1e-6)
    assert about["rule parameters"] == dict(zip(("before", "after"), measured.parameters, strict=True))
    assert about["bytes"] == {"before": model.stat().st_size, "after": small.stat().st_size}
    assert about["guarantee"]["epsilon"] == 1e-4
    code, out, _ = gramian("inspect", small, "--json")
    facts = json.loads(out)["low rank"]
    assert facts["gamma"] == about["gamma"]
    assert facts["rules by rank"] == about["rules by rank"]
    assert [sure["epsilon"] for sure in facts["guarantees"]] == [0.1, 1e-3, 1e-6]
    code, out, _ = gramian("inspect", small)
    assert "low rank " in out
    assert "guarantee  nothing within 0.1" in out
    assert "low rank" not in gramian("inspect", model)[1]


def test_tiny_errors_are_guaranteed_to_stay_small(gramian, model, tmp_path):
    small = tmp_path / "small.grammar"
    gramian("compress", model, "-o", small, "--rank", "2", "--full")
    one = load_model(small)
    save_model(replace(one, report={"low rank": {"gamma": 1e-12}}), small)  # as if they were much smaller
    # 27.63 - log(8 / 0.1) = 23.25 against log(2 (sqrt 8 + 1)) + log(sqrt 8) = 3.08 a level
    shown = " ".join(gramian("inspect", small)[1].split())
    assert "within 0.1: trees up to depth 7, sentences up to" in shown


def test_the_gate_and_exact_numbers(gramian, model, tmp_path):
    shares = []
    for gate in ("1e-9", "1e9"):
        small = tmp_path / f"{gate}.grammar"
        code, out, _ = gramian("compress", model, "-o", small, "--rank", "2", "--gate", gate, "--signed",
                               "--measure", "absolute", "--full", "--json")  # fmt: skip
        about = json.loads(out)
        assert (code, about["gamma"] <= float(gate)) == (0, True)
        shares.append(about["rules by rank"].get("whole", 0))
    assert shares[0] > shares[1] == 0
    assert about["factors"] == "signed"
    assert "signed factors" in " ".join(gramian("inspect", small)[1].split())


def test_one_decomposition_for_all_rules(gramian, model, tmp_path):
    small = tmp_path / "shared.grammar"
    code, out, _ = gramian("compress", model, "-o", small, "--shared", "--rank", "12")
    assert (code, "12: " in out) == (0, True)
    assert load(small).parse(Tree.parse(TREES[1]).words).status == "parsed"


def test_errors_of_several_rounds_add_up(gramian, model, tmp_path):
    first, second = tmp_path / "first.grammar", tmp_path / "second.grammar"
    gramian("compress", model, "-o", first, "--rank", "4", "--full")
    code, out, err = gramian("compress", first, "-o", second, "--rank", "2", "--full", "--json")
    assert (code, "already" in err) == (0, True)
    assert json.loads(out)["gamma"] >= compared(load_model(model).grammar, load_model(second).grammar).gamma


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rank", "0"], "from 1 to 4096"),
        (["--rank", "many"], "or auto"),
        (["--shared"], "such as 256"),
        (["--shared", "--rank", "8", "--gate", "1"], "neither --gate"),
        (["--epsilon", "0"], "--epsilon must be more than 0"),
    ],
)
def test_options_that_make_no_sense(gramian, model, tmp_path, options, message):
    code, out, err = gramian("compress", model, "-o", tmp_path / "small.grammar", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_several_grammars_and_no_model(gramian, model, tmp_path):
    one = load_model(model)
    save_model(Model((one.grammar, one.grammar)), tmp_path / "two.grammar")
    assert (
        gramian("compress", tmp_path / "two.grammar", "-o", tmp_path / "small.grammar", "--rank", 2)[0] == 0
    )
    small = load_model(tmp_path / "small.grammar")
    assert all(grammar.factors is not None for grammar in small.grammars)
    assert len(small.grammars) == 2
    code, _, err = gramian("compress", tmp_path / "none", "-o", tmp_path / "smaller.grammar")
    assert (code, "no such model file" in err) == (2, True)


def test_a_gate_is_kept_or_told(gramian, model, tmp_path):
    """In 32 bits no rule is beyond the gate; rounding to 16 bits takes rules beyond it, and the command says by how much."""
    gated = ("--gate", "1e-5", "--measure", "absolute")
    code, out, _ = gramian("compress", model, "-o", tmp_path / "full", *gated, "--full", "--json")
    about = json.loads(out)
    assert code == 0
    assert about["gamma"] <= 1e-5
    assert about["gate"]["rules beyond"] == 0
    assert about["gate"]["largest error"] == about["gamma"]
    code, out, _ = gramian("compress", model, "-o", tmp_path / "half", *gated, "--json")
    about = json.loads(out)
    measured = compared(load_model(model).grammar, load_model(tmp_path / "half").grammar)
    assert about["gate"]["rules beyond"] == (measured.frobenius > 1e-5).sum() > 0
    np.testing.assert_allclose(about["gate"]["largest error"], measured.gamma, rtol=1e-6)
    out = gramian("compress", model, "-o", tmp_path / "again", *gated)[1]
    assert f"{about['gate']['rules beyond']} rules are beyond 1e-05 after rounding to 16 bits" in out
    assert "all rules are within" in gramian("compress", model, "-o", tmp_path / "wide", "--gate", "10")[1]


@pytest.mark.parametrize(
    "options", [(), ("--rank", "3"), ("--gate", "1e-9"), ("--rank", "64", "--gate", "0.001")]
)
def test_what_is_of_low_rank_never_grows(gramian, model, tmp_path, options):
    small = tmp_path / "small"
    gramian("compress", model, "-o", small, "--rank", "2")
    code, out, _ = gramian("compress", small, "-o", tmp_path / "again", "--json", *options)
    assert code == 0
    numbers = json.loads(out)["rule parameters"]
    assert numbers["after"] <= numbers["before"] < load_model(model).grammar.binary.size
    assert (tmp_path / "again").stat().st_size <= 1.02 * small.stat().st_size


def test_one_decomposition_for_all_rules_never_grows(gramian, model, tmp_path):
    gramian("compress", model, "-o", tmp_path / "shared", "--shared", "--rank", "6")
    numbers = json.loads(gramian("compress", tmp_path / "shared", "-o", tmp_path / "again", "--json")[1])[
        "rule parameters"
    ]
    assert numbers["after"] <= numbers["before"]
