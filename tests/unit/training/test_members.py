"""Models that differ: how they are planned, trained as tasks, and read back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gramian.errors import InputError, OptionError
from gramian.training import Member, plan_members, train_member
from gramian.training.members import data_key, model_of

TREES = "\n".join(
    [
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ big) (NN dog))) (. .))",
        "(S (NP (PRP it)) (VP (VBZ sleeps)) (. .))",
        "(S (NP (NNS cats)) (VP (VBP see) (NP (PRP it)) (PP (IN in) (NP (DT the) (NN house)))) (. .))",
    ]
    * 30
)


def task(path, member: Member, **other) -> dict:
    return {
        "trees": str(path), "tagged": None, "data": [data_key(str(path))], "preset": "penn", "horizontal": 0, "vertical": 1,
        "skip_broken": False, "heads": "auto", "member": vars(member), "learner": "SpectralEM",
        "parameters": {"n_states": 3, "max_iter": 1, "allocation": "all"}, "compact": True,
    } | other  # fmt: skip


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TREES)
    return path


def test_plans_go_through_noises_levels_and_directions():
    assert {member.noise for member in plan_members(8)} == {None}
    assert [member.seed for member in plan_members(3, seed=5)] == [5, 6, 7]
    mixed = plan_members(16, "mixed")
    assert [member.direction for member in mixed[:3]] == ["right", "left", "right"]
    assert {member.kind for member in mixed} == {
        f"{noise} {direction}"
        for noise in ("seeds", "dropout", "additive", "multiplicative")
        for direction in ("right", "left")
    }
    levels = [member.noise_level for member in plan_members(4, "dropout", ("right",))]
    assert levels == [0.05, 0.1, 0.15, 0.2]
    with pytest.raises(OptionError, match="dropout"):
        plan_members(2, "loud")


def test_a_task_is_json_and_says_all_that_matters(trees):
    member = Member(3, "left", "dropout", 0.1)
    one, two = (train_member(task(trees, member)) for _ in range(2))
    assert json.loads(json.dumps(one))["model"] == two["model"]
    model = model_of(one)
    assert model.grammar.is_probabilistic
    assert model.grammar.factors is not None
    whole = model_of(train_member(task(trees, member, compact=False))).grammar
    assert whole.factors is None
    other = model_of(train_member(task(trees, Member(3, "left", "additive", 0.2), compact=False))).grammar
    assert whole.lexicon.classes == other.lexicon.classes
    right = model_of(train_member(task(trees, Member(3, "right"), compact=False))).grammar
    assert right.lexicon.tags == whole.lexicon.tags
    assert not np.array_equal(right.binary_rules, whole.binary_rules)


def test_other_data_is_another_task(trees):
    before = data_key(str(trees))
    trees.write_text(TREES + "\n(S (NN cats) (. !))")
    assert data_key(str(trees)) != before
    with pytest.raises(InputError, match="cannot be read"):
        data_key(str(trees.parent / "nothing"))
