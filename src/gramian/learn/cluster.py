"""Latent states by clustering spectral projections (Narayan and Cohen 2015)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.corpus import Treebank
from gramian.features import INSIDE, OUTSIDE, SETS, NodeView, feature_matrix
from gramian.learn.svd import cross_svd
from gramian.learn.tables import LatentTables, Layout

__all__ = ["cluster_nodes", "count_states", "node_vectors"]


def node_vectors(view: NodeView, nodes, inside, outside, rank, *, kappa=5.0, scaled=True, centre=True, power=1.0, seed=0):
    """Project the nodes of one symbol; return (n, 2k) vectors and the singular values."""
    phi = feature_matrix([c[nodes] for c in inside], kappa=kappa, scaled=scaled)
    psi = feature_matrix([c[nodes] for c in outside], kappa=kappa, scaled=scaled)
    if phi.shape[1] == 0 or psi.shape[1] == 0:
        return np.zeros((len(nodes), 0)), np.zeros(0)
    svd = cross_svd(phi, psi, rank, centre=centre, seed=seed)
    keep = svd.singular_values > 1e-6 * svd.singular_values[0]
    left, right, values = svd.left[:, keep], svd.right[:, keep], svd.singular_values[keep]
    y = phi @ left - svd.left_mean @ left
    z = psi @ right - svd.right_mean @ right
    weight = (values / values[0]) ** power if len(values) else values
    y = y / np.maximum(y.std(axis=0), 1e-12) * weight
    z = z / np.maximum(z.std(axis=0), 1e-12) * weight
    return np.concatenate([y, z], axis=1), svd.singular_values


def cluster_nodes(bank: Treebank, view: NodeView, n_states, features="rich", *, rank=None, seed=0, **options):
    """Return the state of every node."""
    from sklearn.cluster import KMeans

    inside = [INSIDE[name](view) for name in SETS[features][0]]
    outside = [OUTSIDE[name](view) for name in SETS[features][1]]
    order, starts = bank.by_label
    state = np.zeros(len(bank.label), np.int32)
    for symbol in range(bank.n_symbols):
        m = int(n_states[symbol])
        nodes = order[starts[symbol] : starts[symbol + 1]]
        if m == 1:
            continue
        vectors, _ = node_vectors(view, nodes, inside, outside, rank or m, seed=seed, **options)
        if vectors.shape[1] == 0:
            continue
        model = KMeans(m, n_init=1, init="k-means++", max_iter=50, random_state=seed)
        sample = vectors if len(vectors) <= 40000 else vectors[np.random.default_rng(seed).choice(len(vectors), 40000, replace=False)]
        model.fit(sample.astype(np.float32))
        state[nodes] = model.predict(vectors.astype(np.float32))
    return state


def count_states(bank: Treebank, layout: Layout, state: npt.NDArray[np.int32]) -> LatentTables:
    """Return counts of productions when every node's state is known."""
    counts = layout.zeros(np.float32)
    production, n = layout.productions.node_production, layout.n_states
    label = bank.label
    s = state.astype(np.int64)
    binary = np.flatnonzero(bank.right >= 0)
    l, r = bank.left[binary], bank.right[binary]
    cell = layout.binary_start[production[binary]] + (s[binary] * n[label[l]] + s[l]) * n[label[r]] + s[r]
    counts.binary[:] = np.bincount(cell, minlength=len(counts.binary))
    unary = np.flatnonzero((bank.word < 0) & (bank.right < 0))
    l = bank.left[unary]
    counts.unary[:] = np.bincount(layout.unary_start[production[unary]] + s[unary] * n[label[l]] + s[l], minlength=len(counts.unary))
    leaf = np.flatnonzero(bank.word >= 0)
    counts.lexical[:] = np.bincount(layout.lexical_start[production[leaf]] + s[leaf], minlength=len(counts.lexical))
    roots = bank.tree_start[1:] - 1
    counts.root[:] = np.bincount(layout.root_start[label[roots]] + s[roots], minlength=len(counts.root))
    return counts
