import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(gramian) -> Run:
    return partial(gramian, "wfa")


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    path = tmp_path / "train"
    rows = ["0", "2 0 1", "4 0 1 0 1", "2 0 1"] * 30
    path.write_text("\n".join([f"{len(rows)} 2", *rows]) + "\n")
    return path


@pytest.fixture
def model(run: Run, numbered: Path, tmp_path: Path) -> Path:
    path = tmp_path / "model"
    assert run("train", numbered, "-o", path, "--method", "em", "--states", "3", "--seed", "1")[0] == 0
    return path


@pytest.mark.parametrize("method", ["spectral", "em", "spectral-em", "ngram", "best"])
def test_train_and_evaluate(run: Run, numbered: Path, tmp_path: Path, method: str) -> None:
    path, test, solution = tmp_path / "model", tmp_path / "test", tmp_path / "solution"
    code, out, err = run("train", numbered, "-o", path, "--states", "3", "--method", method)
    assert (code, out) == (0, "")
    assert "120 strings" in err
    test.write_text("3 2\n0\n2 0 1\n4 0 1 0 1\n")
    solution.write_text("3\n0.25\n0.5\n0.25\n")
    code, out, _ = run("eval", path, test, "--solution", solution, "--json")
    figures = json.loads(out)
    assert code == 0
    assert figures["target"] == pytest.approx(2**1.5)
    assert figures["target"] - 1e-9 <= figures["perplexity"] < 3.2
    code, out, _ = run("eval", path, test, "--json")
    assert code == 0
    assert 0 <= json.loads(out)["word_error_rate"] <= 100


