"""``gramian convert``: every form, the round trips, and bad input."""

import io
import sys

import pytest

from gramian.cli import main

TREES = r"""( (S (NP-SBJ-1 (DT The) (JJ old) (NN dog))
  (VP (VBZ barks) (NP (-NONE- *-1)) (ADVP (RB loudly))) (. .)))
( (FRAG (NP (-LRB- -LRB-) (NN 3\/4) (-RRB- -RRB-))))
()
( (X (NN Yes)))
"""
NORMAL = r"""(S (NP (DT The) (JJ old) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly))) (. .))
(FRAG (NP (-LRB- -LRB-) (NN 3\/4) (-RRB- -RRB-)))
()
(X (NN Yes))
"""
CONLLU = "1\ta\t_\tX\tY\t_\t3\tdep\t_\t_\n2\tb\t_\tX\tY\t_\t0\troot\t_\t_\n3\tc\t_\tX\tY\t_\t2\tdep\t_\t_\n\n"


@pytest.fixture
def convert(gramian, monkeypatch, tmp_path):
    def call(content: bytes | str, *options: str) -> tuple[int, str, str]:
        (tmp_path / "input").write_bytes(content.encode() if isinstance(content, str) else content)
        monkeypatch.chdir(tmp_path)
        return gramian("convert", "input", "--to", *options)

    return call


def test_normalised(convert):
    code, out, err = convert(TREES, "normalised")
    assert (code, out) == (0, NORMAL)
    assert err == "4 written; empty elements 1; emptied phrases 1; labels cut 1; roots 3\n"


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (["--keep-empties"], "(VP (VBZ barks) (NP (-NONE- *-1)) (ADVP (RB loudly)))"),
        (["--phrase-cut", ""], "(S (NP-SBJ (DT The)"),
        (["--preset", "whole"], "(S (NP-SBJ-1 (DT The)"),
        (["--tag-cut", "B"], "(VP (V barks)"),
        (["--root", "keep"], "( (S (NP (DT The)"),
        (["--root", "add"], "(ROOT (S (NP (DT The)"),
        (["--drop-punctuation"], "(ADVP (RB loudly))))\n"),
    ],
)
def test_options_of_normal_form(convert, options, first):
    code, out, _ = convert(TREES, "normalised", *options)
    assert code == 0
    assert first in out


def test_unescape(convert):
    assert "(NN 3/4)" in convert(TREES, "normalised", "--unescape")[1]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--direction", "left", "--horizontal", "1", "--vertical", "2"],
        ["--direction", "head", "--horizontal", "all", "--collapse-tags"],
        ["--direction", "head", "--head-rules", "left", "--vertical", "3"],
    ],
)
def test_binarised_and_back(convert, options):
    code, binary, _ = convert(TREES, "binarised", *options)
    assert code == 0
    assert "@" in binary
    assert convert(binary, "debinarised")[:2] == (0, NORMAL)


def test_binarised_labels(convert):
    assert convert(TREES, "binarised", "-q")[1].split("\n")[0] == (
        "(S (@S (NP (@NP (DT The) (JJ old)) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly)))) (. .))"
    )


def test_tokens_and_tags(convert):
    assert convert(TREES, "tokens")[1] == "The old dog barks loudly .\n( 3\\/4 )\n\nYes\n"
    assert convert(TREES, "tagged")[1].split("\n")[:2] == [
        "The/DT old/JJ dog/NN barks/VBZ loudly/RB ./.",
        "(/-LRB- 3\\//4/NN )/-RRB-".replace("\\//", "\\/"),
    ]


def test_dependencies(convert):
    code, out, err = convert(TREES, "dependencies")
    assert code == 0
    assert out.startswith(
        "1\tThe\t_\t_\tDT\t_\t3\tDT\t_\t_\n2\told\t_\t_\tJJ\t_\t3\tJJ\t_\t_\n3\tdog\t_\t_\tNN\t_\t4\tNP\t_\t_\n"
    )
    assert out.count("\n\n") == 3
    assert "1 without words left out" in err


