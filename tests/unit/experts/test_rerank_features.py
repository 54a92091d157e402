"""Trees as arrays, their features and counts: kernels agree with what plain code reads off tree objects."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_features import features

from gramian.evaluate import GoldBrackets
from gramian.experts import rerank_kernels as kernels
from gramian.experts.rerank_candidates import DENSE, Candidates, read_candidates, scored, written_candidates
from gramian.experts.rerank_features import GROUPS, TreeFeatures
from gramian.experts.rerank_model import expected_brackets
from gramian.trees import HeadRules, Tree
from gramian.trees.tree import phrase, preterminal

WORDS = ("cats", "and", "dogs", "see", "in", ",", "the")
PHRASES, TAGS = ("S", "NP", "VP", "PP", "ADVP", "PRT"), ("NN", "CC", "VB", "IN", ",", "DT")


def as_candidates(trees: list[Tree]) -> Candidates:
    """Lay out trees of one sentence as arrays."""
    names = (*PHRASES, *TAGS)
    nodes = [list(tree.subtrees()) for tree in trees]
    flat = [node for row in nodes for node in row]
    label = [
        PHRASES.index(node.label) if node.children else len(PHRASES) + TAGS.index(node.label) for node in flat
    ]
    return Candidates(
        names, len(PHRASES), np.cumsum([0, *map(len, nodes)], dtype=np.int32), np.array(label, np.int32),
        np.array([len(node.children) for node in flat], np.int32), np.zeros((len(trees), len(DENSE)), np.float32),
    )  # fmt: skip


@st.composite
def sentences(draw, most=7):
    """Several trees over the same words."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=most))

    def tree(start: int, end: int, root: bool) -> Tree:
        if end - start == 1 and not root:
            leaf = preterminal(draw(st.sampled_from(TAGS)), words[start])
            return phrase(draw(st.sampled_from(PHRASES)), (leaf,)) if draw(st.integers(0, 3)) == 0 else leaf
        cuts = (
            sorted(draw(st.sets(st.integers(start + 1, end - 1), min_size=1, max_size=3)))
            if end - start > 1
            else []
        )
        ends = [start, *cuts, end]
        parts = tuple(tree(a, b, False) for a, b in itertools.pairwise(ends))
        return phrase(draw(st.sampled_from(PHRASES)), parts)

    return [tree(0, len(words), True) for _ in range(draw(st.integers(1, 4)))]


def hashes(trees: list[Tree], heads: HeadRules | None, group: str) -> list[Counter]:
    """Return how often each tree has each feature, by the whole hash rather than by its slot in a table, where some meet by chance."""
    arrays = TreeFeatures(WORDS, heads, [group])._arrays(trees[0].words, as_candidates(trees))
    slots = np.empty(100 * len(arrays.arity), np.uint64)
    found = []
    for first, last in itertools.pairwise(arrays.tree_start.tolist()):
        count = kernels._features(arrays, first, last, slots)
        found.append(Counter(slots[:count].tolist()))
    return found


@settings(max_examples=60)
@given(sentences(), st.booleans())
def test_features_are_those_of_plain_code(trees, with_heads):
    heads = HeadRules.collins() if with_heads else None
    for group in GROUPS:
        ours, theirs = hashes(trees, heads, group), [features(tree, heads, group) for tree in trees]
        # What a hash stands for cannot be seen, but how often it occurs in each tree can.
        rows = [
            sorted(tuple(count[key] for count in counts) for key in set().union(*counts)) for counts in (ours, theirs)
        ]  # fmt: skip
        assert rows[0] == rows[1], group


@settings(max_examples=30)
@given(sentences(), st.booleans())
def test_differences_and_scores_agree(trees, with_heads):
    found = TreeFeatures(WORDS, HeadRules.collins() if with_heads else None)
    weights = np.random.default_rng(0).normal(size=1 << 14).astype(np.float32)
    scores = found.scores(trees[0].words, as_candidates(trees), weights)
    table = np.zeros(1 << 14, np.int16)
    where, slots, counts = found.differences(trees[0].words, as_candidates(trees), table)
    assert not table.any()
    for number in range(len(trees)):
        here = slice(where[number], where[number + 1])
        np.testing.assert_allclose(
            scores[number] - scores[0], weights[slots[here]].astype(float) @ counts[here], rtol=1e-4, atol=1e-3
        )  # fmt: skip


