"""``gramian train``: every method on a small treebank, and every kind of bad input."""

import io
import json
import re
import shlex
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gramian.errors import OptionError
from gramian.experts import ExpertPart
from gramian.parsing.model_store import load_model, save_model
from gramian.parsing.parser import Parser
from gramian.training.members import MemberTask
from gramian.trees import Tree

SUBJECTS = ("(NP (PRP it))", "(NP (DT the) (NN cat))", "(NP (DT a) (JJ big) (NN dog))", "(NP (NNS cats))")
VERBS = (
    "(VP (VBZ sleeps))",
    "(VP (VBZ sees) {})",
    "(VP (VBZ runs) (PP (IN to) {}))",
    "(VP (MD can) (VP (VB see) {}))",
)


def treebank(n: int = 80) -> str:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(n):
        subject, verb, target = SUBJECTS[rng.integers(4)], VERBS[rng.integers(4)], SUBJECTS[rng.integers(4)]
        lines.append(f"( (S {subject} {verb.format(target)} (. .)) )\n")
    return "".join(lines)


METHODS = {
    "pcfg": (),
    "spectral-cluster": ("--states", "3"),
    "spectral-moments": ("--states", "3"),
    "em": ("--states", "3", "--set", "max_iter=2"),
    "spectral-em": ("--states", "3", "--set", "max_iter=2"),
    "split-merge": ("--set", "cycles=1"),
    "best": ("--states", "3", "--set", "max_iter=1"),
}


@pytest.fixture
def train(gramian, monkeypatch, tmp_path):
    (tmp_path / "trees.mrg").write_text(treebank())
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        """Run the command; an argument may be several words, as a shell splits them."""
        return gramian("train", *[word for argument in arguments for word in shlex.split(argument)])

    return call


@pytest.mark.parametrize("method", METHODS)
def test_every_method_writes_a_model_that_loads(train, tmp_path, method):
    options = (
        (*METHODS[method], "--set", "allocation=all")
        if method not in ("pcfg", "split-merge")
        else METHODS[method]
    )
    code, out, err = train("trees.mrg -o model --method", method, *options)
    assert (code, out) == (0, ""), err
    assert "read 80 trees" in err
    assert "wrote model" in err
    model = load_model(tmp_path / "model")
    assert model.options["method"] == method
    assert model.data["trees"] == 80
    assert model.grammar.is_probabilistic == (method != "spectral-moments")
    assert model.grammar.n_states.max() == {"pcfg": 1, "split-merge": 2}.get(method, 3)
    assert model.labels["tags"] == [".", "DT", "IN", "JJ", "MD", "NN", "NNS", "PRP", "VB", "VBZ"]
    assert model.report["symbols"]["NP"]["count"] > 80
    assert ("log-likelihood" in model.report) == (
        method not in ("pcfg", "spectral-cluster", "spectral-moments")
    )
    assert set(json.loads((tmp_path / "model.log.json").read_text())) == {"seconds", "peak memory (MB)"}
    assert not (tmp_path / "model.partial").exists()


def test_the_model_parses(train, tmp_path):
    from gramian.parsing.parser import Parser

    assert train("trees.mrg -o model --method spectral-em --set max_iter=1 -q")[0] == 0
    result = Parser(load_model(tmp_path / "model")).parse(["the", "big", "cat", "sees", "it", "."])
    assert result.tree == Tree.parse(
        "(S (NP (DT the) (JJ big) (NN cat)) (VP (VBZ sees) (NP (PRP it))) (. .))"
    )


def test_dry_run_learns_nothing(train, tmp_path):
    code, out, _ = train("trees.mrg -o model --dry-run --states 4 --seed 9")
    assert code == 0
    plan = json.loads(out)
    assert plan["options"]["n_states"] == 4
    assert plan["options"]["random_state"] == 9
    assert plan["options"]["method"] == "best"
    assert set(plan["estimate"]) == {"cells", "seconds", "megabytes"}
    assert min(plan["estimate"].values()) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["trees.mrg"]


