"""Hankel blocks of a sample: how often ``uv`` and ``usv`` occur for prefixes u, suffixes v and symbols s.

Definitions follow Balle et al. (2014), sections 2 and 3. A cut is a place between two symbols of a string;
where u ends at a cut and v begins there, ``uv`` occurs. So a block is a product of two sparse incidence
matrices, of cuts by prefixes and of cuts by suffixes, and compiled code only has to find the matches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.automata import automata_kernels as kernels
from gramian.automata.basis import Basis
from gramian.automata.sequences import Array, Sequences, Symbol
from gramian.automata.weighted_automaton import Statistic
from gramian.errors import OptionError


@dataclass(frozen=True, eq=False)
class HankelBlocks:
    """The sub-blocks of a Hankel matrix that spectral learning needs.

    Examples
    --------
    >>> from gramian.automata import Basis, Sequences, hankel_blocks
    >>> sample = Sequences.from_strings(["ab", "abab"])
    >>> hankel_blocks(sample, Basis.of_strings(["", "a"], ["", "b"], sample.alphabet)).of_symbol(0).shape
    (2, 2)
    """

    basis: Basis
    statistic: Statistic  #: which function of strings the entries are
    matrix: sparse.csr_array  #: shape (n_prefixes, n_suffixes); f(uv)
    #: shape (n_symbols * n_prefixes, n_suffixes); f(usv); the rows of symbol s begin at ``s * n_prefixes``
    stacked: sparse.csr_array
    prefix_values: Array  #: shape (n_prefixes,); f(u)
    suffix_values: Array  #: shape (n_suffixes,); f(v)

    def of_symbol(self, symbol: int) -> sparse.csr_array:
        """Return the block f(usv) of one symbol index."""
        n = len(self.basis.prefixes)
        return self.stacked[symbol * n : (symbol + 1) * n]


def hankel_blocks(sample: Sequences, basis: Basis, statistic: Statistic = "substring") -> HankelBlocks:
    """Estimate the blocks of `basis` from a sample: relative frequencies, or mean numbers of occurrences.

    Examples
    --------
    >>> sample = Sequences.from_strings(["ab", "abab"])
    >>> basis = Basis.of_strings(["", "a"], ["", "b"], sample.alphabet)
    >>> hankel_blocks(sample, basis).matrix.toarray()  # f(λ) is the mean length plus one
    array([[4. , 1.5],
           [1.5, 1.5]])
    """
    if statistic not in ("string", "prefix", "substring"):
        raise OptionError(f"statistic must be one of string, prefix, substring, got {statistic!r}")
    k = len(sample.alphabet)
    distinct, weights = sample.to_learn_from().distinct()
    share = weights / weights.sum()
    before = _matches(basis.prefixes, distinct, backward=True, whole=statistic != "substring")
    after = _matches(basis.suffixes, distinct, backward=False, whole=statistic == "string")
    cut_share = np.repeat(share, distinct.lengths + 1)
    weighted = sparse.diags_array(cut_share) @ after
    starts, rows, ends = distinct.first_cuts, distinct.inner_cuts, distinct.last_cuts
    # Prefix u before symbol s becomes row (s, u) of the stacked block.
    with_symbol = before[rows]
    n = len(basis.prefixes)
    shift = np.repeat(distinct.symbols.astype(np.int64) * n, np.diff(with_symbol.indptr))
    with_symbol = sparse.csr_array(
        (with_symbol.data, with_symbol.indices + shift, with_symbol.indptr), shape=(len(rows), k * n)
    )
    return HankelBlocks(
        basis,
        statistic,
        (before.T @ weighted).tocsr(),
        (with_symbol.T @ weighted[rows + 1]).tocsr(),
        cut_share[ends] @ before[ends] if statistic == "string" else cut_share @ before,
        cut_share @ after if statistic == "substring" else cut_share[starts] @ after[starts],
    )


def queries_of(basis: Basis) -> list[tuple[Symbol, ...]]:
    """Return the strings of the cells of a basis, those of ``H`` and then those of ``H_s`` for each symbol s."""
    middles = [(), *((symbol,) for symbol in basis.alphabet)]
    return [u + s + v for s in middles for u in basis.prefixes for v in basis.suffixes]


def hankel_blocks_of(
    score: Callable[[Sequence[tuple[Symbol, ...]]], npt.ArrayLike],
    basis: Basis,
    statistic: Statistic = "string",
) -> HankelBlocks:
    """Fill the blocks of `basis` with the values of a function on strings, asked for all at once."""
    strings = [*queries_of(basis), *basis.prefixes, *basis.suffixes]
    distinct = list(dict.fromkeys(strings))
    answers = np.asarray(score(distinct), np.float64)
    if answers.shape != (len(distinct),):
        raise OptionError(
            f"score function: shape {answers.shape} for {len(distinct)} strings; try: one number each"
        )
    value = dict(zip(distinct, answers.tolist(), strict=True))
    values = np.array([value[string] for string in strings])
    p, s = basis.shape
    blocks, rest = values[: -(p + s)].reshape(-1, s), values[-(p + s) :]
    return HankelBlocks(
        basis, statistic, sparse.csr_array(blocks[:p]), sparse.csr_array(blocks[p:]), rest[:p], rest[p:]
    )


def _matches(strings: Sequences, sample: Sequences, *, backward: bool, whole: bool) -> sparse.csr_array:
    """Return which basis strings begin at (or, backward, end at) each cut; `whole`: and reach the string's end."""
    table, accepted = _automaton(strings, backward)
    cuts = sample.n_cuts
    pointers = np.zeros(cuts + 1, np.int64)
    arguments = (table, accepted, sample.symbols, sample.offsets, backward, whole, pointers)
    n_matches = kernels.match_cuts(*arguments, np.empty(0, np.int64))
    indices = np.empty(n_matches, np.int64)
    kernels.match_cuts(*arguments, indices)
    # Small where they fit: half the memory, and older versions of SciPy know graphs with these alone.
    index = np.int32 if n_matches < 1 << 31 else np.int64
    structure = indices.astype(index), pointers.astype(index)
    return sparse.csr_array((np.ones(n_matches), *structure), shape=(cuts, len(strings)))


def _automaton(strings: Sequences, backward: bool) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the tree of the strings (of their mirror images): child by symbol, and the string that ends there."""
    k = len(strings.alphabet)
    size = len(strings.symbols) + 1
    table = np.full((size, k), -1, np.int32)
    accepted = np.full(size, -1, np.int32)
    nodes = 1
    for number in range(len(strings)):
        string = strings.symbols[strings.offsets[number] : strings.offsets[number + 1]]
        node = 0
        for symbol in string[::-1] if backward else string:
            if table[node, symbol] < 0:
                table[node, symbol] = nodes
                nodes += 1
            node = table[node, symbol]
        accepted[node] = number
    return table[:nodes].copy(), accepted[:nodes].copy()
