"""Tiny treebanks with random latent tables, all their assignments of states, and grammars that sample trees with states."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions
from gramian.trees import Tree

_LEAVES = st.builds(
    lambda tag, word: Tree(tag, word=word), st.sampled_from(["x", "y", "z"]), st.sampled_from(["a", "b"])
)
_PHRASES = st.sampled_from(["A", "B", "C"])


def small_trees(max_leaves: int) -> st.SearchStrategy[Tree]:
    """Trees over few labels, so that productions come again."""
    return st.recursive(
        _LEAVES,
        lambda parts: st.builds(Tree, _PHRASES, st.lists(parts, min_size=1, max_size=3)),
        max_leaves=max_leaves,
    )


@dataclass(frozen=True)
class Case:
    """A treebank and random parameters for its productions; some may be zero."""

    bank: Treebank
    tables: LatentTables


@st.composite
def cases(draw: st.DrawFn, max_trees: int, max_leaves: int, max_states: int) -> Case:
    bank = Treebank.from_trees(draw(st.lists(small_trees(max_leaves), min_size=1, max_size=max_trees)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    zeros = draw(st.sampled_from([0.0, 0.0, 0.3]))
    n_states = rng.integers(1, max_states + 1, bank.n_symbols).astype(np.int32)
    return Case(bank, random_tables(Layout.of(Productions.of(bank), n_states), rng, zeros))


def random_tables(layout: Layout, rng: np.random.Generator, zeros: float = 0.0) -> LatentTables:
    tables = layout.zeros(np.float64)
    for table in (tables.binary, tables.unary, tables.lexical, tables.root):
        table[:] = rng.gamma(1.0, size=len(table)) * (rng.random(len(table)) >= zeros)
    return tables


def big_case(seed: int = 0) -> Case:
    """Sixty trees of up to a dozen words, with random parameters."""
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(60):
        tree = Tree("x", word="a")
        for _ in range(int(rng.integers(1, 12))):
            other = Tree(str(rng.choice(["x", "y"])), word=str(rng.choice(["a", "b", "c"])))
            label = str(rng.choice(["A", "B"]))
            tree = Tree(label, [tree, other] if rng.random() < 0.5 else [other, tree])
        trees.append(tree)
    bank = Treebank.from_trees(trees)
    layout = Layout.of(Productions.of(bank), rng.integers(2, 9, bank.n_symbols).astype(np.int32))
    return Case(bank, random_tables(layout, rng))


def assignments(bank: Treebank, tree: int, tables: LatentTables) -> tuple[np.ndarray, np.ndarray]:
    """Return all assignments of states to the nodes of a tree, shape (nodes, assignments), and their weights."""
    layout, production = tables.layout, tables.layout.productions.node_production
    first, last = bank.tree_start[tree], bank.tree_start[tree + 1]
    states = np.indices(layout.n_states[bank.label[first:last]]).reshape(last - first, -1)
    weight = tables.root[layout.root_start[bank.label[last - 1]] + states[-1]].astype(float)
    for node in range(first, last):
        here, rule = states[node - first], production[node]
        if bank.word[node] >= 0:
            weight = weight * tables.lexical[layout.lexical_start[rule] + here]
        elif bank.right[node] < 0:
            weight = weight * tables.unary_block(rule)[here, states[bank.left[node] - first]]
        else:
            below = states[bank.left[node] - first], states[bank.right[node] - first]
            weight = weight * tables.binary_block(rule)[here, below[0], below[1]]
    return states, weight


def counts_by_enumeration(bank: Treebank, tables: LatentTables) -> tuple[LatentTables, np.ndarray]:
    """Return expected counts and the probability of each tree."""
    layout, production = tables.layout, tables.layout.productions.node_production
    counts = layout.zeros(np.float64)
    probability = np.empty(bank.n_trees)
    for tree in range(bank.n_trees):
        first, last = bank.tree_start[tree], bank.tree_start[tree + 1]
        states, weight = assignments(bank, tree, tables)
        probability[tree] = weight.sum()
        if probability[tree] == 0:
            continue
        share = weight / probability[tree]
        np.add.at(counts.root, layout.root_start[bank.label[last - 1]] + states[-1], share)
        for node in range(first, last):
            here, rule = states[node - first], production[node]
            if bank.word[node] >= 0:
                np.add.at(counts.lexical, layout.lexical_start[rule] + here, share)
            elif bank.right[node] < 0:
                np.add.at(counts.unary_block(rule), (here, states[bank.left[node] - first]), share)
            else:
                below = states[bank.left[node] - first], states[bank.right[node] - first]
                np.add.at(counts.binary_block(rule), (here, *below), share)
    return counts, probability


class ToyGrammar:
    """A latent-variable PCFG written out by hand, whose trees come with the states of their nodes.

    Parameters
    ----------
    root : str
        Its first state is the start.
    rules : dict
        For each symbol and state the ways to go on, with their probabilities: a word, or a tuple of (symbol, state).
    """

    def __init__(self, root: str, rules: dict[tuple[str, int], dict[object, float]]) -> None:
        self.root, self.rules = root, rules

    def sample(self, n: int, seed: int) -> tuple[list[Tree], list[list[int]]]:
        """Return trees and, for each, the states of its nodes in preorder."""
        rng = np.random.default_rng(seed)
        tables = {
            key: (list(choices), np.cumsum(list(choices.values()))) for key, choices in self.rules.items()
        }
        uniform = iter(rng.random(200 * n).tolist())

        def grow(symbol: str, state: int, states: list[int]) -> Tree:
            states.append(state)
            choices, sums = tables[symbol, state]
            chosen = choices[min(int(np.searchsorted(sums, next(uniform) * sums[-1])), len(choices) - 1)]
            if isinstance(chosen, str):
                return Tree(symbol, word=chosen)
            return Tree(symbol, [grow(*child, states) for child in chosen])

        trees, all_states = [], []
        for _ in range(n):
            states: list[int] = []
            trees.append(grow(self.root, 0, states))
            all_states.append(states)
        return trees, all_states

    def skeletons(self) -> dict[Tree, float]:
        """Return all trees without states and their probabilities; the grammar must not be recursive."""
        total: dict[Tree, float] = {}
        for tree, weight in self._trees(self.root, 0).items():
            total[tree] = total.get(tree, 0.0) + weight
        return total

    def _trees(self, symbol: str, state: int) -> dict[Tree, float]:
        found: dict[Tree, float] = {}
        for chosen, probability in self.rules[symbol, state].items():
            if isinstance(chosen, str):
                options: Iterator[tuple[Tree, float]] = iter([(Tree(symbol, word=chosen), 1.0)])
            else:
                parts: list[tuple[tuple[Tree, ...], float]] = [((), 1.0)]
                for child in chosen:  # type: ignore[attr-defined]
                    below = self._trees(*child)
                    parts = [((*done, tree), w * v) for done, w in parts for tree, v in below.items()]
                options = ((Tree(symbol, done), weight) for done, weight in parts)
            for tree, weight in options:
                found[tree] = found.get(tree, 0.0) + probability * weight
        return found


def preorder(bank: Treebank, tree: int) -> list[int]:
    """Return the nodes of a tree, parents before children, left to right."""
    order: list[int] = []
    waiting = [int(bank.tree_start[tree + 1]) - 1]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [int(child) for child in (bank.right[node], bank.left[node]) if child >= 0]
    return order


def tree_values(bank: Treebank, tables: LatentTables) -> np.ndarray:
    """Return the value of each tree under rule tensors, which need not be probabilities."""
    layout, production = tables.layout, tables.layout.productions.node_production
    inside: list[np.ndarray] = []
    for node, rule in enumerate(production):
        left, right = bank.left[node], bank.right[node]
        if bank.word[node] >= 0:
            inside.append(tables.lexical[layout.lexical_start[rule] : layout.lexical_start[rule + 1]])
        elif right < 0:
            inside.append(tables.unary_block(rule) @ inside[left])
        else:
            inside.append(np.einsum("ijk,j,k", tables.binary_block(rule), inside[left], inside[right]))
    roots = bank.tree_start[1:] - 1
    return np.array(
        [
            tables.root[layout.root_start[bank.label[root]] : layout.root_start[bank.label[root] + 1]]
            @ inside[root]
            for root in roots
        ]
    )


def _words(own: list[str], shared: list[str]) -> dict[object, float]:
    """Four fifths for words of one's own."""
    return {word: 0.8 / len(own) for word in own} | {word: 0.2 / len(shared) for word in shared}


