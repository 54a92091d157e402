"""Observable operators from moments (Cohen et al. 2012, 2013).

The singular vectors of each symbol's inside-outside cross-covariance give a basis in which rule tensors are plain averages over the
treebank. The estimate is consistent and needs a single pass, but its numbers are no probabilities: they may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from gramian.base import Report, estimator
from gramian.errors import OptionError
from gramian.grammar import LPCFG
from gramian.learn.counting import node_offsets
from gramian.learn.learner import LatentLearner, made_grammar
from gramian.learn.observations import Columns, Observations
from gramian.learn.svd import cross_svd
from gramian.learn.tables import LatentTables, Layout
from gramian.treebank import Features
from gramian.treebank.feature_matrices import NodeMatrices
from gramian.value_types import InstanceOf, Number, Whole, option

Doubles = npt.NDArray[np.float64]


@estimator
class SpectralMoments(LatentLearner):
    """Learn a grammar of observable operators by the method of moments.

    References
    ----------
    Shay B. Cohen, Karl Stratos, Michael Collins, Dean P. Foster and Lyle Ungar (2013). Experiments with spectral learning of
    latent-variable PCFGs. NAACL.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> SpectralMoments(n_states=2, allocation="all").fit(trees).model_.is_probabilistic
    False
    """

    _: KW_ONLY
    features: Features = option(InstanceOf(Features), default=Features("paper"))
    least: float = option(Number(0, below=1), default=0.01)
    """Singular values below this share of the largest are dropped, and with them states."""
    backoff: float = option(Number(0), default=30.0)
    """Constant C of the chained smoothing: a rule seen c times keeps ``sqrt(c) / (C + sqrt(c))`` of its own moments."""
    unsmoothed: int = option(Whole(0), default=1000)
    """Rules seen so often are not smoothed."""

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        if seen.bank.weight is not None:
            raise OptionError("the method of moments does not support weighted trees; try: SpectralEM")
        ranks = self.allocate(seen)
        with report.stage("features"):
            columns = seen.feature_columns(self.features, self.lexicon)
        parts = []
        report.facts["singular values"] = spectra = {}
        with report.stage("projections"):
            for symbol, rank in enumerate(ranks.tolist()):
                y, z, values = self._project(seen.nodes(symbol), columns, rank)
                parts.append((y, z))
                spectra[seen.name(symbol)] = values
        with report.stage("moments"):
            tables = moment_tables(seen, NodeProjections.of(seen, parts), self.backoff, self.unsmoothed)
        productions, count, n_states = seen.productions, seen.label_count, tables.layout.n_states
        with report.stage("grammar"):
            return made_grammar(  # with the probabilities of its rules without states
                seen,
                tables,
                seen.lexical(self.lexicon).mean_scores(tables),
                self.lexicon,
                np.repeat(1 / n_states, n_states),
                binary_weight=productions.binary_count / count[productions.binary[:, 0]],
                unary_weight=productions.unary_count / count[productions.unary[:, 0]],
                root_weight=seen.root_count / seen.bank.n_trees,
            )

    def _project(
        self, nodes: npt.NDArray[np.int64], columns: tuple[Columns, Columns], rank: int
    ) -> tuple[Doubles, Doubles, list[float]]:
        """Return inside and outside projections of a symbol's nodes with ``mean(y z') = I``, and the singular values."""
        ones = np.ones((len(nodes), 1))
        if rank == 1:
            return ones, ones, []
        (phi, psi), kinds, pairs = NodeMatrices.of(columns, nodes, self.features)
        if not phi.shape[1] or not psi.shape[1]:
            return ones, ones, []
        svd = cross_svd(phi, psi, rank, pairs=pairs, centre=False, random_state=self.random_state)
        kept = svd.singular_values > self.least * max(svd.singular_values[0], 1e-30)
        y = (phi @ svd.left[:, kept]).astype(np.float64)[kinds[0]]
        z = (psi @ svd.right[:, kept] / svd.singular_values[kept]).astype(np.float64)[kinds[1]]
        # The leading direction is nearly constant; setting its mean to one keeps numbers near one.
        scale = y[:, 0].mean()
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
        n_states = np.array([y.shape[1] for y, _ in parts], np.int32)
        y, z = (np.concatenate([part[side].ravel() for part in parts]) for side in (0, 1))
        return cls(n_states, node_offsets(seen, n_states.tolist()), y, z)

    def rows(self, flat: Doubles, nodes: npt.NDArray[np.integer], symbol: int) -> Doubles:
        """Return the vectors of nodes that share a symbol, shape (n, m)."""
        return flat[self.offset[nodes][:, None] + np.arange(self.n_states[symbol])]


def moment_tables(
    seen: Observations, projections: NodeProjections, backoff: float = 30.0, unsmoothed: int = 1000
) -> LatentTables:
    """Average products of projections into observable operators, with the chained smoothing of Cohen et al. (2013).

    The value of a tree is the root's vector times the product of its rules' operators from the leaves up. The projections must have
    ``mean(y z') = I`` over the nodes of each symbol. The operators of words are not smoothed: that is the lexicon's.
    """
    bank, productions, p, count = seen.bank, seen.productions, projections, seen.label_count
    layout = Layout.of(productions, p.n_states)
    tables = layout.zeros(np.float64)
    of_symbol = [seen.nodes(symbol) for symbol in range(bank.n_symbols)]
    mean_y, mean_z = (
        [p.rows(side, nodes, symbol).mean(axis=0) for symbol, nodes in enumerate(of_symbol)]
        for side in (p.y, p.z)
    )
    is_binary, is_leaf = bank.right >= 0, bank.word >= 0
    for rules, block, chosen in (
        (productions.binary, tables.binary_block, is_binary),
        (productions.unary, tables.unary_block, ~is_binary & ~is_leaf),
    ):
        for rule, nodes in enumerate(productions.nodes_by_row(chosen, len(rules))):
            parent, *below = rules[rule].tolist()
            children = zip((bank.left, bank.right), below, strict=False)
            vectors = [p.rows(p.z, nodes, parent), *(p.rows(p.y, side[nodes], b) for side, b in children)]
            means = [mean_z[parent], *(mean_y[child] for child in below)]
            moment = _moment(vectors, means, backoff if len(nodes) < unsmoothed else 0.0)
            block(rule)[:] = moment * (len(nodes) / count[parent])
    for symbol in range(bank.n_phrases, bank.n_symbols):
        nodes = of_symbol[symbol]
        first = layout.lexical_start[productions.node_production[nodes]]
        cells = first[:, None] + np.arange(p.n_states[symbol])
        np.add.at(tables.lexical, cells, p.rows(p.z, nodes, symbol) / count[symbol])
    roots = bank.tree_start[1:] - 1
    for symbol in np.flatnonzero(seen.root_count).tolist():
        y = p.rows(p.y, roots[bank.label[roots] == symbol], symbol)
        tables.root_block(symbol)[:] = y.mean(axis=0) * (seen.root_count[symbol] / bank.n_trees)
    return tables


def _moment(vectors: Sequence[Doubles], means: Sequence[Doubles], backoff: float) -> Doubles:
    """Return E[z y x], or E[z y], over a rule's occurrences, backed off to products of lower moments, at last of `means`."""
    first, *rest = vectors
    n = len(first)
    pairs = rest[0] if len(rest) == 1 else rest[0][:, :, None] * rest[1][:, None, :]
    full_moment = (first.T @ pairs.reshape(n, -1) / n).reshape([vector.shape[1] for vector in vectors])
    if backoff == 0:
        return full_moment
    single = [vector.mean(axis=0) for vector in vectors]
    chain = [reduce(np.multiply.outer, single)]
    if len(rest) == 2:
        (z, y, x), (z1, y1, x1) = vectors, single
        two = (
            np.einsum("ij,k->ijk", z.T @ y / n, x1)
            + np.einsum("ik,j->ijk", z.T @ x / n, y1)
            + np.einsum("jk,i->ijk", y.T @ x / n, z1)
        )
        chain.append(two / 3)
    estimate = reduce(np.multiply.outer, means)
    keep = float(np.sqrt(n)) / (backoff + float(np.sqrt(n)))
    for moment in [*chain, full_moment]:
        estimate = keep * moment + (1 - keep) * estimate
    return estimate
