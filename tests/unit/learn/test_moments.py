"""Observable operators: exact on exact moments, consistent, smoothed as the paper says."""

import numpy as np
import pytest
from learn_cases import ToyGrammar, tree_values

from gramian.learn import Features, Observations, SpectralMoments
from gramian.learn.moments import NodeProjections, _moment, moment_tables
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions

RANK = {"S": 1, "X": 2, "Y": 2, "A": 2, "B": 2}  # above the root there is nothing to tell its states by
DENOMINATOR = 8 * 4 * 4 * 4**4


def toy_grammar(seed: int) -> ToyGrammar:
    """A grammar with finitely many trees whose probabilities are multiples of 1 / DENOMINATOR."""
    rng = np.random.default_rng(seed)

    def shares(choices: list[object], parts: int) -> dict[object, float]:
        counts = rng.multinomial(parts, np.full(len(choices), 1 / len(choices)))
        return {choice: int(n) / parts for choice, n in zip(choices, counts, strict=True) if n}

    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    rules: dict[tuple[str, int], dict[object, float]] = {
        ("S", 0): shares([(("X", i), ("Y", j)) for i, j in pairs], 8)
    }
    for state in (0, 1):
        orders = [(("A", i), ("B", j)) for i, j in pairs] + [(("B", i), ("A", j)) for i, j in pairs]
        rules["X", state] = shares(orders, 4)
        rules["Y", state] = shares([(("B", 0),), (("B", 1),), *orders[:4]], 4)
        for tag in "AB":
            rules[tag, state] = shares([f"{tag}{number}" for number in range(3)], 4)
    return ToyGrammar("S", rules)


def projections(bank: Treebank, seen: Observations, distinct: np.ndarray) -> NodeProjections:
    """Project nodes by the leading singular vectors of the table of whole inside by whole outside trees.

    `distinct` tells for each node of the observed trees which node of `bank`, where each tree stands once, it repeats.
    """
    inside, outside = [""] * len(bank.label), ["*"] * len(bank.label)
    for node, symbol in enumerate(bank.label):
        if bank.word[node] >= 0:
            below = bank.words[bank.word[node]]
        else:
            below = "".join(inside[child] for child in (bank.left[node], bank.right[node]) if child >= 0)
        inside[node] = f"({bank.symbols[symbol]} {below})"
    for node in range(len(bank.label) - 1, -1, -1):
        children = [child for child in (bank.left[node], bank.right[node]) if child >= 0]
        for child in children:
            row = "".join("*" if other == child else inside[other] for other in children)
            outside[child] = outside[node].replace("*", f"({bank.symbols[bank.label[node]]} {row})")
    order, starts = seen.bank.by_label
    parts = []
    _, phi = np.unique(inside, return_inverse=True)
    _, psi = np.unique(outside, return_inverse=True)
    for symbol, name in enumerate(bank.symbols):
        nodes = distinct[order[starts[symbol] : starts[symbol + 1]]]
        joint = np.zeros((phi.max() + 1, psi.max() + 1))
        np.add.at(joint, (phi[nodes], psi[nodes]), 1 / len(nodes))
        u, s, vt = np.linalg.svd(joint, full_matrices=False)
        rank = RANK[name]
        assert s[rank - 1] > 1e-3, f"{name} is degenerate: choose another seed"
        parts.append((u[phi[nodes], :rank], vt.T[psi[nodes], :rank] / s[:rank]))
    return NodeProjections.of(seen, parts)


def estimate(bank: Treebank, counts: np.ndarray) -> np.ndarray:
    """Return the values of all distinct trees under operators estimated from trees that occur `counts` times."""
    repeated = np.repeat(np.arange(bank.n_trees), counts)
    seen = Observations(bank.subset(repeated))
    nodes = [np.arange(bank.tree_start[tree], bank.tree_start[tree + 1]) for tree in repeated]
    tables = moment_tables(seen, projections(bank, seen, np.concatenate(nodes)), backoff=0.0)
    productions = Productions.of(bank)
    for part in ("binary", "unary", "lexical"):  # all were seen, so that only nodes differ
        np.testing.assert_array_equal(getattr(seen.productions, part), getattr(productions, part))
    layout = Layout.of(productions, tables.layout.n_states)
    return tree_values(bank, LatentTables(layout, tables.binary, tables.unary, tables.lexical, tables.root))


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_exact_moments_give_exact_tree_probabilities(seed):
    skeletons = toy_grammar(seed).skeletons()
    assert sum(skeletons.values()) == pytest.approx(1, rel=1e-12)
    counts = np.array([probability * DENOMINATOR for probability in skeletons.values()])
    assert (counts == np.rint(counts)).all()
    bank = Treebank.from_trees(list(skeletons))
    values = estimate(bank, counts.astype(np.int64))
    np.testing.assert_allclose(values, list(skeletons.values()), rtol=1e-10, atol=1e-12)