def test_a_dry_run_counts_scoring(train):
    estimates = []
    for dev in ((), ("--dev", "trees.mrg")):
        code, out, _ = train("trees.mrg -o model --states 2 --dry-run -q", *dev)
        assert code == 0
        estimates.append(json.loads(out)["estimate"])
    alone, scored = estimates
    scoring = scored["seconds of these for scoring"]
    assert scoring > 0
    assert scored["seconds"] == pytest.approx(alone["seconds"] + scoring, abs=0.11)
    assert "seconds of these for scoring" not in alone


def test_a_model_is_replaced_by_another_only_by_force(train, tmp_path):
    options = ("trees.mrg", "-o", "model", "--method", "pcfg")
    assert train(*options, "--dev trees.mrg")[0] == 0
    first = (tmp_path / "model").read_bytes()
    for others in (
        (),
        ("--set", "attribution=me", "--dev", "trees.mrg"),
        ("--set", "binarisation.horizontal=1", "--dev", "trees.mrg"),
    ):
        code, _, err = train(*options, *others)
        assert (code, err.splitlines()[-1]) == (
            2,
            "gramian: model: this file exists and would be replaced; try: choose another name, or pass --force",
        )
        assert (tmp_path / "model").read_bytes() == first
    # The same again: nothing is lost.
    assert train(*options, "--dev trees.mrg")[0] == 0
    assert (tmp_path / "model").read_bytes() == first
    assert train(*options, "--set attribution=me --force")[0] == 0
    assert load_model(tmp_path / "model").data["attribution"] == "me"


def test_same_seed_same_file(train, tmp_path):
    arguments = "trees.mrg --method spectral-em --states 3 --set allocation=all --set max_iter=1 -q"

    def contents(name: str, *options: str) -> bytes:
        code, _, err = train(arguments, "-o", name, *options)
        assert (code, err) == (0, "")
        return (tmp_path / name).read_bytes()

    one = contents("one")
    assert contents("again") == one
    assert contents("threads", "--jobs", "2") == one
    assert contents("other", "--seed", "1") != one


def test_from_stdin_and_options_of_shape(train, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(treebank(20).encode())))
    code, _, _ = train(
        "- -o model --method pcfg --set binarisation.direction=head",
        "--set binarisation.horizontal=1 --set binarisation.vertical=2",
    )
    assert code == 0
    symbols = load_model(tmp_path / "model").grammar.symbols
    assert "NP^S" in symbols
    assert any("[" in symbol for symbol in symbols)


def test_em_goes_on_from_a_model(train, tmp_path):
    assert train("trees.mrg -o start --method spectral-cluster --states 2 --set allocation=all")[0] == 0
    code, _, err = train("trees.mrg -o model --method em --set start=start --set max_iter=1")
    assert code == 0, err
    one, two = load_model(tmp_path / "start").grammar, load_model(tmp_path / "model").grammar
    np.testing.assert_array_equal(one.n_states, two.n_states)
    assert train("trees.mrg -o x --method pcfg --set start=start")[0] == 2
    code, _, err = train("trees.mrg -o x --method em --set start=absent")
    assert code == 2
    assert "absent: there is no such model file" in err


def test_scores_on_other_trees(train, tmp_path):
    (tmp_path / "dev.mrg").write_text(treebank(10))
    code, _, err = train("trees.mrg -o model --method em --set max_iter=2 --states 2 --dev dev.mrg --set keep_best=true")  # fmt: skip
    assert code == 0, err
    metrics = load_model(tmp_path / "model").metrics
    assert metrics["f1"] > 90
    assert metrics["dev"] == "dev.mrg"
    assert metrics["signature"]
    assert "dev.mrg: F1 " in err


