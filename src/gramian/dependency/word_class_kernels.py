"""Kernels of :class:`gramian.dependency.word_classifier.WordClassifier`: a log-linear model of the classes of words, left to right.

The score of a class is the sum of the scores of its parts, such as a tag and the values of morphological features; a part has one weight
for each feature. Only the candidate classes of a word are scored. The previous two predictions are features.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.kernels import helper_kernel, kernel
from gramian.loglinear.hashing_kernels import mix, parts_at_places, take_step


class WordClasses(NamedTuple):
    """T classes with at most M of P parts."""

    parts: npt.NDArray[np.int32]  # (T, M): of each class, then -1
    coarse: npt.NDArray[np.int32]  # (T,): a coarser class, such as the part of speech
    n_parts: int


class Buffers(NamedTuple):
    """Memory of a sentence."""

    starts: npt.NDArray[np.int64]  # (n,): first slot of each feature of a word
    part_scores: npt.NDArray[np.float64]  # (P,)
    part_gradient: npt.NDArray[np.float64]  # (P,)
    stamps: npt.NDArray[np.int64]  # (P,): for which word a part was scored last
    scores: npt.NDArray[np.float64]  # (T,): by candidate
    used: npt.NDArray[np.int64]  # (P,): the parts of the candidates


@helper_kernel
def _buffers(templates, classes):
    n_parts = classes.n_parts
    return Buffers(
        np.empty(templates.number.shape[0], np.int64),
        np.empty(n_parts),
        np.zeros(n_parts),
        np.full(n_parts, -1, np.int64),
        np.empty(classes.parts.shape[0]),
        np.empty(n_parts, np.int64),
    )


@helper_kernel
def _find_features(templates, sums, column, before, classes, size, starts):
    """OUT starts: the first slot of each feature of a word, given the classes of the two previous words plus one, or 0."""
    first, second = before
    coarse = np.uint64(classes.coarse[first - 1] + 1 if first else 0)
    second_coarse = np.uint64(classes.coarse[second - 1] + 1 if second else 0)
    fine = np.uint64(first) * templates.given_factor[0]
    coarse = coarse * templates.given_factor[1]
    second_coarse = second_coarse * templates.given_factor[2]
    for t in range(starts.shape[0]):
        total = sums[0, 0, column, t] + (fine & templates.given[0, t])
        total += (coarse & templates.given[1, t]) + (second_coarse & templates.given[2, t])
        start = np.int64(mix(total, np.uint64(0)) & np.uint64(size - 1))
        starts[t] = start if start + classes.n_parts <= size else start - classes.n_parts


@helper_kernel
def _score(candidates, classes, weights, word, buffers):
    """OUT buffers.scores: of each candidate; return the number of the best, and the number of parts in `buffers.used`."""
    best, n_used = 0, 0
    for index in range(candidates.shape[0]):
        total = 0.0
        for column in range(classes.parts.shape[1]):
            part = classes.parts[candidates[index], column]
            if part < 0:
                break
            if buffers.stamps[part] != word:
                buffers.stamps[part] = word
                score = 0.0
                for start in buffers.starts:
                    score += weights[start + part]
                buffers.part_scores[part] = score
                buffers.used[n_used] = part
                n_used += 1
            total += buffers.part_scores[part]
        buffers.scores[index] = total
        if total > buffers.scores[best]:
            best = index
    return best, n_used


@kernel
def classify(templates, views, candidates, bounds, classes, weights, result):
    """OUT result (N,): the best class of each word, whose candidates are ``candidates[bounds[i, 0] : bounds[i, 1]]``."""
    sums, buffers = parts_at_places(views, templates), _buffers(templates, classes)
    first = second = 0
    for word in range(result.shape[0]):
        own = candidates[bounds[word, 0] : bounds[word, 1]]
        best = 0
        if own.shape[0] > 1:
            _find_features(
                templates, sums, word + 2, (first, second), classes, weights.shape[0], buffers.starts
            )
            best, _ = _score(own, classes, weights, word, buffers)
        result[word] = own[best]
        first, second = result[word] + 1, first


@kernel
def learn_classes(templates, views, candidates, bounds, targets, classes, step, tables):
    """INOUT tables: one AdaGrad step for each word, towards a higher probability of its class among its candidates."""
    sums, buffers = parts_at_places(views, templates), _buffers(templates, classes)
    size = tables.weights.shape[0]
    first = second = 0
    for word in range(targets.shape[0]):
        own = candidates[bounds[word, 0] : bounds[word, 1]]
        guess = own[0]
        if own.shape[0] > 1:
            _find_features(templates, sums, word + 2, (first, second), classes, size, buffers.starts)
            best, n_used = _score(own, classes, tables.weights, word, buffers)
            guess, highest, total = own[best], buffers.scores[best], 0.0
            for index in range(own.shape[0]):
                buffers.scores[index] = math.exp(buffers.scores[index] - highest)
                total += buffers.scores[index]
            for index in range(own.shape[0]):
                # d log p(target) / d score = presence - probability
                gradient = -buffers.scores[index] / total
                if own[index] == targets[word]:
                    gradient += 1.0
                for column in range(classes.parts.shape[1]):
                    part = classes.parts[own[index], column]
                    if part < 0:
                        break
                    buffers.part_gradient[part] += gradient
            for part in buffers.used[:n_used]:
                gradient = buffers.part_gradient[part]
                buffers.part_gradient[part] = 0.0
                if abs(gradient) > tables.smallest:
                    for start in buffers.starts:
                        take_step(tables, start + part, gradient, step)
        first, second = guess + 1, first
