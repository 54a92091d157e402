"""The only place that knows a singular value decomposition of sparse cross-covariances."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import lu

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CrossSVD:
    """Truncated decomposition ``covariance(X, Y) = U diag(s) V'``; smaller ranks are leading columns.

    The means, of shapes (d,) and (e,), are the columns' that were subtracted: zero if the data was not centred.
    """

    left: Floats  # (d, k)
    singular_values: Floats  # (k,)
    right: Floats  # (e, k)
    left_mean: Floats
    right_mean: Floats


def cross_svd(
    x: sparse.csr_array,
    y: sparse.csr_array,
    rank: int,
    *,
    pairs: sparse.csr_array | None = None,
    centre: bool = True,
    power_iterations: int = 2,
    random_state: int = 0,
) -> CrossSVD:
    """Decompose the cross-covariance of the rows of `x` and `y` without forming it.

    Randomised subspace iteration (Halko, Martinsson and Tropp 2011) with the products ``x' (pairs (y v))``; the rank is cut to what the
    shapes (n, d) and (m, e) allow. `pairs`, of shape (n, m), says how often a row of `x` comes with one of `y`; without it, each comes
    once, with the one in the same place.
    """
    (rows, d), e = x.shape, y.shape[1]
    if pairs is None:
        pairs = sparse.eye_array(rows, dtype=x.dtype, format="csr")
    rank = min(rank, d, e, *pairs.shape)
    x_columns, y_columns, turned = x.T.tocsr(), y.T.tocsr(), pairs.T.tocsr()
    n = float(pairs.sum(dtype=np.float64))
    x_mean, y_mean = np.zeros(d, x.dtype), np.zeros(e, y.dtype)
    if centre:
        x_mean[:] = x_columns @ pairs.sum(axis=1, dtype=np.float64) / n
        y_mean[:] = y_columns @ turned.sum(axis=1, dtype=np.float64) / n

    def forward(block: Floats) -> Floats:
        return x_columns @ (pairs @ (y @ block)) / n - np.outer(x_mean, y_mean @ block)

    def backward(block: Floats) -> Floats:
        return y_columns @ (turned @ (x @ block)) / n - np.outer(y_mean, x_mean @ block)

    width = min(rank + 10, d, e)
    basis = np.random.default_rng(random_state).standard_normal((e, width)).astype(x.dtype)
    # triangular factors keep columns apart as well as orthonormal ones, for a quarter
    for _ in range(power_iterations):
        basis = _apart(backward(_apart(forward(basis))))
    basis = np.linalg.qr(forward(basis))[0]
    right, values, mix = np.linalg.svd(backward(basis), full_matrices=False)
    left = basis @ mix.T
    # A fixed sign makes the result independent of the linear algebra library.
    sign = np.sign(left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])])
    sign[sign == 0] = 1
    return CrossSVD((left * sign)[:, :rank], values[:rank], (right * sign)[:, :rank], x_mean, y_mean)


def _apart(block: Floats) -> Floats:
    """Return columns that span the same space and are far from parallel."""
    return np.asarray(lu(block, permute_l=True, check_finite=False)[0])
