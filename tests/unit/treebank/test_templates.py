"""Feature templates: which nodes share a value, worked out by hand on small trees."""

import numpy as np
import pytest

from gramian.errors import OptionError
from gramian.learn import Observations, SpectralClustering
from gramian.treebank import INSIDE, OUTSIDE, SETS, Features, NodeView, Treebank, register_template
from gramian.treebank.feature_templates import head_leaves
from gramian.trees import HeadRules, Tree

TREES = (
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (JJ big) (NN dog))))",
    "(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))",
)


@pytest.fixture(scope="module")
def bank() -> Treebank:
    return Treebank.from_trees([Tree.parse(text) for text in TREES])


@pytest.fixture(scope="module")
def view(bank) -> NodeView:
    return NodeView(bank, np.arange(len(bank.words)), head_leaves(bank, HeadRules.collins()))


def name(bank: Treebank, node: int) -> str:
    """Name a node by tree, label and words: ``0 NP the cat``."""
    tree = int(np.searchsorted(bank.tree_start, node, side="right")) - 1
    words = bank.tree(tree).words[bank.start[node] : bank.end[node]]
    return " ".join([str(tree), bank.symbols[bank.label[node]], *words])


def classes(bank: Treebank, column: np.ndarray) -> set[frozenset[str]]:
    """Return the groups of nodes that share a value; nodes about which nothing is said are left out."""
    assert column.shape == (len(bank.label) + 1,)
    values = {value for value in column[:-1].tolist() if value >= 0}
    return {frozenset(name(bank, node) for node in np.flatnonzero(column[:-1] == value)) for value in values}


def groups(*lines: str) -> set[frozenset[str]]:
    """``"a | b"`` is a group of two nodes."""
    return {frozenset(line.split(" | ")) for line in lines}


DOG = "0 NP the big dog"
BIG = "0 @NP the big"
VP = "0 VP sees the big dog"
S0, S1 = "0 S the cat sees the big dog", "1 S a dog sleeps"

INSIDE_GROUPS = {
    "word": groups(
        "0 DT the", "0 NN cat", "0 VBZ sees", "0 JJ big", "0 NN dog | 1 NN dog", "1 DT a", "1 VBZ sleeps"
    ),
    "left": groups(
        f"{S0} | {S1}", f"0 NP the cat | 1 NP a dog | {BIG}", f"{VP} | 1 VP sleeps", DOG
    ),
    "right": groups(f"{S0} | {S1}", f"0 NP the cat | 1 NP a dog | {DOG}", VP, BIG),
    "rule": groups(
        f"{S0} | {S1}", "0 NP the cat | 1 NP a dog", VP, "1 VP sleeps", DOG, BIG,
        "0 DT the", "0 NN cat", "0 VBZ sees", "0 JJ big", "0 NN dog | 1 NN dog", "1 DT a", "1 VBZ sleeps",
    ),
    "rule-left-rule": groups(f"{S0} | {S1}", "0 NP the cat", "1 NP a dog", VP, "1 VP sleeps", DOG, BIG),
    "rule-right-rule": groups(S0, S1, "0 NP the cat", "1 NP a dog", VP, DOG, BIG),
    "head-tag": groups(
        f"{S0} | {S1} | {VP} | 1 VP sleeps | 0 VBZ sees | 1 VBZ sleeps",
        f"0 NP the cat | 1 NP a dog | {DOG} | 0 NN cat | 0 NN dog | 1 NN dog",
        f"0 JJ big | {BIG}", "0 DT the | 1 DT a",
    ),
    "width": groups(
        S0, f"{DOG} | {S1}", f"0 NP the cat | 1 NP a dog | {BIG}", VP,
        "0 DT the | 0 NN cat | 0 VBZ sees | 0 JJ big | 0 NN dog | 1 DT a | 1 NN dog | 1 VBZ sleeps | 1 VP sleeps",
    ),
    "head-word": groups(
        f"{S0} | {VP} | 0 VBZ sees", f"{S1} | 1 VP sleeps | 1 VBZ sleeps", "0 NP the cat | 0 NN cat",
        f"1 NP a dog | {DOG} | 0 NN dog | 1 NN dog", f"0 JJ big | {BIG}", "0 DT the", "1 DT a",
    ),
    "first-word": groups(
        f"{S0} | 0 NP the cat | 0 DT the | {DOG} | {BIG}", "0 NN cat", f"{VP} | 0 VBZ sees", "0 JJ big",
        "0 NN dog | 1 NN dog", f"{S1} | 1 NP a dog | 1 DT a", "1 VP sleeps | 1 VBZ sleeps",
    ),
    "last-word": groups(
        f"{S0} | {VP} | {DOG} | 0 NN dog | 1 NP a dog | 1 NN dog", "0 NP the cat | 0 NN cat", "0 DT the",
        "0 VBZ sees", f"{BIG} | 0 JJ big", f"{S1} | 1 VP sleeps | 1 VBZ sleeps", "1 DT a",
    ),
    "edge-tags": groups(
        f"{S0} | 0 NP the cat | 1 NP a dog | {DOG}", S1, VP, BIG, "0 DT the | 1 DT a",
        "0 NN cat | 0 NN dog | 1 NN dog", "0 VBZ sees | 1 VBZ sleeps | 1 VP sleeps", "0 JJ big",
    ),
}  # fmt: skip