def test_automatic_states_and_equal_seeds(run: Run, numbered: Path, tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    for path, jobs in zip(files, ("1", "2"), strict=True):
        assert run("train", numbered, "-o", path, "--states", "auto", "--seed", "3", "--jobs", jobs)[0] == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_score_predict_sample(run: Run, model: Path, tmp_path: Path) -> None:
    test = tmp_path / "test"
    test.write_text("3 2\n0\n2 0 1\n1 1\n")
    _, out, _ = run("score", model, test)
    assert [float(line) for line in out.splitlines()] == pytest.approx([0.25, 0.5, 0.0], abs=0.12)
    _, logs, _ = run("score", model, test, "--log")
    assert len(logs.splitlines()) == 3
    _, out, _ = run("predict", model, test, "--top", "1")
    assert [line.split()[0] for line in out.splitlines()][:1] == ["0"]
    _, out, _ = run("predict", model, test, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert {entry["symbol"] for entry in rows[0]} == {"0", "1", "<stop>"}
    _, out, _ = run("sample", model, "-n", "7", "--seed", "2")
    assert len(out.split("\n")) == 8
    assert run("sample", model, "-n", "7", "--seed", "2")[1] == out
    _, out, _ = run("sample", model, "-n", "7", "--numbered")
    (tmp_path / "drawn").write_text(out)
    assert run("score", model, tmp_path / "drawn")[0] == 0


def test_draw(run: Run, model: Path, numbered: Path, tmp_path: Path) -> None:
    target = tmp_path / "picture"
    assert run("draw", model, "-o", target)[0] == 0
    assert target.read_text().startswith("<svg")
    assert run("draw", model, "--format", "dot", "--clusters", "2", "--strings", numbered)[1].startswith(
        "digraph"
    )
    assert run("draw", model, "--format", "openfst", "-o", target, "--force")[0] == 0
    assert (tmp_path / "picture.symbols").read_text().startswith("<eps> 0")


def test_tags_of_treebanks(run: Run, tmp_path: Path) -> None:
    trees, dependencies, plain = tmp_path / "t.mrg", tmp_path / "t.conllu", tmp_path / "t.tags"
    trees.write_text("( (S (NP (DT the) (NN cat)) (VP (VB sat) (-NONE- *))))\n" * 5)
    rows = ["1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_", "2\tcat\t_\tNOUN\tNN\t_\t0\troot\t_\t_"]
    dependencies.write_text("\n".join([*rows, ""]) + "\n")
    plain.write_text("DT NN VB\n" * 5)
    outputs = []
    for source in (trees, plain):
        assert (
            run("train", source, "-o", tmp_path / "m", "--method", "ngram", "--states", "2", "--force")[0]
            == 0
        )
        outputs.append((tmp_path / "m").read_bytes())
    assert outputs[0] == outputs[1]
    for column, tag in (("xpos", "DT"), ("upos", "DET"), ("universal", "DET")):
        options = ("--method", "ngram", "--states", "2", "--tags", column, "--force")
        run("train", dependencies, "-o", tmp_path / "m", *options)
        (tmp_path / "empty").write_text("\n")
        assert run("predict", tmp_path / "m", tmp_path / "empty", "--top", "1")[1].startswith(tag)


def test_spice_score(run: Run, model: Path, tmp_path: Path) -> None:
    prefixes, targets = tmp_path / "prefixes", tmp_path / "targets"
    prefixes.write_text("1 2\n1 0\n")
    targets.write_text("1.0 1 1.0\n")
    _, out, _ = run("eval", model, prefixes, "--targets", targets, "--json")
    assert json.loads(out)["ndcg5"] == pytest.approx(1.0)
    targets.write_text("1.0 1 1.0\n1.0 1 1.0\n")
    code, out, err = run("eval", model, prefixes, "--targets", targets, "--json")
    assert (code, json.loads(out)["ndcg5"]) == (0, pytest.approx(1.0))
    assert "left out" in err
    targets.write_text("1.0 1 1.0\n" * 3)
    assert run("eval", model, prefixes, "--targets", targets)[0] == 2


def test_faults_are_one_sentence(run: Run, model: Path, numbered: Path, tmp_path: Path) -> None:
    broken, output = tmp_path / "broken", tmp_path / "output"
    broken.write_text("2 2\n1 0\n1 7\n")
    cases = [
        (("train", broken, "-o", output), "broken:3"),
        (("train", numbered, "-o", tmp_path / "no" / "where"), "there is no folder"),
        (("score", broken, numbered), "not a model file of gramian"),
        (("eval", model, numbered, "--solution", broken), "not a number"),
        (("sample", tmp_path / "none"), "no such model"),
    ]
    for arguments, said in cases:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert "try" in err
        assert not output.exists()


def test_progress_is_told_unless_quiet(run: Run, numbered: Path, tmp_path: Path) -> None:
    arguments = ("train", numbered, "-o", tmp_path / "model", "--method", "em", "--states", "2")
    assert "EM start 2: log-likelihood" in run(*arguments)[2]
    assert run(*arguments, "--quiet", "--force") == (0, "", "")


def test_settings_of_papers(run: Run, numbered: Path, tmp_path: Path) -> None:
    def train(method: str, *settings: str) -> tuple[int, str, str]:
        given = [part for setting in settings for part in ("--set", setting)]
        output = ("-o", tmp_path / method, "--force", "--states", "2")
        return run("train", numbered, *output, "--method", method, *given)

    published = ("basis.kind=symbols", "basis.empty=false", "statistic=substring", "minimum_mass=0.001")
    assert train("spectral", *published)[0] == 0
    assert train("em", "max_iter=3", "n_restarts=1")[0] == 0
    completed = ("completion.least=2", "completion.penalty=0.001", "basis.size=6", "repair=cluster")
    assert train("spectral-em", *completed)[0] == 0
    assert train("quadratic")[0] == 0
    code, _, err = run("train", numbered, "-o", tmp_path / "bad", "--states", "many")
    assert (code, err) == (2, "gramian: n_states must be a whole number or auto, got 'many'\n")
    code, _, err = train("em", "basis.size=5")
    assert code == 2
    assert "basis.size requires method spectral or spectral-em or " in err
    assert "did you mean basis.size?" in train("spectral", "basis_size=5")[2]
    assert "--set NAME=VALUE" in run("train", "--help")[1]


def test_both_ways_to_draw_tell_what_they_redirect(
    run: Run, model: Path, numbered: Path, tmp_path: Path
) -> None:
    for way in ("own", "published"):
        told = ("--clusters", "3", "--way", way, "--strings", numbered)
        code, _, err = run("draw", model, "-o", tmp_path / f"{way}.svg", *told)
        assert code == 0
        assert "% of moves redirected" in err
