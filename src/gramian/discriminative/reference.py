"""Sums over the trees of a forest as the equations have them: plain Python, slow, readable, the oracle of the kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.discriminative.forests import Skeleton

__all__ = ["inside_outside"]

Array = npt.NDArray[np.float64]


def inside_outside(
    forest: Skeleton, n_phrases: int, item_score: Array, edge_score: Array
) -> tuple[float, Array, Array, Array]:
    """Sum over the trees of a forest, each with the exponentiated sum of the scores of its items and edges.

    Parameters
    ----------
    forest : Skeleton
    n_phrases : int
        Symbols from this number on are tags, whose items end a tree.
    item_score, edge_score : ndarray of float64

    Returns
    -------
    log_total : float
    item_posterior, edge_posterior, root_posterior : ndarray of float64
    """
    n_items = len(forest.item_symbol)

    def children(edge: int) -> list[int]:
        return [int(child) for child in (forest.edge_left[edge], forest.edge_right[edge]) if child >= 0]

    inside = np.full(n_items, -np.inf)
    for item in range(n_items):
        ways = (
            [0.0]
            if forest.item_symbol[item] >= n_phrases
            else [
                edge_score[edge] + sum(inside[child] for child in children(edge))
                for edge in range(forest.edge_first[item], forest.edge_first[item + 1])
            ]
        )
        inside[item] = item_score[item] + np.logaddexp.reduce(ways, initial=-np.inf)
    log_total = float(np.logaddexp.reduce(inside[forest.is_root], initial=-np.inf))
    if log_total == -np.inf:
        return log_total, np.zeros(n_items), np.zeros(len(edge_score)), np.zeros(n_items)

    outside = np.where(forest.is_root, 0.0, -np.inf)
    log_edge = np.full(len(edge_score), -np.inf)
    for item in reversed(range(n_items)):
        for edge in range(forest.edge_first[item], forest.edge_first[item + 1]):
            around = outside[item] + item_score[item] + edge_score[edge]
            whole = around + sum(inside[child] for child in children(edge))
            log_edge[edge] = whole
            for child in children(edge):
                if whole > -np.inf:
                    outside[child] = np.logaddexp(outside[child], whole - inside[child])
    posteriors = inside + outside, log_edge, np.where(forest.is_root, inside, -np.inf)
    item, edge, root = (np.exp(value - log_total) for value in posteriors)
    return log_total, item, edge, root
