"""Probabilities of states from pivot features and a convex problem (after Cohen and Collins 2014).

A pivot of a state is an outside feature that no other state has. Then the distribution of inside features that comes with any outside
feature is a mixture of those that come with the pivots, and decomposing the co-occurrence matrix gives p(inside feature | state) and
p(state | outside feature). With these held fixed, the likelihood of what stands around each rule is concave in the rule's parameters, and
expectation-maximisation finds its maximum from any start.

The paper looks at one pair of features at a time; here the features of a node are taken together, as if each said a part (`power`) of
what it would say alone.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.base import Report, estimator
from gramian.grammar import LPCFG
from gramian.learn.learner import LatentLearner, Maximisation
from gramian.learn.observations import Columns, Observations
from gramian.learn.smoothing import Smoothing
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Features
from gramian.treebank.feature_matrices import NodeMatrices
from gramian.value_types import InstanceOf, Number, Whole, option

Doubles = npt.NDArray[np.float64]

_PROJECTED = 200  # dimensions in which pivots are looked for
_DECOMPOSITION_STEPS = 30
_LEAST = 1e-4  # share of the overall distribution that every state gets, so that no feature rules a state out


@estimator
class PivotEM(LatentLearner):
    """Learn a grammar from pivot features and a convex problem for each rule.

    References
    ----------
    Shay B. Cohen and Michael Collins (2014). A provably correct learning algorithm for latent-variable PCFGs. ACL.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> PivotEM(n_states=2, allocation="all").fit(trees).model_.is_probabilistic
    True
    """

    _: KW_ONLY
    features: Features = option(InstanceOf(Features), default=Features("paper", scaling=False))
    """See :class:`gramian.treebank.Features`; they are not scaled."""
    max_iter: int = option(Whole(1), default=10)
    """Iterations of EM on the convex problem."""
    least_pivot: int = option(Whole(1), default=20)
    """How often a pivot must occur."""
    power: float = option(Number(0, 1), default=0.5)
    """The power of the probability of each of a node's features."""
    smoothing: Smoothing = option(InstanceOf(Smoothing), default=Smoothing())

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        with report.stage("features"):
            columns = seen.feature_columns(self.features, self.lexicon)
        inside, outside = [], []
        with report.stage("decomposition"):
            for symbol, states in enumerate(self.allocate(seen).tolist()):
                above, below = self._node_states(seen.nodes(symbol), columns, states)
                outside.append(above)
                inside.append(below)
        with report.stage("expectation-maximisation"):
            counts = convex_counts(seen, inside, outside, self.max_iter)
        with report.stage("grammar"):
            return Maximisation(seen, self.smoothing, self.lexicon).grammar(counts)

    def _node_states(
        self, nodes: npt.NDArray[np.int64], columns: tuple[Columns, Columns], n_states: int
    ) -> tuple[Doubles, Doubles]:
        """Return p(state | outside tree) and p(inside tree | state), up to a factor, of a symbol's nodes; shape (n, n_states)."""
        ones = np.ones((len(nodes), 1))
        if n_states == 1:
            return ones, ones
        (phi, psi), kinds, pairs = NodeMatrices.of(columns, nodes, self.features)
        if not phi.shape[1] or not psi.shape[1]:
            return ones, ones
        phi, psi = (sparse.csr_array(matrix, dtype=np.float64) for matrix in (phi, psi))
        together = sparse.csr_array(psi.T @ (pairs.T @ phi))  # outside features by inside features
        times = np.asarray(psi.T @ pairs.sum(axis=0)).ravel()
        rows = sparse.csr_array(together.multiply(1 / times[:, None]))
        pivots = find_pivots(rows, times, n_states, self.least_pivot, self.random_state)
        if len(pivots) < 2:
            return ones, ones
        overall = np.asarray(phi.T @ pairs.sum(axis=1)).ravel() / pairs.sum()
        given_state = (1 - _LEAST) * rows[pivots].toarray() + _LEAST * overall  # (m, d)
        of_outside = mixture_weights(rows, given_state)  # (d', m)
        prior = times @ of_outside / times.sum()
        log_ratio = np.log((1 - _LEAST) * of_outside + _LEAST * prior) - np.log(prior)
        log_above = np.log(prior) + self.power * (psi @ log_ratio)
        log_below = self.power * (phi @ np.log(given_state / overall).T)
        above, below = (np.exp(part - part.max(axis=1, keepdims=True)) for part in (log_above, log_below))
        above /= above.sum(axis=1, keepdims=True)
        return above[kinds[1]], below[kinds[0]]


def find_pivots(
    rows: sparse.csr_array, times: Doubles, n_pivots: int, least: int, random_state: int = 0
) -> npt.NDArray[np.int64]:
    """Return the rows that are farthest apart: each in turn the farthest from the span of those before (Arora et al. 2013).

    Only rows that stand for at least `least` occurrences are candidates; there may be fewer pivots than asked for.
    """
    candidates = np.flatnonzero(times >= least)
    width = min(rows.shape[1], _PROJECTED)
    projection = np.random.default_rng(random_state).standard_normal((rows.shape[1], width))
    points = rows[candidates] @ (projection if width < rows.shape[1] else np.eye(width))
    pivots: list[int] = []
    for _ in range(min(n_pivots, len(candidates))):
        distance = (points**2).sum(axis=1)
        farthest = int(distance.argmax())
        if distance[farthest] < 1e-12:
            break
        direction = points[farthest] / np.sqrt(distance[farthest])
        points = points - np.outer(points @ direction, direction)
        pivots.append(farthest)
    return candidates[pivots]


