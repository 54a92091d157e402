"""Completion of Hankel blocks: what was seen too rarely is filled in so that the whole is of low rank (Balle and Mohri 2012).

The blocks ``H`` and ``H_s`` of a basis are one matrix, in which cells of the same string have one value. Of all such matrices Z
the one is sought that minimises ``1/2 sum over known cells of (Z - H)^2 + penalty sum of singular values of Z``; cells of strings
that were seen less often than `least` are unknown. The problem is convex, and solved by alternating directions.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from gramian.automata.hankel import HankelBlocks, queries_of
from gramian.automata.sequences import Array, Sequences, Symbol
from gramian.value_types import Number, Whole, option, options, or_none


@options
class Completion:
    """How Hankel blocks are completed.

    Examples
    --------
    >>> from gramian.automata import SpectralWFA
    >>> SpectralWFA(2, completion=Completion(least=1)).completion.least
    1
    """

    least: int | None = option(or_none(Whole(0)), default=None)
    """Strings seen less often are unknown; 0 makes all known, so that noise is taken away and nothing filled in. None: no completion."""
    penalty: float = option(Number(0), default=1e-4)
    """What singular values cost, as a share of the largest."""
    max_iter: int = option(Whole(1), default=100)
    """Steps of the solver."""


def completed_blocks(blocks: HankelBlocks, n_strings: int, completion: Completion) -> HankelBlocks:
    """Return the blocks with unknown cells filled in, given how many strings they were counted in.

    Examples
    --------
    >>> from gramian.automata import Basis
    >>> from gramian.automata.hankel import hankel_blocks_of
    >>> basis = Basis.of_strings(["", "a", "aa"], ["", "a", "aa"], "a")
    >>> exact = hankel_blocks_of(lambda strings: [0.5 ** (len(x) + 1) for x in strings], basis)
    >>> holes = completed_blocks(exact, 20, Completion(least=1, penalty=1e-4, max_iter=2000))  # 0.5 ** 5 of 20 is less than one
    >>> holes.matrix.toarray()[2].round(2)
    array([0.12, 0.06, 0.03])
    """
    if completion.least is None:
        return blocks
    hankel_matrix = np.vstack([blocks.matrix.toarray(), blocks.stacked.toarray()])
    number: dict[tuple[Symbol, ...], int] = {}  # of the string of each cell
    cells = [number.setdefault(string, len(number)) for string in queries_of(blocks.basis)]
    cell_index = np.array(cells).reshape(hankel_matrix.shape)
    cell_counts = np.bincount(cell_index.ravel())

    def spread(values: Array) -> Array:
        return values[cell_index]

    def mean(matrix: Array) -> Array:
        return np.bincount(cell_index.ravel(), matrix.ravel()) / cell_counts

    value = mean(hankel_matrix)
    is_known = value * n_strings >= completion.least - 1e-9
    threshold = completion.penalty * float(np.linalg.norm(hankel_matrix, 2))
    # A step of the size of the singular values that are to be told from nothing.
    step = 1.0
    estimate, low_rank = np.where(is_known, value, 0.0), spread(np.where(is_known, value, 0.0))
    dual = np.zeros_like(hankel_matrix)
    for _ in range(completion.max_iter):
        projected = mean(low_rank - dual)
        estimate = np.where(is_known, (value + step * projected) / (1.0 + step), projected)
        hankel = spread(estimate)
        low_rank = shrunk(hankel + dual, threshold / step)
        dual += hankel - low_rank
    filled = spread(estimate)

    def completed(strings: Sequences, values: Array) -> Array:
        """Return the completed values of some strings, their own where no cell has them."""
        pairs = zip(strings, values.tolist(), strict=True)
        return np.array([estimate[number[string]] if string in number else value for string, value in pairs])

    p = blocks.matrix.shape[0]
    return replace(
        blocks,
        matrix=sparse.csr_array(filled[:p]),
        stacked=sparse.csr_array(filled[p:]),
        prefix_values=completed(blocks.basis.prefixes, blocks.prefix_values),
        suffix_values=completed(blocks.basis.suffixes, blocks.suffix_values),
    )


def shrunk(matrix: Array, by: float) -> Array:
    """Return a matrix whose singular values are smaller by a number, but not below zero."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    kept = int(np.count_nonzero(values > by))
    return np.asarray((left[:, :kept] * (values[:kept] - by)) @ right[:kept])
