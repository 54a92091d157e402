"""Template values of one symbol's nodes as scaled sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.base import Boolean, InstanceOf, Number, OneOf, Whole, option, options, or_none
from gramian.features.templates import SETS


@options
class Features:
    """Which features of nodes are used, and how they are scaled.

    Attributes
    ----------
    templates : {"thesis", "plain", "paper", "rich"}
        Name of a set of templates; see :data:`gramian.features.SETS`.
    rare_words : int
        Words seen less often are told apart by their class alone, as the lexicon has it.
    min_count : int
        Values seen less often within a symbol share one feature per template.
    scaling : bool
        Whether a feature seen c times has the value ``1 / sqrt(c + kappa)``, which makes the decomposition of the cross-covariance
        approximate a canonical correlation analysis (Cohen et al. 2013). Otherwise every feature has the value one.
    kappa : float
    heads : str, optional
        Head rules for features of head words: ``"auto"`` (Collins' for Penn-style English, otherwise none), ``"collins"``, ``"left"``,
        ``"right"``, ``"none"``, or a file.
    """

    templates: str = option(OneOf(*SETS), default="rich")
    rare_words: int = option(Whole(1), default=6)
    min_count: int = option(Whole(1), default=1)
    scaling: bool = option(Boolean(), default=True)
    kappa: float = option(Number(0), default=5.0)
    heads: str | None = option(or_none(InstanceOf(str)), default="auto")


def feature_matrix(
    columns: Sequence[npt.NDArray[np.signedinteger]],
    features: Features = Features(),
    weight: npt.NDArray[np.float64] | None = None,
) -> sparse.csr_array:
    """Return the matrix, of shape (n, d), whose row i holds the features of node i.

    `columns` have one value per node and template, -1 where it says nothing; `weight` says how often a node counts, by default once.
    """
    n_rows = len(columns[0]) if columns else 0
    rows, ids, values = [], [], []
    width = 0
    for column in columns:
        said = np.flatnonzero(column >= 0)
        if not len(said):
            continue
        number = np.unique(column[said], return_inverse=True)[1]
        count = np.bincount(number, None if weight is None else weight[said])
        rare = count < features.min_count
        if rare.any():
            number = np.where(rare, 0, np.cumsum(~rare))[number]
            count = np.concatenate([[count[rare].sum()], count[~rare]])
        value = 1 / np.sqrt(count + features.kappa) if features.scaling else np.ones(len(count))
        rows.append(said)
        ids.append(number + width)
        values.append(value[number])
        width += len(count)
    if not rows:
        return sparse.csr_array((n_rows, 0), dtype=np.float32)
    data = (np.concatenate(values).astype(np.float32), (np.concatenate(rows), np.concatenate(ids)))
    return sparse.csr_array(data, shape=(n_rows, width))
