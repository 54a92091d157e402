"""Numba kernels of the greedy tagger: hashed features, prediction, averaged perceptron steps."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from gramian.jit import kernel

__all__ = ["learn_tags", "tag_sentence"]


_WORD, _FORM, _SPELLING, _SHAPE, _END, _ENDING, _BEGINNING, _TAG = range(8)
_FEATURES = 22


@kernel
def _slot(template, a, b, mask):
    state = np.uint64(template) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(a) * np.uint64(0xD6E8FEB86659FD93)
    state += np.uint64(b) * np.uint64(0xA0761D6478BD642F)
    state = (state ^ (state >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (state ^ (state >> np.uint64(32))) & mask


@kernel
def _features(views, w, mask, slots):
    """OUT slots: features of the word in column `w`, to the left of which tags are known."""
    word, form, spelling, shape = views[_WORD], views[_FORM], views[_SPELLING], views[_SHAPE]
    before, second = views[_TAG, w - 1], views[_TAG, w - 2]
    slots[0] = _slot(1, 0, 0, mask)
    slots[1] = _slot(2, spelling[w], 0, mask)
    slots[2] = _slot(3, form[w], 0, mask)
    slots[3] = _slot(4, shape[w], w == 2, mask)
    slots[4] = _slot(5, views[_END, w], 0, mask)
    slots[5] = _slot(6, views[_ENDING, w], 0, mask)
    slots[6] = _slot(7, views[_BEGINNING, w], 0, mask)
    slots[7] = _slot(8, before, 0, mask)
    slots[8] = _slot(9, before, second, mask)
    slots[9] = _slot(10, before, spelling[w], mask)
    slots[10] = _slot(11, before, form[w], mask)
    slots[11] = _slot(12, spelling[w - 1], 0, mask)
    slots[12] = _slot(13, spelling[w + 1], 0, mask)
    slots[13] = _slot(14, word[w + 2], 0, mask)
    slots[14] = _slot(15, word[w - 2], 0, mask)
    slots[15] = _slot(16, form[w + 1], 0, mask)
    slots[16] = _slot(17, before, form[w + 1], mask)
    slots[17] = _slot(18, spelling[w], word[w + 1], mask)
    slots[18] = _slot(19, form[w], form[w + 1], mask)
    slots[19] = _slot(20, spelling[w], word[w - 1], mask)
    slots[20] = _slot(21, shape[w], shape[w + 1], mask)
    slots[21] = _slot(22, before, views[_END, w], mask)


@kernel
def _best(weights, slots, scores):
    scores[:] = 0
    for feature in range(_FEATURES):
        slot = slots[feature]
        for tag in range(scores.shape[0]):
            scores[tag] += weights[slot ^ tag]
    return scores.argmax()


@kernel
def tag_sentence(views, n_tags, weights):
    """Fill the row of tags of `views`."""
    slots = np.empty(_FEATURES, np.int64)
    scores = np.empty(n_tags, np.float32)
    mask = np.uint64(weights.shape[0] - 1)
    for column in range(2, views.shape[1] - 2):
        _features(views, column, mask, slots)
        views[_TAG, column] = _best(weights, slots, scores) + 1


@kernel
def learn_tags(views, starts, tags, order, n_tags, weights, drift, step):
    """Pass once over sentences in the given order; return the number of the last step.

    `views` holds the views of all sentences, sentence s in columns ``starts[s] .. starts[s + 1]``; `tags` the right tag of
    each column. The mean of the weights over all steps is ``weights - drift / step``.
    """
    slots = np.empty(_FEATURES, np.int64)
    scores = np.empty(n_tags, np.float32)
    mask = np.uint64(weights.shape[0] - 1)
    for sentence in order:
        first, last = starts[sentence], starts[sentence + 1]
        here = views[:, first:last]
        for column in range(2, last - first - 2):
            step += 1
            _features(here, column, mask, slots)
            guess, right = _best(weights, slots, scores), tags[first + column]
            if guess != right:
                for feature in range(_FEATURES):
                    slot = slots[feature]
                    weights[slot ^ right] += 1
                    weights[slot ^ guess] -= 1
                    drift[slot ^ right] += step
                    drift[slot ^ guess] -= step
            here[_TAG, column] = guess + 1
    return step
