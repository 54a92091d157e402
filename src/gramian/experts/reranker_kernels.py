"""Numba kernels of learning to rerank: scores of candidates, and the likelihood of the best ones with its gradient."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import kernel


@kernel
def _score(weights, examples, candidate):
    dense = examples.dense
    n_sparse = len(weights) - dense.shape[1]
    score = 0.0
    for place in range(examples.tree_first[candidate], examples.tree_first[candidate + 1]):
        score += weights[examples.feature[place]] * examples.value[place]
    for column in range(dense.shape[1]):
        score += weights[n_sparse + column] * dense[candidate, column]
    return score


@kernel
def example_scores(weights, examples):
    """Return the score of each candidate; see :func:`add_gradient`."""
    total = np.zeros(len(examples.tree_first) - 1)
    for candidate in range(len(total)):
        total[candidate] = _score(weights, examples, candidate)
    return total


@kernel
def add_gradient(weights, examples, gain, gradient):
    """Return the log-likelihood of sentences' best candidates; INOUT gradient: add its gradient.

    `examples` are a :class:`gramian.experts.reranker.ExampleArrays`; `weights` those of the features, then of the columns of `dense`;
    `gain` (n_candidates,) the shares of the target in each sentence, of which the mass is maximised.
    """
    sentence_start, tree_first, dense = examples.sentence_start, examples.tree_first, examples.dense
    n_sparse = len(weights) - dense.shape[1]
    total = 0.0
    score = np.empty(np.diff(sentence_start).max())
    for sentence in range(len(sentence_start) - 1):
        first, last = sentence_start[sentence], sentence_start[sentence + 1]
        best = -np.inf
        for candidate in range(first, last):
            score[candidate - first] = _score(weights, examples, candidate)
            best = max(best, score[candidate - first])
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
                gradient[examples.feature[place]] += pull * examples.value[place]
            for column in range(dense.shape[1]):
                gradient[n_sparse + column] += pull * dense[candidate, column]
    return total
