"""Template values of one symbol's nodes as scaled sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.treebank.feature_templates import INSIDE, OUTSIDE, SETS
from gramian.value_types import Boolean, InstanceOf, Number, OneOf, Whole, option, options, or_none

Places: TypeAlias = npt.NDArray[np.signedinteger]


class TemplateNames(OneOf):
    """The name of a set of templates, with ``+NAME`` for each template that is added to it."""

    def _is_kind(self, value: object) -> bool:
        name, *added = str(value).split("+")
        return super()._is_kind(name) and all(other in INSIDE or other in OUTSIDE for other in added)


@options
class Features:
    """Which features of nodes are used, and how they are scaled.

    Examples
    --------
    >>> Features("plain", rare_words=3).templates
    'plain'
    """

    templates: str = option(TemplateNames(*SETS), default="rich")
    """Name of a set of templates (``"thesis"``, ``"plain"``, ``"paper"``, ``"rich"``; see :data:`gramian.treebank.SETS`), and of single
    ones, such as those of :func:`gramian.treebank.register_template`, with ``+`` between: ``"rich+depth"``."""
    rare_words: int = option(Whole(1), default=6)
    """Words seen less often are told apart by their class alone, as the lexicon has it."""
    min_count: int = option(Whole(1), default=1)
    """Values seen less often within a symbol share one feature per template."""
    scaling: bool = option(Boolean(), default=True)
    """Whether a feature seen c times has the value ``1 / sqrt(c + kappa)``, which makes the decomposition of the cross-covariance
    approximate a canonical correlation analysis (Cohen et al. 2013). Otherwise every feature has the value one."""
    kappa: float = option(Number(0), default=5.0)
    """What is added to the count of a feature before it is scaled."""
    heads: str | None = option(or_none(InstanceOf(str)), default="auto")
    """Head rules for features of head words: ``"auto"`` (Collins' for Penn-style English, otherwise none), ``"collins"``, ``"left"``,
    ``"right"``, ``"none"``, or a file."""


def feature_matrix(
    columns: Sequence[npt.NDArray[np.signedinteger]],
    features: Features = Features(),
    weight: npt.NDArray[np.float64] | None = None,
) -> sparse.csr_array:
    """Return the matrix, of shape (n, d), whose row i holds the features of node i.

    `columns` have one value per node and template, -1 where it says nothing; `weight` says how often a node counts, by default once.

    Examples
    --------
    >>> feature_matrix([np.array([0, 1, 1])], Features(scaling=False)).toarray()
    array([[1., 0.],
           [0., 1.],
           [0., 1.]], dtype=float32)
    """
    n_rows = len(columns[0]) if columns else 0
    feature = np.full((n_rows, len(columns)), -1, np.int32)  # of each node's features among all
    values = [np.empty(0)]
    width = 0
    for template, column in enumerate(columns):
        nodes = np.flatnonzero(column >= 0)
        if not len(nodes):
            continue
        number = _numbered(column[nodes])
        count = np.bincount(number, None if weight is None else weight[nodes])
        rare = count < features.min_count
        if rare.any():
            number = np.where(rare, 0, np.cumsum(~rare))[number]
            count = np.concatenate([[count[rare].sum()], count[~rare]])
        feature[nodes, template] = number + width
        values.append(1 / np.sqrt(count + features.kappa) if features.scaling else np.ones(len(count)))
        width += len(count)
    is_there = feature >= 0
    indices = feature[is_there]
    starts = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))]).astype(np.int32)
    data = np.concatenate(values).astype(np.float32)[indices]
    return sparse.csr_array((data, indices, starts), shape=(n_rows, width))


class NodeMatrices(NamedTuple):
    """Features of one symbol's nodes, once for all nodes that look the same from inside or from outside."""

    matrices: tuple[sparse.csr_array, sparse.csr_array]  # inside and outside
    kinds: tuple[Places, Places]  # the row of each node
    pairs: sparse.csr_array  # how often a row of the one matrix comes with one of the other

    @classmethod
    def of(
        cls,
        columns: Sequence[Sequence[npt.NDArray[np.signedinteger]]],
        nodes: Places,
        features: Features = Features(),
        weight: npt.NDArray[np.float64] | None = None,
        *,
        apart: bool = False,
    ) -> NodeMatrices:
        """Return the matrices of `nodes`, given inside and outside columns of all; with `apart`, each node has rows of its own."""
        matrices, kinds = [], []
        for side in columns:
            values = [column[nodes] for column in side]
            first, kind = (np.arange(len(nodes)),) * 2 if apart else _distinct(values, len(nodes))
            times = np.bincount(kind, weight).astype(np.float64)
            matrices.append(feature_matrix([column[first] for column in values], features, times))
            kinds.append(kind)
        node_weight = np.ones(len(nodes)) if weight is None else weight
        size = tuple(int(kind.max(initial=-1)) + 1 for kind in kinds)
        pairs = sparse.csr_array((node_weight.astype(np.float32), tuple(kinds)), size)
        return cls((matrices[0], matrices[1]), (kinds[0], kinds[1]), pairs)


def _distinct(columns: Sequence[npt.NDArray[np.signedinteger]], n_rows: int) -> tuple[Places, Places]:
    """Return a row of each kind, and the kind of every row: rows of one kind agree in all columns, by hashes of 64 bits."""
    key = np.zeros(n_rows, np.uint64)
    for column in columns:
        key = (key ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return first, kind


def _numbered(values: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.signedinteger]:
    """Number the different values in their order, from 0."""
    if values.max() > 4 * len(values):
        return np.unique(values, return_inverse=True)[1]
    return (np.cumsum(np.bincount(values) > 0) - 1)[values]