# Nodes of the first tree that stand below the same: "the" occurs twice, and is one name for two nodes.
OUTSIDE_GROUPS = {
    "above": groups(
        "0 NP the cat | 1 NP a dog", f"{VP} | 1 VP sleeps", "0 VBZ sees", DOG, BIG, "0 NN dog", "0 DT the",
        "0 JJ big", "1 VBZ sleeps", "0 DT the | 1 DT a", "0 NN cat | 1 NN dog",
    ),
    "above-two": groups(
        "0 NP the cat | 1 NP a dog", f"{VP} | 1 VP sleeps", "0 VBZ sees", DOG, BIG, "0 NN dog", "0 DT the",
        "0 JJ big", "1 VBZ sleeps", "0 DT the | 1 DT a", "0 NN cat | 1 NN dog",
    ),
    "above-three": groups(
        "0 NP the cat | 1 NP a dog", f"{VP} | 1 VP sleeps", "0 VBZ sees", DOG, BIG, "0 NN dog", "0 DT the",
        "0 JJ big", "1 VBZ sleeps", "0 DT the | 1 DT a", "0 NN cat | 1 NN dog",
    ),
    "parent": groups(
        f"0 NP the cat | 1 NP a dog | {VP} | 1 VP sleeps", f"0 VBZ sees | {DOG} | 1 VBZ sleeps",
        f"{BIG} | 0 NN dog | 0 DT the | 0 NN cat | 1 DT a | 1 NN dog", "0 DT the | 0 JJ big",
    ),
    "parent-grandparent": groups(
        f"{S0} | {S1}", f"0 NP the cat | 1 NP a dog | {VP} | 1 VP sleeps", f"0 VBZ sees | {DOG} | 1 VBZ sleeps",
        f"{BIG} | 0 NN dog", "0 DT the | 0 NN cat | 1 DT a | 1 NN dog", "0 DT the | 0 JJ big",
    ),
    "grandparent": groups(
        f"0 DT the | 0 NN cat | 1 DT a | 1 NN dog | 0 VBZ sees | {DOG} | 1 VBZ sleeps", f"{BIG} | 0 NN dog", "0 DT the | 0 JJ big",
    ),
    "rule-above": groups(
        f"0 NP the cat | 1 NP a dog | {VP} | 1 VP sleeps", f"0 VBZ sees | {DOG}", "1 VBZ sleeps",
        "0 DT the | 0 NN cat | 1 DT a | 1 NN dog", f"{BIG} | 0 NN dog", "0 DT the | 0 JJ big",
    ),
    "rule-two-above": groups(
        f"0 DT the | 0 NN cat | 1 DT a | 1 NN dog | 0 VBZ sees | {DOG} | 1 VBZ sleeps", f"{BIG} | 0 NN dog", "0 DT the | 0 JJ big",
    ),
    "outer-head-tag": groups(
        f"0 NP the cat | 0 NN cat | 1 NP a dog | 1 NN dog | {DOG} | 0 NN dog",
        f"0 DT the | 1 DT a | {BIG} | 0 JJ big", "0 DT the",
    ),
    "words-left": groups(
        f"{S0} | 0 NP the cat | 0 DT the | {S1} | 1 NP a dog | 1 DT a", "0 NN cat | 1 NN dog",
        f"{VP} | 0 VBZ sees | 1 VP sleeps | 1 VBZ sleeps", f"{DOG} | {BIG} | 0 DT the", "0 JJ big", "0 NN dog",
    ),
    "words-right": groups(
        f"{S0} | {VP} | {DOG} | 0 NN dog | {S1} | 1 VP sleeps | 1 VBZ sleeps", "0 DT the",
        "0 NP the cat | 0 NN cat", "0 VBZ sees", f"{BIG} | 0 JJ big | 1 NP a dog | 1 NN dog", "0 DT the | 1 DT a",
    ),
    "outer-head-word": groups(
        f"0 NP the cat | 0 NN cat | {DOG} | 0 NN dog", "1 NP a dog | 1 NN dog", "0 DT the",
        f"1 DT a | {BIG} | 0 JJ big", "0 DT the",
    ),
    "sibling-head-word": groups(
        f"{DOG} | 0 NP the cat", "1 NP a dog", f"{VP} | 0 DT the", "1 VP sleeps | 0 VBZ sees | 1 DT a | " + BIG,
        "0 NN dog | 0 DT the", "0 NN cat | 0 JJ big", "1 NN dog",
    ),
    "tag-before": groups(
        f"{VP} | 0 VBZ sees | 1 VP sleeps | 1 VBZ sleeps", "0 NN cat | 1 NN dog | 0 JJ big", f"{DOG} | {BIG} | 0 DT the",
        "0 NN dog",
    ),
    "tag-after": groups(
        "0 NP the cat | 0 NN cat | 1 NP a dog | 1 NN dog", f"0 DT the | 1 DT a | {BIG} | 0 JJ big",
        "0 VBZ sees", "0 DT the",
    ),
    "word-before": groups(
        f"{VP} | 0 VBZ sees", "1 VP sleeps | 1 VBZ sleeps", "0 NN cat | 0 JJ big", "1 NN dog", f"{DOG} | {BIG} | 0 DT the",
        "0 NN dog",
    ),
    "word-after": groups(
        "0 NP the cat | 0 NN cat", "1 NP a dog | 1 NN dog", f"1 DT a | {BIG} | 0 JJ big", "0 DT the", "0 VBZ sees", "0 DT the",
    ),
    "sibling-rule": groups(
        DOG, VP + " | 1 VP sleeps", "0 NP the cat", "1 NP a dog", "0 VBZ sees", "0 DT the", "0 NN cat | 0 JJ big",
        BIG + " | 1 DT a", "0 NN dog", "1 NN dog", f"{S0} | {S1} | 1 VBZ sleeps",  # no sister is a value too
    ),
}  # fmt: skip


