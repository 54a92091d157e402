"""A greedy tagger, left to right, learnt as an averaged perceptron (Collins 2002); its guesses are what other features look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.experts import tagger_kernels as kernels
from gramian.experts.span_templates import TAGGER
from gramian.loglinear.adagrad import mean_weights
from gramian.loglinear.word_views import PADDING, TAG, Views

Ints = npt.NDArray[np.int32]

_PASSES = 5
_SLOTS = 1 << 20


@dataclass(frozen=True, eq=False)
class Tagger:
    """Weights of hashed features, a power of two of them."""

    n_tags: int
    weights: npt.NDArray[np.float32]

    def tag(self, views: Views) -> None:
        """Fill the row of tags of a sentence's views."""
        kernels.tag_sentence(TAGGER, views, self.n_tags, self.weights)


class Lesson(NamedTuple):
    """Sentences side by side."""

    views: Views
    tags: Ints  # the right tag of each column
    starts: npt.NDArray[np.int64]  # where each sentence's columns begin


def fit_tagger(views: Sequence[Views], tags: Sequence[Ints], n_tags: int, random_state: int) -> Tagger:
    """Learn a tagger from sentences and the numbers of their tags; from none, one that knows nothing."""
    weights, drift, step = np.zeros(_SLOTS, np.float32), np.zeros(_SLOTS), 0
    if not views:
        return Tagger(n_tags, weights)
    starts = np.zeros(len(views) + 1, np.int64)
    np.cumsum([view.shape[1] for view in views], out=starts[1:])
    padded = np.concatenate([np.pad(row, PADDING) for row in tags])
    lesson = Lesson(np.concatenate(views, axis=1), padded, starts)
    rng = np.random.default_rng(random_state)
    for _ in range(_PASSES):
        order = rng.permutation(len(views))
        step = kernels.learn_tags(TAGGER, lesson, order, n_tags, weights, drift, step)
    return Tagger(n_tags, mean_weights(weights, drift, max(step, 1)))


def tag_held_out(
    views: Sequence[Views], tags: Sequence[Ints], n_tags: int, random_state: int, folds: int = 4
) -> float:
    """Fill the row of tags of each sentence's views by taggers that have not seen it; return the share that is right."""
    fold_of = np.arange(len(views)) * folds // max(len(views), 1)
    n_right = n_words = 0
    for fold in range(folds):
        seen = np.flatnonzero(fold_of != fold).tolist()
        tagger = fit_tagger([views[p] for p in seen], [tags[p] for p in seen], n_tags, random_state)
        for place in np.flatnonzero(fold_of == fold).tolist():
            tagger.tag(views[place])
            n_right += int((views[place][TAG, PADDING:-PADDING] - 1 == tags[place]).sum())
            n_words += len(tags[place])
    return n_right / max(n_words, 1)
