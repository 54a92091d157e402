"""Merging states that do not pay (Petrov et al. 2006): what likelihood a merge would cost, and tables with states merged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.learn.learner import Maximisation
from gramian.learn.observations import Observations
from gramian.learn.smoothing import state_shares
from gramian.learn.tables import LatentTables, Layout

Pairs = npt.NDArray[np.int64]
Groups = list[npt.NDArray[np.int64]]


def merge_losses(
    seen: Observations, tables: LatentTables, counts: LatentTables, pairs: list[Pairs], n_jobs: int = 1
) -> list[npt.NDArray[np.float64]]:
    """Return the log-likelihood of the training trees that merging each pair of states would cost.

    Each node is looked at on its own: the two states are replaced by one whose inside value is their mean, weighted by their shares
    in `counts`, and whose outside value is their sum.
    """
    shares = state_shares(counts)
    layout, weight = tables.layout, seen.bank.node_weight
    posteriors = seen.trees.posteriors(tables, n_jobs)
    losses = []
    for symbol, symbol_pairs in enumerate(pairs):
        loss = np.zeros(len(symbol_pairs))
        if len(symbol_pairs):
            nodes = seen.nodes(symbol)
            cells = posteriors.offset[nodes][:, None] + np.arange(layout.n_states[symbol])
            below, above = (
                posteriors.inside[cells].astype(np.float64),
                posteriors.outside[cells].astype(np.float64),
            )
            product = below * above
            total = product.sum(axis=1)
            share = shares[layout.root_start[symbol] : layout.root_start[symbol + 1]]
            for index, (i, j) in enumerate(symbol_pairs):
                mean = (share[i] * below[:, i] + share[j] * below[:, j]) / max(share[i] + share[j], 1e-300)
                after = total - product[:, i] - product[:, j] + mean * (above[:, i] + above[:, j])
                fine = (total > 0) & (after > 0)
                lost = np.log(total[fine] / after[fine])
                loss[index] = lost.sum() if weight is None else lost @ weight[nodes[fine]]
        losses.append(loss)
    return losses


def merge_cheapest(
    model: Maximisation,
    counts: LatentTables,
    share: float,
    pairs: list[Pairs] | None = None,
    n_jobs: int = 1,
) -> tuple[LatentTables, Groups]:
    """Merge the `share` of pairs of states, of the most similar ones by default, whose loss costs the least likelihood.

    Returns the counts and, for each symbol, the new state of each old one.
    """
    tables = model.tables(counts)
    counts = model.seen.expect(tables, n_jobs).counts
    pairs = pairs or nearest_pairs(counts)
    losses = merge_losses(model.seen, tables, counts, pairs, n_jobs)
    everything = np.concatenate(losses)
    bar = np.quantile(everything, share) if len(everything) else 0.0
    groups = []
    for symbol, (symbol_pairs, loss) in enumerate(zip(pairs, losses, strict=True)):
        group = np.arange(counts.layout.n_states[symbol])
        for i, j in symbol_pairs[loss <= bar]:
            group[max(i, j)] = min(i, j)
        groups.append(np.unique(group, return_inverse=True)[1])
    return merged(counts, groups), groups


def merged(counts: LatentTables, groups: Groups) -> LatentTables:
    """Return counts in which states are added up: for each symbol, `groups` has the new state of each old one, from 0 without gaps."""
    old = counts.layout
    n_states = np.array([group.max() + 1 for group in groups], np.int32)
    layout = Layout.of(old.productions, n_states)
    result = layout.zeros(counts.binary.dtype)
    add = [np.eye(n, dtype=counts.binary.dtype)[group].T for n, group in zip(n_states, groups, strict=True)]
    for rule, (a, b, c) in enumerate(old.productions.binary):
        block = np.tensordot(add[a], counts.binary_block(rule), 1)
        result.binary_block(rule)[:] = np.matmul(np.matmul(add[b], block), add[c].T)
    for rule, (a, t) in enumerate(old.productions.unary):
        result.unary_block(rule)[:] = add[a] @ counts.unary_block(rule) @ add[t].T
    for symbol, group in enumerate(groups):
        result.root_block(symbol)[:] = np.bincount(group, counts.root_block(symbol))
    first, tags = layout.lexical_start[:-1], old.productions.lexical[:, 0]
    target = np.concatenate([start + groups[tag] for start, tag in zip(first, tags, strict=True)])
    result.lexical[:] = np.bincount(target, counts.lexical, len(result.lexical))
    return result


def nearest_pairs(counts: LatentTables) -> list[Pairs]:
    """Pair up the states of each symbol, most similar first; with an odd number one stays single.

    Similar are states that are used in, and rewritten by, the same rules: the distance is Hellinger's between their shares of all rules.
    """
    layout = counts.layout
    profiles: list[list[npt.NDArray[np.floating]]] = [[] for _ in layout.n_states]
    for rule, (a, b, c) in enumerate(layout.productions.binary):
        for symbol, others in ((a, (1, 2)), (b, (0, 2)), (c, (0, 1))):
            profiles[symbol].append(counts.binary_block(rule).sum(axis=others))
    for rule, (a, t) in enumerate(layout.productions.unary):
        for symbol, other in ((a, 1), (t, 0)):
            profiles[symbol].append(counts.unary_block(rule).sum(axis=other))
    pairs = []
    for symbol, columns in enumerate(profiles):
        n = int(layout.n_states[symbol])
        if n < 2 or not columns:
            pairs.append(np.zeros((0, 2), np.int64))
            continue
        profile = np.sqrt(np.stack(columns, axis=1).astype(np.float64))
        profile /= np.maximum(np.linalg.norm(profile, axis=1, keepdims=True), 1e-300)
        likeness = profile @ profile.T
        corner = np.triu_indices(n, 1)
        order = np.argsort(-likeness[corner], kind="stable")
        free = np.ones(n, bool)
        chosen = []
        for pair in np.stack(corner, axis=1)[order]:
            if free[pair].all():
                free[pair] = False
                chosen.append(pair)
        pairs.append(np.array(chosen, np.int64))
    return pairs
