"""Observable operators from moments (Cohen et al. 2012, 2013).

The singular vectors of each symbol's inside-outside cross-covariance give a basis in which rule tensors are plain averages over the
treebank. The estimate is consistent and needs a single pass, but its numbers are no probabilities: they may be negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.features import feature_matrix
from gramian.grammar import LPCFG
from gramian.learn.cluster import Columns, feature_columns
from gramian.learn.learner import Learner, Report
from gramian.learn.observations import Observations
from gramian.learn.states import Allocation, States
from gramian.learn.svd import cross_svd
from gramian.learn.tables import LatentTables, Layout

__all__ = ["NodeProjections", "SpectralMoments", "moment_tables"]

Doubles = npt.NDArray[np.float64]


class SpectralMoments(Learner):
    """Learn a grammar of observable operators by the method of moments.

    Parameters
    ----------
    states : int
        The largest rank of a symbol's operators.
    allocation, growth : str, float
        See :func:`gramian.learn.states.allocate_states`.
    least : float
        Singular values below this share of the largest are dropped, and with them states.
    features, min_count, kappa
        As for :class:`gramian.learn.SpectralClustering`.
    smoothing : float
        Constant C of the chained smoothing: a rule seen c times keeps ``sqrt(c) / (C + sqrt(c))`` of its own moments.
    unsmoothed : int
        Rules seen so often are not smoothed.
    heads, random_state, jobs, say
        As for :class:`gramian.learn.SpectralClustering`.

    References
    ----------
    Shay B. Cohen, Karl Stratos, Michael Collins, Dean P. Foster and Lyle Ungar (2013). Experiments with spectral learning of
    latent-variable PCFGs. NAACL.

    Examples
    --------
    >>> from gramian.corpus import Treebank
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> SpectralMoments(states=2, allocation="all").fit(Treebank.from_trees(trees)).grammar_.is_probabilistic
    False
    """

    def __init__(
        self,
        states: States = 16,
        *,
        allocation: Allocation = "root",
        growth: float = 0.25,
        least: float = 0.01,
        features: str = "paper",
        min_count: int = 1,
        kappa: float = 5.0,
        smoothing: float = 30.0,
        unsmoothed: int = 1000,
        heads: str | None = "auto",
        random_state: int = 0,
        jobs: int = 1,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.states, self.allocation, self.growth, self.least = states, allocation, growth, least
        self.features, self.min_count, self.kappa = features, min_count, kappa
        self.smoothing, self.unsmoothed = smoothing, unsmoothed
        self.heads, self.random_state, self.jobs, self.say = heads, random_state, jobs, say

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        bank = seen.bank
        ranks = seen.allocate(self.states, self.allocation, self.growth)
        with report.stage("features"):
            inside, outside = feature_columns(seen, self.features)
        order, starts = bank.by_label
        parts, spectra = [], {}
        with report.stage("projections"):
            for symbol in range(bank.n_symbols):
                nodes = order[starts[symbol] : starts[symbol + 1]]
                y, z, values = self._project(nodes, inside, outside, int(ranks[symbol]))
                parts.append((y, z))
                spectra[seen.name(symbol)] = values
        report.facts["singular values"] = spectra
        with report.stage("moments"):
            tables = moment_tables(seen, NodeProjections.of(seen, parts), self.smoothing, self.unsmoothed)
        with report.stage("grammar"):
            return _grammar(seen, tables)

    def _project(
        self, nodes: npt.NDArray[np.int64], inside: Columns, outside: Columns, rank: int
    ) -> tuple[Doubles, Doubles, list[float]]:
        """Return inside and outside projections of a symbol's nodes with ``mean(y z') = I``, and the singular values."""
        ones = np.ones((len(nodes), 1))
        if rank == 1:
            return ones, ones, []
        phi = feature_matrix([column[nodes] for column in inside], min_count=self.min_count, kappa=self.kappa)
        psi = feature_matrix(
            [column[nodes] for column in outside], min_count=self.min_count, kappa=self.kappa
        )
        if not phi.shape[1] or not psi.shape[1]:
            return ones, ones, []
        svd = cross_svd(phi, psi, rank, centre=False, seed=self.random_state)
        kept = svd.singular_values > self.least * max(svd.singular_values[0], 1e-30)
        y = (phi @ svd.left[:, kept]).astype(np.float64)
        z = (psi @ svd.right[:, kept] / svd.singular_values[kept]).astype(np.float64)
        scale = y[
            :, 0
        ].mean()  # the leading direction is nearly constant; setting its mean to one keeps numbers near one
        if abs(scale) < 1e-12:
            return ones, ones, []
        return y / scale, z * scale, [round(float(value), 5) for value in svd.singular_values]


@dataclass(frozen=True)
class NodeProjections:
    """Inside (`y`) and outside (`z`) vectors of all nodes, flat; node i's begin at ``offset[i]``."""

    n_states: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int64]
    y: Doubles
    z: Doubles

    @classmethod
    def of(cls, seen: Observations, parts: list[tuple[Doubles, Doubles]]) -> NodeProjections:
        """Gather the projections of each symbol's nodes."""
        order, starts = seen.bank.by_label
        n_states = np.array([y.shape[1] for y, _ in parts], np.int32)
        offset = np.empty(len(seen.bank.label), np.int64)
        place = 0
        for symbol, (y, _) in enumerate(parts):
            nodes = order[starts[symbol] : starts[symbol + 1]]
            offset[nodes] = place + np.arange(len(nodes)) * y.shape[1]
            place += y.size
        return cls(
            n_states,
            offset,
            np.concatenate([y.ravel() for y, _ in parts]),
            np.concatenate([z.ravel() for _, z in parts]),
        )

    def rows(self, flat: Doubles, nodes: npt.NDArray[np.integer], symbol: int) -> Doubles:
        """Return the vectors of nodes that share a symbol, shape (n, m)."""
        return flat[self.offset[nodes][:, None] + np.arange(self.n_states[symbol])]


