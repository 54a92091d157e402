"""What features of a place add up to: a small log-linear model over features that are strings, kept by their hashes.

Where a sentence ends and where a word is cut are both decided so. A hash takes four bytes where a feature takes twenty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.io.array_table import validate


def feature_hash(feature: str) -> int:
    """Return the number that stands for a feature."""
    return crc32(feature.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, eq=False, repr=False)
class FeatureScores:
    """Weights of features.

    Parameters
    ----------
    hashes : ndarray of uint32
        What :func:`feature_hash` says of the features, in rising order.
    weights : ndarray of float32

    Examples
    --------
    >>> scores = FeatureScores.of({"capital": 2.0, "comma": -1.5})
    >>> scores.total(["capital", "comma", "never seen"])
    0.5
    """

    hashes: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        try:
            validate("features", {"hashes": self.hashes, "weights": self.weights})
        except ValueError as error:
            raise OptionError(str(error)) from None

    @classmethod
    def of(cls, weights: dict[str, float]) -> FeatureScores:
        """Return the scores with these weights; of features with one hash, the later counts."""
        found = sorted({feature_hash(name): weight for name, weight in weights.items()}.items())
        hashes, values = zip(*found, strict=True) if found else ((), ())
        return cls(np.array(hashes, np.uint32), np.array(values, np.float32))

    @cached_property
    def _known(self) -> dict[int, float]:
        return dict(zip(self.hashes.tolist(), self.weights.tolist(), strict=True))

    def total(self, features: Iterable[str]) -> float:
        """Return the sum of the weights of features."""
        known = self._known
        return sum([known.get(feature_hash(feature), 0.0) for feature in features])
