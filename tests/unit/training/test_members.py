"""Models that differ: how they are planned, trained as tasks, and read back."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from gramian.errors import OptionError
from gramian.training import Member, TrainingData, TrainingSettings, plan_members
from gramian.training.members import MemberTask, member_tasks, whole_model
from gramian.trees import Tree

TREES = [
    Tree.parse(text)
    for text in [
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ big) (NN dog))) (. .))",
        "(S (NP (PRP it)) (VP (VBZ sleeps)) (. .))",
        "(S (NP (NNS cats)) (VP (VBP see) (NP (PRP it)) (PP (IN in) (NP (DT the) (NN house)))) (. .))",
    ]
] * 30
SETTINGS = TrainingSettings.of(n_states=3, max_iter=1, allocation="all")


@pytest.fixture(scope="module")
def data():
    return TrainingData.read(TREES, SETTINGS)


def grammar(task: MemberTask, data: TrainingData):
    return whole_model([task], [task.run(data)]).grammar


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


def test_a_result_is_the_same_in_other_processes_and_from_its_file(data, tmp_path):
    task = replace(member_tasks(SETTINGS, data)[0], member=Member(3, "left", "dropout", 0.1))
    one, two = task.run(data), pickle.loads(pickle.dumps(task.run(pickle.loads(pickle.dumps(data)))))
    paths = [tmp_path / name for name in ("one", "two", "three")]
    assert json.loads(json.dumps(task.write_result(one, paths[0]))) == one.costs
    task.write_result(two, paths[1])
    task.write_result(task.read_result(one.costs, paths[0]), paths[2])
    assert len({path.read_bytes() for path in paths}) == 1
    compact = whole_model([task], [one]).grammar
    assert compact.is_probabilistic
    assert compact.factors is not None
    whole = grammar(replace(task, compact=False), data)
    assert whole.factors is None
    other = grammar(replace(task, compact=False, member=Member(3, "left", "additive", 0.2)), data)
    assert whole.lexicon.classes == other.lexicon.classes
    right = grammar(replace(task, compact=False, member=Member(3, "right")), data)
    assert right.lexicon.tags == whole.lexicon.tags
    assert not np.array_equal(right.binary_rules, whole.binary_rules)


def test_other_data_is_another_task(data):
    more = TrainingData.read([*TREES, Tree.parse("(S (NN cats) (. !))")], SETTINGS)
    assert more.key != data.key
    assert TrainingData.read(TREES, SETTINGS).key == data.key


def test_what_a_member_does_not_depend_on_is_no_part_of_its_task(data):
    tasks = member_tasks(SETTINGS, data)
    more = member_tasks(replace(SETTINGS, ensemble_size=4, expert=True, calibrate=True, rerank=True), data)
    assert more[0].method == "expert"
    assert more[1:3] == tasks