@pytest.mark.parametrize("template", INSIDE_GROUPS)
def test_inside(bank, view, template):
    assert classes(bank, INSIDE[template](view)) == INSIDE_GROUPS[template]


@pytest.mark.parametrize("template", OUTSIDE_GROUPS)
def test_outside(bank, view, template):
    assert classes(bank, OUTSIDE[template](view)) == OUTSIDE_GROUPS[template]


def test_every_template_is_tested():
    assert set(INSIDE_GROUPS) == set(INSIDE)
    assert set(OUTSIDE_GROUPS) == set(OUTSIDE)
    for inside, outside in SETS.values():
        assert set(inside) <= set(INSIDE)
        assert set(outside) <= set(OUTSIDE)
    assert [len(side) for side in SETS["plain"]] == [4, 4]
    assert [len(side) for side in SETS["paper"]] == [8, 8]


def test_levels_above():
    """Three words with the same two rules above them, told apart by the third."""
    trees = ["(S (A (B (X (Y y) (Z z)) (C c)) (D d)) (E e))", "(T (A (B (X (Y y) (Z z)) (C c)) (D d)) (E e))"]
    bank = Treebank.from_trees([Tree.parse(text) for text in trees])
    view = NodeView(bank, np.arange(len(bank.words)))

    def separates(template: str, symbol: str) -> bool:
        first, second = np.flatnonzero(bank.label == bank.symbols.index(symbol))
        column = OUTSIDE[template](view)
        return column[first] != column[second]

    reach = [[separates(template, symbol) for symbol in ("A", "B", "X", "Y")] for template in
             ("above", "above-two", "above-three", "parent", "parent-grandparent")]  # fmt: skip
    assert reach == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, False, False, False],
        [True, True, False, False],
    ]