def mixture_weights(rows: sparse.csr_array, components: Doubles) -> Doubles:
    """Return the weights with which each row is nearest, by Kullback-Leibler divergence, to a mixture of the components."""
    weights = np.full((rows.shape[0], len(components)), 1 / len(components))
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    for _ in range(_DECOMPOSITION_STEPS):
        mixture = np.einsum("ij,ij->i", weights[row], components.T[rows.indices])
        ratio = sparse.csr_array((rows.data / mixture, rows.indices, rows.indptr), rows.shape)
        weights *= ratio @ components.T
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return weights


def convex_counts(
    seen: Observations, inside: Sequence[Doubles], outside: Sequence[Doubles], max_iter: int
) -> LatentTables:
    """Return expected counts of rules with states: p(state | outside) and p(inside | state) of each symbol's nodes are given.

    Each iteration maximises the sum over nodes of ``log sum p(h1 | outside) t(h1, h2, h3) p(left | h2) p(right | h3)``, and the same for
    words and roots, which is concave in the parameters t.
    """
    bank, productions = seen.bank, seen.productions
    layout = Layout.of(productions, np.array([part.shape[1] for part in inside], np.int32))
    within = np.empty(len(bank.label), np.int64)  # the place of each node among those of its symbol
    for symbol in range(bank.n_symbols):
        within[seen.nodes(symbol)] = np.arange(len(seen.nodes(symbol)))

    def below(nodes: npt.NDArray[np.integer]) -> Doubles:
        return inside[bank.label[nodes[0]]][within[nodes]]

    def above(nodes: npt.NDArray[np.integer]) -> Doubles:
        return outside[bank.label[nodes[0]]][within[nodes]]

    is_binary, is_leaf = bank.right >= 0, bank.word >= 0
    groups: list[tuple[Any, str, int, list[Doubles]]] = []  # block, letters of its states, rule, vectors
    for block, subscripts, rules, chosen in (
        (LatentTables.binary_block, "abc", productions.binary, is_binary),
        (LatentTables.unary_block, "ab", productions.unary, ~is_binary & ~is_leaf),
        (LatentTables.lexical_block, "a", productions.lexical, is_leaf),
    ):
        for rule, nodes in enumerate(productions.nodes_by_row(chosen, len(rules))):
            children = [side[nodes] for side in (bank.left, bank.right)][: len(subscripts) - 1]
            groups.append((block, subscripts, rule, [above(nodes), *map(below, children)]))
    roots = bank.tree_start[1:] - 1
    for symbol in np.flatnonzero(seen.root_count).tolist():
        groups.append((LatentTables.root_block, "a", symbol, [below(roots[bank.label[roots] == symbol])]))

    counts = layout.zeros(np.float64)
    for block, _, rule, vectors in groups:
        block(counts, rule)[:] = len(vectors[0]) / np.prod([vector.shape[1] for vector in vectors])
    for _ in range(max_iter):
        shares = _given_states(counts)
        counts = layout.zeros(np.float64)
        for block, subscripts, rule, vectors in groups:
            share = block(shares, rule)
            each = ",".join(f"n{state}" for state in subscripts)
            total = np.einsum(f"{subscripts},{each}->n", share, *vectors, optimize=True)
            first = vectors[0] / np.maximum(total, 1e-300)[:, None]
            block(counts, rule)[:] = share * np.einsum(
                f"{each}->{subscripts}", first, *vectors[1:], optimize=True
            )
    result = layout.zeros(np.float32)
    for name in ("binary", "unary", "lexical", "root"):
        getattr(result, name)[:] = getattr(counts, name)
    return result


def _given_states(counts: LatentTables) -> LatentTables:
    """Return counts divided by those of the parent's state; of roots, by their sum."""
    layout = counts.layout
    productions, start = layout.productions, layout.root_start
    mass = np.zeros(int(start[-1]))
    kinds = (
        (productions.binary, LatentTables.binary_block),
        (productions.unary, LatentTables.unary_block),
        (productions.lexical, LatentTables.lexical_block),
    )
    for rules, block in kinds:
        for rule, parent in enumerate(rules[:, 0].tolist()):
            part = block(counts, rule)
            mass[start[parent] : start[parent + 1]] += part.reshape(len(part), -1).sum(axis=1)
    result = layout.zeros(np.float64)
    for rules, block in kinds:
        for rule, parent in enumerate(rules[:, 0].tolist()):
            part, total = block(counts, rule), np.maximum(mass[start[parent] : start[parent + 1]], 1e-300)
            block(result, rule)[:] = (part.reshape(len(part), -1) / total[:, None]).reshape(part.shape)
    result.root[:] = counts.root / max(counts.root.sum(), 1e-300)
    return result
