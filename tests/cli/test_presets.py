"""One preset everywhere: what train finds, convert, eval, inspect and Python find too, and scores agree to the digit."""

import io
import json
import sys

import pytest

import gramian
from gramian.cli import main
from gramian.trees import Tree, annotation_scheme

# Labels in the manner of CESS, a phrase over the same phrase, an empty subject, and a tree without words.
TREES = [
    f"(S.co (sn-SUJ (espec.ms (da0ms0 el)) (grup.nom.ms (ncms000 {noun}))) (grup.verb (vmip3s0 {verb})) (Fp .))"
    for noun in ("perro", "gato", "lobo")
    for verb in ("corre", "duerme")
] * 8 + [
    "(S (sn-SUJ (-NONE- *0*)) (S (grup.verb (vmip3s0 corre)) (sn-CD (sn (espec.ms (da0ms0 el)) (grup.nom.ms (ncms000 gato)))) (Fp .)))"
] * 8
EMPTY = "(S (sn-SUJ (-NONE- *0*)))"


@pytest.fixture
def gramian_command(capsys, monkeypatch):
    def call(*arguments: str, text: str = "") -> tuple[str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        monkeypatch.setattr(sys, "argv", ["gramian", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        assert not stop.value.code, err
        return out, err

    return call


@pytest.fixture
def bank(tmp_path):
    path = tmp_path / "cess.mrg"
    path.write_text("\n".join(TREES), encoding="utf-8")
    return str(path)


def test_every_command_finds_the_same_preset(bank, gramian_command):
    assert "by its labels" in gramian_command("inspect", bank)[0]
    assert json.loads(gramian_command("inspect", bank, "--json")[0])["preset"] == "cess"
    out, err = gramian_command("convert", bank, "--to", "normalised")
    assert out.splitlines()[0] == (
        "(S (sn (espec (da0ms0 el)) (grup.nom (ncms000 perro))) (grup.verb (vmip3s0 corre)) (Fp .))"
    )
    assert "preset cess" in err
    assert out == gramian_command("convert", bank, "--to", "normalised", "--preset", "cess")[0]
    assert [str(tree) for tree in gramian.Treebank.read(bank).trees()] == out.splitlines()
    trees = map(Tree.parse, TREES)
    assert gramian.Treebank.from_trees(trees).symbols == gramian.Treebank.read(bank).symbols
    penn = gramian.Treebank.read(bank, options=annotation_scheme("penn").options)
    assert penn.symbols != gramian.Treebank.read(bank).symbols


@pytest.mark.parametrize("learner", [["--method", "pcfg"], ["--states", "2", "--set", "max_iter=1"]])
def test_training_and_eval_give_the_same_figures(bank, tmp_path, gramian_command, learner):
    dev, model, parsed = (str(tmp_path / name) for name in ("dev.mrg", "my.grammar", "parsed.mrg"))
    other = (
        "(S (sn-SUJ.x (espec (da0ms0 el)) (grup.nom.ms (ncms000 perro)) (grup.verb (vmip3s0 corre))) (Fp .))"
    )
    (tmp_path / "dev.mrg").write_text("\n".join([*TREES[::5], EMPTY, other]), encoding="utf-8")
    gramian_command("train", bank, "--dev", dev, "-o", model, "-q", *learner)
    stored = json.loads(gramian_command("inspect", model, "--json")[0])["metrics"]
    tokens = gramian_command("convert", dev, "--to", "tokens", "-q")[0]
    (tmp_path / "parsed.mrg").write_text(
        gramian_command("parse", "-m", model, "--tokens", "-q", text=tokens)[0], encoding="utf-8"
    )
    for options in (["-m", model], [], ["--preset", "cess"], ["--preset", "auto"]):
        report = json.loads(gramian_command("eval", dev, parsed, "--json", *options)[0])
        assert report["preset"] == "cess"
        assert {name: round(value, 3) for name, value in report["all"].items()} == {
            name: stored[name] for name in report["all"]
        }
    assert 0 < stored["f1"] < 100
    found = gramian.load(model).evaluate(dev).as_dict()
    assert {name: round(value, 3) for name, value in found.items()} == {name: stored[name] for name in found}


def test_penn_trees_are_scored_as_they_stand(tmp_path, gramian_command):
    gold = tmp_path / "gold.mrg"
    gold.write_text("(S (NP (NP (PRP we))) (VP (VBP run)))", encoding="utf-8")
    pred = tmp_path / "pred.mrg"
    pred.write_text("(S (NP (PRP we)) (VP (VBP run)))", encoding="utf-8")
    plain = json.loads(gramian_command("eval", str(gold), str(pred), "--json")[0])
    assert (plain["preset"], plain["all"]["recall"]) == (None, 75)
    normal = json.loads(gramian_command("eval", str(gold), str(pred), "--json", "--preset", "penn")[0])
    assert (normal["preset"], normal["all"]["recall"]) == ("penn", 100)
