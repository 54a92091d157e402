"""From posteriors to confidences: a curve that says how often a label of a given posterior is right.

A model is surer of its trees than it should be, or less sure; the beta curve of Kull, Silva Filho and Flach (2017), a logistic
regression on the logarithms of a posterior and of what it lacks to one, mends both ends. Curves are learnt from trees that a model
has not seen; see :mod:`gramian.training.calibrate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Self

import numpy as np
import numpy.typing as npt

from gramian.errors import OptionError
from gramian.trees import Tree

_MOST_ODDS = 700.0  # beyond which there is no number
_LEAST = 1e-6  # posteriors are taken to lie this far from 0 and 1

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """Log-odds of being right: ``low * log(p) - high * log(1 - p) + shift``; it never falls, since `low` and `high` are not below 0."""

    low: float = 1.0
    high: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        if not all(map(isfinite, (self.low, self.high, self.shift))) or min(self.low, self.high) < 0:
            raise OptionError(f"low and high must be at least 0, and shift a number, got {self}")
        for name in ("low", "high", "shift"):
            object.__setattr__(self, name, float(getattr(self, name)))  # NumPy knows no larger whole numbers

    def __call__(self, posteriors: Sequence[float] | Floats) -> Floats:
        """Return how probable it is that labels of these posteriors are right."""
        inside = np.clip(posteriors, _LEAST, 1 - _LEAST)
        odds = self.low * np.log(inside) - self.high * np.log1p(-inside) + self.shift
        return 1 / (1 + np.exp(-np.clip(odds, -_MOST_ODDS, _MOST_ODDS)))

    @classmethod
    def fit(cls, posteriors: Sequence[float] | Floats, right: Sequence[bool] | npt.NDArray[np.bool_]) -> Self:
        """Learn a curve from posteriors and whether each came true: the likeliest one, drawn a little towards leaving all as it is."""
        from scipy.optimize import minimize
        from scipy.special import expit

        inside = np.clip(posteriors, _LEAST, 1 - _LEAST)
        columns = np.column_stack([np.log(inside), -np.log1p(-inside), np.ones(len(inside))])
        sign = np.where(right, 1.0, -1.0)
        identity = np.array([1.0, 1.0, 0.0])

        def loss(weights: Floats) -> tuple[float, Floats]:
            margin = sign * (columns @ weights)
            away = weights - identity
            value = float(np.logaddexp(0, -margin).sum() + away @ away / 2)
            return value, away - (sign * expit(-margin)) @ columns

        bounds = [(0, None), (0, None), (None, None)]
        optimum = minimize(loss, identity, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(*(float(f"{weight:.6g}") for weight in optimum.x))


@dataclass(frozen=True)
class Calibration:
    """The curves of a model's phrases and of its tags; None for those whose posteriors are left as they are."""

    phrases: Curve | None = None
    tags: Curve | None = None

    def calibrated(self, posteriors: Floats, is_tag: npt.NDArray[np.bool_]) -> Floats:
        """Return the confidences of nodes.

        A posterior of 0 marks a fallback and stays; what models with negative parameters have above 1 counts as 1.
        """
        values = posteriors.copy()
        for curve, chosen in ((self.phrases, ~is_tag & (values > 0)), (self.tags, is_tag & (values > 0))):
            if curve is not None:
                values[chosen] = curve(values[chosen])
        return np.minimum(values, 1.0)

    def confidences(self, tree: Tree, posteriors: Sequence[float]) -> tuple[float, ...]:
        """Return the confidences of a tree's nodes, in the order of its subtrees."""
        is_tag = np.array([node.word is not None for node in tree.subtrees()])
        return tuple(self.calibrated(np.array(posteriors, np.float64), is_tag).tolist())