def test_features_of_labels_and_words_are_the_same_whatever_their_numbers():
    one = Tree.parse("(S (NP (NN cats)) (VP (VB see)))")
    two = Tree.parse("(S (NN cats) (VP (VB see)))")
    usual = as_candidates([one, two])
    order = np.random.default_rng(1).permutation(len(PHRASES))
    names = (*(PHRASES[place] for place in order), *TAGS)
    label = np.array([names.index(usual.names[number]) for number in usual.label], np.int32)
    other = Candidates(names, len(PHRASES), usual.tree_start, label, usual.arity, usual.dense)
    weights = np.random.default_rng(0).normal(size=1 << 14).astype(np.float32)
    found = TreeFeatures(WORDS, HeadRules.collins())
    np.testing.assert_array_equal(
        found.scores(one.words, usual, weights), found.scores(one.words, other, weights)
    )


@settings(max_examples=60)
@given(sentences())
def test_frames_are_those_of_the_trees(trees):
    arrays = as_candidates(trees)
    parent, sibling, start, end = kernels.frames(arrays.tree_start, arrays.arity)
    spans = [(first, last) for tree in trees for _, first, last in tree.spans()]
    assert spans == list(zip(start.tolist(), end.tolist(), strict=True))
    for node, above in enumerate(parent.tolist()):
        assert above == -1 or (start[above] <= start[node] and end[node] <= end[above] and above < node)
    nodes = [node for tree in trees for node in tree.subtrees()]
    for node, tree in enumerate(nodes):
        children, child = [], node + 1 if tree.children else -1
        while child >= 0:
            children.append(nodes[child])
            child = sibling[child]
        assert all(one is two for one, two in zip(children, tree.children, strict=True))


@settings(max_examples=60)
@given(sentences())
def test_right_brackets_are_counted_as_scores_count_them(trees):
    gold, *others = trees
    found = scored(tuple(gold.words), as_candidates(others), gold) if others else None
    for number, tree in enumerate(others):
        row = GoldBrackets([gold]).score([tree]).rows[0]
        assert found.gold == row.tagged_gold
        assert found.predicted[number] == row.tagged_predicted
        assert found.matched[number] == row.tagged_matched


def test_candidates_are_written_and_read():
    trees = [Tree.parse("(S (NP (NN cats)) (VP (VB see)))"), Tree.parse("(S (NN cats) (VP (VB see)))")]
    one = scored(("cats", "see"), as_candidates(trees), trees[1])
    again = list(read_candidates(written_candidates([one, one])))
    assert len(again) == 2
    for name in ("tree_start", "label", "arity", "dense"):
        np.testing.assert_array_equal(getattr(again[1].trees, name), getattr(one.trees, name))
    np.testing.assert_array_equal(again[1].matched, [2, 2])
    np.testing.assert_allclose(again[1].f1, [4 / 5, 1.0], rtol=1e-12)
    assert (again[1].words, again[1].gold) == (("cats", "see"), 2)
    assert list(read_candidates(written_candidates([]))) == []
    assert pytest.approx(0.8) == one.f1[0]


@settings(max_examples=40)
@given(sentences(), st.integers(0, 2**32 - 1))
def test_expected_brackets_are_those_of_all_trees_by_their_chance(trees, seed):
    arrays = as_candidates(trees)
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=len(trees))
    arrays.dense[:, 0] = rng.normal(size=len(trees))
    found = expected_brackets(arrays, scores, 2.0)
    chance = np.exp(scores) / np.exp(scores).sum()
    brackets = [
        [span for node, span in zip(tree.subtrees(), tree.spans(), strict=True) if node.children]
        for tree in trees
    ]
    for number, own in enumerate(brackets):
        wanted = 2 * arrays.dense[number, 0] - len(own) / 2
        for other, share in zip(brackets, chance, strict=True):
            wanted += share * sum(other.count(span) for span in own)
        np.testing.assert_allclose(found[number], wanted, rtol=1e-5, atol=1e-5)