def moment_tables(
    seen: Observations, projections: NodeProjections, smoothing: float = 30.0, unsmoothed: int = 1000
) -> LatentTables:
    """Average products of projections into observable operators, with the chained smoothing of Cohen et al. (2013).

    The value of a tree is the root's vector times the product of its rules' operators from the leaves up. The operators of words are not
    smoothed: that is the lexicon's.

    Parameters
    ----------
    seen : Observations
    projections : NodeProjections
        With ``mean(y z') = I`` over the nodes of each symbol.
    smoothing : float
        Constant C; zero for none.
    unsmoothed : int
        Rules seen so often are not smoothed.

    Returns
    -------
    LatentTables of float64
    """
    bank, productions, p = seen.bank, seen.productions, projections
    layout = Layout.of(productions, p.n_states)
    tables = layout.zeros(np.float64)
    count = seen.label_count
    order, starts = bank.by_label
    mean_y, mean_z = [], []
    for symbol in range(bank.n_symbols):
        nodes = order[starts[symbol] : starts[symbol + 1]]
        mean_y.append(p.rows(p.y, nodes, symbol).mean(axis=0))
        mean_z.append(p.rows(p.z, nodes, symbol).mean(axis=0))
    is_binary, is_leaf = bank.right >= 0, bank.word >= 0
    for rule, nodes in enumerate(
        _nodes_by_production(productions.node_production, is_binary, len(productions.binary))
    ):
        a, b, c = productions.binary[rule].tolist()
        z, y, x = p.rows(p.z, nodes, a), p.rows(p.y, bank.left[nodes], b), p.rows(p.y, bank.right[nodes], c)
        block = _binary_moment(
            z, y, x, mean_z[a], mean_y[b], mean_y[c], smoothing if len(nodes) < unsmoothed else 0.0
        )
        tables.binary_block(rule)[:] = block * (len(nodes) / count[a])
    for rule, nodes in enumerate(
        _nodes_by_production(productions.node_production, ~is_binary & ~is_leaf, len(productions.unary))
    ):
        a, t = productions.unary[rule].tolist()
        z, y = p.rows(p.z, nodes, a), p.rows(p.y, bank.left[nodes], t)
        keep = _kept(len(nodes), smoothing if len(nodes) < unsmoothed else 0.0)
        own = z.T @ y / len(nodes)
        apart = keep * np.outer(z.mean(axis=0), y.mean(axis=0)) + (1 - keep) * np.outer(mean_z[a], mean_y[t])
        tables.unary_block(rule)[:] = (keep * own + (1 - keep) * apart) * (len(nodes) / count[a])
    for symbol in range(bank.n_phrases, bank.n_symbols):
        nodes = order[starts[symbol] : starts[symbol + 1]]
        cells = layout.lexical_start[productions.node_production[nodes]][:, None] + np.arange(
            p.n_states[symbol]
        )
        np.add.at(tables.lexical, cells, p.rows(p.z, nodes, symbol) / count[symbol])
    roots = bank.tree_start[1:] - 1
    root_weight = np.bincount(bank.label[roots], minlength=bank.n_symbols) / bank.n_trees
    for symbol in np.flatnonzero(root_weight).tolist():
        y = p.rows(p.y, roots[bank.label[roots] == symbol], symbol)
        tables.root[layout.root_start[symbol] : layout.root_start[symbol + 1]] = (
            y.mean(axis=0) * root_weight[symbol]
        )
    return tables


