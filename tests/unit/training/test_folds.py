"""Jack-knifing: every tree is held out once, by a model that has not seen it, and finished work is not done again."""

from dataclasses import dataclass, replace

import pytest

from gramian import Parser
from gramian.errors import OptionError
from gramian.training import TrainingData, TrainingSettings
from gramian.training.folds import FoldTask, held_out
from gramian.training.members import TaskRunner, member_tasks
from gramian.training.training_data import Fold
from gramian.trees import Tree

SENTENCES = [
    f"(S (NP (DT the) (NN thing{number})) (VP (VBZ sees) (NP (DT a) (JJ {'big' if number % 2 else 'small'}) (NN dog))) (. .))"
    for number in range(12)
]
SETTINGS = TrainingSettings.of(n_states=2, max_iter=1, allocation="all", compress=False)


@dataclass(frozen=True, kw_only=True)
class Look(FoldTask):
    """Work on a fold: what it is told, and what its model says."""

    least: int = 0

    def work(self, model, trees):
        parser = Parser(model)
        return {
            "fold": self.fold.number,
            "least": self.least,
            "trees": [str(tree) for tree in trees],
            "parses": [str(parser.parse(list(tree.words)).tree) for tree in trees],
            "grammars": len(model.grammars),
            "words": list(model.grammar.lexicon.words),
            "symbols": list(model.grammar.symbols),
            "kinds": list(model.kinds),
            "expert": model.expert("crf") is not None,
        }


def data_of(*more: str) -> TrainingData:
    return TrainingData.read([Tree.parse(text) for text in [*SENTENCES, *more]], SETTINGS)


def looked(data: TrainingData, folds: list[Fold], settings: TrainingSettings = SETTINGS) -> list[dict]:
    return held_out(Look(), member_tasks(settings, data), folds, TaskRunner(data))


def test_every_tree_is_held_out_once_and_its_words_are_not_known():
    found = looked(data_of(), [Fold(number, 3) for number in range(3)])
    assert [tree for fold in found for tree in fold["trees"]] == SENTENCES
    for fold in found:
        assert fold["grammars"] == 2
        own = {Tree.parse(tree).words[1] for tree in fold["trees"]}
        assert not own & set(fold["words"])
        assert set(fold["words"]) >= {f"thing{number}" for number in range(12)} - own


def test_a_fold_leaves_out_what_occurs_in_it_alone():
    data = data_of("(FRAG (UH well) (UH well))")
    last, first = looked(data, [Fold(3, 4), Fold(0, 4)])
    assert last["trees"][-1] == "(FRAG (UH well) (UH well))"
    assert "UH" not in last["symbols"]
    assert "UH" in first["symbols"]


def test_an_expert_belongs_to_the_model():
    (fold,) = looked(data_of(), [Fold(1, 4)], replace(SETTINGS, expert=True))
    assert fold["expert"]
    assert fold["kinds"] == ["seeds right", "seeds left"]


def test_work_on_folds_is_kept(tmp_path):
    data = data_of()
    runner, members = TaskRunner(data, folder=tmp_path / "work"), member_tasks(SETTINGS, data)
    folds = [Fold(number, 3) for number in range(3)]
    found = held_out(Look(least=2), members, [folds[2], folds[0]], runner)
    assert [one["fold"] for one in found] == [2, 0]
    assert all(one["least"] == 2 and len(one["trees"]) == 4 for one in found)
    assert found[0]["trees"] == SENTENCES[8:]
    assert found[0]["parses"] == SENTENCES[8:]  # the words are new, the grammar is not
    seen = []
    assert held_out(Look(least=2), members, folds, runner, seen.append)[0] == found[1]
    # Two members and the work for each of three folds, of which one fold is new.
    assert [outcome.kept for outcome in seen].count(False) == 3
    # What the members' training returned is not kept twice.
    assert max(file.stat().st_size for file in runner.folder.iterdir()) < 100_000
    seen.clear()
    held_out(Look(least=3), members, folds[:1], runner, seen.append)
    assert [outcome.kept for outcome in seen] == [True, True, False]
    other = data_of("(S (NN cats) (. !))")
    assert member_tasks(SETTINGS, other)[0] != members[0]


def test_there_are_not_more_folds_than_trees():
    with pytest.raises(OptionError, match="fewer folds"):
        data_of().trees(Fold(0, 13))
