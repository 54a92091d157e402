"""Tiny random grammars and sentences, and the enumeration of all their derivations."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from gramian.chart.chart_parser import Forest
from gramian.grammar import LPCFG, Lexicon
from gramian.grammar.lexicon import WordScores
from gramian.grammar.lpcfg import Factors
from gramian.trees import Tree

PHRASES = ("A", "@A", "A|B", "C")  # the second never stands at the root
TAGS = ("x", "y", "z")


@dataclass(frozen=True)
class Case:
    """A grammar and the scores of the words of a sentence."""

    grammar: LPCFG
    words: list[WordScores]


def lexicon(tags: tuple[str, ...], n_states: np.ndarray) -> Lexicon:
    """A lexicon that knows no words: the cases bring scores of their own."""
    none, counts = np.empty(0, np.float32), np.empty(0, np.int32)
    return Lexicon(
        tags=tags, n_states=n_states, tag_prior=np.full(len(tags), 1 / len(tags), np.float32), words=(),
        word_count=counts, entry_start=np.zeros(1, np.int32), entry_tag=counts, entry_probability=none,
        entry_states=none, features=(), feature_weights=np.zeros((1, len(tags)), np.float32), classes=(),
        class_states=none,
    )  # fmt: skip


def grammar_of(
    symbols: tuple[str, ...], n_phrases: int, n_states: np.ndarray, binary_rules: np.ndarray,
    unary_rules: np.ndarray, rng: np.random.Generator, zeros: float = 0.0, signed: bool = False, low_rank: float = 0.0,
) -> LPCFG:  # fmt: skip
    """A grammar with the given rules and random weights, of which the share `zeros` is zero.

    Of the binary rules the share `low_rank` is held as factors; those with the same parent share a matrix.
    """
    sizes = n_states.astype(np.int64)

    def weights(count: int) -> np.ndarray:
        table = rng.gamma(1.0, size=count) * (rng.random(count) >= zeros)
        return (table * rng.choice([-1.0, 1.0, 1.0, 1.0], count) if signed else table).astype(np.float32)

    prior = np.concatenate([rng.dirichlet(np.ones(size)) for size in sizes]).astype(np.float32)
    root = weights(int(sizes.sum()))
    starts = np.cumsum(sizes) - sizes
    for number, symbol in enumerate(symbols):
        if symbol.startswith("@"):
            root[starts[number] : starts[number] + sizes[number]] = 0
    n_tags = len(symbols) - n_phrases
    share = np.ones((len(symbols), n_tags + 1), np.float32)
    factors = None
    if low_rank:
        rank = np.where(rng.random(len(binary_rules)) < low_rank, 2, 0).astype(np.int32)
        lengths = 2 * np.concatenate([sizes[:n_phrases], sizes[binary_rules[:, 1:]].ravel()])
        places = np.cumsum(lengths) - lengths
        place = np.column_stack([places[binary_rules[:, 0]], places[n_phrases:].reshape(-1, 2)])
        scale = rng.gamma(1.0, size=len(rank)).astype(np.float32)
        factors = Factors(rank, np.where(rank > 0, scale, np.float32(1)), place, weights(int(lengths.sum())))
    whole = binary_rules if factors is None else binary_rules[factors.rank == 0]
    grammar = LPCFG(
        symbols=symbols, n_phrases=n_phrases, n_states=n_states, state_prior=prior, root=root,
        binary_rules=binary_rules, binary=weights(int(sizes[whole].prod(axis=1).sum())),
        unary_rules=unary_rules, unary=weights(int(sizes[unary_rules].prod(axis=1).sum())),
        before=share, after=share.copy(), lexicon=lexicon(symbols[n_phrases:], n_states[n_phrases:]),
        factors=factors,
    )  # fmt: skip
    if signed:  # as for observable operators, the weights of rules come from elsewhere
        size = replace(grammar.expanded, binary=np.abs(grammar.expanded.binary), unary=np.abs(grammar.unary))
        coarse = replace(size, root=np.abs(grammar.root)).coarse
        return replace(
            grammar, binary_weight=coarse.binary, unary_weight=coarse.unary, root_weight=coarse.root
        )
    return grammar


def binary_tensor(grammar: LPCFG, rule: int) -> np.ndarray:
    """The tensor of a rule from its definition."""
    states, factors = grammar.n_states[grammar.binary_rules[rule]], grammar.factors
    if factors is None or factors.rank[rule] == 0:
        return (
            grammar.binary[grammar.binary_start[rule] : grammar.binary_start[rule + 1]]
            .reshape(states)
            .astype(float)
        )
    rank = factors.rank[rule]
    u, v, w = (
        factors.values[place : place + rank * size].reshape(rank, size).astype(float)
        for place, size in zip(factors.start[rule], states, strict=True)
    )
    return float(factors.weight[rule]) * np.einsum("qa,qb,qc->abc", u, v, w)


@st.composite
def cases(
    draw: st.DrawFn, max_words: int = 5, max_states: int = 3, max_phrases: int = 3, signed: bool = False,
    spread: float = 1.0, state_spread: float = 1.0,
) -> Case:  # fmt: skip
    """Draw a grammar whose rules and weights are random, and a sentence over its tags."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_phrases, n_tags = draw(st.integers(1, max_phrases)), draw(st.integers(1, 2))
    n_words = draw(st.integers(1, max_words))
    density = draw(st.sampled_from([0.3, 0.6, 1.0]))
    n = n_phrases + n_tags
    n_states = rng.integers(1, max_states + 1, n).astype(np.int32)
    triples = np.stack(
        np.meshgrid(np.arange(n_phrases), np.arange(n), np.arange(n), indexing="ij"), -1
    ).reshape(-1, 3)
    pairs = np.stack(np.meshgrid(np.arange(n_phrases), np.arange(n_phrases, n), indexing="ij"), -1).reshape(
        -1, 2
    )
    grammar = grammar_of(
        PHRASES[:n_phrases] + TAGS[:n_tags],
        n_phrases,
        n_states,
        triples[rng.random(len(triples)) < density].astype(np.int32),
        pairs[rng.random(len(pairs)) < density].astype(np.int32),
        rng,
        zeros=draw(st.sampled_from([0.0, 0.3])),
        signed=signed,
        low_rank=draw(st.sampled_from([0.0, 0.0, 0.7])),
    )
    return Case(grammar, sentence(grammar, n_words, rng, spread, state_spread))


