"""Numba kernels of the greedy tagger: hashed features, prediction, averaged perceptron steps."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.kernels import helper_kernel, kernel
from gramian.loglinear.hashing_kernels import mix, parts_at_places

_TAG = 7


@helper_kernel
def _features(templates, parts, views, column, mask, slots):
    """OUT slots: features of the word in a column, to the left of which tags are known."""
    before = np.uint64(views[_TAG, column - 1]) * templates.given_factor[0]
    second = np.uint64(views[_TAG, column - 2]) * templates.given_factor[1]
    start = 1 if column == 2 else 0
    for t in range(slots.shape[0]):
        total = parts[0, 0, column, t] + templates.small[0, start, t]
        total += (before & templates.given[0, t]) + (second & templates.given[1, t])
        slots[t] = np.int64(mix(total, np.uint64(0)) & mask)


@kernel
def _best(weights, slots, scores):
    scores[:] = 0
    for slot in slots:
        for tag in range(scores.shape[0]):
            scores[tag] += weights[slot ^ tag]
    return scores.argmax()


@kernel
def tag_sentence(templates, views, n_tags, weights):
    """Fill the row of tags of `views`."""
    parts, slots = parts_at_places(views, templates), np.empty(templates.number.shape[0], np.int64)
    scores = np.empty(n_tags, np.float32)
    mask = np.uint64(weights.shape[0] - 1)
    for column in range(2, views.shape[1] - 2):
        _features(templates, parts, views, column, mask, slots)
        views[_TAG, column] = _best(weights, slots, scores) + 1


@kernel
def learn_tags(templates, lesson, order, n_tags, weights, drift, step):
    """Pass once over sentences in the given order; return the number of the last step.

    `lesson` is a :class:`gramian.experts.tagger.Lesson`. The mean of the weights over all steps is ``weights - drift / step``.
    """
    slots = np.empty(templates.number.shape[0], np.int64)
    scores = np.empty(n_tags, np.float32)
    mask = np.uint64(weights.shape[0] - 1)
    for sentence in order:
        first, last = lesson.starts[sentence], lesson.starts[sentence + 1]
        here = lesson.views[:, first:last]
        parts = parts_at_places(here, templates)
        for column in range(2, last - first - 2):
            step += 1
            _features(templates, parts, here, column, mask, slots)
            guess, right = _best(weights, slots, scores), lesson.tags[first + column]
            if guess != right:
                for slot in slots:
                    weights[slot ^ right] += 1
                    weights[slot ^ guess] -= 1
                    drift[slot ^ right] += step
                    drift[slot ^ guess] -= step
            here[_TAG, column] = guess + 1
    return step
