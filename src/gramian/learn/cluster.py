"""Latent states by clustering spectral projections (Narayan and Cohen 2015).

Each node is projected by the singular vectors of its symbol's inside-outside cross-covariance; k-means on the projections of both
sides gives it a state, and counting gives the grammar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from gramian.corpus import Treebank
from gramian.errors import OptionError
from gramian.features import INSIDE, OUTSIDE, SETS, feature_matrix
from gramian.grammar import LPCFG
from gramian.learn.learner import Learner, Report
from gramian.learn.lexicon_counts import LexiconName
from gramian.learn.noise import Noise, disturbed, require_noise, thinned
from gramian.learn.observations import Observations
from gramian.learn.smoothing import Smoothing
from gramian.learn.states import Allocation, States
from gramian.learn.svd import CrossSVD, cross_svd
from gramian.learn.tables import LatentTables, Layout

__all__ = [
    "SpectralClustering",
    "count_soft_states",
    "count_states",
    "feature_columns",
    "project_nodes",
    "spectral_counts",
]

Columns = list[npt.NDArray[np.int64]]

_SAMPLE = 40_000  # k-means sees at most so many nodes of a symbol; the rest go to their nearest centre


class SpectralClustering(Learner):
    """Learn a grammar by clustering the spectral projections of tree nodes.

    Parameters
    ----------
    states : int or mapping of str to int
        The most states a symbol gets; or the number of each, by name.
    allocation, growth : str, float
        How states are shared out; see :func:`gramian.learn.states.allocate_states`.
    features : str
        Name of a feature set: ``"plain"``, ``"paper"`` or ``"rich"``.
    min_count : int
        Feature values seen less often within a symbol are folded into one.
    scaling : bool
        Scale features by ``1 / sqrt(count + kappa)``.
    kappa : float
    rank : int, optional
        Singular vectors used; as many as states by default.
    projection : {"weighted", "raw"}
        ``"weighted"``: centred, every coordinate scaled to unit variance and weighted by its singular value. ``"raw"``: plain projections,
        as in the paper.
    restarts : int
        How many times k-means starts anew; the best result is kept.
    noise, noise_level : str, float
        ``"dropout"``, ``"additive"`` or ``"multiplicative"``, to make models that differ; see :mod:`gramian.learn.noise`.
    soft : float, optional
        If given, a node belongs to every state by the inverse distance to its centre to this power, instead of to the nearest alone.
    rule_shrinkage, state_shrinkage, sister_share : float
        See :class:`gramian.learn.smoothing.Smoothing`.
    lexicon : {"auto", "suffix", "tag", "pos"}
        ``"suffix"``: states of rare words are shrunk towards those of words that look alike. ``"tag"``: rare words are told apart by their
        tag alone. ``"pos"``: likewise, and nothing is smoothed. ``"auto"``: by suffix in Penn-style English, by tag elsewhere.
    heads : str, optional
        Head rules: ``"auto"`` (Collins' for Penn-style English, otherwise none), ``"collins"``, ``"left"``,
        ``"right"``, ``"none"``, or a file.
    random_state : int
    jobs : int
        Threads; the grammar does not depend on it.
    say : callable, optional
        Called with a line of text as learning goes on.

    Attributes
    ----------
    grammar_ : LPCFG
    states_ : ndarray of int32, shape (n_nodes,)
        The state that clustering gave to each node of the treebank; with `soft`, the nearest.
    report_ : dict

    References
    ----------
    Shashi Narayan and Shay B. Cohen (2015). Diversity in spectral learning for natural language parsing. EMNLP.

    Examples
    --------
    >>> from gramian.trees import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"), Tree.parse("(S (NP (PRP it)) (VP (VBZ runs)))")] * 60
    >>> learner = SpectralClustering(states=2, allocation="all").fit(Treebank.from_trees(trees))
    >>> learner.grammar_.n_states.max()
    np.int32(2)
    """

    def __init__(
        self,
        states: States = 16,
        *,
        allocation: Allocation = "root",
        growth: float = 0.25,
        features: str = "rich",
        min_count: int = 1,
        scaling: bool = True,
        kappa: float = 5.0,
        rank: int | None = None,
        projection: Literal["weighted", "raw"] = "weighted",
        restarts: int = 1,
        noise: Noise | None = None,
        noise_level: float = 0.1,
        soft: float | None = None,
        rule_shrinkage: float = 2.0,
        state_shrinkage: float = 2.0,
        sister_share: float = 0.02,
        lexicon: LexiconName = "auto",
        heads: str | None = "auto",
        random_state: int = 0,
        jobs: int = 1,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.states, self.allocation, self.growth = states, allocation, growth
        self.features, self.min_count, self.scaling, self.kappa = features, min_count, scaling, kappa
        self.rank, self.projection, self.restarts, self.soft = rank, projection, restarts, soft
        self.noise, self.noise_level = noise, noise_level
        self.rule_shrinkage, self.state_shrinkage, self.sister_share = (
            rule_shrinkage,
            state_shrinkage,
            sister_share,
        )
        self.lexicon, self.heads, self.random_state = lexicon, heads, random_state
        self.jobs, self.say = jobs, say

    @classmethod
    def thesis_setting(cls, states: int = 8, **options: Any) -> Self:
        """Return the learner of a plain reimplementation, for comparison: four features a side without scaling, raw projections, the
        same number of states for every symbol, nothing smoothed, and rare words told apart by their tag alone.

        Examples
        --------
        >>> SpectralClustering.thesis_setting(8).projection
        'raw'
        """
        plain: dict[str, Any] = {
            "allocation": "all", "features": "plain", "scaling": False, "projection": "raw", "restarts": 10,
            "lexicon": "pos", "heads": None,
            "rule_shrinkage": 0.0, "state_shrinkage": 0.0, "sister_share": 0.0,
        }  # fmt: skip
        return cls(states, **(plain | options))

    def _learn(self, seen: Observations, report: Report) -> LPCFG:
        counts = spectral_counts(self, seen, report)
        with report.stage("grammar"):
            return seen.grammar(
                counts, Smoothing(self.rule_shrinkage, self.state_shrinkage, self.sister_share)
            )


def spectral_counts(learner: SpectralClustering, seen: Observations, report: Report) -> LatentTables:
    """Cluster the nodes of every symbol and count productions with states."""
    bank = seen.bank
    require_noise(learner.noise, learner.noise_level)
    n_states = seen.allocate(learner.states, learner.allocation, learner.growth)
    with report.stage("features"):
        inside, outside = feature_columns(seen, learner.features)
    order, starts = bank.by_label
    hard = np.zeros(len(bank.label), np.int32)
    weights: list[npt.NDArray[np.float32]] = []
    spectra: dict[str, list[float]] = {}
    with report.stage("projections and clusters"):
        for symbol in range(bank.n_symbols):
            nodes = order[starts[symbol] : starts[symbol + 1]]
            found = _cluster_symbol(learner, nodes, inside, outside, int(n_states[symbol]))
            hard[nodes] = found.state
            weights.append(found.weight)
            spectra[seen.name(symbol)] = found.singular_values
    learner.states_ = hard
    report.facts["singular values"] = spectra
    layout = Layout.of(seen.productions, n_states)
    with report.stage("counts"):
        if learner.soft is None:
            return count_states(bank, layout, hard)
        return count_soft_states(seen, layout, weights)


def feature_columns(seen: Observations, features: str) -> tuple[Columns, Columns]:
    """Return the values of all inside and outside templates of a named set, over all nodes."""
    if features not in SETS:
        raise OptionError(f"there is no feature set {features!r}; try one of: {', '.join(SETS)}")
    if features in seen.kept_features:
        return seen.kept_features[features]
    inside, outside = SETS[features]
    columns = [INSIDE[name](seen.view) for name in inside], [OUTSIDE[name](seen.view) for name in outside]
    if seen.keep_features:
        seen.kept_features[features] = columns
    return columns


@dataclass(frozen=True)
class _Clusters:
    state: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float32]
    singular_values: list[float]


def _cluster_symbol(
    learner: SpectralClustering, nodes: npt.NDArray[np.int64], inside: Columns, outside: Columns, states: int
) -> _Clusters:
    single = _Clusters(np.zeros(len(nodes), np.int32), np.ones((len(nodes), 1), np.float32), [])
    if states == 1:
        return single
    vectors, svd = project_nodes(learner, nodes, inside, outside, learner.rank or states)
    if svd is None:
        state = np.zeros(len(nodes), np.int32)
        return _Clusters(state, np.eye(states, dtype=np.float32)[state], [])
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(learner.random_state)
    sample = (
        vectors
        if len(vectors) <= _SAMPLE
        else vectors[np.sort(rng.choice(len(vectors), _SAMPLE, replace=False))]
    )
    distinct = len(np.unique(sample[: 50 * states], axis=0))
    if distinct < states:  # a treebank may be sorted
        distinct = len(np.unique(sample, axis=0))
    model = KMeans(
        min(states, distinct), n_init=learner.restarts, max_iter=50, random_state=learner.random_state
    )
    state = model.fit(sample).predict(vectors)
    weight = np.eye(states, dtype=np.float32)[state]
    if learner.soft is not None:
        distance = np.maximum(model.transform(vectors), 1e-6) ** 2
        near = (distance.min(axis=1, keepdims=True) / distance) ** learner.soft
        weight = np.zeros((len(nodes), states), np.float32)
        weight[:, : near.shape[1]] = near / near.sum(axis=1, keepdims=True)
    return _Clusters(state, weight, [round(float(value), 5) for value in svd.singular_values])


def project_nodes(
    learner: SpectralClustering, nodes: npt.NDArray[np.int64], inside: Columns, outside: Columns, rank: int
) -> tuple[npt.NDArray[np.float32], CrossSVD | None]:
    """Return the projections of a symbol's nodes, inside and outside halves side by side."""
    options: dict[str, Any] = {
        "min_count": learner.min_count,
        "kappa": learner.kappa,
        "scaled": learner.scaling,
    }
    phi = feature_matrix([column[nodes] for column in inside], **options)
    psi = feature_matrix([column[nodes] for column in outside], **options)
    if not phi.shape[1] or not psi.shape[1]:
        return np.zeros((len(nodes), 0), np.float32), None
    weighted = learner.projection == "weighted"
    random = np.random.default_rng((learner.random_state, int(nodes[0])))
    if learner.noise == "dropout":
        thin = [thinned(matrix, learner.noise_level, random) for matrix in (phi, psi)]
        svd = cross_svd(thin[0], thin[1], rank, centre=weighted, seed=learner.random_state)
    else:
        svd = cross_svd(phi, psi, rank, centre=weighted, seed=learner.random_state)
    kept = svd.singular_values > 1e-6 * max(svd.singular_values[0], 1e-30)
    if not kept.any():
        return np.zeros((len(nodes), 0), np.float32), None
    halves = []
    for matrix, vectors, mean in (
        (phi, svd.left[:, kept], svd.left_mean),
        (psi, svd.right[:, kept], svd.right_mean),
    ):
        half = matrix @ vectors - mean @ vectors
        if weighted:
            strength = svd.singular_values[kept] / svd.singular_values[0]
            half *= strength / np.maximum(half.std(axis=0), 1e-12)
        if learner.noise in ("additive", "multiplicative"):
            half = disturbed(half, learner.noise, learner.noise_level, random)
        halves.append(half)
    return np.concatenate(halves, axis=1).astype(np.float32), svd


def count_states(bank: Treebank, layout: Layout, state: npt.NDArray[np.int32]) -> LatentTables:
    """Count productions when every node's state is known."""
    counts = layout.zeros(np.float32)
    production, n_states, label = layout.productions.node_production, layout.n_states, bank.label
    states = state.astype(np.int64)

    def fill(
        table: npt.NDArray[np.floating],
        start: npt.NDArray[np.int64],
        nodes: npt.NDArray[np.int64],
        *children: npt.NDArray[np.int32],
    ) -> None:
        cell = states[nodes]
        for child in children:
            cell = cell * n_states[label[child]] + states[child]
        table[:] = np.bincount(start[production[nodes]] + cell, minlength=len(table))

    binary = np.flatnonzero(bank.right >= 0)
    fill(counts.binary, layout.binary_start, binary, bank.left[binary], bank.right[binary])
    unary = np.flatnonzero((bank.word < 0) & (bank.right < 0))
    fill(counts.unary, layout.unary_start, unary, bank.left[unary])
    fill(counts.lexical, layout.lexical_start, np.flatnonzero(bank.word >= 0))
    roots = bank.tree_start[1:] - 1
    counts.root[:] = np.bincount(layout.root_start[label[roots]] + states[roots], minlength=len(counts.root))
    return counts


def count_soft_states(
    seen: Observations, layout: Layout, weights: list[npt.NDArray[np.float32]]
) -> LatentTables:
    """Count productions when every node belongs to its symbol's states by weights; one array (n_nodes, m) per symbol."""
    bank = seen.bank
    order, starts = bank.by_label
    offset = np.empty(len(bank.label), np.int64)
    place = 0
    for symbol, weight in enumerate(weights):
        nodes = order[starts[symbol] : starts[symbol + 1]]
        offset[nodes] = place + np.arange(len(nodes)) * weight.shape[1]
        place += weight.size
    flat = np.concatenate([weight.ravel() for weight in weights])
    ones = layout.zeros(np.float32)
    ones.binary[:] = 1
    ones.unary[:] = 1
    counts = seen.trees.outer_counts(ones, offset, flat)
    for symbol in range(bank.n_phrases, bank.n_symbols):
        nodes = order[starts[symbol] : starts[symbol + 1]]
        states = np.arange(layout.n_states[symbol])
        cells = layout.lexical_start[layout.productions.node_production[nodes]][:, None] + states
        np.add.at(counts.lexical, cells, weights[symbol])
    roots = bank.tree_start[1:] - 1
    for root in roots:
        first = layout.root_start[bank.label[root]]
        size = layout.n_states[bank.label[root]]
        counts.root[first : first + size] += flat[offset[root] : offset[root] + size]
    return counts