def _grammar(seen: Observations, tables: LatentTables) -> LPCFG:
    """Return the grammar that holds the operators, with the probabilities of its rules without states."""
    bank, productions, count, n_states = seen.bank, seen.productions, seen.label_count, tables.layout.n_states
    root_weight = np.bincount(bank.label[bank.tree_start[1:] - 1], minlength=bank.n_symbols) / bank.n_trees
    before, after = seen.boundaries
    return LPCFG(
        symbols=bank.symbols, n_phrases=bank.n_phrases, n_states=n_states,
        state_prior=np.repeat(1 / n_states, n_states).astype(np.float32), root=tables.root.astype(np.float32),
        binary_rules=productions.binary, binary=tables.binary.astype(np.float32),
        unary_rules=productions.unary, unary=tables.unary.astype(np.float32), before=before, after=after,
        lexicon=seen.lexical.build(seen.lexical.mean_scores(tables), n_states),
        binary_weight=productions.binary_count / count[productions.binary[:, 0]],
        unary_weight=productions.unary_count / count[productions.unary[:, 0]], root_weight=root_weight,
    )  # fmt: skip


def _kept(occurrences: int, smoothing: float) -> float:
    root = float(np.sqrt(occurrences))
    return root / (smoothing + root)


def _binary_moment(
    z: Doubles, y: Doubles, x: Doubles, base_z: Doubles, base_y: Doubles, base_x: Doubles, smoothing: float
) -> Doubles:
    """Return E[z y x] over a rule's occurrences, backed off to products of lower moments."""
    n = len(z)
    pairs = (y[:, :, None] * x[:, None, :]).reshape(n, -1)
    own = (z.T @ pairs / n).reshape(z.shape[1], y.shape[1], x.shape[1])
    if smoothing == 0:
        return own
    z1, y1, x1 = z.mean(axis=0), y.mean(axis=0), x.mean(axis=0)
    two = (
        np.einsum("ij,k->ijk", z.T @ y / n, x1)
        + np.einsum("ik,j->ijk", z.T @ x / n, y1)
        + np.einsum("jk,i->ijk", y.T @ x / n, z1)
    ) / 3
    one = np.einsum("i,j,k->ijk", z1, y1, x1)
    none = np.einsum("i,j,k->ijk", base_z, base_y, base_x)
    keep = _kept(n, smoothing)
    return keep * own + (1 - keep) * (keep * two + (1 - keep) * (keep * one + (1 - keep) * none))


def _nodes_by_production(
    production: npt.NDArray[np.int32], chosen: npt.NDArray[np.bool_], n: int
) -> list[npt.NDArray[np.int64]]:
    """Return the chosen nodes of each production."""
    nodes = np.flatnonzero(chosen)
    nodes = nodes[np.argsort(production[nodes], kind="stable")]
    return np.split(nodes, np.searchsorted(production[nodes], np.arange(1, n)))