def test_conllu(convert):
    assert convert(CONLLU, "tokens")[1] == "a b c\n"
    assert convert(CONLLU, "tagged")[1] == "a/X b/X c/X\n"
    assert convert(CONLLU, "dependencies")[1] == CONLLU
    code, out, err = convert(CONLLU, "dependencies", "--crossing", "lift")
    assert (code, out) == (0, CONLLU.replace("\t3\t", "\t2\t", 1))
    assert "1 not projective, 1 arcs lifted" in err
    assert convert(CONLLU, "dependencies", "--crossing", "skip")[1] == ""
    assert "has no phrases" in convert(CONLLU, "binarised")[2]


def test_broken_trees(convert):
    code, out, err = convert("(A a)\n(S (B b)\n(C c)\n", "normalised")
    assert code == 2
    assert "input:2:1: '(' is never closed\n(S (B b)\n^\ntry: " in err
    code, out, err = convert("(A a)\n(S (B b)\n(C c)\n", "normalised", "--skip-broken")
    assert (code, out) == (0, "(A a)\n(C c)\n")
    assert "skipped input:2: '(' is never closed" in err
    assert "1 broken ones skipped" in err


def test_words_with_a_space(convert):
    code, out, err = convert("(NN New York)", "tokens")
    assert (code, out) == (0, "New_York\n")
    assert "joined with '_' at input:1: 'New York' is 2 words under one tag" in err
    assert convert("(NN New York)", "tokens", "--spaces", "reject")[0] == 2


def test_nothing_is_half_written(convert, tmp_path):
    (tmp_path / "out.mrg").write_text("before")
    code, out, _ = convert("(A a)\n(S (B b)\n", "normalised", "-o", "out.mrg")
    assert (code, out) == (2, "")
    assert (tmp_path / "out.mrg").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input", "out.mrg"]
    assert convert("(A a)", "normalised", "-o", "out.mrg", "--force")[0] == 0
    assert (tmp_path / "out.mrg").read_text() == "(A a)\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["binarised", "--horizontal", "x"], "--horizontal is a number or 'all'"),
        (["normalised", "--preset", "none"], "unknown preset 'none'; try one of: penn"),
        (["binarised", "--direction", "head", "--head-rules", "none"], "none: cannot be opened"),
        (["sideways"], "sideways"),
    ],
)
def test_wrong_options(convert, options, message):
    code, _, err = convert(TREES, *options)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_a_tree_that_was_not_binarised(convert):
    code, _, err = convert("(A a)\n(@X (A a) (B b))\n", "debinarised")
    assert code == 2
    assert "input:2: the root '@X' is an intermediate node" in err


def test_stdin(gramian, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(TREES.encode()))))
    code, out, _ = gramian("convert", "-", "--to", "normalised")
    assert code == 0
    assert out == NORMAL


def test_a_deep_tree_and_a_long_sentence(convert):
    deep = "(X (A a) " * 10_000 + "(B b)" + ")" * 10_000
    wide = "(S " + " ".join(["(A a)"] * 5_000) + ")"
    code, binary, _ = convert(f"{deep}\n{wide}\n", "binarised")
    assert code == 0
    assert convert(binary, "debinarised")[1] == f"{deep}\n{wide}\n"
    assert convert(f"{deep}\n{wide}\n", "dependencies")[0] == 0


def test_head_rules_that_do_not_fit_are_told_of(tmp_path, monkeypatch, capsys):
    path = tmp_path / "french.mrg"
    path.write_text(
        "(SENT (NP-SUJ (DET Le) (NC chat)) (VN (V dort)) (PP (P sur) (NP (DET le) (NC lit))))", "utf-8"
    )

    def call(*options):
        monkeypatch.setattr(sys, "argv", ["gramian", "convert", str(path), "--to", "dependencies", *options])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return capsys.readouterr()

    plain = call()
    assert [line.split("\t")[6] for line in plain.out.splitlines() if line] == ["2", "3", "0", "6", "6", "3"]
    assert "try:" not in plain.err
    assert "find a head in 0% of the phrases; try: --head-rules auto" in call("--head-rules", "collins").err
