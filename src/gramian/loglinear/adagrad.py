"""Stochastic gradient ascent in which every weight has a rate of its own (AdaGrad), and the mean of the weights over all steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.progress import tell_progress

Floats = npt.NDArray[np.float32]
Example = TypeVar("Example")

_log = logging.getLogger(__name__)

_TOLD = 64  # steps between news of progress


class Tables(NamedTuple):
    """Weights while they are learnt, one a slot."""

    weights: Floats
    squares: Floats  # the sum of the squares of their gradients
    drift: npt.NDArray[np.float64]  # the sum of changes times their step: whence the mean of the weights
    rate: float
    smallest: float  # gradients below this are left alone: they cost time and fill the table
    decay: float  # how strongly a weight is drawn to zero (L2), each time it changes
    floor: float | np.float32  # what is added to squares; roots are taken in its precision


def new_tables(
    size: int,
    rate: float,
    *,
    smallest: float,
    decay: float = 0.0,
    square: float = 0.0,
    floor: float | np.float32 = 0.01,
) -> Tables:
    """Return tables of zeros, where `square` stands for a first gradient."""
    weights, squares = np.zeros(size, np.float32), np.full(size, square, np.float32)
    return Tables(weights, squares, np.zeros(size), rate, smallest, decay, floor)


def mean_weights(weights: Floats, drift: npt.NDArray[np.float64], n_steps: int) -> Floats:
    """Return the mean of weights over steps."""
    return (weights - drift / n_steps).astype(np.float32)


def ascend(
    tables: Tables,
    examples: Sequence[Example],
    *,
    drop_words: Callable[[Example, np.random.Generator], Any],
    gradient: Callable[[Any, Example], Any],
    climb: Callable[[Any, Example, Any, float], None],
    max_iter: int,
    random_state: int,
    batch: int = 1,
    n_jobs: int = 1,
    told: Callable[[], str] = str,
) -> Floats:
    """Go over examples in ever new orders, and return the mean of the weights over all steps.

    `drop_words` makes the views of an example, in which some words are unknown; `gradient` takes views and example, for a batch before
    weights change, and in threads, on whose number the weights do not depend; `climb` changes weights by views, example, gradient, and
    the number of the step; `told` says what else to tell of a pass.
    """
    rng = np.random.default_rng(random_state)
    step = 0
    tell_progress(_log, "examples", 0, max_iter * len(examples))
    with ThreadPoolExecutor(n_jobs) as pool:
        apply: Any = pool.map if n_jobs > 1 else map
        for number in range(1, max_iter + 1):
            order = rng.permutation(len(examples))
            for start in range(0, len(order), batch):
                chosen = [examples[place] for place in order[start : start + batch]]
                views = [drop_words(example, rng) for example in chosen]
                gradients = list(apply(gradient, views, chosen))
                for view, example, found in zip(views, chosen, gradients, strict=True):
                    step += 1
                    climb(view, example, found, float(step))
                if step % _TOLD < batch:
                    tell_progress(_log, "examples", step, max_iter * len(order))
            tell_progress(_log, "examples", step, max_iter * len(order))
            _log.info("pass %d of %d%s", number, max_iter, told())
    return mean_weights(tables.weights, tables.drift, step + 1)