def test_attribution_and_full_precision(train, tmp_path):
    assert train("trees.mrg -o model --method pcfg --set 'attribution=Ann, CC-BY' -q")[0] == 0
    assert train("trees.mrg -o full --method pcfg --set compress=false -q")[0] == 0
    assert load_model(tmp_path / "model").data["attribution"] == "Ann, CC-BY"
    assert (tmp_path / "model").stat().st_size < (tmp_path / "full").stat().st_size


def test_labels_that_are_phrases_and_tags(train, tmp_path):
    (tmp_path / "same.mrg").write_text("(S (N (N a) (X b)) (V (V c)))\n" * 20)
    code, _, err = train("same.mrg -o model --method pcfg")
    assert code == 0, err
    assert load_model(tmp_path / "model").grammar.symbols.count("N") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "trees.mrg: no tree in it"),
        ("(S (N a)\n(S (N b))", "trees.mrg:1:1: '(' is never closed"),
        ("(S (N a))\n(S (N))", "trees.mrg:2:5: 'N' has neither children nor a word"),
        ("(S (-NONE- *))", "no trees to train on"),
        (b"\xff\xfe\x00", "this is UTF-16"),
    ],
)
def test_bad_trees(train, tmp_path, content, message):
    (tmp_path / "trees.mrg").write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = train("trees.mrg -o model --method spectral-cluster")
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["trees.mrg"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.mrg", "-o", "m"), "absent.mrg: cannot be opened"),
        (("trees.mrg", "-o", "no/such/m"), "no/such/m: there is no folder no/such"),
        (("trees.mrg", "-o", "."), ".: cannot be written"),
        (("trees.mrg", "-o", "m", "--preset", "klingon"), "unknown preset 'klingon'"),
        (("trees.mrg", "-o", "m", "--set", "heads=absent.heads"), "absent.heads: cannot be opened"),
        (("trees.mrg", "-o", "m", "--set", "keep_best=true"), "keep_best requires dev"),
        (
            ("trees.mrg", "-o", "m", "--method", "pcfg", "--set", "growth=1"),
            "growth requires method best or spectral-em",
        ),
        (("trees.mrg", "-o", "m", "--set", "cycles=2"), "cycles requires method split-merge, not best"),
        (
            ("trees.mrg", "-o", "m", "--method", "split-merge", "--set", "search.method=beam"),
            "search.method requires method",
        ),
        (
            ("trees.mrg", "-o", "m", "--method", "spectral-em", "--set", "noise.kind=dropout"),
            "settings of noise require ensemble_size 2",
        ),
        (
            ("trees.mrg", "-o", "m", "--set", "search.budget=3"),
            "settings of the search require search.method",
        ),
        (("trees.mrg", "-o", "m", "--method", "magic"), "method must be one of best, spectral-em"),
        (("trees.mrg", "-o", "m", "--states", "-3"), "n_states must be at least 1 and at most 1024, got -3"),
        (("trees.mrg",), "Missing option"),
    ],
)
def test_bad_options(train, tmp_path, arguments, message):
    code, out, err = train(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["trees.mrg"]


def test_broken_trees_and_joined_words_are_told(train, tmp_path):
    (tmp_path / "trees.mrg").write_text(treebank(20) + "(S (N))\n")
    code, _, err = train("trees.mrg -o model --method pcfg --skip-broken")
    assert code == 0
    assert "gramian: 1 broken trees were skipped" in err
    (tmp_path / "trees.mrg").write_text(treebank(20) + "(S (NP (NNP New York)) (VP (VBZ is)))\n")
    code, _, err = train("trees.mrg -o model --method pcfg --force")
    assert code == 0
    assert "gramian: trees.mrg: 1 words with a space inside were joined with '_'" in err
    assert "Warning" not in err
    assert "New_York" in load_model(tmp_path / "model").grammar.lexicon.words


def test_states_are_searched_for_and_the_search_goes_on(gramian, train):
    arguments = ["trees.mrg -o s.model --method spectral-em --states 3 --set max_iter=1"]
    arguments += ["--set", "search.method=beam", "--set"]
    code, _, err = train(*arguments, "search.budget=3")
    assert (code, "3 candidates, F1 from" in err) == (0, True), err
    model = load_model("s.model")
    assert model.options["search"]["candidates"] == 3
    numbers = model.options["n_states"]
    names = [*model.grammar.symbols[: model.grammar.n_phrases]]
    names += [f"/{tag}" for tag in model.grammar.symbols[model.grammar.n_phrases :]]
    assert model.grammar.n_states.tolist() == [numbers.get(name, 1) for name in names]
    log = Path("s.model.search.jsonl")
    assert len(log.read_text().splitlines()) == 3
    first = log.read_text()
    assert train(*arguments, "search.budget=5")[0] == 0
    assert log.read_text().startswith(first)
    assert len(log.read_text().splitlines()) == 5
    out = gramian("inspect", "s.model")[1]
    assert "states searched" in " ".join(out.split())  # whatever the width of the terminal
    assert "search for states (beam, 5 candidates)" in out


def test_the_scheme_is_told_and_rare_words_go_by_their_tags(train):
    lines = [f"( (SENT (NP-SUJ (DET le) (NC chien{n % 9})) (VN (V dort)) (PONCT .)))" for n in range(40)]
    Path("french.mrg").write_text("\n".join(lines))
    assert "preset ftb" in train("french.mrg -o f.model --states 2 --set max_iter=1")[2]
    model = load_model("f.model")
    assert model.preset == "ftb"
    assert "NP" in model.grammar.symbols
    # Classes of words are tags alone, in each of the two grammars.
    assert all(name.isdigit() for grammar in model.grammars for name in grammar.lexicon.classes)
    options = ("--preset", "whole", "--method", "spectral-cluster", "--set", "lexicon=suffix")
    assert train("french.mrg -o w.model", *options)[0] == 0
    model = load_model("w.model")
    assert "NP-SUJ" in model.grammar.symbols
    assert any(" " in name for name in model.grammar.lexicon.classes)


def test_several_models(gramian, train):
    options = ("--ensemble-size", "3", "--states", "2", "--set", "max_iter=1", "--dev", "trees.mrg")
    code, _, err = train("trees.mrg -o many.model", *options, "--set noise.kind=mixed")
    assert code == 0
    assert "model 3 of 3" in err
    assert "all together" in err
    model = load_model("many.model")
    assert len(model.grammars) == 3
    assert [member["direction"] for member in model.report["members"]] == ["right", "left", "right"]
    assert model.report["members"][2]["noise"] == "dropout"
    assert np.diag(model.report["disagreement"]).tolist() == [0, 0, 0]
    out = gramian("inspect", "many.model")[1]
    shown = out
    assert "3 grammars" in shown
    assert "dropout 0.05" in shown
    assert train("trees.mrg -o again.model", *options, "--set noise.kind=mixed --jobs 2")[0] == 0
    assert Path("again.model").read_bytes() == Path("many.model").read_bytes()
    assert not list(Path().glob("*.members"))


def test_several_models_go_on_where_they_were(train, monkeypatch):
    options = ["trees.mrg -o many.model --ensemble-size 3 --states 2 --set max_iter=1"]
    taught = []
    learn_one = MemberTask.run

    def fail_at_the_third(task, data):
        if len(taught) == 2:
            raise MemoryError("no room")
        taught.append(task.member.seed)
        return learn_one(task, data)

    monkeypatch.setattr(MemberTask, "run", fail_at_the_third)
    code, _, err = train(*options)
    assert code != 0
    assert "no room" in err
    assert taught == [0, 1]
    monkeypatch.setattr(MemberTask, "run", learn_one)
    code, _, err = train(*options)
    assert code == 0
    assert err.count("reused from a previous run") == 2
    assert len(load_model("many.model").grammars) == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("trees.mrg", "--ensemble-size", "2", "--method", "pcfg"), "same grammar"),
        (
            ("trees.mrg", "--ensemble-size", "2", "--method", "em", "--set", "noise.kind=dropout"),
            "spectral-em",
        ),
        (
            ("trees.mrg", "--ensemble-size", "2", "--set", "keep_best=true", "--dev", "trees.mrg"),
            "one grammar",
        ),
        (("trees.mrg", "--set", "binarisation.direction=both", "--method", "em"), "ensemble_size 2"),
    ],
)
def test_what_does_not_go_with_several_models(train, monkeypatch, options, reason):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(treebank().encode())))
    code, _, err = train(*options, "-o many.model")
    assert code == 2
    assert reason in err


