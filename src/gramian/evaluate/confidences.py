"""Whether confidences mean what they say: of all brackets that are 80 % sure, 80 % should be right.

Confidences are put into bins, and the distance between the mean confidence of a bin and the share of it that is right is averaged: the
expected calibration error (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017). Brier score and log loss also count how sharp they are.
"""

from __future__ import annotations

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
    """Predictions of like confidence: the least, the greatest, how many, their mean, and the share that is right."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """How well confidences fit what came true.

    Attributes
    ----------
    count : int
    confidence : float
        Mean confidence.
    right : float
        The share that is right.
    ece : float
        Expected calibration error over bins of equal width.
    ece_mass : float
        The same over bins with equally many predictions; equal confidences are never parted.
    brier : float
        Mean squared distance of the confidence from 1 if right, 0 if wrong.
    log_loss : float
        Mean of minus the natural logarithm of the probability given to what came true.
    bins : tuple of Bin
        Those of equal width that are not empty.
    """

    count: int
    confidence: float
    right: float
    ece: float
    ece_mass: float
    brier: float
    log_loss: float
    bins: tuple[Bin, ...]


def reliability(
    confidences: Sequence[float] | Floats, outcomes: Sequence[bool] | Booleans, bins: int = 15
) -> Reliability:
    """Compare confidences with outcomes.

    Parameters
    ----------
    confidences : sequence of float
        Between 0 and 1.
    outcomes : sequence of bool
        Whether each came true.
    bins : int

    Examples
    --------
    >>> found = reliability([0.9, 0.9, 0.9, 0.9, 0.3], [True, True, True, False, False], bins=10)
    >>> round(found.ece, 3)  # (4 * |0.9 - 0.75| + 1 * |0.3 - 0|) / 5
    0.18
    """
    sure, right = np.asarray(confidences, np.float64), np.asarray(outcomes, np.bool_)
    if sure.ndim != 1 or sure.shape != right.shape or not sure.size:
        raise ScoreError(f"{sure.size} confidences and {right.size} outcomes cannot be compared")
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ScoreError("a confidence lies between 0 and 1")
    if bins < 1:
        raise OptionError(f"bins are 1 or more, not {bins}")
    width = np.minimum((sure * bins).astype(np.int64), bins - 1)
    _, value, count = np.unique(sure, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count + 1) / 2  # mean place, from 0, of equal values among all
    mass = (middle * bins / len(sure)).astype(np.int64)[value]
    table = _bins(sure, right, width)
    truth = np.clip(np.where(right, sure, 1 - sure), _LEAST, 1 - _LEAST)
    return Reliability(
        count=len(sure),
        confidence=float(sure.mean()),
        right=float(right.mean()),
        ece=_error(table),
        ece_mass=_error(_bins(sure, right, mass)),
        brier=float(((sure - right) ** 2).mean()),
        log_loss=float(-np.log(truth).mean()),
        bins=table,
    )


def _bins(sure: Floats, right: Booleans, number: npt.NDArray[np.int64]) -> tuple[Bin, ...]:
    found = []
    for one in np.unique(number):
        inside = sure[number == one]
        share = float(right[number == one].mean())
        found.append(Bin(float(inside.min()), float(inside.max()), len(inside), float(inside.mean()), share))
    return tuple(found)


def _error(bins: Sequence[Bin]) -> float:
    total = sum(one.count for one in bins)
    return sum(one.count * abs(one.confidence - one.right) for one in bins) / total


def judged(
    gold: GoldBrackets, parses: Iterable[tuple[Tree, Sequence[float]]]
) -> dict[str, tuple[Floats, Booleans]]:
    """Return confidences and outcomes of ``"phrases"`` and of ``"tags"``, as :func:`reliability` takes them.

    Parameters
    ----------
    gold : GoldBrackets
    parses : iterable of (Tree, sequence of float)
        A tree for each gold tree, with the confidence of each of its nodes, in the order of its subtrees.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (NN Time)) (VP (VBZ flies)))")
    >>> sure, right = judged(GoldBrackets([tree]), [(tree, [1.0, 0.8, 0.9, 0.7, 0.6])])["phrases"]
    >>> sure, right
    (array([1. , 0.8, 0.7]), array([ True,  True,  True]))
    """
    rows = list(parses)
    found: dict[str, tuple[list[float], list[bool]]] = {"phrases": ([], []), "tags": ([], [])}
    for (tree, confidences), outcomes in zip(rows, gold.outcomes([tree for tree, _ in rows]), strict=True):
        if not outcomes:
            continue
        for node, sure, right in zip(tree.subtrees(), confidences, outcomes, strict=True):
            if right is not None:
                kind = found["phrases" if node.word is None else "tags"]
                kind[0].append(sure)
                kind[1].append(right)
    return {
        name: (np.array(sure, np.float64), np.array(right, np.bool_)) for name, (sure, right) in found.items()
    }
