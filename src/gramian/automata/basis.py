"""Bases of Hankel blocks: which prefixes and which suffixes are looked at (Balle et al. 2014, 2.1 and 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from gramian.automata.sequences import Sequences, Symbol
from gramian.automata.weighted_automaton import Statistic
from gramian.errors import OptionError
from gramian.value_types import Boolean, Either, OneOf, Whole, option, options

_MOST_STRINGS = 100_000


@dataclass(frozen=True, eq=False)
class Basis:
    """Prefixes and suffixes, each a set of strings over one alphabet.

    Examples
    --------
    >>> sample = Sequences.from_strings(["ab", "abab"])
    >>> basis = Basis.frequent(sample, 4)
    >>> list(basis.prefixes)
    [(), ('a',), ('b',), ('a', 'b')]
    """

    prefixes: Sequences
    suffixes: Sequences

    def __post_init__(self) -> None:
        if self.prefixes.alphabet != self.suffixes.alphabet:
            raise OptionError(
                "Basis: prefixes and suffixes have different alphabets; try: giving both the same"
            )
        for name in ("prefixes", "suffixes"):
            strings: Sequences = getattr(self, name)
            if len(strings) == 0 or strings.symbols.min(initial=0) < 0:
                raise OptionError(
                    f"Basis: {name} are empty or hold unknown symbols; try: adding the empty string"
                )

    @property
    def alphabet(self) -> tuple[Symbol, ...]:
        """The symbols."""
        return self.prefixes.alphabet

    @property
    def shape(self) -> tuple[int, int]:
        """Number of prefixes and of suffixes."""
        return len(self.prefixes), len(self.suffixes)

    @classmethod
    def of_strings(
        cls,
        prefixes: Iterable[Sequence[Symbol]],
        suffixes: Iterable[Sequence[Symbol]],
        alphabet: Sequence[Symbol],
    ) -> Basis:
        """Return the basis of the given strings."""
        return cls(Sequences.from_strings(prefixes, alphabet), Sequences.from_strings(suffixes, alphabet))

    @classmethod
    def symbols(cls, alphabet: Sequence[Symbol], *, empty: bool = True) -> Basis:
        """Return the symbols, and the empty string unless `empty` is false, as prefixes and suffixes."""
        strings: list[tuple[Symbol, ...]] = [(symbol,) for symbol in alphabet]
        strings = [(), *strings] if empty else strings
        return cls.of_strings(strings, strings, alphabet)

    @classmethod
    def frequent(
        cls,
        sample: Sequences,
        size: int,
        *,
        max_length: int = 4,
        place: Literal["anywhere", "ends"] = "anywhere",
        empty: bool = True,
    ) -> Basis:
        """Return the most frequent strings of a sample, the empty string among them unless `empty` is false.

        Parameters
        ----------
        size : int
            How many prefixes, and how many suffixes.
        max_length : int
            The longest string considered.
        place : "anywhere" or "ends"
            Count substrings wherever they occur, the same for both sides; or count beginnings of strings for
            the prefixes and endings for the suffixes.
        """
        if size < 1 or max_length < 0:
            raise OptionError(
                f"size must be at least 1 and max_length at least 0, got {size} and {max_length}"
            )
        if place == "anywhere":
            both = _most_frequent(sample, size, max_length, "anywhere", empty)
            return cls(both, both)
        if place != "ends":
            raise OptionError(f"place must be one of anywhere, ends, got {place!r}")
        prefixes = _most_frequent(sample, size, max_length, "start", empty)
        return cls(prefixes, _most_frequent(sample, size, max_length, "end", empty))

    @classmethod
    def up_to(cls, alphabet: Sequence[Symbol], max_length: int, *, empty: bool = True) -> Basis:
        """Return all strings up to a length, at most 100,000, as prefixes and suffixes.

        Examples
        --------
        >>> Basis.up_to("ab", 2).shape
        (7, 7)
        """
        if sum(len(alphabet) ** length for length in range(max_length + 1)) > _MOST_STRINGS:
            raise OptionError(
                f"there are more than {_MOST_STRINGS:,} strings up to length {max_length}; try: a shorter max_length"
            )
        lengths = range(0 if empty else 1, max_length + 1)
        strings = [string for length in lengths for string in product(alphabet, repeat=length)]
        return cls.of_strings(strings, strings, alphabet)

    @classmethod
    def greedy(
        cls,
        sample: Sequences,
        size: int,
        *,
        statistic: Statistic = "substring",
        max_length: int = 4,
        pool: int | None = None,
        empty: bool = True,
    ) -> Basis:
        """Return prefixes and suffixes that add most to what those before them span (after Wiewiora 2005).

        Of the `pool` most frequent strings (four times `size` without it), pivoted orthogonalisation takes the row with the largest part
        outside the span of the rows taken so far, and so on; then the same is done with columns.
        """
        from scipy.linalg import qr

        from gramian.automata.hankel import hankel_blocks

        place: Literal["anywhere", "ends"] = "anywhere" if statistic == "substring" else "ends"
        wide = cls.frequent(sample, pool or 4 * size, max_length=max_length, place=place, empty=empty)
        matrix = hankel_blocks(sample, wide, statistic).matrix.toarray()
        chosen = []
        for rows in (matrix, matrix.T):
            triangle, order = qr(rows.T, mode="r", pivoting=True)
            heights = np.abs(np.diagonal(triangle))
            chosen.append(np.sort(order[: min(size, int(np.count_nonzero(heights > 1e-12 * heights[0])))]))
        return cls(wide.prefixes.take(chosen[0]), wide.suffixes.take(chosen[1]))

    @classmethod
    def matching(
        cls,
        sample: Sequences,
        size: int,
        *,
        statistic: Statistic = "substring",
        max_length: int = 4,
        pool: int | None = None,
    ) -> Basis:
        """Return pairs of a maximum matching between prefixes and suffixes that occur together.

        A sub-block whose prefixes and suffixes can be matched along non-zero entries has full structural rank, so no row or column is
        wasted (Quattoni, Carreras and Gallé 2017). Of the `pool` most frequent strings (four times `size` without it), the matched pairs
        with the largest entries are kept; the empty string always is.
        """
        from scipy.sparse.csgraph import maximum_bipartite_matching

        from gramian.automata.hankel import hankel_blocks

        place: Literal["anywhere", "ends"] = "anywhere" if statistic == "substring" else "ends"
        wide = cls.frequent(sample, pool or 4 * size, max_length=max_length, place=place)
        matrix = hankel_blocks(sample, wide, statistic).matrix
        partner = maximum_bipartite_matching(matrix, perm_type="column")
        rows = np.flatnonzero(partner >= 0)
        columns = partner[rows]
        value = np.asarray(matrix[rows, columns]).ravel()
        best = np.argsort(-value, kind="stable")[:size]
        return cls(
            wide.prefixes.take(np.union1d(rows[best], [0])),
            wide.suffixes.take(np.union1d(columns[best], [0])),
        )

    def prefix_closed(self) -> Basis:
        """Return the basis with every prefix also extended by every symbol."""
        strings = [*self.prefixes, *((*u, s) for u in self.prefixes for s in self.alphabet)]
        closed = Sequences.from_strings(dict.fromkeys(strings), self.alphabet)
        return Basis(closed, self.suffixes)


@options
class BasisOptions:
    """How a basis is chosen from a sample.

    Examples
    --------
    >>> sample = Sequences.from_strings(["ab", "abab"])
    >>> list(BasisOptions("symbols", empty=False).choose(sample, 3).prefixes)
    [('a',), ('b',)]
    >>> list(BasisOptions("ends").choose(sample, 3).suffixes)
    [(), ('b',), ('a', 'b')]
    """

    kind: Literal["frequent", "ends", "symbols", "all", "matching", "greedy"] = option(
        OneOf("frequent", "ends", "symbols", "all", "matching", "greedy"), default="frequent"
    )
    """The most frequent substrings; the most frequent beginnings and endings; the symbols; all strings; a maximum matching of frequent
    strings; those frequent strings that add most to what others span."""
    size: int | Literal["auto"] = option(Either(Whole(1), OneOf("auto")), default="auto")
    """Number of prefixes and of suffixes, but of symbols and all strings. "auto" lets :class:`~gramian.automata.SpectralWFA` try several
    if it chooses the number of states too, and is 500 otherwise."""
    max_length: int = option(Whole(0), default=4)
    """The longest string of the basis."""
    empty: bool = option(Boolean(), default=True)
    """Whether the basis has the empty string, which a matching always has; published experiments with automata leave it out."""

    def choose(self, sample: Sequences, size: int, statistic: Statistic = "substring") -> Basis:
        """Return the basis of `size` strings."""
        if self.kind == "symbols":
            return Basis.symbols(sample.alphabet, empty=self.empty)
        if self.kind == "all":
            return Basis.up_to(sample.alphabet, self.max_length, empty=self.empty)
        if self.kind == "matching":
            return Basis.matching(sample, size, statistic=statistic, max_length=self.max_length)
        if self.kind == "greedy":
            return Basis.greedy(
                sample, size, statistic=statistic, max_length=self.max_length, empty=self.empty
            )
        place: Literal["anywhere", "ends"] = "ends" if self.kind == "ends" else "anywhere"
        return Basis.frequent(sample, size, max_length=self.max_length, place=place, empty=self.empty)


def _most_frequent(
    sample: Sequences, size: int, max_length: int, place: Literal["anywhere", "start", "end"], empty: bool
) -> Sequences:
    """Return the `size` most frequent strings up to a length: by count, then length, then order."""
    distinct, weights = sample.distinct()
    k = len(sample.alphabet)
    weight = np.repeat(weights, distinct.lengths)
    left = np.arange(len(distinct.symbols)) - np.repeat(distinct.offsets[:-1], distinct.lengths)
    right = np.repeat(distinct.lengths, distinct.lengths) - left  # symbols from here to the end of the string
    strings: list[tuple[int, ...]] = [()] if empty else []
    counts = [np.inf] * len(strings)
    start = np.arange(len(distinct.symbols))
    code: npt.NDArray[np.int64] = np.zeros(len(start), np.int64)
    for length in range(1, max_length + 1):
        inside = right[start] >= length
        start, code = start[inside], code[inside]
        code = code * k + distinct.symbols[start + length - 1]
        codes, first, code = np.unique(code, return_index=True, return_inverse=True)
        if len(codes) == 0:
            break
        counted = {"anywhere": start >= 0, "start": left[start] == 0, "end": right[start] == length}[place]
        count = np.bincount(code, weight[start] * counted, len(codes))
        best = np.argsort(-count, kind="stable")[:size]
        best = best[count[best] > 0]
        strings += [tuple(distinct.symbols[start[i] : start[i] + length].tolist()) for i in first[best]]
        counts += count[best].tolist()
    order = sorted(range(len(strings)), key=lambda i: (-counts[i], len(strings[i]), strings[i]))[:size]
    index = Sequences.from_strings([strings[i] for i in order], range(k))
    return Sequences(index.symbols, index.offsets, sample.alphabet)