def sentence(
    grammar: LPCFG, n_words: int, rng: np.random.Generator, spread: float = 1.0, state_spread: float = 1.0
) -> list[WordScores]:
    """Random scores of words; the spreads are standard deviations of logarithms."""
    n_tags = grammar.n_symbols - grammar.n_phrases
    words = []
    for _ in range(n_words):
        tags = np.flatnonzero(rng.random(n_tags) < 0.7).astype(np.int32)
        tags = tags if len(tags) else rng.integers(0, n_tags, 1).astype(np.int32)
        size = int(grammar.n_states[grammar.n_phrases + tags].sum())
        words.append(
            WordScores(
                tags,
                np.exp(spread * rng.normal(size=len(tags))).astype(np.float32),
                np.exp(state_spread * rng.normal(size=size)).astype(np.float32),
            )
        )
    return words


def enumerate_derivations(grammar: LPCFG, emission: np.ndarray) -> list[tuple[float, tuple]]:
    """List all derivations with their weights; a derivation is its (symbol, start, end, state), top-down."""
    n, states = len(emission), grammar.n_states
    binary = [(rule, binary_tensor(grammar, number)) for number, rule in enumerate(grammar.binary_rules)]
    unary = [
        (rule, grammar.unary[a : a + states[rule].prod()].reshape(states[rule]).astype(float))
        for rule, a in zip(grammar.unary_rules, grammar.unary_start, strict=False)
    ]
    first = grammar.state_start - grammar.state_start[grammar.n_phrases]
    memo: dict[tuple[int, int, int, int], list[tuple[float, tuple]]] = {}

    def below(symbol: int, start: int, end: int, state: int) -> list[tuple[float, tuple]]:
        key = (symbol, start, end, state)
        if key in memo:
            return memo[key]
        found = []
        if symbol >= grammar.n_phrases:
            weight = emission[start, first[symbol] + state] if end - start == 1 else 0.0
            found = [(weight, (key,))] if weight else []
        elif end - start == 1:
            for (parent, tag), table in unary:
                for under in range(states[tag]):
                    if parent == symbol and table[state, under]:
                        found += [
                            (table[state, under] * w, (key, *d))
                            for w, d in below(int(tag), start, end, under)
                        ]
        else:
            for (parent, left, right), table in binary:
                if parent != symbol:
                    continue
                for split in range(start + 1, end):
                    for i, j in np.argwhere(table[state]).tolist():
                        for w, d in below(int(left), start, split, i):
                            found += [
                                (table[state, i, j] * w * v, (key, *d, *e))
                                for v, e in below(int(right), split, end, j)
                            ]
        memo[key] = found
        return found

    return [
        (float(grammar.root[place]) * w, d)
        for symbol in range(grammar.n_symbols)
        for state, place in enumerate(range(grammar.state_start[symbol], grammar.state_start[symbol + 1]))
        if grammar.root[place]
        for w, d in below(symbol, 0, n, state)
    ]