def test_more_trees_smaller_error():
    """The error falls with the root of the number of trees: 64 times as many, about an eighth of it."""
    skeletons = toy_grammar(0).skeletons()
    bank, truth = Treebank.from_trees(list(skeletons)), np.array(list(skeletons.values()))
    errors = []
    for n in (500, 4000, 32_000):
        draws = [np.random.default_rng(seed).multinomial(n, truth) for seed in range(3)]
        errors.append(np.mean([np.abs(estimate(bank, counts) - truth).sum() for counts in draws]))
    assert errors[1] < errors[0] / 1.7
    assert errors[2] < errors[1] / 1.7
    assert errors[2] < errors[0] / 4
    assert errors[2] < 0.05


def test_chained_smoothing_by_the_formula():
    rng = np.random.default_rng(0)
    z, y, x = rng.normal(size=(9, 2)), rng.normal(size=(9, 3)), rng.normal(size=(9, 4))
    h, f, g = rng.normal(size=2), rng.normal(size=3), rng.normal(size=4)
    keep = np.sqrt(9) / (30 + np.sqrt(9))
    found = _moment([z, y, x], [h, f, g], 30.0)
    for i in range(2):
        for j in range(3):
            for k in range(4):
                a, b, c = z[:, i], y[:, j], x[:, k]
                three = (a * b * c).mean()
                two = ((a * b).mean() * c.mean() + (a * c).mean() * b.mean() + (b * c).mean() * a.mean()) / 3
                one = a.mean() * b.mean() * c.mean()
                none = h[i] * f[j] * g[k]
                expected = keep * three + (1 - keep) * (
                    keep * two + (1 - keep) * (keep * one + (1 - keep) * none)
                )
                assert found[i, j, k] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(_moment([z, y, x], [h, f, g], 0.0), np.einsum("ni,nj,nk->ijk", z, y, x) / 9)


def test_frequent_rules_are_not_smoothed():
    trees, _ = toy_grammar(0).sample(300, 0)
    seen = Observations(Treebank.from_trees(trees))
    learner = SpectralMoments(2, allocation="all", features=Features("plain"))
    columns = seen.feature_columns(learner.features)
    parts = [learner._project(seen.nodes(symbol), columns, 2)[:2] for symbol in range(seen.bank.n_symbols)]
    p = NodeProjections.of(seen, parts)
    raw, smooth = moment_tables(seen, p, 0.0), moment_tables(seen, p, 30.0, 200)
    changed = {}
    for rule, count in enumerate(seen.productions.binary_count):
        changed[int(count)] = not np.allclose(raw.binary_block(rule), smooth.binary_block(rule), rtol=1e-9)
    assert len(changed) > 1
    assert changed == {count: count < 200 for count in changed}
    # Sums over rules are kept whatever the smoothing: the operators of words are not touched.
    np.testing.assert_array_equal(raw.lexical, smooth.lexical)


def test_projections_are_dual():
    """Inside and outside projections of a symbol's nodes have the identity as their mean product."""
    trees, _ = toy_grammar(0).sample(400, 1)
    seen = Observations(Treebank.from_trees(trees))
    learner = SpectralMoments(2, allocation="all", features=Features("paper"))
    columns = seen.feature_columns(learner.features)
    ranks = []
    for symbol in range(seen.bank.n_symbols):
        y, z, _ = learner._project(seen.nodes(symbol), columns, 2)
        np.testing.assert_allclose(y.T @ z / len(y), np.eye(y.shape[1]), atol=1e-3)
        ranks.append(y.shape[1])
    assert max(ranks) == 2


def test_learner_gives_operators_with_the_rules_probabilities():
    trees, _ = toy_grammar(0).sample(400, 2)
    bank = Treebank.from_trees(trees)
    grammar = SpectralMoments(2, allocation="all", features=Features("paper")).fit(bank).model_
    assert not grammar.is_probabilistic
    productions = Productions.of(bank)
    labels = np.bincount(bank.label, minlength=bank.n_symbols)
    np.testing.assert_allclose(
        grammar.binary_weight, productions.binary_count / labels[productions.binary[:, 0]], rtol=1e-12
    )
    assert grammar.root_weight.sum() == pytest.approx(1)
    assert (grammar.binary < 0).any()  # operators are no probabilities
