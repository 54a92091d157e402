"""Stochastic gradient ascent with AdaGrad (Duchi, Hazan and Singer 2011), averaged over all steps."""

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

_PROGRESS_STEPS = 64  # steps between progress reports


class Tables(NamedTuple):
    """Weights during training, one per slot of the hash table."""

    weights: Floats
    squares: Floats  # the sum of the squares of their gradients
    # the sum of each change times its step, from which the mean of the weights follows
    drift: npt.NDArray[np.float64]
    rate: float
    smallest: float  # smaller gradients are ignored: they cost time and fill the table
    decay: float  # strength of L2 regularisation, applied whenever a weight changes
    floor: float | np.float32  # added to `squares`; roots are taken in its precision


def new_tables(
    size: int,
    rate: float,
    *,
    smallest: float,
    decay: float = 0.0,
    square: float = 0.0,
    floor: float | np.float32 = 0.01,
) -> Tables:
    """Return tables of zero weights; `square` initialises the sums of squares."""
    weights, squares = np.zeros(size, np.float32), np.full(size, square, np.float32)
    return Tables(weights, squares, np.zeros(size), rate, smallest, decay, floor)


def mean_weights(weights: Floats, drift: npt.NDArray[np.float64], n_steps: int) -> Floats:
    """Return the mean of the weights over all steps."""
    return (weights - drift / n_steps).astype(np.float32)


def ascend(
    tables: Tables,
    examples: Sequence[Example],
    *,
    drop_words: Callable[[Example, np.random.Generator], Any],
    gradient: Callable[[Any, Example], Any],
    update: Callable[[Any, Example, Any, float], None],
    max_iter: int,
    random_state: int,
    batch: int = 1,
    n_jobs: int = 1,
    details: Callable[[], str] = str,
) -> Floats:
    """Run epochs over shuffled examples and return the mean of the weights over all steps.

    Parameters
    ----------
    drop_words : callable
        Returns the views of an example in which some words are unknown.
    gradient : callable
        Returns the gradient for views and an example. It runs in threads for a whole batch before the weights change, so that the result
        does not depend on `n_jobs`.
    update : callable
        Changes the weights, given views, example, gradient and the number of the step.
    details : callable
        Returns text for the log message of an epoch.
    """
    rng = np.random.default_rng(random_state)
    step = 0
    tell_progress(_log, "examples", 0, max_iter * len(examples))
    with ThreadPoolExecutor(n_jobs) as pool:
        apply: Any = pool.map if n_jobs > 1 else map
        for number in range(1, max_iter + 1):
            order = rng.permutation(len(examples))
            for start in range(0, len(order), batch):
                batch_examples = [examples[index] for index in order[start : start + batch]]
                views = [drop_words(example, rng) for example in batch_examples]
                gradients = list(apply(gradient, views, batch_examples))
                for view, example, example_gradient in zip(views, batch_examples, gradients, strict=True):
                    step += 1
                    update(view, example, example_gradient, float(step))
                if step % _PROGRESS_STEPS < batch:
                    tell_progress(_log, "examples", step, max_iter * len(order))
            tell_progress(_log, "examples", step, max_iter * len(order))
            _log.info("epoch %d of %d%s", number, max_iter, details())
    return mean_weights(tables.weights, tables.drift, step + 1)
