"""Drawings for terminals."""

from hypothesis import given
from tree_strategies import labelled_trees

from gramian.trees import Tree


def test_by_hand():
    tree = Tree.parse("( (S (NP (DT the) (NN dog)) (VP (VBZ barks) (NP (NN x))) (. .)))")
    assert tree.outline().split("\n") == [
        "· ── S",
        "├── NP",
        "│   ├── DT  the",
        "│   └── NN  dog",
        "├── VP",
        "│   ├── VBZ  barks",
        "│   └── NP ── NN  x",
        "└── .  .",
    ]
    assert Tree("").outline() == "·"


@given(labelled_trees)
def test_a_line_for_every_node_but_only_children(tree):
    only = sum(len(node.children) == 1 for node in tree.subtrees())
    drawn = tree.outline().split("\n")
    assert len(drawn) == sum(1 for _ in tree.subtrees()) - only
    assert [line.rsplit("  ", 1)[1] for line in drawn if "  " in line.lstrip("│ ├└─")] == list(tree.words)


def test_depth_has_no_limit():
    drawn = Tree.parse("(X (A a) " * 10_000 + "(B b)" + ")" * 10_000).outline()
    assert drawn.count("\n") == 20_000
    assert len(drawn) < 20_001 * 200
