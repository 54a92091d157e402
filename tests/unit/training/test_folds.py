"""Jack-knifing: every tree is held out once, by a model that has not seen it, and finished work is not done again."""

from __future__ import annotations

import pytest

from gramian import Parser
from gramian.errors import OptionError
from gramian.training import Member
from gramian.training.folds import HeldOut, fold_trees, held_out, held_out_models
from gramian.training.members import data_key, train_member, whole_model

SENTENCES = [
    f"(S (NP (DT the) (NN thing{number})) (VP (VBZ sees) (NP (DT a) (JJ {'big' if number % 2 else 'small'}) (NN dog))) (. .))"
    for number in range(12)
]


def task(path, member: Member, **other) -> dict:
    return {
        "trees": str(path), "tagged": None, "data": [data_key(str(path))], "preset": "penn", "horizontal": 0, "vertical": 1,
        "skip_broken": False, "heads": "auto", "member": vars(member), "learner": "SpectralEM",
        "parameters": {"n_states": 2, "max_iter": 1, "allocation": "all"}, "compact": False,
    } | other  # fmt: skip


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text("\n".join(SENTENCES))
    return [task(path, Member(0, "right")), task(path, Member(1, "left"))]


def parsed(fold: HeldOut, *, least: int) -> dict:
    """Work on a fold: what it is told, and what its model says."""
    parser = Parser(fold.model)
    return {
        "fold": fold.number,
        "least": least,
        "trees": [str(tree) for tree in fold.trees],
        "parses": [str(parser.parse(list(tree.words)).tree) for tree in fold.trees],
    }


def test_every_tree_is_held_out_once_and_its_words_are_not_known(tasks):
    folds = list(held_out_models(tasks, 3))
    assert [str(tree) for fold in folds for tree in fold.trees] == SENTENCES
    for fold in folds:
        assert len(fold.model.grammars) == 2
        known = set(fold.model.grammar.lexicon.words)
        own = {tree.words[1] for tree in fold.trees}
        assert not own & known
        assert known >= {f"thing{number}" for number in range(12)} - own


def test_a_fold_leaves_out_what_occurs_in_it_alone(tasks, tmp_path):
    (tmp_path / "trees.mrg").write_text("\n".join([*SENTENCES, "(FRAG (UH well) (UH well))"]))
    others = [one | {"data": [data_key(one["trees"])]} for one in tasks]
    (last,) = held_out_models(others, 4, numbers=[3])
    assert str(last.trees[-1]) == "(FRAG (UH well) (UH well))"
    assert "UH" not in last.model.grammar.symbols
    (first,) = held_out_models(others, 4, numbers=[0])
    assert "UH" in first.model.grammar.symbols


def test_an_expert_belongs_to_the_model(tasks):
    expert = tasks[0] | {"learner": "SpanCRF", "parameters": {"max_iter": 1}}
    (fold,) = held_out_models([expert, *tasks], 4, numbers=[1])
    assert fold.model.expert is not None
    assert len(fold.model.grammars) == 2
    results = [train_member(one) for one in (expert, *tasks)]
    assert whole_model([expert, *tasks], results).kinds == ("seeds right", "seeds left")


def test_work_on_folds_is_kept(tasks, tmp_path):
    folder = tmp_path / "work"
    found = held_out(parsed, {"least": 2}, tasks, 3, numbers=[2, 0], folder=folder)
    assert [one["fold"] for one in found] == [2, 0]
    assert all(one["least"] == 2 and len(one["trees"]) == 4 for one in found)
    assert found[0]["trees"] == SENTENCES[8:]
    assert found[0]["parses"] == SENTENCES[8:]  # the words are new, the grammar is not
    seen = []
    assert held_out(parsed, {"least": 2}, tasks, 3, folder=folder, watch=seen.append)[0] == found[1]
    # Two members and the work for each of three folds, of which one fold is new.
    assert [outcome.kept for outcome in seen].count(False) == 3
    assert max(file.stat().st_size for file in folder.iterdir()) < 100_000


def test_there_are_not_more_folds_than_trees(tasks):
    with pytest.raises(OptionError, match="fewer folds"):
        fold_trees(tasks[0] | {"fold": [0, 13]})
