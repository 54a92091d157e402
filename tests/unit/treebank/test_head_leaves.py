"""Heads on arrays against heads on flat trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_strategies import labelled_trees

from gramian.treebank import Shape, Treebank
from gramian.treebank.feature_templates import head_leaves
from gramian.trees import HeadRules, NormaliseOptions, Tree, head_positions
from gramian.trees.labels import is_intermediate

RULES = {name: HeadRules.named(name) for name in ("collins", "left", "right")}
AS_THEY_ARE = NormaliseOptions(
    phrase_cut="", indices=False, same_unaries=False, root="keep", empty_tags=frozenset()
)

_PENN = st.sampled_from(["S", "NP", "VP", "PP", "SBAR", "ADJP", "QP", "UCP", "NML"])
_TAGS = st.sampled_from(["NN", "NNP", "POS", "DT", "JJ", "VBZ", "TO", "IN", "CC", ",", ".", "CD"])
penn_like = st.recursive(
    st.builds(lambda tag: Tree(tag, word="w"), _TAGS),
    lambda parts: st.builds(Tree, _PENN, st.lists(parts, min_size=1, max_size=5)),
    max_leaves=20,
)


def heads_by_span(tree: Tree, rules: HeadRules) -> dict[tuple[int, int], set[int]]:
    """Return the head positions of all nodes of a flat tree, by span; nodes of a unary chain have the same."""
    found: dict[tuple[int, int], set[int]] = {}
    positions = iter(head_positions(tree, rules))
    start = 0
    starts, ends = [], []
    nodes = list(tree.subtrees())
    for node in nodes:
        starts.append(start)
        start += node.word is not None
    for node, first in zip(nodes, starts, strict=True):
        ends.append(first + len(node.words))
    for first, end in zip(starts, ends, strict=True):
        found.setdefault((first, end), set()).add(next(positions))
    return found


@settings(max_examples=60)
@given(
    st.lists(st.one_of(penn_like, labelled_trees), min_size=1, max_size=3),
    st.sampled_from(sorted(RULES)),
    st.builds(Shape, st.sampled_from(["right", "left"]), st.sampled_from([0, 2]), st.sampled_from([1, 2])),
)
def test_heads_of_phrases_are_those_of_the_flat_tree(trees, name, shape):
    bank = Treebank.from_trees(trees, options=AS_THEY_ARE, shape=shape)
    head = head_leaves(bank, RULES[name])
    for number, tree in enumerate(trees):
        expected = heads_by_span(tree, RULES[name])
        for node in range(bank.tree_start[number], bank.tree_start[number + 1]):
            assert bank.word[head[node]] >= 0
            if not is_intermediate(bank.symbols[bank.label[node]]):
                assert {bank.start[head[node]]} == expected[bank.start[node], bank.end[node]]


def test_every_pair_of_productions_is_told_apart():
    """Forty phrase labels over every pair of tags: what a short hash of label and children would confuse."""
    tags = [f"t{number:02}" for number in range(12)]
    trees = [
        Tree(f"P{label:02}", [Tree(left, word="a"), Tree(right, word="b")])
        for label in range(40)
        for left in tags
        for right in tags
    ]
    # Even labels take the first child, odd labels the second one.
    rules = HeadRules.from_text(
        "\n".join(f"P{label:02} {'left' if label % 2 == 0 else 'right'} none" for label in range(40))
    )
    bank = Treebank.from_trees(trees)
    roots = bank.tree_start[1:] - 1
    expected = np.array([int(bank.symbols[bank.label[root]][1:]) % 2 for root in roots])
    np.testing.assert_array_equal(bank.start[head_leaves(bank, rules)[roots]], expected)


@pytest.mark.parametrize(("direction", "words"), [("right", ["cat", "old"]), ("left", ["cat", "cat"])])
def test_an_intermediate_node_has_the_head_among_its_children(direction, words):
    bank = Treebank.from_trees([Tree.parse("(NP (DT the) (JJ old) (NN cat))")], shape=Shape(direction))
    head = head_leaves(bank, RULES["collins"])
    found = {
        bank.symbols[bank.label[node]]: bank.words[bank.word[head[node]]] for node in range(len(bank.label))
    }
    assert [found["NP"], found["@NP"]] == words
