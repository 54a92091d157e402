"""The names of ``import gramian``: they are there, have types, and say the same as the commands."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_grammar import tiny_grammar, tiny_model

import gramian
from gramian.cli import main
from gramian.errors import OptionError
from gramian.trees import Tree

ROOT = Path(__file__).parents[1]
TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))",
    "(S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. .))",
    "(S (NP (DT the) (NN man)) (VP (VBZ sees) (NP (NP (DT the) (NN cat)) (PP (IN with) (NP (DT the) (NN dog))))) (. .))",
]


@pytest.fixture(scope="module")
def parser():
    return gramian.Parser(gramian.PCFG().fit(gramian.Treebank.from_trees(map(Tree.parse, TREES))).model_)


def test_all_names_are_there():
    assert {
        "load",
        "evaluate",
        "table",
        "Parser",
        "ParseResult",
        "Tree",
        "Treebank",
        "read_trees",
        "Constraints",
    } <= set(gramian.__all__)
    for name in gramian.__all__:
        assert getattr(gramian, name).__doc__, name
    assert set(gramian.__all__) <= set(dir(gramian))


def test_every_name_stands_on_one_page_of_the_reference(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    from reference_pages import pages

    found = re.findall(r"^\.\. auto\w+:: gramian\.(\w+)$", "\n".join(pages().values()), re.MULTILINE)
    assert sorted(found) == sorted(gramian.__all__)
    listed = re.findall(
        r"^\.\./python/(\w+)$", (ROOT / "docs" / "reference" / "python.md").read_text("utf-8"), re.MULTILINE
    )
    assert listed == list(pages())
    first = re.findall(r"^\.\. auto\w+:: gramian\.(\w+)$", pages()[listed[0]], re.MULTILINE)
    assert first[:3] == ["load", "Parser", "ParseResult"]


def test_a_room_and_a_function_share_a_name():
    """The function is what the name means, whether or not the room has been entered before."""
    code = "from gramian.evaluate import score; import gramian; print(gramian.evaluate.__module__)"
    for snippet in (code, code.split("; ", 1)[1]):
        done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "gramian.evaluate.evalb"


SNIPPET = """
import gramian
parser = gramian.load()
reveal_type(parser)
reveal_type(parser.parse("a dog"))
reveal_type(parser.parse("a dog").tree[0])
reveal_type(parser.model.expert("crf"))
reveal_type(gramian.evaluate("gold.mrg", "parsed.mrg"))
reveal_type(gramian.SpectralEM())
reveal_type(gramian.table([]))
"""


def test_type_checkers_see_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "snippet.py").write_text(SNIPPET)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(tmp_path / "snippet.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": "src"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r'Revealed type is "(.*)"', done.stdout) == [
        "gramian.parsing.parser.Parser",
        "gramian.parsing.result.ParseResult",
        "gramian.trees.tree.Tree",
        "gramian.experts.expert_part.ExpertPart | None",
        "gramian.evaluate.scores.BracketScores",
        "gramian.learn.em.SpectralEM",
        "list[dict[str, Any]]",
    ]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (
            "gramian.",
            {"load", "train", "evaluate", "Parser", "Tree", "Treebank", "Constraints", "SpectralEM"},
        ),
        ("gramian.load().", {"parse", "parse_many", "parse_text", "evaluate", "save"}),
        ("gramian.load().parse('a dog').", {"tree", "confidences", "spans", "status", "alternatives"}),
        ("gramian.train('a.mrg').evaluate('b.mrg').", {"f1", "precision", "recall", "signature"}),
    ],
)
def test_editors_complete_names(code, names):
    """As IPython and editors do it, without running anything."""
    jedi = pytest.importorskip("jedi")
    script = jedi.Script(
        f"import gramian\n{code}", project=jedi.Project(ROOT, added_sys_path=[str(ROOT / "src")])
    )
    assert names <= {one.name for one in script.complete(2, len(code))}


def test_evaluate_takes_trees_and_paths(tmp_path):
    gold, wrong = Tree.parse(TREES[0]), Tree.parse("(S (DT the) (NP (NN dog) (VBZ barks)) (. .))")
    for name, tree in (("gold.mrg", gold), ("parsed.mrg", wrong)):
        (tmp_path / name).write_text(f"{tree}\n")
    scores = gramian.evaluate(tmp_path / "gold.mrg", tmp_path / "parsed.mrg")
    assert 0 < scores.f1 < 100
    assert scores == gramian.evaluate([gold], [wrong]) == gramian.evaluate(gold, wrong)


def test_a_parser_is_evaluated_as_the_command_does(tmp_path, monkeypatch, capsys):
    """Trees are normalised as in training, and figures are those that ``gramian train --dev`` keeps."""
    monkeypatch.chdir(tmp_path)
    Path("train.mrg").write_text("\n".join(TREES))
    Path("dev.mrg").write_text(
        "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN man)) (-NONE- *)) (. .)))\n()\n"
    )
    monkeypatch.setattr(
        sys,
        "argv",
        ["gramian", "train", "train.mrg", "--method", "pcfg", "--dev", "dev.mrg", "-o", "my.grammar", "-q"],
    )
    with pytest.raises(SystemExit) as done:
        main()
    assert not done.value.code
    parser = gramian.load("my.grammar")
    assert parser.model.preset == "penn"
    scores = parser.evaluate("dev.mrg")
    assert scores.sentences == 1
    told = {name: round(value, 3) for name, value in scores.as_dict().items()}
    assert told.items() <= dict(parser.model.metrics).items()
    assert parser.evaluate(gramian.read_trees("dev.mrg"), n_jobs=2) == scores


def test_what_is_saved_is_loaded(parser, tmp_path):
    parser.save(tmp_path / "my.grammar")
    parser.save(tmp_path / "full.grammar", half=False)
    again = gramian.load(tmp_path / "my.grammar")
    assert again.parse("the cat barks .").tree == parser.parse("the cat barks .").tree
    assert (tmp_path / "my.grammar").stat().st_size < (tmp_path / "full.grammar").stat().st_size


def test_one_text_is_not_many_sentences(parser):
    with pytest.raises(OptionError, match="got a string"):
        parser.parse_many("the dog barks .")


def test_results_are_dicts_and_rows(parser):
    results = [parser.parse("the dog barks.", k=2), parser.parse([])]
    first, empty = (json.loads(json.dumps(result.as_dict())) for result in results)
    assert first["tree"] == str(results[0].tree)
    assert first["offsets"][:2] == [[0, 3], [4, 7]]
    assert first["spans"][0] == {"label": "S", "start": 0, "end": 4, "confidence": 1.0}
    assert len(first["alternatives"]) >= 1
    assert (empty["tree"], empty["spans"]) == ("", [])
    rows = gramian.table(results)
    assert {row["sentence"] for row in rows} == {0}
    assert len(rows) == len(list(results[0].tree.subtrees()))
    assert rows[1]["text"] == "the dog"
    assert all(row.keys() == rows[0].keys() for row in rows)


def test_trees_are_like_lists_of_their_children():
    tree = Tree.parse(TREES[0])
    assert len(tree) == 3
    assert tree[0][1] == Tree("NN", word="dog")
    assert [child.label for child in tree] == ["NP", "VP", "."]
    assert tree[1:] == tree.children[1:]
    assert len(tree[0][0]) == 0
    assert tree[0][0]  # no children, yet a tree
    with pytest.raises(IndexError):
        tree[3]
    with pytest.raises(TypeError, match="not one"):
        Tree("S", tree)


def test_reprs_are_short(parser):
    bank = gramian.Treebank.from_trees(map(Tree.parse, TREES))
    scores = parser.evaluate(map(Tree.parse, TREES))
    model = replace(tiny_model(), grammars=(tiny_grammar(), tiny_grammar()))
    for value in (bank, scores, model, model.grammar):
        assert len(repr(value)) < 150
        assert type(value).__name__ in repr(value)
    assert "3 trees" in repr(bank)
    assert "1 more grammar" in repr(model)
    assert "F1 100.00" in repr(scores)