def skeleton(derivation: tuple) -> tuple:
    """The items of a derivation, without states."""
    return tuple(node[:3] for node in derivation)


def children_of(items: tuple) -> dict[int, list[int]]:
    """The children of each node of a tree whose items come parents first."""
    children: dict[int, list[int]] = {place: [] for place in range(len(items))}
    above: list[int] = []
    for place, (_, start, end) in enumerate(items):
        while above and not (items[above[-1]][1] <= start and end <= items[above[-1]][2]):
            above.pop()
        if above:
            children[above[-1]].append(place)
        above.append(place)
    return children


def edges_of(items: tuple) -> list[tuple]:
    """The edges of a tree, as the reference names them."""
    return [
        (items[place], *(items[child] for child in below))
        for place, below in children_of(items).items()
        if below
    ]


def forest_items(forest: Forest) -> list[tuple[int, int, int]]:
    """The items of a forest, as the reference names them."""
    return list(
        zip(
            forest.item_symbol.tolist(),
            forest.item_first_word.tolist(),
            forest.item_end.tolist(),
            strict=True,
        )
    )


def forest_edges(forest: Forest) -> list[tuple]:
    """The edges of a forest, as the reference names them."""
    items = forest_items(forest)
    parents = np.repeat(np.arange(len(items)), np.diff(forest.edge_first))
    return [
        (items[parent], items[left], items[right]) if right >= 0 else (items[parent], items[left])
        for parent, left, right in zip(parents, forest.edge_left, forest.edge_right, strict=True)
    ]


def binarised_tree(grammar: LPCFG, items: tuple, words: list[str]) -> Tree:
    """Build a tree the slow way."""
    children = children_of(items)

    def build(place: int) -> Tree:
        symbol, start, _ = items[place]
        if symbol >= grammar.n_phrases:
            return Tree(grammar.symbols[symbol], word=words[start])
        return Tree(grammar.symbols[symbol], [build(child) for child in children[place]])

    return build(0)


def words_of(case: Case) -> list[str]:
    """Some words for the sentence of a case."""
    return [f"w{place}" for place in range(len(case.words))]


def ambiguous_case(n_words: int) -> Case:
    """A fixed case with many trees."""
    rng = np.random.default_rng(7)
    rules = np.array([[0, 0, 0], [0, 0, 1], [0, 2, 2], [1, 0, 2], [0, 1, 0], [1, 2, 2]], np.int32)
    unary = np.array([[0, 2], [0, 3], [1, 3]], np.int32)
    states = np.array([2, 2, 1, 1], np.int32)
    grammar = grammar_of(("A", "C", "x", "y"), 2, states, rules, unary, rng)
    return Case(grammar, sentence(grammar, n_words, rng))


def ambiguous_grammars() -> tuple[LPCFG, LPCFG, list[WordScores]]:
    """Two grammars over the same labels, binarised to the right and to the left, and a sentence they see differently."""
    from gramian.learn import PCFG
    from gramian.treebank import Shape, Treebank

    texts = [
        "(A (x a) (C (x b) (x c)) (y d) (x a))", "(A (C (x a) (x b) (y d)) (x c))", "(A (x a) (x b) (C (x c) (y d)) (y d))",
        "(A (C (x a) (x b)) (C (x c) (y d)) (x b))", "(A (x a) (x b) (x c) (C (y d) (x a)))",
    ]  # fmt: skip
    trees = [Tree.parse(text) for text in texts]
    right, left = (
        PCFG().fit(Treebank.from_trees(trees, shape=Shape(direction, 0, 1))).model_
        for direction in ("right", "left")
    )
    return right, left, [right.lexicon.score(word) for word in "abcda"]