def test_an_expert_beside_the_grammars(train, capsys, monkeypatch):
    options = ("--ensemble-size", "1", "--states", "2", "--set", "max_iter=1", "--expert")
    assert train("trees.mrg -o with.model", *options, "--quiet")[0] == 0
    model = load_model("with.model")
    assert model.expert("crf") is not None
    assert len(model.grammars) == 1
    parser = Parser(model)
    alone = Parser(replace(model, experts=()))
    sentence = ["it", "can", "see", "a", "big", "dog", "."]
    assert parser.parse(sentence).tree == alone.parse(sentence).tree
    assert parser.parse(sentence).confidences != alone.parse(sentence).confidences
    crf = model.expert("crf").model
    damaged = replace(crf, weights=crf.weights[:-1])
    with pytest.raises(OptionError, match="expert"):
        save_model(replace(model, experts=(ExpertPart("crf", damaged),)), "damaged.model")
    assert not Path("damaged.model").exists()


def test_confidences_are_calibrated_on_trees_held_out(gramian, train):
    options = ("--ensemble-size", "1", "--states", "2", "--set", "max_iter=1", "--calibrate")
    code, _, err = train("trees.mrg -o calibrated.model", *options)
    assert code == 0
    assert err.count("on held-out trees") == 2  # trained, and parsed
    assert not Path("calibrated.model.members").exists()
    found = load_model("calibrated.model")
    assert set(found.calibration) == {"product"}
    assert found.expert("crf") is None
    # The last tenth of 80 trees is 8 of them, whose words and phrases are all that was looked at.
    trees = [Tree.parse(line) for line in treebank().splitlines()[-8:]]
    tags = sum(word != "." for tree in trees for word in tree.words)
    assert found.report["calibration"]["nodes"]["tags"] == tags
    train("trees.mrg -o plain.model", *options[:-1], "-q")
    plain = load_model("plain.model")
    words = list(trees[0].words)
    raw, sure = Parser(plain).parse(words), Parser(found).parse(words)
    assert raw.tree == sure.tree
    assert raw.confidences != sure.confidences
    assert Parser(replace(found, calibration={})).parse(words).confidences == raw.confidences
    code, out, err = gramian("inspect", "calibrated.model")
    assert "a grammar, calibrated, " in out
    for more in (("--method", "pcfg"), ("--set", "keep_best=true", "--dev", "trees.mrg")):
        code, _, err = train("trees.mrg -o no.model --ensemble-size 1 --calibrate", *more)
        assert code == 2
        assert "calibrate excludes keep_best" in err


