"""Whether the difference between two outputs means anything: paired bootstrap and approximate randomisation.

Every score of this package is 100 times a ratio of two sums over sentences, so both tests work on one array
per output, of shape ``(sentences, 2)``: the numerator and denominator of each sentence. See Efron and
Tibshirani (1993, chapter 16), Koehn (2004) and Noreen (1989, chapter 2).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gramian.errors import OptionError, ScoreError

_CHUNK = 1 << 22  # numbers drawn at a time
_TIE = 1e-9  # differences closer than this are equal


@dataclass(frozen=True)
class Comparison:
    """Outcome of a test of two outputs on the same sentences.

    Examples
    --------
    >>> from gramian.evaluate import paired_bootstrap
    >>> paired_bootstrap([[9, 10]] * 30, [[7, 10]] * 30, samples=999).difference
    20.0
    """

    #: first, second: the two scores, in percent
    first: float
    second: float
    p_value: float  #: two-sided: how often chance alone gives a difference at least this large
    #: between these lies the difference, at the confidence asked for; only from the bootstrap
    interval: tuple[float, float] | None
    samples: int  #: number of resamples or shuffles
    test: str  #: ``"bootstrap"`` or ``"randomisation"``
    seed: str  #: how the numbers were drawn

    @property
    def difference(self) -> float:
        """How much the first score is above the second."""
        return self.first - self.second

    @property
    def signature(self) -> str:
        """How the test was made, to be quoted beside its outcome."""
        return f"test:{self.test}|samples:{self.samples}|sides:2|seed:{self.seed}"


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    *,
    samples: int = 10_000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator = 0,
) -> Comparison:
    """Compare two outputs by drawing sentences with replacement.

    Parameters
    ----------
    first, second : array_like of shape (sentences, 2)
        Numerators and denominators, as :meth:`BracketScores.statistics` gives them.
    samples : int
        Number of resamples.
    confidence : float
        Coverage of the interval of the difference.
    random_state : int or numpy.random.Generator

    Returns
    -------
    Comparison
        Its `p_value` counts the resamples whose difference is as far from the observed one as that is from 0.

    Examples
    --------
    >>> better = [[9, 10]] * 30
    >>> worse = [[7, 10]] * 30
    >>> outcome = paired_bootstrap(better, worse, samples=999)
    >>> outcome.difference, outcome.p_value
    (20.0, 0.001)
    """
    pair = _paired(first, second, samples)
    if not 0 < confidence < 1:
        raise OptionError(f"confidence must lie between 0 and 1, got {confidence}")
    generator = np.random.default_rng(random_state)
    length = len(pair)
    draws = []
    for count in _chunks(samples, length):
        chosen = generator.integers(0, length, size=(count, length))
        chosen += length * np.arange(count)[:, None]
        weights = np.bincount(chosen.ravel(), minlength=count * length).reshape(count, length)
        draws.append(_difference(weights.astype(np.float64) @ pair))
    differences = np.concatenate(draws)
    ours, theirs = _scores(pair.sum(axis=0))
    far = np.abs(differences - (ours - theirs)) >= abs(ours - theirs) - _TIE
    tail = (1 - confidence) / 2
    low, high = np.quantile(differences, [tail, 1 - tail])
    return Comparison(
        float(ours),
        float(theirs),
        (1 + int(far.sum())) / (samples + 1),
        (float(low), float(high)),
        samples,
        "bootstrap",
        _seed(random_state),
    )


def approximate_randomisation(
    first: ArrayLike,
    second: ArrayLike,
    *,
    samples: int = 10_000,
    random_state: int | np.random.Generator = 0,
) -> Comparison:
    """Compare two outputs by swapping, sentence by sentence, which output a prediction came from.

    Arguments are those of :func:`paired_bootstrap`. The `p_value` counts the shuffles whose difference is as large as the observed one.

    Examples
    --------
    >>> same = [[9, 10]] * 30
    >>> approximate_randomisation(same, same, samples=99).p_value
    1.0
    """
    pair = _paired(first, second, samples)
    generator = np.random.default_rng(random_state)
    length = len(pair)
    totals = pair.sum(axis=0)
    change = pair[:, 2:] - pair[:, :2]  # what the first output gains if a sentence is swapped
    ours, theirs = _scores(totals)
    large = 0
    for count in _chunks(samples, length):
        bits = np.unpackbits(
            generator.integers(0, 256, size=(count, -(-length // 8)), dtype=np.uint8), axis=1
        )
        gain = bits[:, :length].astype(np.float64) @ change
        shuffled = totals + np.hstack([gain, -gain])
        large += int((np.abs(_difference(shuffled)) >= abs(ours - theirs) - _TIE).sum())
    p_value = (1 + large) / (samples + 1)
    seed = _seed(random_state)
    return Comparison(float(ours), float(theirs), p_value, None, samples, "randomisation", seed)


def _paired(first: ArrayLike, second: ArrayLike, samples: int) -> NDArray[np.float64]:
    """Return both outputs side by side, of shape (sentences, 4)."""
    if samples < 1:
        raise OptionError(f"samples must be at least 1, got {samples}")
    ours, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    for array in (ours, theirs):
        if array.ndim != 2 or array.shape[1] != 2 or not len(array):
            raise ScoreError(
                f"statistics must have the shape (n_sentences, 2) with at least one sentence, got {array.shape}"
            )
    if len(ours) != len(theirs):
        raise ScoreError(f"the outputs must have the same sentences, got {len(ours)} and {len(theirs)}")
    return np.hstack([ours, theirs])


def _chunks(samples: int, length: int) -> Iterator[int]:
    size = max(1, _CHUNK // length)
    for start in range(0, samples, size):
        yield min(size, samples - start)


def _scores(totals: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores in percent from sums of shape (..., 4); 0 where the denominator is."""
    above, below = totals[..., 0::2], totals[..., 1::2]
    scores = np.divide(100 * above, below, out=np.zeros_like(above), where=below > 0)
    return scores[..., 0], scores[..., 1]


def _difference(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    ours, theirs = _scores(totals)
    return ours - theirs


def _seed(random_state: int | np.random.Generator) -> str:
    return "generator" if isinstance(random_state, np.random.Generator) else str(random_state)
