"""Template values of one symbol's nodes as scaled sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["feature_matrix"]


def feature_matrix(
    columns: Sequence[npt.NDArray[np.int64]], *, min_count: int = 1, kappa: float = 5.0, scaled: bool = True
) -> sparse.csr_array:
    """Return the matrix whose row i holds the features of node i.

    Parameters
    ----------
    columns : sequence of ndarray of int64, shape (n,)
        One value per node and template; -1 says nothing.
    min_count : int
        Values seen less often share one feature per template.
    kappa : float
        A feature seen c times has the value ``1 / sqrt(c + kappa)``, which makes the decomposition of the cross-covariance
        approximate a canonical correlation analysis (Cohen et al. 2013).
    scaled : bool
        If false, every feature has the value one.

    Returns
    -------
    csr_array of float32, shape (n, d)

    Examples
    --------
    >>> feature_matrix([np.array([7, 7, 9, -1])], kappa=2).toarray().round(2)
    array([[0.5 , 0.  ],
           [0.5 , 0.  ],
           [0.  , 0.58],
           [0.  , 0.  ]], dtype=float32)
    """
    n_rows = len(columns[0]) if columns else 0
    rows, ids, values = [], [], []
    width = 0
    for column in columns:
        said = np.flatnonzero(column >= 0)
        if not len(said):
            continue
        _, number, count = np.unique(column[said], return_inverse=True, return_counts=True)
        if min_count > 1 and (count < min_count).any():
            rare = count < min_count
            renumber = np.where(rare, 0, np.cumsum(~rare))
            count = np.concatenate([[count[rare].sum()], count[~rare]])
            number = renumber[number]
        weight = 1 / np.sqrt(count + kappa) if scaled else np.ones(len(count))
        rows.append(said)
        ids.append(number + width)
        values.append(weight[number])
        width += len(count)
    if not rows:
        return sparse.csr_array((n_rows, 0), dtype=np.float32)
    data = (np.concatenate(values).astype(np.float32), (np.concatenate(rows), np.concatenate(ids)))
    return sparse.csr_array(data, shape=(n_rows, width))
