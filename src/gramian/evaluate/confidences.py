"""Calibration of confidences: of all brackets with a confidence of 80 %, 80 % should be correct.

The expected calibration error (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017) is the mean difference, over bins, between the mean
confidence and the share of correct brackets. Brier score and log loss also measure how sharp confidences are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError, ScoreError
from gramian.evaluate.evalb import GoldBrackets
from gramian.trees.tree import Tree

_LEAST = 1e-6  # a confidence of 0 or 1 that is wrong does not cost infinitely much

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence: lowest, highest and mean confidence, and the share that is right."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """How well confidences fit what came true.

    Examples
    --------
    >>> reliability([0.9, 0.9, 0.3], [True, True, False]).count
    3
    """

    count: int
    confidence: float  #: mean confidence
    right: float  #: the share that is right
    ece: float  #: expected calibration error over bins of equal width
    ece_mass: float  #: the same over bins with equally many predictions; equal confidences are never parted
    brier: float  #: mean squared distance of the confidence from 1 if right, 0 if wrong
    log_loss: float  #: mean of minus the natural logarithm of the probability given to what came true
    bins: tuple[Bin, ...]  #: those of equal width that are not empty


def reliability(
    confidences: Sequence[float] | Floats, outcomes: Sequence[bool] | Booleans, bins: int = 15
) -> Reliability:
    """Compare confidences, between 0 and 1, with outcomes: whether each came true.

    Examples
    --------
    >>> found = reliability([0.9, 0.9, 0.9, 0.9, 0.3], [True, True, True, False, False], bins=10)
    >>> round(found.ece, 3)  # (4 * |0.9 - 0.75| + 1 * |0.3 - 0|) / 5
    0.18
    """
    confidence, right = np.asarray(confidences, np.float64), np.asarray(outcomes, np.bool_)
    if confidence.ndim != 1 or confidence.shape != right.shape or not confidence.size:
        raise ScoreError(f"{confidence.size} confidences and {right.size} outcomes cannot be compared")
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise ScoreError("a confidence must lie between 0 and 1")
    if bins < 1:
        raise OptionError(f"bins must be at least 1, not {bins}")
    width_bin = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    _, value, count = np.unique(confidence, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count + 1) / 2  # mean rank of equal values, from 0
    mass_bin = (middle * bins / len(confidence)).astype(np.int64)[value]
    table = _bins(confidence, right, width_bin)
    truth = np.clip(np.where(right, confidence, 1 - confidence), _LEAST, 1 - _LEAST)
    return Reliability(
        count=len(confidence),
        confidence=float(confidence.mean()),
        right=float(right.mean()),
        ece=_error(table),
        ece_mass=_error(_bins(confidence, right, mass_bin)),
        brier=float(((confidence - right) ** 2).mean()),
        log_loss=float(-np.log(truth).mean()),
        bins=table,
    )


def _bins(confidence: Floats, right: Booleans, number: npt.NDArray[np.int64]) -> tuple[Bin, ...]:
    bins = []
    for bin_ in np.unique(number):
        inside = confidence[number == bin_]
        share = float(right[number == bin_].mean())
        bins.append(Bin(float(inside.min()), float(inside.max()), len(inside), float(inside.mean()), share))
    return tuple(bins)


def _error(bins: Sequence[Bin]) -> float:
    total = sum(bin_.count for bin_ in bins)
    return sum(bin_.count * abs(bin_.confidence - bin_.right) for bin_ in bins) / total


def judged(
    gold: GoldBrackets, parses: Iterable[tuple[Tree, Sequence[float]]]
) -> dict[str, tuple[Floats, Booleans]]:
    """Return confidences and outcomes of ``"phrases"`` and of ``"tags"``, as :func:`reliability` takes them.

    `parses` have a tree for each gold tree, with the confidence of each of its nodes, in the order of its subtrees.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (NN Time)) (VP (VBZ flies)))")
    >>> sure, right = judged(GoldBrackets([tree]), [(tree, [1.0, 0.8, 0.9, 0.7, 0.6])])["phrases"]
    >>> sure, right
    (array([1. , 0.8, 0.7]), array([ True,  True,  True]))
    """
    rows = list(parses)
    pairs: dict[str, tuple[list[float], list[bool]]] = {"phrases": ([], []), "tags": ([], [])}
    for (tree, confidences), outcomes in zip(rows, gold.outcomes([tree for tree, _ in rows]), strict=True):
        if not outcomes:
            continue
        for node, confidence, right in zip(tree.subtrees(), confidences, outcomes, strict=True):
            if right is not None:
                kind = pairs["phrases" if node.word is None else "tags"]
                kind[0].append(confidence)
                kind[1].append(right)
    return {
        name: (np.array(confidence, np.float64), np.array(right, np.bool_))
        for name, (confidence, right) in pairs.items()
    }
