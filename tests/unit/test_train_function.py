"""``gramian.train``: the same bytes as the command, and clear words about what does not go together."""

import logging
import sys

import numpy as np
import pytest

import gramian
from gramian.cli import main
from gramian.errors import OptionError
from gramian.training import TrainingSettings
from gramian.training.training_methods import recorded_options

SUBJECTS = ("(NP (PRP it))", "(NP (DT the) (NN cat))", "(NP (DT a) (JJ big) (NN dog))", "(NP (NNS cats))")
VERBS = ("(VP (VBZ sleeps))", "(VP (VBZ sees) {})", "(VP (VBZ runs) (PP (IN to) {}))")


@pytest.fixture
def trees(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(60):
        subject, verb, target = SUBJECTS[rng.integers(4)], VERBS[rng.integers(3)], SUBJECTS[rng.integers(4)]
        lines.append(f"( (S {subject} {verb.format(target)} (. .)) )\n")
    (tmp_path / "trees.mrg").write_text("".join(lines))
    (tmp_path / "dev.mrg").write_text("".join(lines[:9]))
    monkeypatch.chdir(tmp_path)
    return lines


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), {}),
        (("--method", "em", "--states", "2", "--set", "max_iter=2", "--dev", "dev.mrg", "--set", "keep_best=true"),
         {"method": "em", "n_states": 2, "max_iter": 2, "dev": "dev.mrg", "keep_best": True}),
        (("--states", "2", "--expert", "--calibrate", "--seed", "3", "--dev", "dev.mrg"),
         {"n_states": 2, "expert": True, "calibrate": True, "random_state": 3, "dev": "dev.mrg"}),
        (("--method", "spectral-cluster", "--states", "3", "--set", "search.method=greedy", "--config", "settings.toml"),
         {"method": "spectral-cluster", "n_states": 3, "settings": {"search.method": "greedy", "search.budget": 2}, "compress": False}),
    ],
)  # fmt: skip
def test_the_same_bytes_as_the_command(trees, tmp_path, monkeypatch, arguments, options):
    (tmp_path / "settings.toml").write_text('compress = false\n[search]\nmethod = "beam"\nbudget = 2\n')
    monkeypatch.setattr(sys, "argv", ["gramian", "train", "trees.mrg", "-o", "a.model", "-q", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    parser = gramian.train("trees.mrg", **options)
    parser.save("b.model", half=options.get("compress", True))
    assert (tmp_path / "b.model").read_bytes() == (tmp_path / "a.model").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir() if "b.model" in file.name) == ["b.model"]


def test_trees_themselves_and_progress(trees, capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger("gramian"), "propagate", False)  # pytest listens at the root
    bank = [gramian.Tree.parse(line) for line in trees]
    parser = gramian.train(bank, dev=bank[:5], n_states=2, max_iter=1, verbose=True)
    assert parser.parse(["the", "cat", "sleeps", "."]).status == "parsed"
    assert parser.model.metrics["dev"] == "trees"
    assert "model 2 of 2" in capfd.readouterr().err
    gramian.train(bank, method="pcfg")
    assert capfd.readouterr().err == ""


def test_finished_members_are_kept_beside_a_checkpoint(trees, tmp_path, monkeypatch, caplog):
    from gramian.training.members import MemberTask

    run = MemberTask.run

    def fail_at_the_second(task, data):
        if task.member.seed == 1:
            raise MemoryError("no room")
        return run(task, data)

    monkeypatch.setattr(MemberTask, "run", fail_at_the_second)
    options = {"n_states": 2, "max_iter": 1, "checkpoint": "m"}
    with pytest.raises(gramian.errors.GramianError, match="no room"):
        gramian.train("trees.mrg", **options)
    assert len(list((tmp_path / "m.members").glob("*.json"))) == 1
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", "gramian")
    gramian.train("trees.mrg", **options)
    assert caplog.text.count("reused from a previous run") == 1
    assert not (tmp_path / "m.members").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method must be one of best, .*, got 'magic'"),
        ({"ensemble_size": 0}, "ensemble_size must be at least 1 and at most 240, got 0"),
        ({"folds": 1, "rerank": True}, "folds must be at least 2 and at most 100, got 1"),
        ({"cycles": 2}, "cycles requires method split-merge, not best"),
        ({"settings": {"search.budget": 3}}, "settings of the search require search.method"),
        (
            {"settings": {"noise.kind": "dropout"}, "ensemble_size": 1},
            "settings of noise require ensemble_size 2",
        ),
        ({"keep_best": True}, "keep_best requires dev"),
        (
            {"settings": {"binarisation.direction": "both"}, "method": "em"},
            "direction both requires ensemble_size 2",
        ),
        ({"calibrate": True, "method": "pcfg"}, "calibrate excludes"),
        ({"scheduler": "tcp://nowhere:1", "method": "pcfg"}, "scheduler requires ensemble_size 2 or more"),
        ({"method": "em", "start": object(), "expert": True}, "start requires one grammar"),
    ],
)
def test_what_does_not_go_together_is_told_before_anything_is_read(options, message):
    with pytest.raises(OptionError, match=message):
        gramian.train("there is no such file", **options)


def test_settings_note_what_they_were_asked_for():
    noted = recorded_options(TrainingSettings.of(ensemble_size=3, rerank=True, folds=4))
    assert (noted["models"], noted["rerank"], noted["direction"]) == (3, 4, "right left")
    assert (noted["method"], noted["n_states"]) == ("best", 32)
    assert recorded_options(TrainingSettings.of(method="pcfg"))["n_states"] is None
