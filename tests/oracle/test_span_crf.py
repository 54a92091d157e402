"""The span CRF against the enumeration of all trees, its readable reference, and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.experts import span_kernels as kernels
from gramian.experts import span_kernels as state_kernels
from gramian.experts import span_reference as reference
from gramian.experts.span_crf import Gradients
from gramian.experts.span_forests import Contexts, Skeleton
from gramian.experts.span_templates import SPANS
from gramian.loglinear.adagrad import new_tables
from gramian.loglinear.word_views import TAG, WordForms

SYMBOLS = ("@A", "A", "B|A", "x", "y")
N_PHRASES, N_SYMBOLS = 3, 5  # the others are tags
SLOTS = 1 << 12


@st.composite
def forests(draw):
    """A random forest over a short sentence: some symbols over each span, some rules between them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 4))
    items, edges = [], []
    at: dict[tuple[int, int], list[int]] = {}
    for width in range(1, n + 1):
        for begin in range(n - width + 1):
            here = at.setdefault((begin, begin + width), [])

            def add(symbol, ways, here=here, begin=begin, end=begin + width):
                kept = [way for way in ways if rng.random() < 0.7]
                edges.append(kept)
                here.append(len(items))
                items.append((symbol, begin, end))

            if width == 1:
                for tag in range(N_PHRASES, N_PHRASES + 1 + int(rng.integers(N_SYMBOLS - N_PHRASES))):
                    add(tag, [])
                ways = [(tag, -1) for tag in here]
            else:
                ways = [
                    (left, right)
                    for split in range(begin + 1, begin + width)
                    for left in at[begin, split]
                    for right in at[split, begin + width]
                ]
            for symbol in range(N_PHRASES):
                if rng.random() < 0.7:
                    add(symbol, ways)
    symbol, begin, end = np.array(items, np.int32).T.copy()
    sizes = [len(ways) for ways in edges]
    pairs = np.array([way for ways in edges for way in ways], np.int32).reshape(-1, 2)
    top = (begin == 0) & (end == n) & (symbol < N_PHRASES)
    forest = Skeleton(
        symbol,
        begin,
        end,
        top,
        np.cumsum([0, *sizes]).astype(np.int32),
        pairs[:, 0].copy(),
        pairs[:, 1].copy(),
    )
    return forest, rng


def all_trees(forest, item):
    """Every tree under an item, as its items and its edges."""
    if forest.item_symbol[item] >= N_PHRASES:
        return [((item,), ())]
    trees = []
    for edge in range(forest.edge_first[item], forest.edge_first[item + 1]):
        rights = [((), ())]
        if forest.edge_right[edge] >= 0:
            rights = all_trees(forest, forest.edge_right[edge])
        for left_items, left_edges in all_trees(forest, forest.edge_left[edge]):
            for right_items, right_edges in rights:
                trees.append(((item, *left_items, *right_items), (edge, *left_edges, *right_edges)))
    return trees


def trees_of(forest):
    return [tree for root in np.flatnonzero(forest.is_root) for tree in all_trees(forest, root)]


def random_views(rng, n):
    words = [str(word) for word in rng.choice(["the", "Dog", "barks", "3-fold", "x"], n)]
    views = WordForms(["the", "dog"]).views(words)
    views[TAG, 2:-2] = rng.integers(1, 4, n)
    return views


def state_of(forest, states, item, context):
    """The state of an item in a context."""
    state = states.first_state[item]
    while states.context[state] != context:
        state = states.next_state[state]
    return state


def states_and_pairs(forest, states, tree):
    """The states of a tree's items and its pairs, by the definition of contexts: A above, or what stands beside @A."""
    items, edges = tree
    label = {0: 1, 1: 1, 2: 1}  # all phrases here are A's
    context = {items[0]: 0}
    own = dict(
        zip(
            (int(np.searchsorted(forest.edge_first, edge, "right")) - 1 for edge in edges), edges, strict=True
        )
    )
    for item, edge in own.items():
        left, right = int(forest.edge_left[edge]), int(forest.edge_right[edge])
        for child, other in ((left, right), (right, left)):
            if child >= 0:
                beside = forest.item_symbol[child] == 0
                context[child] = (
                    1 + N_SYMBOLS + forest.item_symbol[other]
                    if beside and other >= 0
                    else label[int(forest.item_symbol[item])]
                )
    found = {item: state_of(forest, states, item, context[item]) for item in items}
    pairs = [states.state_pair[found[item]] + edge - forest.edge_first[item] for item, edge in own.items()]
    return [int(found[item]) for item in items], [int(pair) for pair in pairs]


