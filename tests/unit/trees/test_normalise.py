"""Normal forms, worked out by hand, for the habits of each treebank scheme."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import trees

from gramian.errors import OptionError
from gramian.trees import SCHEMES, NormaliseOptions, Removed, Tree, annotation_scheme, normalise


def normal(text: str, options: NormaliseOptions | None = None) -> str:
    return str(normalise(Tree.parse(text), options or annotation_scheme("penn").options).tree)


def removed(text: str, options: NormaliseOptions | None = None) -> dict[str, int]:
    counts = asdict(normalise(Tree.parse(text), options or annotation_scheme("penn").options).removed)
    return {name: count for name, count in counts.items() if count}


PENN = (
    "( (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBZ wants) (S (NP-SBJ (-NONE- *-1)) (VP (TO to)"
    " (VP (VB eat) (NP=2 (-LRB- -LRB-) (NN meat) (-RRB- -RRB-))"
    " (SBAR (WHNP-3 (-NONE- 0)) (S (-NONE- *T*-3))))))) (. .)))"
)


def test_penn():
    assert normal(PENN) == (
        "(S (NP (DT The) (NN dog)) (VP (VBZ wants) (S (VP (TO to) (VP (VB eat)"
        " (NP (-LRB- -LRB-) (NN meat) (-RRB- -RRB-)))))) (. .))"
    )
    assert removed(PENN) == {
        "empty_elements": 3,
        "emptied_phrases": 4,
        "labels_cut": 2,
        "roots": 1,
    }


@pytest.mark.parametrize(
    ("scheme", "label", "tag", "expected_label", "expected_tag"),
    [
        ("penn", "NP-SBJ-1", "PRP$", "NP", "PRP$"),
        ("penn", "ADVP|PRT", "-LRB-", "ADVP|PRT", "-LRB-"),
        ("icepahc", "IP-MAT-SPE", "N-A", "IP", "N-A"),
        ("icepahc", "NP-SBJ=1", "ONE+Q-D-1", "NP", "ONE+Q-D"),
        ("keyaki", "PP;*SBJ*", "NP-VOC", "PP", "NP"),
        ("keyaki", "NP-SBJ{A_1+B_2}", "-RRB-", "NP", "-RRB-"),
        ("ftb", "NP-OBJ::OBJ##OBJ/OBJ", "CLO-A_OBJ", "NP", "CLO"),
        ("ftb", "VPinf-DE_OBJ", "P+D", "VPinf", "P+D"),
        ("cess", "grup.nom.ms", "ncms000", "grup.nom", "ncms000"),
        ("cess", "S.F.C.co-CD", "Fc", "S.F.C", "Fc"),
        ("cess", "S*.co", "Z", "S", "Z"),
        ("cess", "S.F.AComp*", "Z", "S.F.AComp", "Z"),
        ("floresta", "np-P<", "n-H", "np", "n"),
        ("floresta", "vp_-P", "v_fin-P", "vp", "v_fin"),
        ("floresta", "1]+pp-ADVL/N<[", "prp-H", "pp", "prp"),
        ("whole", "NP-SBJ-1", "N-A", "NP-SBJ-1", "N-A"),
    ],
)
def test_labels_by_scheme(scheme, label, tag, expected_label, expected_tag):
    tree = Tree("Q", [Tree(label, [Tree(tag, word="x"), Tree(tag, word="y")]), Tree("Z", word="z")])
    result = normalise(tree, annotation_scheme(scheme).options).tree
    assert result.children[0].label == expected_label
    assert result.tags == (expected_tag, expected_tag, "Z")


def test_functions_may_stay_without_indices():
    options = NormaliseOptions(phrase_cut="")
    assert normal("(S (NP-SBJ-1 (NN x)) (VP=2-1 (VB y)))", options) == "(S (NP-SBJ (NN x)) (VP (VB y)))"


def test_same_unaries():
    text = "(S (NP-SBJ (NP (NP (DT a) (NN b)))) (VP (NP (NP (NN c)))))"
    assert normal(text) == "(S (NP (DT a) (NN b)) (VP (NP (NN c))))"
    assert removed(text)["same_unaries"] == 3
    kept = NormaliseOptions(same_unaries=False)
    assert normal(text, kept) == "(S (NP (NP (NP (DT a) (NN b)))) (VP (NP (NP (NN c)))))"
    assert normal("(S (NN (NN x)))") == "(S (NN (NN x)))"


@pytest.mark.parametrize(
    ("text", "drop", "keep", "add"),
    [
        ("( (S (A a)))", "(S (A a))", "( (S (A a)))", "(ROOT (S (A a)))"),
        ("(TOP (S (A a)))", "(S (A a))", "(TOP (S (A a)))", "(ROOT (S (A a)))"),
        ("( (ROOT (S (A a))))", "(S (A a))", "( (ROOT (S (A a))))", "(ROOT (S (A a)))"),
        ("( (A a) (B b))", "(ROOT (A a) (B b))", "( (A a) (B b))", "(ROOT (A a) (B b))"),
        ("(TOP (A a) (B b))", "(TOP (A a) (B b))", "(TOP (A a) (B b))", "(ROOT (A a) (B b))"),
        ("( (A a))", "(A a)", "( (A a))", "(ROOT (A a))"),
    ],
)
def test_roots(text, drop, keep, add):
    assert normal(text, NormaliseOptions(root="drop")) == drop
    assert normal(text, NormaliseOptions(root="keep")) == keep
    assert normal(text, NormaliseOptions(root="add")) == add


def test_punctuation():
    text = "(S (NP (NN a) (, ,)) (PRN (: --)) (. .))"
    assert normal(text, NormaliseOptions(punctuation="drop")) == "(S (NP (NN a)))"
    assert removed(text, NormaliseOptions(punctuation="drop")) == {"punctuation": 3, "emptied_phrases": 1}
    by_tag = NormaliseOptions(punctuation="drop", punctuation_tags=frozenset({","}))
    assert normal(text, by_tag) == "(S (NP (NN a)) (PRN (: --)) (. .))"


def test_escapes_of_words():
    text = r"(X (CD 3\/4) (SYM \*) (A -LCB-) (B -RSB-) (C -LRB-))"
    assert normalise(Tree.parse(text)).tree.words == (r"3\/4", r"\*", "-LCB-", "-RSB-", "(")
    options = NormaliseOptions(unescape=True)
    assert normalise(Tree.parse(text), options).tree.words == ("3/4", "*", "{", "]", "(")
    assert removed(text, options) == {"words_unescaped": 4}


def test_nothing_left():
    result = normalise(Tree.parse("( (S (NP (-NONE- *)) (VP (-NONE- *))))"))
    assert result.tree == Tree("")
    assert result.removed.trees_emptied == 1
    assert normalise(Tree("")).tree == Tree("")
    assert normalise(Tree("")).removed == Removed()
    assert normalise(Tree.parse("(())")).tree == Tree("")


def test_counts_add_up():
    assert Removed(empty_elements=1, roots=2) + Removed(roots=3) == Removed(empty_elements=1, roots=5)


def test_lines_are_kept():
    assert normalise(Tree("", [Tree("S", [Tree("A", word="a")])], line=9)).tree.line == 9


def test_depth_has_no_limit():
    tree = Tree.parse("(X-1 (A a) " * 10_000 + "(B b)" + ")" * 10_000)
    assert normalise(tree).removed.labels_cut == 10_000


@given(trees, st.sampled_from(sorted(SCHEMES)), st.sampled_from(["drop", "keep", "add"]))
def test_normal_form_is_stable_and_keeps_words(tree, name, root):
    options = replace(SCHEMES[name].options, root=root)
    once = normalise(tree, options).tree
    assert normalise(once, options).tree == once
    kept = [leaf.word for leaf in tree.leaves() if leaf.label != "-NONE-"]
    assert list(once.words) == kept


def test_wrong_options_are_named():
    with pytest.raises(OptionError, match="unknown preset 'x'; try one of: penn"):
        annotation_scheme("x")
    with pytest.raises(OptionError, match="root is"):
        NormaliseOptions(root="up")
    with pytest.raises(OptionError, match="punctuation is"):
        NormaliseOptions(punctuation="up")
    with pytest.raises(OptionError, match="not a regular expression"):
        NormaliseOptions(phrase_strip="(")