def test_text_without_trees(train, tmp_path):
    assert train("trees.mrg -o teacher.grammar --method pcfg")[0] == 0
    (tmp_path / "some.tok").write_text("the gnu runs .\nit sees the gnu .\n" * 20)
    (tmp_path / "more.txt").write_text("The zebra runs. It sees the zebra.\n")
    command = ["trees.mrg -o my.grammar --ensemble-size 1 --states 2 --set silver.teacher=teacher.grammar"]
    command += ["--text", "some.tok", "--text", "more.txt", "--set", "silver.weight=0.5"]
    code, out, _ = train(*command, "--dry-run")
    estimate = json.loads(out)["estimate"]
    assert code == 0
    assert 0 < estimate["seconds of these for text"] < estimate["seconds"]
    code, _, err = train(*command)
    assert code == 0, err
    assert "sentences of text" in err
    model = load_model("my.grammar")
    assert model.data["text"] == ["some.tok", "more.txt"]
    assert model.options["silver_weight"] == 0.5
    assert {"gnu", "zebra"} <= set(model.grammar.lexicon.words)
    assert not list(tmp_path.glob("*.members"))
    for file, told in (("-", "stdin"), ("nothing", "cannot be opened")):
        code, _, err = train(*command[:-2], "--text", file, "--force")
        assert (code, told in err) == (2, True)
    code, _, err = train("trees.mrg -o my.grammar --set silver.rounds=2 --force")
    assert (code, "settings of silver trees require text" in err) == (2, True)