def test_without_heads_head_templates_say_nothing(bank):
    view = NodeView(bank, np.arange(len(bank.words)))
    for template in (INSIDE["head-tag"], INSIDE["head-word"], OUTSIDE["outer-head-tag"], OUTSIDE["outer-head-word"],
                     OUTSIDE["sibling-head-word"]):  # fmt: skip
        assert (template(view) == -1).all()


def test_words_of_one_class_share_features(bank):
    view = NodeView(bank, np.zeros(len(bank.words), np.int64))
    column = INSIDE["word"](view)[:-1]
    np.testing.assert_array_equal(column, np.where(bank.word >= 0, 0, -1))


def test_a_template_of_ones_own(bank, view):
    register_template("outside", "depth", lambda view: np.where(view.parent < 0, 0, 1))
    try:
        assert OUTSIDE["depth"](view)[:-1].sum() == len(bank.label) - bank.n_trees
        with pytest.raises(OptionError, match="already an outside template called 'depth'"):
            register_template("outside", "depth", lambda view: view.none)
        inside, outside = Observations(bank).feature_columns(Features(templates="plain+depth"))
        assert (len(inside), len(outside)) == (4, 5)
        np.testing.assert_array_equal(outside[-1], OUTSIDE["depth"](view))
        SpectralClustering(features=Features(templates="plain+depth")).fit(bank)
        with pytest.raises(OptionError, match="templates must be one of thesis"):
            SpectralClustering(features=Features(templates="plain+no-such-template")).fit(bank)
        register_template("inside", "depth", lambda view: view.none)  # the sides do not share names
    finally:
        del OUTSIDE["depth"]
        INSIDE.pop("depth", None)


def test_outside_features_of_the_thesis_stand_alone():
    """The grandparent and the rule two levels above, neither joined to what is below them."""
    texts = (
        "(S (NP (D a) (N b)) (VP (V c)))",
        "(S (NP (D a) (N b)) (VP (V c)))",
        "(S (PP (D a) (N b)) (VP (V c)))",
    )
    bank = Treebank.from_trees([Tree.parse(text) for text in texts])
    view = NodeView(bank, np.arange(len(bank.words)))
    nouns = np.flatnonzero(bank.label == bank.symbols.index("N"))
    of_np, _, of_pp = nouns.tolist()
    roots = bank.tree_start[1:] - 1
    assert SETS["thesis"][1] == ("parent", "grandparent", "rule-above", "rule-two-above")
    values = {name: OUTSIDE[name](view) for name in SETS["thesis"][1]}
    for name in ("parent", "rule-above"):
        assert values[name][of_np] != values[name][of_pp]
    assert values["grandparent"][of_np] == values["grandparent"][of_pp] == bank.symbols.index("S")
    assert values["rule-two-above"][of_np] == view.rule[roots[0]] == values["rule-two-above"][nouns[1]]
    assert values["rule-two-above"][of_np] != values["rule-two-above"][of_pp]  # S -> NP VP, S -> PP VP
    for name in ("grandparent", "rule-two-above"):
        assert (values[name][roots] == -1).all()
        assert values[name][bank.left[roots[0]]] == -1
    # The old set joined the grandparent to the parent.
    joined = OUTSIDE["parent-grandparent"](view)
    assert joined[of_np] != joined[of_pp]
