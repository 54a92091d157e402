"""Latent states by clustering spectral projections (Narayan and Cohen 2015).

Each node is projected by the singular vectors of its symbol's inside-outside cross-covariance; k-means on the projections of both
sides gives it a state, and counting gives the grammar.

Noise makes many different models from one treebank. Dropout thins the features before the decomposition, and what is then clustered are
the whole features, projected by what the thinned ones gave. Gaussian noise disturbs the projections themselves.
"""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.base import Report, estimator
from gramian.grammar import LPCFG
from gramian.learn.counting import count_states, spread_unseen
from gramian.learn.learner import LatentLearner, Maximisation
from gramian.learn.observations import Columns, Observations
from gramian.learn.smoothing import Smoothing
from gramian.learn.svd import CrossSVD, cross_svd
from gramian.learn.tables import LatentTables, Layout
from gramian.progress import tell_progress
from gramian.treebank.feature_matrices import Features as Features
from gramian.treebank.feature_matrices import NodeMatrices
from gramian.value_types import InstanceOf, Number, OneOf, Whole, option, options, or_none

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

Noise: TypeAlias = Literal["dropout", "additive", "multiplicative"]
LEVELS = (0.05, 0.1, 0.15, 0.2)
"""The levels of the paper."""

_log = logging.getLogger(__name__)


@options
class Clustering:
    """How nodes are projected and clustered.

    Examples
    --------
    >>> from gramian.learn import SpectralClustering
    >>> SpectralClustering(4, clustering=Clustering(rank=8, projection="raw")).clustering.rank
    8
    """

    rank: int | None = option(or_none(Whole(1)), default=None)
    """Singular vectors used; as many as states by default."""
    projection: Literal["weighted", "raw"] = option(OneOf("weighted", "raw"), default="weighted")
    """``"weighted"``: centred, every coordinate scaled to unit variance and weighted by its singular value. ``"raw"``: plain projections,
    as in the paper."""
    start: Literal["k-means++", "random"] = option(OneOf("k-means++", "random"), default="k-means++")
    """Where k-means begins: at nodes far from each other, or at random ones, as in the paper."""
    restarts: int = option(Whole(1), default=1)
    """How many times k-means starts anew; the best result is kept."""
    max_iter: int = option(Whole(1), default=50)
    """The most iterations of k-means."""
    sample: int | None = option(or_none(Whole(1)), default=10_000)
    """How many nodes of a symbol k-means sees at most, the others go to their nearest centre; none for all nodes, as in the paper."""
    noise: Noise | None = option(or_none(OneOf(*get_args(Noise))), default=None)
    """``"dropout"``, ``"additive"`` or ``"multiplicative"``, to make models that differ."""
    noise_level: float = option(Number(0, below=1), default=0.1)
    """Share of the features that are dropped, or variance of the noise relative to the projections."""