def test_help_is_short_and_all_settings_are_listed(train):
    code, out, _ = train("--help")
    assert code == 0
    assert len(re.findall(r"^  (?:-\w, )?--\w", out, re.MULTILINE)) <= 25
    code, listed, _ = train("--list-settings")
    assert code == 0
    names = re.findall(r"^(\S+)  \(", listed, re.MULTILINE)
    assert {"n_states", "clustering.rank", "silver.teacher", "span_crf.rate", "neural.size.units"} <= set(
        names
    )
    assert len(names) == len(set(names))
    lines = listed.split("\n")
    described = [line.startswith("    ") for head, line in pairwise(lines) if not head.startswith("    ")]
    assert all(described)
    assert "merge  (number >= 0, <= 1; default 0.5)" in lines


def test_every_parameter_of_a_paper_is_a_setting(train):
    told = {
        "clustering.rank": 2, "features.scaling": "false", "clustering.projection": "raw", "clustering.start": "random",
        "clustering.restarts": 2, "features.rare_words": 20, "lexicon.rare": 19, "smoothing.rule": 0.5, "smoothing.state": 0,
        "smoothing.sister_share": 0.1, "lexicon.shrinkage": 1.5, "noise.kind": "additive", "noise.level": 0.3,
        "features.templates": "thesis",
    }  # fmt: skip
    assignments = [word for name, value in told.items() for word in ("--set", f"{name}={value}")]
    usual = ("--ensemble-size", "2", "--method", "spectral-cluster", "--states", "3")
    assert train("trees.mrg -o model", *assignments, *usual)[0] == 0
    model = load_model("model")
    noted = model.options
    wanted = {"features__scaling": False, "clustering__rank": 2, "clustering__projection": "raw"}
    wanted |= {
        "clustering__start": "random",
        "clustering__restarts": 2,
        "lexicon__rare": 19,
        "features__rare_words": 20,
    }
    wanted |= {
        "smoothing__rule": 0.5,
        "smoothing__state": 0.0,
        "smoothing__sister_share": 0.1,
        "lexicon__shrinkage": 1.5,
    }
    assert {name: noted[name] for name in wanted} == wanted
    assert [member["noise_level"] for member in model.report["members"]] == [0.3, 0.3]
    told = ("--set", "backoff=12", "--set", "unsmoothed=5", "--set", "least=0.1", "--states", "2")
    assert train("trees.mrg -o moments --method spectral-moments", *told)[0] == 0
    noted = load_model("moments").options
    assert (noted["backoff"], noted["unsmoothed"], noted["least"]) == (12, 5, 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--svd-rank", "3"), "there is no option --svd-rank; try: --set clustering.rank=VALUE"),
        (("--models", "3"), "there is no option --models; try: --ensemble-size"),
        (("--tagged", "x"), "there is no option --tagged; try: --tagged-corpus"),
        (("--full",), "there is no option --full; try: --set compress=false"),
        (("--horizontal", "1"), "try: --set binarisation.horizontal=VALUE"),
        (("--set", "states=3"), "there is no setting 'states'; did you mean n_states?"),
        (("--set", "clustering.rnk=3"), "did you mean clustering.rank?"),
        (("--set", "qqq=3"), "there is no setting 'qqq'; 'gramian train --list-settings' lists all"),
        (("--set", "clustering.rank"), "--set takes NAME=VALUE, not 'clustering.rank'"),
        (("--set", "clustering.rank=x"), "clustering.rank must be a whole number or None, got 'x'"),
        (("--set", "smoothing.rule=-1"), "smoothing.rule must be at least 0, got -1.0"),
        (("--set", "rerank=maybe"), "rerank must be true or false, got 'maybe'"),
        (("--states", "8.5"), "n_states must be a whole number or a mapping or None, got '8.5'"),
        (("--config", "absent.toml"), "absent.toml: cannot be opened"),
        (("--config", "bad.toml"), "bad.toml: is not valid TOML"),
        (("--config", "wrong.toml"), "wrong.toml: clustering.rank must be a whole number or None, got 'x'"),
        (
            ("--config", "unknown.toml"),
            "unknown.toml: there is no setting 'clustering.rnk'; did you mean clustering.rank?",
        ),
    ],
)
def test_settings_that_are_wrong(train, arguments, message):
    Path("bad.toml").write_text("n_states = = 3")
    Path("wrong.toml").write_text('[clustering]\nrank = "x"\n')
    Path("unknown.toml").write_text("[clustering]\nrnk = 3\n")
    code, out, err = train("trees.mrg -o model", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_settings_of_a_file_are_overridden_on_the_command_line(train):
    Path("all.toml").write_text(
        "n_states = {NP = 3, VP = 2}\nmax_iter = 1\nensemble_size = 1\n[smoothing]\nrule = 1\nstate = 1\n"
    )
    changed = ("--set", "smoothing.rule=3", "--set", "ensemble_size=5", "--ensemble-size", "2")
    assert train("trees.mrg -o model --config all.toml", *changed)[0] == 0
    model = load_model("model")
    assert (model.options["n_states"], model.options["max_iter"], model.options["models"]) == (
        {"NP": 3, "VP": 2},
        1,
        2,
    )
    assert (model.options["smoothing__rule"], model.options["smoothing__state"]) == (3.0, 1.0)


def test_the_setting_of_a_paper_and_what_is_given_beside_it(train):
    assert train("trees.mrg -o model --set paper=thesis --states 2 --set allocation=root")[0] == 0
    model = load_model("model")
    noted = model.options
    assert (noted["features__templates"], noted["allocation"], noted["n_states"]) == ("thesis", "root", 2)
    tags = model.grammar.symbols[model.grammar.n_phrases :]
    assert {"NP|PRP", "NP|NNS", "VP|VBZ", "PRP"} & set(tags) == {"NP|PRP", "NP|NNS", "VP|VBZ"}
    tree = Tree.parse("(S (NP (PRP it)) (VP (VBZ sees) (NP (NNS cats))) (. .))")
    parser = Parser(model, decoder="max-marginal-sum")
    pairs = list(zip(tree.words, tree.tags, strict=True))
    assert [parser.parse(pairs).tree, parser.parse(list(tree.words)).tree] == [tree, tree]
    code, _, err = train("trees.mrg -o other --set paper=thesis --method pcfg")
    assert code == 2
    assert "requires method" in err


def test_several_models_with_collapsed_tags(train):
    told = ("--set", "binarisation.collapse_tags=true", "--states", "2", "--set", "max_iter=1")
    assert train("trees.mrg -o model", *told)[0] == 0
    model = load_model("model")
    assert len(model.grammars) == 2
    assert all("NP|PRP" in grammar.symbols[grammar.n_phrases :] for grammar in model.grammars)
    tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")
    assert Parser(model).parse(list(tree.words)).tree == tree
