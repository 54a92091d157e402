"""``gramian train --rerank``: folds are trained, finished ones kept, and the model says that it has a reranker."""

import pytest

from gramian.parsing.model_store import load_model
from gramian.parsing.parser import Parser
from gramian.training.folds import CandidatesTask

NOUNS = ("man", "woman", "child", "king", "queen")


def sentence(subject: str, thing: str, tool: str) -> str:
    with_tool = f"(PP (IN with) (NP (DT a) (NN {tool})))"
    seen = f"(NP (DT the) (NN {thing}))"
    seen = f"{seen} {with_tool}" if tool == "telescope" else f"(NP {seen} {with_tool})"
    return f"(S (NP (DT the) (NN {subject})) (VP (VBZ sees) {seen}) (. .))"


@pytest.fixture
def run(gramian, monkeypatch, tmp_path):
    pairs = [(one, two) for one in NOUNS for two in NOUNS] * 8
    trees = [
        sentence(one, two, "hat" if place % 3 else "telescope") for place, (one, two) in enumerate(pairs)
    ]
    (tmp_path / "trees.mrg").write_text("\n".join(trees))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        return gramian(*arguments)

    return call


TRAIN = ("train", "trees.mrg", "-o", "with.model", "--method", "pcfg", "--rerank", "--set", "folds=3")


def test_a_model_with_a_reranker(run, tmp_path):
    code, _, err = run(*TRAIN, "--dev", "trees.mrg")
    assert code == 0
    assert "fold 3 of 3, parses" in err
    assert "all together" in err
    model = load_model("with.model")
    assert model.options["rerank"] == 3
    assert model.report["reranker"]["folds"] == 3
    (tmp_path / "words").write_text(
        "the king sees the queen with a telescope .\nthe king sees the queen with a hat .\n"
    )
    wanted = [sentence("king", "queen", tool) for tool in ("telescope", "hat")]
    assert run("parse", "words", "-m", "with.model", "--tokens")[1].split("\n")[:2] == wanted
    assert (
        run("parse", "words", "-m", "with.model", "--tokens", "--set", "rerank=false")[1].split("\n")[:2]
        != wanted
    )
    assert "a reranker" in run("inspect", "with.model")[1]
    assert not (tmp_path / "with.model.members").exists()


def test_interrupted_work_goes_on(run, monkeypatch, tmp_path):
    work = CandidatesTask.work
    calls = []

    def work_and_stop(task, *held_out):
        calls.append(task.fold.number)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return work(task, *held_out)

    monkeypatch.setattr(CandidatesTask, "work", work_and_stop)
    assert run(*TRAIN)[0] == 130
    assert not (tmp_path / "with.model").exists()
    code, _, err = run(*TRAIN)
    assert code == 0
    assert calls == [0, 1, 1, 2]
    assert "fold 1 of 3, parses: reused from a previous run" in err
    first = (tmp_path / "with.model").read_bytes()
    assert run(*TRAIN, "--quiet")[2] == ""
    assert (tmp_path / "with.model").read_bytes() == first
    assert Parser(load_model("with.model")).parse("the man sees the king with a hat .").status == "parsed"


def test_folds_need_trees(run, tmp_path):
    (tmp_path / "trees.mrg").write_text(sentence("man", "king", "hat"))
    code, _, err = run(*TRAIN)
    assert code == 2
    assert "fewer folds" in err