SENTENCES = ToyGrammar(
    "S",
    {
        ("S", 0): {
            (("NP", 0), ("VP", 0)): 0.45,
            (("NP", 1), ("VP", 1)): 0.45,
            (("NP", 0), ("VP", 1)): 0.05,
            (("NP", 1), ("VP", 0)): 0.05,
        },
        ("VP", 0): {(("V", 0),): 1.0},
        ("VP", 1): {(("V", 1), ("NP", 1)): 0.9, (("V", 1), ("NP", 0)): 0.1},
        ("NP", 0): {(("N", 0),): 0.7, (("D", 0), ("N", 0)): 0.3},
        ("NP", 1): {(("D", 1), ("N", 1)): 0.8, (("NP", 1), ("PP", 0)): 0.2},
        ("PP", 0): {(("P", 0), ("NP", 1)): 1.0},
        ("N", 0): _words(["ann", "bob", "cy"], ["dog"]),
        ("N", 1): _words(["tree", "car", "book"], ["dog"]),
        ("D", 0): _words(["the"], ["a"]),
        ("D", 1): _words(["some"], ["a"]),
        ("V", 0): _words(["runs", "sleeps", "falls"], ["sees"]),
        ("V", 1): _words(["takes", "makes", "has"], ["sees"]),
        ("P", 0): {"of": 0.5, "in": 0.5},
    },
)
"""Sentences whose phrases and tags have two kinds, told apart by their words, their rules and what is around them."""


def sentences(n: int, seed: int) -> tuple[Treebank, np.ndarray]:
    """Return a treebank of :data:`SENTENCES` and the true state of each node."""
    trees, states = SENTENCES.sample(n, seed)
    bank = Treebank.from_trees(trees)
    truth = np.empty(len(bank.label), np.int32)
    for tree, tree_states in enumerate(states):
        truth[preorder(bank, tree)] = tree_states
    return bank, truth
