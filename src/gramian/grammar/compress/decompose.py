"""One rule tensor as a sum of few products: probabilities by maximum likelihood, or signed factors by least squares."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Triple: TypeAlias = tuple[Floats, Floats, Floats]
"""U (rank, m_parent), V (rank, m_left) and W (rank, m_right)."""

_LIGHT = 5e-4  # share of a tensor's mass whose cells are not looked at one by one
_STEPS, _TOLERANCE = 60, 1e-3  # of expectation-maximisation at each rank
_ROUNDS, _CHANGE = 300, 1e-4  # of least squares
_RIDGE = 1e-9
_LEAST = 1e-12  # smaller probabilities count as zero


def compare(block: Floats, weight: Floats, other: Floats | Triple, signed: bool) -> tuple[float, float]:
    """Return how far a tensor is from another, or from factors: divergence weighted by `weight`, and Frobenius norm of the error.

    If `signed`, the squared error relative to the squared norm stands for the divergence.
    """
    from gramian.grammar.compress import decompose_kernels as kernels

    if isinstance(other, tuple):
        u, v, w = other
        other = u.T @ (v[:, :, None] * w[:, None, :]).reshape(len(v), -1)
    flat, approximate = (np.array(tensor).reshape(len(block), -1) for tensor in (block, other))
    plain, weighted, norm, mass, divergence = kernels.errors(flat, weight, approximate)
    relative = weighted / max(norm, 1e-300) if signed else max(divergence / max(mass, 1e-300), 0.0)
    return float(relative), float(np.sqrt(plain))


def fit_probabilities(
    block: Floats, weight: Floats, ranks: Sequence[int], enough: Callable[[Triple, float], bool]
) -> Triple | None:
    """Fit products whose factors are probabilities; a rule keeps its probability in every state of its parent.

    Products are added one after the other where those at hand fit worst, so that nothing is left to chance. `ranks` ascend; `enough` is
    told the factors and an upper bound of their divergence, and ends the search. None if the tensor is zero.
    """
    from gramian.grammar.compress import decompose_kernels as kernels

    mass, total, divergence = kernels.joint(block, weight)
    if not total > 0:
        return None
    sums = block.sum(axis=(1, 2), dtype=np.float64)
    cells = None
    u, v, w = (np.ascontiguousarray(mass.sum(axis=axes)[:, None]) for axes in ((1, 2), (0, 2), (0, 1)))
    for rank in ranks:
        if rank > 1:
            if cells is None:
                cells = kernels.heavy_cells(mass, _LIGHT)
            u, v, w = kernels.grown(mass, cells, u, v, w, rank)
            divergence = kernels.expectation_maximisation(cells, u, v, w, _STEPS, _TOLERANCE)
        share = u.astype(np.float64)
        share *= (sums / np.maximum(share.sum(axis=1), 1e-300))[:, None]
        factors = _rows(share), _rows(v), _rows(w)
        if enough(factors, divergence) or u.shape[1] < rank:
            break
    return factors


def _rows(columns: npt.NDArray[np.floating]) -> Floats:
    return np.where(columns < _LEAST, 0, columns).T.astype(np.float32, order="C")


def fit_signed(
    block: Floats,
    ranks: Sequence[int],
    enough: Callable[[Triple], bool],
    starts: int,
    random: np.random.Generator,
) -> Triple | None:
    """Fit products whose factors may be negative, by alternating least squares; see :func:`fit_probabilities`.

    Each rank is tried `starts` times, the first time from the leading singular vectors of each unfolding.
    """
    import scipy.linalg  # noqa: F401 - numba solves linear systems with it

    from gramian.grammar.compress import decompose_kernels as kernels

    tensor = block.astype(np.float64)
    if not tensor.any():
        return None
    bases = [
        np.linalg.svd(np.moveaxis(tensor, axis, 0).reshape(tensor.shape[axis], -1), full_matrices=False)[0].T
        for axis in range(3)
    ]
    for rank in ranks:
        best = np.inf
        for start in range(starts):
            u, v, w = (random.normal(size=(rank, size)) for size in tensor.shape)
            if start == 0:
                for factor, basis in zip((u, v, w), bases, strict=True):
                    factor[: len(basis)] = basis[:rank]
            error = kernels.alternating_least_squares(tensor, u, v, w, _RIDGE, _ROUNDS, _CHANGE)
            if error < best:
                best = error
                factors = u.astype(np.float32), v.astype(np.float32), w.astype(np.float32)
        if enough(factors):
            break
    return factors