@settings(max_examples=60, deadline=None)
@given(forests())
def test_posteriors_are_those_of_all_trees(case):
    forest, rng = case
    states = Contexts(SYMBOLS).states(forest)
    state_score, pair_score = (
        3 * rng.normal(size=len(states.context)),
        3 * rng.normal(size=states.state_pair[-1]),
    )
    trees = trees_of(forest)
    found = kernels.inside_outside(forest, states, N_PHRASES, state_score, pair_score)
    readable = reference.inside_outside(forest, states, N_PHRASES, state_score, pair_score)
    if not trees:
        assert found[0] == readable[0] == -np.inf
        assert not any(table.any() for table in found[1:])
        return
    parts = [states_and_pairs(forest, states, tree) for tree in trees]
    weight = np.exp([state_score[own].sum() + pair_score[pairs].sum() for own, pairs in parts])
    expected = [np.zeros_like(table) for table in found[1:]]
    for share, (items, edges), (own, pairs) in zip(weight / weight.sum(), trees, parts, strict=True):
        for table, places in zip(expected, (items, edges, items[:1], own, pairs), strict=True):
            table[list(places)] += share
    for log_total, *tables in (found, readable):
        np.testing.assert_allclose(log_total, np.log(weight.sum()), rtol=1e-9)
        for table, right in zip(tables, expected, strict=True):
            np.testing.assert_allclose(table, right, rtol=1e-6, atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(forests())
def test_steps_follow_the_gradient_of_the_log_likelihood(case):
    """Of every weight that a tree of the forest touches, the change is the derivative by finite differences."""
    forest, rng = case
    trees = trees_of(forest)
    if not trees:
        return
    top_down = trees[rng.integers(len(trees))]
    items, edges = (np.array(part[::-1], np.int32) for part in top_down)  # children before parents
    states = Contexts(SYMBOLS).states(forest)
    own_states, own_pairs = state_kernels.tree_states(forest, states, items, edges)
    expected = states_and_pairs(forest, states, top_down)
    assert sorted(own_states.tolist()) == sorted(expected[0])
    assert sorted(own_pairs.tolist()) == sorted(expected[1])
    views = random_views(rng, int(forest.item_end.max()))
    weights = (rng.integers(-2048, 2048, SLOTS) / 1024).astype(np.float32)  # so that small steps are exact

    def log_likelihood():
        state_score, pair_score = kernels.score_forest(SPANS, views, forest, states, N_PHRASES, weights)
        log_total, item, edge, _, state, pair = kernels.inside_outside(
            forest, states, N_PHRASES, state_score, pair_score
        )
        tree_score = state_score[own_states].sum() + pair_score[own_pairs].sum()
        return tree_score - log_total, item, edge, state, pair

    gradients = []
    for posterior, own in zip(log_likelihood()[1:], (items, edges, own_states, own_pairs), strict=True):
        gradients.append(-posterior)
        gradients[-1][own] += 1
    # Squares this large stay as they are: every step is the gradient itself.
    tables = new_tables(SLOTS, 1e8, smallest=0.0, square=1e16, floor=np.float32(0))
    moved, drift = tables.weights, tables.drift
    moved[:] = weights
    kernels.climb(SPANS, views, forest, states, N_PHRASES, Gradients(*gradients), 2.0, tables)
    np.testing.assert_allclose(drift, 2 * (moved - weights), rtol=1e-5, atol=1e-5)
    for slot in np.flatnonzero(moved != weights)[::10]:
        middle, around = weights[slot].copy(), []
        for side in (1, -1):
            weights[slot] = middle + side / 256
            around.append(log_likelihood()[0])
        weights[slot] = middle
        assert (around[0] - around[1]) * 128 == pytest.approx(moved[slot] - middle, rel=1e-4, abs=1e-4)
