"""From a spectral automaton to a true distribution: clipping, clustering, and EM from there.

A spectral automaton computes something near a distribution, in a basis of its own where weights have any sign. Two ways lead to a PNFA;
both cluster the state vectors that the training strings pass through, and take the clusters as states. Clipping keeps the automaton's own
operators, as combinations of the clusters' centres with weights >= 0. Clustering counts the moves between clusters in the training
strings (what Narayan and Cohen 2015 do for grammars); it is the better start for EM.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian.automata.pnfa import MoveCounts, Structure, random_pnfa
from gramian.automata.pnfa_em import PNFAEM, interpolated
from gramian.automata.sequences import Array, Sequences
from gramian.automata.weighted_automaton import WFA

_BLOCK = 50_000  # state vectors held at once
_SAMPLED = 20_000  # state vectors that anchors and cluster centres are found among


def clip_to_pnfa(model: WFA, sample: Sequences, *, random_state: int = 0) -> WFA:
    """Return the PNFA nearest to `model` whose states are centres of its state vectors.

    Where a symbol takes a centre is written as a combination of the centres with weights >= 0, by least squares: what would be negative
    is clipped to zero, and the others make up for it. Leaving weights are then normalised.
    """
    from scipy.optimize import nnls

    points = _drawn(model, sample, np.random.default_rng(random_state))
    nearest = _clusters(_whitened(points, points), model.n_states, random_state).labels_
    n = int(nearest.max()) + 1
    centres = np.zeros((n, model.n_states))
    np.add.at(centres, nearest, points)
    centres /= np.bincount(nearest, minlength=n)[:, None]
    moved = (centres @ model.transitions).reshape(-1, model.n_states)
    combined = np.array([nnls(centres.T, vector)[0] for vector in (*moved, model.initial)])
    final = np.maximum(centres @ model.final, 0.0)
    weights = MoveCounts(combined[-1], final, combined[:-1].reshape(model.n_symbols, n, n))
    return weights.estimate(model.alphabet, pseudo_count=1e-6)  # so that no string is impossible


def cluster_to_pnfa(
    model: WFA,
    sample: Sequences,
    n_states: int | None = None,
    *,
    structure: Structure = "joint",
    pseudo_count: float = 1e-3,
    random_state: int = 0,
) -> WFA:
    """Return the PNFA of moves between clusters of the state vectors that `sample` passes through."""
    points = _drawn(model, sample, np.random.default_rng(random_state))
    clusters = _clusters(_whitened(points, points), n_states or model.n_states, random_state)
    counts = MoveCounts.zeros(len(sample.alphabet), clusters.n_clusters)
    for part, weights, vectors in _state_vectors(model, sample):
        state = clusters.predict(_whitened(points, vectors))
        np.add.at(counts.initial, state[part.first_cuts], weights)
        np.add.at(counts.final, state[part.last_cuts], weights)
        moves = (part.symbols, state[part.inner_cuts], state[part.inner_cuts + 1])
        np.add.at(counts.transitions, moves, np.repeat(weights, part.lengths))
    return counts.estimate(sample.alphabet, structure, pseudo_count)


def refine(start: WFA, sample: Sequences, *, n_jobs: int | None = None, random_state: int = 0) -> WFA:
    """Return the PNFA that EM reaches from `start`."""
    noise = random_pnfa(sample, start.n_states, np.random.default_rng(random_state))
    learner = PNFAEM(
        start=interpolated(start, noise), max_iter=150, tolerance=1e-5, pseudo_count=5e-3, n_jobs=n_jobs
    )
    return learner.fit(sample).model_


def _state_vectors(model: WFA, sample: Sequences) -> Iterator[tuple[Sequences, Array, Array]]:
    """Yield distinct strings, how often each occurs, and the normalised state vectors along them."""
    distinct, weights = sample.distinct()
    for block in distinct.blocks(_BLOCK):
        part = distinct.take(block)
        yield part, weights[block], model.state_vectors(part)


def _drawn(model: WFA, sample: Sequences, rng: np.random.Generator) -> Array:
    """Draw state vectors in proportion to how often the strings pass through them; those of weight one only."""
    total = float(sample.n_cuts)
    blocks = []
    for part, weights, vectors in _state_vectors(model, sample):
        share = np.repeat(weights, part.lengths + 1)
        size = int(np.ceil(_SAMPLED * share.sum() / total))
        blocks.append(vectors[rng.choice(len(vectors), size, p=share / share.sum())])
    rows = np.concatenate(blocks)
    has_unit_weight = np.abs(rows @ model.prefix_weights() - 1.0) < 1e-6
    return np.asarray(rows[has_unit_weight] if has_unit_weight.any() else rows)


def _clusters(points: Array, n: int, random_state: int) -> Any:
    """Return k-means with `n` clusters, or as many as there are different points."""
    from sklearn.cluster import KMeans

    n = min(n, len(np.unique(points.round(9), axis=0)))
    return KMeans(n, n_init=1, max_iter=30, random_state=random_state).fit(points)


def _whitened(reference: Array, vectors: Array) -> Array:
    """Return `vectors` in a basis where `reference` has unit second moments; far outliers are pulled in."""
    values, axes = np.linalg.eigh(reference.T @ reference / len(reference))
    return np.clip(vectors @ (axes / np.sqrt(np.maximum(values, 1e-6 * values.max()))), -20.0, 20.0)
