"""Decoders, k best trees, samples and confidences against the enumeration of all trees of random tiny grammars."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pytest
from chart_cases import (
    Case,
    ambiguous_case,
    binarised_tree,
    cases,
    edges_of,
    enumerate_derivations,
    forest_items,
    skeleton,
    words_of,
)
from hypothesis import assume, given, reject, settings
from scipy import stats

from gramian.chart import chart_reference as reference
from gramian.chart import decode_reference
from gramian.chart.chart_parser import ChartParser, Forest, Pruning
from gramian.chart.decode import DECODERS, decode
from gramian.chart.derivations import log_posteriors, sample, viterbi
from gramian.chart.k_best import k_best
from gramian.chart.tree_arrays import Decoded, confidences, state_posterior, to_tree
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.trees import Tree, debinarise

EXACT = Pruning(beam=0, item=0, edge=0, fine=0, split=0)
PENALTY = 0.4
OBJECTIVES = [name for name in DECODERS if name != "viterbi"]


@dataclass(frozen=True)
class Enumeration:
    """All trees of a sentence with their probabilities, and what follows from them by counting."""

    grammar: LPCFG
    trees: dict[tuple, float]  # probability of every tree that has one
    shapes: list[tuple]  # every tree whose edges have a probability, even if it has none itself
    derivations: dict[tuple, float]
    item: dict[tuple, float]
    edge: dict[tuple, float]
    root: dict[tuple, float]
    label: dict[tuple, float]

    @classmethod
    def of(cls, case: Case) -> Enumeration:
        emission = reference.emissions(case.grammar, case.words)
        count = reference.fill_chart(case.grammar, emission, reference.COUNT).total
        if not 0 < count <= 20_000:
            reject()
        derivations = enumerate_derivations(case.grammar, emission)
        total = sum(weight for weight, _ in derivations)
        trees: dict[tuple, float] = defaultdict(float)
        for weight, derivation in derivations:
            trees[skeleton(derivation)] += weight / total
        item, edge, root, label = (defaultdict(float) for _ in range(4))
        for tree, share in trees.items():
            root[tree[0]] += share
            for each in tree:
                item[each] += share
            for each in edges_of(tree):
                edge[each] += share
            for each in {entry for node in tree for entry in labels_of(case.grammar, node)}:
                label[each] += share
        shapes = [
            shape
            for shape in all_shapes(case)
            if root[shape[0]] and all(edge[each] for each in edges_of(shape))
        ]
        return cls(
            case.grammar, trees, shapes, {d: w / total for w, d in derivations}, item, edge, root, label
        )

    def score(self, objective: str, tree: tuple) -> float:
        edges = edges_of(tree)
        tags = [node for node in tree if node[0] >= self.grammar.n_phrases]
        if objective == "max-rule-product":
            parts = (
                [self.edge[each] for each in edges]
                + [self.item[each] for each in tags]
                + [self.root[tree[0]]]
            )
            return float(np.log(parts).sum())
        if objective == "max-rule-sum":
            return (
                sum(self.edge[each] for each in edges)
                + sum(self.item[each] for each in tags)
                + self.root[tree[0]]
            )
        if objective == "variational":
            parts = [self.edge[each] / self.item[each[0]] for each in edges] + [self.root[tree[0]]]
            return float(np.log(parts).sum())
        if objective == "max-marginal-sum":
            return sum(self.item[each] for each in tree)
        entries = [entry for node in tree for entry in labels_of(self.grammar, node)]
        return sum(self.label[entry] - PENALTY * (entry[0] == "phrase") for entry in entries)


def labels_of(grammar: LPCFG, node: tuple) -> list[tuple]:
    """The brackets and tags that an item stands for."""
    symbol, start, end = node
    if symbol >= grammar.n_phrases:
        return [("tag", grammar.symbols[symbol], start, end)]
    name = grammar.symbols[symbol]
    return [] if name.startswith("@") else [("phrase", part, start, end) for part in name.split("|")]


def all_shapes(case: Case) -> list[tuple]:
    """Every tree that the rules allow, whatever the states."""
    grammar = case.grammar
    ones = np.ones(grammar.n_symbols, np.int32)
    bare = replace(
        grammar, n_states=ones, state_prior=ones.astype(np.float32), root=np.ones(grammar.n_symbols, np.float32),
        binary=np.ones(len(grammar.binary_rules), np.float32), unary=np.ones(len(grammar.unary_rules), np.float32),
        binary_weight=None, unary_weight=None, root_weight=None, factors=None,
    )  # fmt: skip
    emission = np.zeros((len(case.words), grammar.n_symbols - grammar.n_phrases))
    for row, word in zip(emission, case.words, strict=True):
        row[word.tags] = 1
    return [skeleton(derivation) for _, derivation in enumerate_derivations(bare, emission)]


def parse(case: Case) -> Forest:
    forest = ChartParser(case.grammar).forest(case.words, EXACT)
    assert forest is not None
    return forest


def items_of(forest: Forest, decoded: Decoded) -> tuple:
    items = forest_items(forest)
    return tuple(items[item] for item in decoded.items)


@settings(max_examples=60)
@given(cases(max_words=4))
def test_decoders_find_the_best_tree(case: Case) -> None:
    truth = Enumeration.of(case)
    forest = parse(case)
    chart = reference.fill_chart(case.grammar, reference.emissions(case.grammar, case.words))
    for objective in OBJECTIVES:
        score, items = decode_reference.best_tree(case.grammar, chart, objective, recall_penalty=PENALTY)
        np.testing.assert_allclose(truth.score(objective, items), score, rtol=1e-6, atol=1e-6)
        decoded = decode(forest, objective, recall_penalty=PENALTY)
        assert decoded is not None
        best = max(truth.score(objective, shape) for shape in truth.shapes)
        np.testing.assert_allclose(score, best, rtol=1e-6, atol=1e-6, err_msg=objective)
        np.testing.assert_allclose(decoded.score, best, rtol=1e-4, atol=1e-4, err_msg=objective)
        found = truth.score(objective, items_of(forest, decoded))
        np.testing.assert_allclose(found, best, rtol=1e-4, atol=1e-4, err_msg=objective)


@settings(max_examples=60)
@given(cases(max_words=4))
def test_viterbi_finds_the_best_derivation(case: Case) -> None:
    truth = Enumeration.of(case)
    forest = parse(case)
    decoded = viterbi(forest)
    assert decoded is not None
    assert decoded.states is not None
    best = max(truth.derivations.values())
    np.testing.assert_allclose(decoded.score, np.log(best), rtol=1e-4, atol=1e-4)
    nodes = tuple(
        (*item, state) for item, state in zip(items_of(forest, decoded), decoded.states.tolist(), strict=True)
    )
    np.testing.assert_allclose(truth.derivations[nodes], best, rtol=1e-4)


@settings(max_examples=60)
@given(cases(max_words=4))
def test_k_best_trees_come_in_order_and_differ(case: Case) -> None:
    truth = Enumeration.of(case)
    assume(len(truth.shapes) <= 2000)
    forest = parse(case)
    words = words_of(case)
    for objective in OBJECTIVES:
        best: dict[Tree, float] = {}
        for shape in truth.shapes:
            tree = debinarise(binarised_tree(case.grammar, shape, words))
            best[tree] = max(best.get(tree, -np.inf), truth.score(objective, shape))
        expected = sorted(best.values(), reverse=True)[:20]
        ranked = k_best(forest, 20, objective, recall_penalty=PENALTY)
        np.testing.assert_allclose(
            [each.score for each in ranked], expected, rtol=1e-4, atol=1e-4, err_msg=objective
        )
        trees = [to_tree(forest, each, words) for each in ranked]
        assert len(set(trees)) == len(trees)
        found = [truth.score(objective, items_of(forest, each)) for each in ranked]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=objective)


@settings(max_examples=60)
@given(cases(max_words=4))
def test_trees_have_their_shape_probability_and_confidences(case: Case) -> None:
    truth = Enumeration.of(case)
    forest = parse(case)
    words = words_of(case)
    ranked = k_best(forest, 10)
    for decoded, value in zip(ranked, log_posteriors(forest, ranked), strict=True):
        items = items_of(forest, decoded)
        np.testing.assert_allclose(np.exp(value), truth.trees.get(items, 0.0), rtol=1e-4, atol=1e-7)
        tree = to_tree(forest, decoded, words)
        assert tree == debinarise(binarised_tree(case.grammar, items, words))
        expected = [
            truth.label["tag" if node.word is not None else "phrase", *span]
            for node, span in zip(tree.subtrees(), tree.spans(), strict=True)
        ]
        np.testing.assert_allclose(confidences(forest, decoded), expected, rtol=1e-4, atol=1e-6)
    states = defaultdict(float)
    for derivation, share in truth.derivations.items():
        for node in derivation:
            states[node] += share
    for number, item in enumerate(forest_items(forest)):
        if truth.item[item] > 1e-6:
            posterior = state_posterior(forest, number)
            expected = [states[*item, state] / truth.item[item] for state in range(len(posterior))]
            np.testing.assert_allclose(posterior, expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=60)
@given(cases(max_words=5, signed=True))
def test_models_with_negative_weights_decode(case: Case) -> None:
    emission = reference.emissions(case.grammar, case.words)
    chart = ChartParser(case.grammar)
    forest = chart.forest(case.words, EXACT)
    truth = reference.fill_chart(case.grammar, emission, reference.REAL)
    assume(forest is not None and abs(truth.total) > 1e-3)
    for decoder in DECODERS:
        decoded = decode(forest, decoder)
        if decoded is not None:
            assert list(to_tree(forest, decoded, words_of(case)).words) == words_of(case)
    assert all(len(each.items) for each in sample(forest, 2, 0))
    decoded = decode(forest, "max-rule-product")
    edges = reference.edge_posteriors(truth)
    items = reference.state_posteriors(truth)
    assume(decoded is not None and max(map(abs, edges.values()), default=0) < 1e3)
    tree = items_of(forest, decoded)
    root = sum(truth.inside[tree[0]] * truth.roots[tree[0]]) / truth.total
    parts = [edges[edge] for edge in edges_of(tree)] + [root]
    parts += [items[node].sum() for node in tree if node[0] >= case.grammar.n_phrases]
    assume(min(map(abs, parts)) > 1e-3)  # smaller ones are differences of larger numbers in single precision
    np.testing.assert_allclose(decoded.score, np.log(np.abs(parts)).sum(), rtol=2e-2, atol=2e-2)


def test_samples_have_the_frequencies_of_their_probabilities() -> None:
    case = ambiguous_case(4)
    truth = Enumeration.of(case)
    forest = parse(case)
    size = 4000
    drawn = sample(forest, size, random_state=1)
    counts: dict[tuple, int] = defaultdict(int)
    root_states: dict[tuple, int] = defaultdict(int)
    for each in drawn:
        items = items_of(forest, each)
        counts[items] += 1
        assert each.states is not None
        root_states[*items[0], int(each.states[0])] += 1
        np.testing.assert_allclose(np.exp(each.score), truth.trees[items], rtol=1e-4)
    assert len(truth.trees) > 10
    for observed, expected in (
        (counts, truth.trees),
        (root_states, root_shares(truth)),
    ):
        keys = sorted(expected, key=expected.get)
        frequent = [key for key in keys if expected[key] * size >= 5]
        seen = [observed[key] for key in frequent]
        hoped = [expected[key] * size for key in frequent]
        seen.append(size - sum(seen))
        hoped.append(max(size - sum(hoped), 1e-9))
        assert stats.chisquare(seen, np.array(hoped) * (sum(seen) / sum(hoped))).pvalue > 1e-3
    again = sample(forest, 20, random_state=1)
    assert [each.items.tolist() for each in again] == [each.items.tolist() for each in drawn[:20]]


def root_shares(truth: Enumeration) -> dict[tuple, float]:
    shares: dict[tuple, float] = defaultdict(float)
    for derivation, share in truth.derivations.items():
        shares[derivation[0]] += share
    return shares


def test_long_sentences_decode_without_recursion_or_underflow() -> None:
    case = ambiguous_case(120)
    chart = ChartParser(case.grammar)
    forest = chart.forest(case.words, Pruning(beam=0.1, guess=0))
    assert forest is not None
    words = words_of(case)
    for decoder in DECODERS:
        decoded = decode(forest, decoder)
        assert decoded is not None
        assert np.isfinite(decoded.score)
        assert list(to_tree(forest, decoded, words).words) == words
    ranked = k_best(forest, 5)
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    assert all(np.isfinite(log_posteriors(forest, ranked)))


def test_what_a_decoder_cannot_be() -> None:
    forest = parse(ambiguous_case(2))
    with pytest.raises(OptionError, match="max-rule-product"):
        decode(forest, "best")
    with pytest.raises(OptionError, match="viterbi"):
        k_best(forest, 3, "viterbi")
