"""A small log-linear model of string features, stored as 32-bit hashes: it scores boundaries of sentences and of tokens."""

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
    """Return the hash of a feature."""
    return crc32(feature.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, eq=False, repr=False)
class FeatureScores:
    """Weights of features."""

    hashes: npt.NDArray[np.uint32]  # of the features, ascending
    weights: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        try:
            validate("features", {"hashes": self.hashes, "weights": self.weights})
        except ValueError as error:
            raise OptionError(str(error)) from None

    @classmethod
    def of(cls, weights: dict[str, float]) -> FeatureScores:
        """Return the scores with these weights; of features with the same hash, the last one counts."""
        by_hash = {feature_hash(name): weight for name, weight in weights.items()}
        hashes = sorted(by_hash)
        return cls(np.array(hashes, np.uint32), np.array([by_hash[number] for number in hashes], np.float32))

    @cached_property
    def _known(self) -> dict[int, float]:
        return dict(zip(self.hashes.tolist(), self.weights.tolist(), strict=True))

    def total(self, features: Iterable[str]) -> float:
        """Return the sum of the weights of features."""
        known = self._known
        return sum([known.get(feature_hash(feature), 0.0) for feature in features])
