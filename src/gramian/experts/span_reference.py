"""Sums over the trees of a forest as the equations have them: plain Python, slow, readable, the oracle of the kernels."""

import numpy as np
import numpy.typing as npt

from gramian.experts.span_forests import Skeleton, States

Array = npt.NDArray[np.float64]


def inside_outside(
    forest: Skeleton, states: States, n_phrases: int, state_score: Array, pair_score: Array
) -> tuple[float, Array, Array, Array, Array, Array]:
    """Sum over the trees of a forest, each with the exponentiated sum of the scores of its states and pairs.

    Symbols from `n_phrases` on are tags, whose items end a tree. Returns the logarithm of the sum, and the posteriors of items, edges,
    roots, states and pairs.
    """
    n_items, n_edges = len(forest.item_symbol), len(forest.edge_left)

    def states_of(item: int) -> list[int]:
        labels = []
        state = int(states.first_state[item])
        while state >= 0:
            labels.append(state)
            state = int(states.next_state[state])
        return labels

    def pairs_of(item: int, state: int) -> list[tuple[int, int, list[int]]]:
        """Pair, edge, and the states of the children."""
        first = int(forest.edge_first[item])
        return [
            (
                int(states.state_pair[state]) + edge - first,
                edge,
                [int(child[edge]) for child in (states.left_state, states.right_state) if child[edge] >= 0],
            )
            for edge in range(first, int(forest.edge_first[item + 1]))
        ]

    inside = np.full(len(state_score), -np.inf)
    for item in range(n_items):
        for state in states_of(item):
            ways = (
                [0.0]
                if forest.item_symbol[item] >= n_phrases
                else [
                    pair_score[pair] + sum(inside[child] for child in children)
                    for pair, _, children in pairs_of(item, state)
                ]
            )
            inside[state] = state_score[state] + np.logaddexp.reduce(ways, initial=-np.inf)
    is_root = states.context == 0
    log_total = float(np.logaddexp.reduce(inside[is_root], initial=-np.inf))
    item_posterior, edge_posterior, root_posterior = np.zeros(n_items), np.zeros(n_edges), np.zeros(n_items)
    state_posterior, pair_posterior = np.zeros(len(state_score)), np.zeros(len(pair_score))
    if log_total > -np.inf:
        outside = np.where(is_root, 0.0, -np.inf)
        for item in reversed(range(n_items)):
            for state in states_of(item):
                state_posterior[state] = np.exp(inside[state] + outside[state] - log_total)
                item_posterior[item] += state_posterior[state]
                root_posterior[item] += state_posterior[state] if is_root[state] else 0.0
                for pair, edge, children in pairs_of(item, state):
                    whole = outside[state] + state_score[state] + pair_score[pair]
                    whole += sum(inside[child] for child in children)
                    if whole > -np.inf:
                        pair_posterior[pair] = np.exp(whole - log_total)
                        edge_posterior[edge] += pair_posterior[pair]
                        for child in children:
                            outside[child] = np.logaddexp(outside[child], whole - inside[child])
    return log_total, item_posterior, edge_posterior, root_posterior, state_posterior, pair_posterior
