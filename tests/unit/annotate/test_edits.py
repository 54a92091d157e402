"""Edits of trees, checked against trees written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.annotate.annotation import Annotation, build_tree, phrases_of
from gramian.annotate.edits import Edit, apply_edit
from gramian.annotate.simulated_annotator import CLICKS, effort, effort_from_scratch
from gramian.chart.constraints import Span
from gramian.errors import OptionError
from gramian.trees import Tree

HIGH = "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN boat)) (PP (IN with) (NP (NN glass)))))"
LOW = "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN boat)) (PP (IN with) (NP (NN glass))))))"
FLAT = "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN boat) (PP (IN with) (NP (NN glass))))))"
PP, VP, NP = Span(4, 6, "PP"), Span(1, 6, "VP"), Span(2, 4, "NP")


def edited(tree, action, node, label="", target=None, at=0):
    return apply_edit(Annotation(Tree.parse(tree)), Edit(action, node, label, target, at))


@pytest.mark.parametrize(
    ("tree", "edit", "result", "required", "forbidden"),
    [
        (HIGH, ("attach", PP, "", NP), FLAT, "NP 2-6", ""),  # down, into its neighbour
        (LOW, ("attach", PP, "", VP), HIGH, "NP 2-4", "NP 2-6"),  # up: the phrase left behind is one that is there
        (FLAT, ("attach", PP, "", VP), HIGH, "NP 2-4", "NP 2-6"),
        (HIGH, ("add", Span(2, 6), "NP"), LOW, "NP 2-6", ""),
        (LOW, ("remove", Span(2, 6, "NP")), HIGH, "", "NP 2-6"),
        (HIGH, ("relabel", PP, "ADVP"), HIGH.replace("PP", "ADVP"), "ADVP 4-6", "PP 4-6"),
        (HIGH, ("retag", Span(5, 6), "NNP"), HIGH.replace("NN glass", "NNP glass"), "", ""),
        (HIGH, ("require", NP), HIGH, "NP 2-4", ""),
        (FLAT, ("split", Span(2, 6, "NP"), "", None, 4),
         "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN boat)) (NP (PP (IN with) (NP (NN glass))))))", "NP 2-4 NP 4-6", "NP 2-6"),
        ("(S (A (X a) (X b)) (X c))", ("add", Span(1, 3), "B"), "(S (X a) (B (X b) (X c)))", "B 1-3", "A 0-2"),  # crossed
        ("(S (A (X a)) (X b))", ("add", Span(0, 1), "B"), "(S (A (B (X a))) (X b))", "B 0-1", ""),
        ("(S (A (X a)) (X b))", ("add", Span(0, 1), "B", Span(0, 1, "A")), "(S (B (A (X a))) (X b))", "B 0-1", ""),
        ("(S (A (X a) (X b)) (X c))", ("attach", Span(1, 2), "", Span(0, 3, "S")), "(S (A (X a)) (X b) (X c))", "A 0-1", "A 0-2"),
    ],
)  # fmt: skip
def test_edits(tree, edit, result, required, forbidden):
    annotation = edited(tree, *edit)
    assert str(annotation.tree) == result
    assert " ".join(map(str, annotation.required)) == required
    assert " ".join(map(str, annotation.forbidden)) == forbidden
    assert annotation.is_met(annotation.tree)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("attach", PP, "", Span(0, 1, "NP")), "is not adjacent to"),
        (("attach", VP, "", NP), "inside itself"),
        (("attach", PP), "no target phrase"),
        (("remove", Span(0, 6, "S")), "whole sentence"),
        (("split", Span(0, 6, "S"), "", None, 3), "whole sentence"),
        (("split", PP, "", None, 4), "before the words"),
        (("remove", Span(2, 4, "XP")), "no phrase"),
        (("require", Span(2, 9, "NP")), "not within"),
        (("add", NP, "N P"), "a label has"),
        (("relabel", NP, ""), "a label has"),
        (("retag", NP, "NN"), "one word"),
        (("dance", NP), "action is one of"),
    ],
)
def test_wrong_edits_say_what_to_do(edit, message):
    with pytest.raises(OptionError, match=message):
        edited(HIGH, *edit)


def test_a_later_decision_replaces_those_it_contradicts():
    annotation = edited(HIGH, "require", NP)
    annotation = apply_edit(annotation, Edit("remove", NP))
    assert annotation.required == ()
    assert annotation.forbidden == (NP,)
    annotation = apply_edit(annotation, Edit("add", NP, "NP"))
    assert annotation.required == (NP,)
    assert annotation.forbidden == ()
    annotation = apply_edit(annotation, Edit("add", Span(3, 5), "X"))  # crosses it
    assert annotation.required == (Span(3, 5, "X"),)
    assert apply_edit(annotation, Edit("release", Span(3, 5, "X"))).required == ()


@st.composite
def trees(draw, n_words):
    """A random tree over some words."""

    def build(start, end):
        if end - start == 1:
            leaf = Tree(draw(st.sampled_from("XYZ")), word=f"w{start}")
            return Tree(draw(st.sampled_from("AB")), [leaf]) if draw(st.booleans()) else leaf
        cut = draw(st.integers(start + 1, end - 1))
        children = [build(start, cut), build(cut, end)]
        flat = [
            grand
            for child in children
            for grand in (child.children if child.children and draw(st.booleans()) else [child])
        ]
        return Tree(draw(st.sampled_from("ABC")), flat)

    return build(0, n_words)


@given(st.data(), st.integers(2, 6))
def test_a_simulated_annotator_reaches_every_tree(data, n_words):
    one, two = data.draw(trees(n_words)), data.draw(trees(n_words))
    assert build_tree(one.words, one.tags, phrases_of(one)) == one
    assert effort(two, two) == (1, 1)
    n_phrases = len(phrases_of(one)) + len(phrases_of(two))
    most = 1 + CLICKS["add"] * n_phrases + CLICKS["retag"] * n_words
    flat = Tree(two.label, [Tree("X", word=word) for word in two.words])
    for start in (one, flat):
        needed = effort(start, two)
        assert needed is not None
        assert 1 <= needed.actions <= needed.clicks <= most
    assert effort(flat, two).clicks <= effort_from_scratch(two).clicks


@given(st.data(), st.integers(2, 6), st.sampled_from(["attach", "add", "split", "remove", "relabel"]))
def test_an_edit_makes_a_tree_that_meets_its_decisions_or_is_refused(data, n_words, action):
    tree = data.draw(trees(n_words))
    node, target = (data.draw(st.sampled_from(phrases_of(tree))) for _ in range(2))
    edit = Edit(action, node, "D", target, data.draw(st.integers(0, n_words)))
    try:
        annotation = apply_edit(Annotation(tree), edit)
    except OptionError:
        return
    assert annotation.tree.words == tree.words
    assert annotation.is_met(annotation.tree)
