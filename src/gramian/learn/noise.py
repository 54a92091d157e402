"""Noise that makes many different models from one treebank (Narayan and Cohen 2015).

Dropout thins the features before the decomposition, and what is then clustered are the whole features, projected by what the thinned
ones gave. Gaussian noise disturbs the projections themselves.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["LEVELS", "Noise", "disturbed", "thinned"]

Noise: TypeAlias = Literal["dropout", "additive", "multiplicative"]
LEVELS = (0.05, 0.1, 0.15, 0.2)
"""The levels of the paper."""


def thinned(matrix: sparse.csr_array, level: float, random: np.random.Generator) -> sparse.csr_array:
    """Return features of which each is left out with probability `level`, the others made larger in turn."""
    kept = random.random(matrix.nnz, dtype=np.float32) >= level
    data = matrix.data * kept / np.float32(1 - level)
    thin = sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
    thin.eliminate_zeros()
    return thin


def disturbed(
    vectors: npt.NDArray[np.float64], noise: str, level: float, random: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Return projections with Gaussian noise.

    ``additive``: each coordinate gets noise whose variance is `level` times the coordinate's mean square (the paper has its absolute
    mean, which is zero once projections are centred). ``multiplicative``: each number is multiplied by one plus noise of variance
    `level`.
    """
    drawn = random.standard_normal(vectors.shape) * np.sqrt(level)
    if noise == "multiplicative":
        return vectors * (1 + drawn)
    return vectors + drawn * np.sqrt((vectors**2).mean(axis=0))
