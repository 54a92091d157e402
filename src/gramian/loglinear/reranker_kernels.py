"""Numba kernels of learning to rerank: scores of candidates, and the likelihood of the best ones with its slope."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.jit import kernel

__all__ = ["example_scores", "slopes"]


@kernel
def example_scores(weights, tree_first, feature, value, dense):
    """Return the score of each candidate; see :func:`slopes`."""
    n_sparse = len(weights) - dense.shape[1]
    total = np.zeros(len(tree_first) - 1)
    for candidate in range(len(total)):
        score = 0.0
        for place in range(tree_first[candidate], tree_first[candidate + 1]):
            score += weights[feature[place]] * value[place]
        for column in range(dense.shape[1]):
            score += weights[n_sparse + column] * dense[candidate, column]
        total[candidate] = score
    return total


@kernel
def slopes(weights, sentence_start, tree_first, feature, value, dense, gain, slope):
    """Return the log-likelihood of sentences' best candidates; OUT slope: add its slope.

    Candidates of sentence `i` are sentence_start[i] .. sentence_start[i + 1]; those of candidate `c` have the features
    tree_first[c] .. tree_first[c + 1]. `weights` are those of the features, then of the columns of `dense`. `gain` (n_candidates,) are
    the shares of the target in each sentence, of which the mass is maximised.
    """
    n_sparse, n_dense = len(weights) - dense.shape[1], dense.shape[1]
    total = 0.0
    largest = 0
    for sentence in range(len(sentence_start) - 1):
        largest = max(largest, sentence_start[sentence + 1] - sentence_start[sentence])
    score = np.empty(largest)
    for sentence in range(len(sentence_start) - 1):
        first, last = sentence_start[sentence], sentence_start[sentence + 1]
        best = -np.inf
        for candidate in range(first, last):
            value_here = 0.0
            for place in range(tree_first[candidate], tree_first[candidate + 1]):
                value_here += weights[feature[place]] * value[place]
            for column in range(n_dense):
                value_here += weights[n_sparse + column] * dense[candidate, column]
            score[candidate - first] = value_here
            best = max(best, value_here)
        mass, good = 0.0, 0.0
        for candidate in range(first, last):
            score[candidate - first] = np.exp(score[candidate - first] - best)
            mass += score[candidate - first]
            good += score[candidate - first] * gain[candidate]
        if good <= 0:
            continue
        total += np.log(good) - np.log(mass)
        for candidate in range(first, last):
            pull = score[candidate - first] * (gain[candidate] / good - 1 / mass)
            if pull == 0:
                continue
            for place in range(tree_first[candidate], tree_first[candidate + 1]):
                slope[feature[place]] += pull * value[place]
            for column in range(n_dense):
                slope[n_sparse + column] += pull * dense[candidate, column]
    return total