@estimator
class SpectralClustering(LatentLearner):
    """Learn a grammar by clustering the spectral projections of tree nodes.

    Attributes
    ----------
    model_ : LPCFG
    states_ : ndarray of int32, shape (n_nodes,)
        The state that clustering gave to each node of the treebank.
    report_ : dict

    References
    ----------
    Shashi Narayan and Shay B. Cohen (2015). Diversity in spectral learning for natural language parsing. EMNLP.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> learner = SpectralClustering(n_states=2, allocation="all").fit(trees)
    >>> learner.model_.n_states.max()
    np.int32(2)
    >>> SpectralClustering(clustering=Clustering(rank=-1)).fit(trees)
    Traceback (most recent call last):
    gramian.errors.OptionError: clustering.rank must be at least 1, got -1
    """

    _: KW_ONLY
    features: Features = option(InstanceOf(Features), default=Features())
    """Which features nodes have; see :class:`gramian.treebank.Features`."""
    clustering: Clustering = option(InstanceOf(Clustering), default=Clustering())
    """How nodes are projected and clustered; see :class:`gramian.learn.Clustering`."""
    smoothing: Smoothing = option(InstanceOf(Smoothing), default=Smoothing())

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        counts = self._clustered_counts(seen, report)
        with report.stage("grammar"):
            return Maximisation(seen, self.smoothing, self.lexicon).grammar(counts)

    def _clustered_counts(self, seen: Observations, report: Report) -> LatentTables:
        """Cluster the nodes of every symbol and count productions with states."""
        n_states = self.allocate(seen)
        with report.stage("features"):
            columns = seen.feature_columns(self.features, self.lexicon)
        self.states_ = np.zeros(len(seen.bank.label), np.int32)
        report.facts["singular values"] = spectra = {}
        with report.stage("projections and clusters"):
            for symbol, states in enumerate(n_states.tolist()):
                tell_progress(_log, "labels clustered", symbol, len(n_states))
                nodes = seen.nodes(symbol)
                self.states_[nodes], spectra[seen.name(symbol)] = self.cluster(
                    nodes, columns, states, seen.bank.node_weight
                )
            tell_progress(_log, "labels clustered", len(n_states), len(n_states))
        del columns
        layout = Layout.of(seen.productions, n_states)
        with report.stage("counts"):
            counts = count_states(seen.bank, layout, self.states_)
            if seen.further is not None:
                spread_unseen(seen, counts)
            return counts

    def cluster(
        self,
        nodes: npt.NDArray[np.int64],
        columns: tuple[Columns, Columns],
        n_states: int,
        node_weight: npt.NDArray[np.float64] | None,
    ) -> tuple[npt.NDArray[np.int32], list[float]]:
        """Return the state of each of a symbol's nodes, and singular values."""
        svd = None
        if n_states > 1:
            mass = None if node_weight is None else node_weight[nodes]
            vectors, svd = self.project(nodes, columns, self.clustering.rank or n_states, mass)
        if svd is None:
            return np.zeros(len(nodes), np.int32), []
        model = self._k_means(vectors, n_states, mass)
        return model.predict(vectors), [round(float(value), 5) for value in svd.singular_values]

    def _k_means(
        self, vectors: npt.NDArray[np.float32], n_clusters: int, weight: npt.NDArray[np.float64] | None
    ) -> KMeans:
        """Return a fitted k-means with at most `n_clusters` clusters, fewer if there are not as many different vectors."""
        from sklearn.cluster import KMeans

        how = self.clustering
        if how.sample is not None and len(vectors) > how.sample:
            rng = np.random.default_rng(self.random_state)
            chosen = np.sort(rng.choice(len(vectors), how.sample, replace=False))
            vectors, weight = vectors[chosen], None if weight is None else weight[chosen]
        distinct = len(np.unique(vectors[: 50 * n_clusters], axis=0))
        if distinct < n_clusters:  # a treebank may be sorted
            distinct = len(np.unique(vectors, axis=0))
        model = KMeans(
            min(n_clusters, distinct),
            init=how.start,
            n_init=how.restarts,
            max_iter=how.max_iter,
            random_state=self.random_state,
        )
        return model.fit(vectors, sample_weight=weight)

    def project(
        self,
        nodes: npt.NDArray[np.int64],
        columns: tuple[Columns, Columns],
        rank: int,
        weight: npt.NDArray[np.float64] | None = None,
    ) -> tuple[npt.NDArray[np.float32], CrossSVD | None]:
        """Return the projections of a symbol's nodes, inside and outside halves side by side, and the decomposition, if any."""
        how = self.clustering
        drop = how.noise_level if how.noise == "dropout" else 0
        seen = NodeMatrices.of(columns, nodes, self.features, weight, apart=drop > 0)
        phi, psi = seen.matrices
        nothing = np.zeros((len(nodes), 0), np.float32), None
        if not phi.shape[1] or not psi.shape[1]:
            return nothing
        random = np.random.default_rng((self.random_state, int(nodes[0])))
        left, right = (thinned(side, drop, random) if drop else side for side in (phi, psi))
        weighted = how.projection == "weighted"
        svd = cross_svd(left, right, rank, pairs=seen.pairs, centre=weighted, random_state=self.random_state)
        kept = svd.singular_values > 1e-6 * max(svd.singular_values[0], 1e-30)
        if not kept.any():
            return nothing
        halves = []
        sides = (phi, svd.left, svd.left_mean), (psi, svd.right, svd.right_mean)
        for (matrix, vectors, mean), kind in zip(sides, seen.kinds, strict=True):
            half = (matrix @ vectors[:, kept] - mean @ vectors[:, kept])[kind]
            if weighted:
                strength = svd.singular_values[kept] / svd.singular_values[0]
                half *= strength / np.maximum(_deviation(half, weight), 1e-12)
            if how.noise in ("additive", "multiplicative"):
                half = disturbed(half, how.noise, how.noise_level, random, by_mean=not weighted)
            halves.append(half)
        return np.concatenate(halves, axis=1).astype(np.float32), svd


def _deviation(
    values: npt.NDArray[np.floating], weight: npt.NDArray[np.float64] | None
) -> npt.NDArray[np.floating]:
    """Return the standard deviation of each column."""
    if weight is None:
        return np.asarray(values.std(axis=0))
    mean = np.average(values, axis=0, weights=weight)
    return np.asarray(np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight)))


def thinned(matrix: sparse.csr_array, level: float, random: np.random.Generator) -> sparse.csr_array:
    """Return features of which each is left out with probability `level`, the others made larger in turn."""
    kept = random.random(matrix.nnz, dtype=np.float32) >= level
    data = matrix.data * kept / np.float32(1 - level)
    thin = sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
    thin.eliminate_zeros()
    return thin


def disturbed(
    vectors: npt.NDArray[np.float64],
    noise: str,
    level: float,
    random: np.random.Generator,
    *,
    by_mean: bool = False,
) -> npt.NDArray[np.float64]:
    """Return projections with Gaussian noise.

    ``additive``: each coordinate gets noise whose variance is `level` times the coordinate's mean square; `by_mean`: times its absolute
    mean, as in the paper, which is zero once projections are centred. ``multiplicative``: each number is multiplied by one plus noise of
    variance `level`.
    """
    drawn = random.standard_normal(vectors.shape) * np.sqrt(level)
    if noise == "multiplicative":
        return vectors * (1 + drawn)
    spread = np.abs(vectors.mean(axis=0)) if by_mean else (vectors**2).mean(axis=0)
    return vectors + drawn * np.sqrt(spread)
