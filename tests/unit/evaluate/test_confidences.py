"""Confidences against outcomes: figures worked out by hand, and which nodes of a tree count."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import OptionError, ScoreError
from gramian.evaluate import SPMRL, GoldBrackets, judged, reliability
from gramian.trees import Tree


def test_figures_worked_out_by_hand():
    # Two bins: 0.2 and 0.4 (mean 0.3, half right), and 0.6, 0.8, 1.0 (mean 0.8, two thirds right).
    found = reliability([0.2, 0.4, 0.6, 0.8, 1.0], [True, False, True, False, True], bins=2)
    assert found.count == 5
    assert found.confidence == pytest.approx(0.6, abs=1e-12)
    assert found.right == pytest.approx(0.6, abs=1e-12)
    assert found.ece == pytest.approx((2 * 0.2 + 3 * (0.8 - 2 / 3)) / 5, abs=1e-12)
    assert found.brier == pytest.approx((0.64 + 0.16 + 0.16 + 0.64 + 0) / 5, abs=1e-12)
    assert found.log_loss == pytest.approx(-np.log([0.2, 0.6, 0.6, 0.2, 1]).mean(), abs=1e-6)
    assert [(one.count, one.low, one.high) for one in found.bins] == [(2, 0.2, 0.4), (3, 0.6, 1.0)]
    # By number: the first three (0.4 against 2/3), then two (0.9 against 1/2).
    assert found.ece_mass == pytest.approx((3 * (2 / 3 - 0.4) + 2 * 0.4) / 5, abs=1e-12)


def test_bins_with_equally_many_do_not_part_equal_confidences():
    # All equal: whatever the number of bins, there is one, and 0.9 stands against a half.
    found = reliability([0.9] * 10, [True, False] * 5, bins=5)
    assert found.ece_mass == pytest.approx(0.4, abs=1e-12)
    assert found.ece == pytest.approx(0.4, abs=1e-12)
    # Eight confidences in four bins of two: means 0.15, 0.35, 0.55, 0.75 against 0, 1/2, 1/2, 1.
    right = [False, False, True, False, False, True, True, True]
    found = reliability(np.arange(1, 9) / 10, right, bins=4)
    assert found.ece_mass == pytest.approx((0.15 + 0.15 + 0.05 + 0.25) / 4, abs=1e-12)


def test_the_order_does_not_matter():
    random = np.random.default_rng(3)
    sure = random.integers(0, 8, 200) / 7
    right = random.random(200) < sure
    order = random.permutation(200)
    one, other = reliability(sure, right), reliability(sure[order], right[order])
    assert one.ece_mass == pytest.approx(other.ece_mass, abs=1e-12)
    assert one.ece == pytest.approx(other.ece, abs=1e-12)


def test_certain_and_right_costs_nothing_certain_and_wrong_not_infinitely_much():
    assert reliability([1.0, 0.0], [True, False]).log_loss < 1e-5
    assert 5 < reliability([1.0], [False]).log_loss < 50


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60), st.integers(1, 20))
def test_bins_hold_everything_once_and_errors_are_bounded(rows, bins):
    sure, right = map(list, zip(*rows, strict=True))
    found = reliability(sure, right, bins)
    assert sum(one.count for one in found.bins) == len(rows)
    gap = abs(found.confidence - found.right)
    for error in (found.ece, found.ece_mass):
        assert gap - 1e-9 <= error <= 1 + 1e-9  # the whole set as one bin is the least that can be found
    assert found.brier <= 1


def test_what_cannot_be_compared_is_said():
    with pytest.raises(ScoreError, match="2 confidences and 1 outcomes"):
        reliability([0.1, 0.2], [True])
    with pytest.raises(ScoreError, match="0 confidences"):
        reliability([], [])
    with pytest.raises(ScoreError, match="between 0 and 1"):
        reliability([1.1], [True])
    with pytest.raises(ScoreError, match="between 0 and 1"):
        reliability([float("nan")], [True])
    with pytest.raises(OptionError, match="bins"):
        reliability([0.5], [True], bins=0)


# -- nodes ---------------------------------------------------------------------------------------------------------


GOLD = "(ROOT (S (NP (NP (NN a)) (, ,) (ADVP (RB b))) (VP (V c)) (. .)))"


def outcomes(gold: str, predicted: str, **options) -> dict[str, bool | None]:
    tree = Tree.parse(predicted)
    [found] = GoldBrackets([Tree.parse(gold)], **options).outcomes([tree])
    return {
        f"{number} {node.label}": right
        for number, (node, right) in enumerate(zip(tree.subtrees(), found, strict=True))
    }


def test_nodes_are_judged_as_evalb_counts():
    # The outer NP lacks the comma's words to the right; PRT equals ADVP; punctuation and the wrapper do not count.
    found = outcomes(GOLD, "(TOP (S (NP (NP (JJ a)) (, ,)) (PRT (RB b)) (VP (V c)) (. .)))")
    assert found == {
        "0 TOP": None, "1 S": True, "2 NP": True, "3 NP": False, "4 JJ": False, "5 ,": None, "6 PRT": True, "7 RB": True,
        "8 VP": True, "9 V": True, "10 .": None,
    }  # fmt: skip


def test_a_label_twice_over_a_span_is_right_once_if_gold_has_it_once():
    found = outcomes("(S (NP (N a)) (V b))", "(S (NP (NP (N a))) (V b))")
    assert found == {"0 S": True, "1 NP": True, "2 NP": False, "3 N": True, "4 V": True}


def test_traces_of_gold_are_passed_over_and_failures_have_no_nodes():
    gold = GoldBrackets([Tree.parse("(S (NP (-NONE- *)) (VP (V a) (NP (N b))))")] * 3)
    right = Tree.parse("(S (VP (V a) (NP (N b))))")
    assert gold.outcomes([right, None, Tree("")]) == [[True] * 5, [], []]
    with pytest.raises(ScoreError, match="sentence 1"):
        gold.outcomes([Tree.parse("(S (V a))"), None, None])


def test_confidences_of_phrases_and_tags_are_kept_apart():
    tree = Tree.parse("(S (NP (N a)) (VP (V b)) (. .))")
    found = judged(GoldBrackets([tree] * 2), [(tree, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), (Tree(""), [])])
    assert {name: (sure.tolist(), right.tolist()) for name, (sure, right) in found.items()} == {
        "phrases": ([0.9, 0.8, 0.6], [True] * 3),
        "tags": ([0.7, 0.5], [True] * 2),
    }


LEAVES = st.sampled_from(["N", "V", ",", "."])


@st.composite
def pairs_of_trees(draw):
    """Two trees over the same few words."""
    size = draw(st.integers(1, 5))

    def grow(start: int, end: int, depth: int) -> Tree:
        if end - start == 1 and (depth == 0 or draw(st.booleans())):
            return Tree(draw(LEAVES), word=f"w{start}")
        cuts = sorted(draw(st.sets(st.integers(start + 1, end - 1), max_size=2))) if end - start > 1 else []
        edges = [start, *(cuts if depth else range(start + 1, end)), end]
        children = tuple(grow(a, b, max(depth - 1, 0)) for a, b in pairwise(edges))
        return Tree(draw(st.sampled_from(["A", "B", "ADVP", "PRT", "TOP"])), children)

    return grow(0, size, 3), grow(0, size, 3)


@given(pairs_of_trees(), st.booleans())
def test_right_nodes_are_as_many_as_the_scores_say(trees, spmrl):
    gold, predicted = trees
    scorer = GoldBrackets([gold], SPMRL) if spmrl else GoldBrackets([gold])
    [found] = scorer.outcomes([predicted])
    [row] = scorer.score([predicted]).rows
    phrases = [
        right
        for node, right in zip(predicted.subtrees(), found, strict=True)
        if node.word is None and right is not None
    ]
    assert (sum(phrases), len(phrases)) == (row.tagged_matched, row.tagged_predicted)
